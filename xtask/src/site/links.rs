//! Links of a folder of pages that lead nowhere: to a file that does not exist, or to a place that its page lacks.
//! Links to other sites are not followed.

use crate::files;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// All of them, as `PAGE: LINK`.
pub fn broken(site: &Path) -> Result<Vec<String>, String> {
    let pages = pages(site)?;
    let mut found = Vec::new();
    for (path, text) in &pages {
        for link in ["href", "src"].iter().flat_map(|name| values(text, name)) {
            if !leads(path, &link, &pages) {
                let page = path.strip_prefix(site).unwrap_or(path);
                found.push(format!("{}: {link}", page.display()));
            }
        }
    }
    Ok(found)
}

/// The text of every page in a folder and those in it.
pub fn pages(folder: &Path) -> Result<BTreeMap<PathBuf, String>, String> {
    let mut found = BTreeMap::new();
    for path in files::entries(folder)? {
        if path.is_dir() {
            found.append(&mut pages(&path)?);
        } else if path.extension().is_some_and(|end| end == "html") {
            let text = files::read_text(&path)?;
            found.insert(path, text);
        }
    }
    Ok(found)
}

/// The values of an attribute. mdBook writes all of them in double quotes.
fn values(text: &str, name: &str) -> BTreeSet<String> {
    let start = format!(" {name}=\"");
    let value = |rest: &str| rest.split('"').next().unwrap_or_default().replace("&amp;", "&");
    text.split(&start).skip(1).map(value).collect()
}

fn leads(page: &Path, link: &str, pages: &BTreeMap<PathBuf, String>) -> bool {
    if link.contains(':') {
        return true;
    }
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    let mut file = match path {
        "" => page.to_owned(),
        _ => normal(&page.with_file_name(path)),
    };
    if file.is_dir() {
        file.push("index.html");
    }
    match pages.get(&file) {
        Some(text) => place.is_empty() || text.contains(&format!(" id=\"{place}\"")),
        None => place.is_empty() && file.exists(),
    }
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_and_to_places_of_pages() {
        let site = Path::new("/s");
        let page = |text: &str| text.to_owned();
        let pages = BTreeMap::from([
            (site.join("a.html"), page("<h1 id=\"x\">")),
            (site.join("b/c.html"), page("<a href=\"../a.html#x\"> <img src=\"no.png\">")),
        ]);
        let from = site.join("b/c.html");
        for (link, leads_there) in [
            ("../a.html", true),
            ("../a.html#x", true),
            ("../a.html#y", false),
            ("#x", false),
            ("no.png", false),
            ("https://example.org/", true),
        ] {
            assert_eq!(leads(&from, link, &pages), leads_there, "{link}");
        }
        assert_eq!(values(&pages[&from], "src"), BTreeSet::from(["no.png".to_owned()]));
    }
}
