//! `cargo xtask site`: the documents of the repository as a site, in `target/site`, made by mdBook.
//!
//! Pages keep their places, so that links between them work here and there; `pages.toml` has their order.

mod links;
pub mod widths;

use crate::command::Task;
use crate::files;
use crate::lab::fetched;
use crate::tidy::project_files;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

const PAGES: &str = include_str!("pages.toml");
const BOOK: &str = include_str!("book.toml");
/// The folder of the site, relative to the workspace.
pub const SITE: &str = "target/site";
/// Where the book's sources are put together.
const STAGED: &str = "target/site-book";
/// The page about cards, and where the site has the cards themselves.
const GALLERY: &str = "gallery/README.md";
const CARDS: &str = "cards";
/// Folders of documents, and of files that documents link to.
const FOLDERS: [&str; 6] =
    ["docs/", "evidence/", "gallery/", "dashboards/", "integrations/", "python/examples/"];
/// Its first page.
const FIRST: &str = "README.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    part: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    title: String,
    pages: Vec<String>,
}

/// Makes the site and checks its links.
pub fn run() -> Result<(), String> {
    let [_, mdbook] = fetched::ensure("mdbook", false)?;
    let count = stage()?;
    let site = files::absolute(SITE)?;
    Task::new("{}/mdbook build {} --dest-dir {}", &[&mdbook, &STAGED, &site.display()]).run()?;
    let gallery = "cargo run --quiet --package threadwise -- gallery gallery --output {}";
    Task::new(gallery, &[&site.join(CARDS).display()]).run()?;
    let broken = links::broken(&site)?;
    broken.iter().for_each(|link| eprintln!("{link}"));
    if !broken.is_empty() {
        return Err(format!("broken links: {}", broken.len()));
    }
    println!("{SITE}: {count} files of the repository, every link leads somewhere");
    Ok(())
}

/// Puts the book's sources together: how many files of the repository these are.
pub fn stage() -> Result<usize, String> {
    let paths: BTreeSet<String> = project_files()?.into_iter().filter(|path| is_of_site(path)).collect();
    let parts = parts()?;
    if let Some(missing) = not_named(&parts, &paths) {
        return Err(format!("{missing} is in no part of xtask/src/site/pages.toml"));
    }
    let staged = Path::new(STAGED);
    files::empty_folder(staged)?;
    for path in &paths {
        files::copy(path, staged.join("pages").join(path))?;
    }
    let about = files::read_text(GALLERY)?;
    let linked = format!("{about}\n[The cards as a page](../{CARDS}/index.html)\n");
    files::write(staged.join("pages").join(GALLERY), linked)?;
    files::write(staged.join("book.toml"), BOOK)?;
    let mut summary = format!("# Summary\n\n[threadwise]({FIRST})\n");
    for part in &parts {
        summary += &format!("\n# {}\n\n", part.title);
        for page in &part.pages {
            summary += &entries(page, &part.title, &paths)?;
        }
    }
    files::write(staged.join("pages/SUMMARY.md"), summary)?;
    Ok(paths.len())
}

fn parts() -> Result<Vec<Part>, String> {
    toml::from_str::<Parts>(PAGES).map(|parts| parts.part).map_err(|why| format!("pages.toml: {why}"))
}

/// Documents, and what they show.
fn is_of_site(path: &str) -> bool {
    let is_document = |path: &str| path.ends_with(".md") && !path.contains('/');
    FOLDERS.iter().any(|folder| path.starts_with(folder)) || is_document(path)
}

/// A page that no part names.
fn not_named<'f>(parts: &[Part], files: &'f BTreeSet<String>) -> Option<&'f String> {
    let named: BTreeSet<&str> = parts.iter().flat_map(|part| &part.pages).map(String::as_str).collect();
    let is_named = |path: &str| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        path == FIRST || named.contains(path) || named.contains(folder)
    };
    files.iter().find(|path| path.ends_with(".md") && !is_named(path))
}

/// The lines of a page in the summary; for a folder also its page, which is written.
fn entries(page: &str, title: &str, files: &BTreeSet<String>) -> Result<String, String> {
    if page.ends_with(".md") {
        return Ok(format!("- [{}]({page})\n", title_of(page)?));
    }
    let of_folder = files.iter().filter_map(|path| {
        let name = path.strip_prefix(page)?.strip_prefix('/')?;
        (name.ends_with(".md") && !name.contains('/')).then_some((path, name))
    });
    let mut listed =
        of_folder.map(|(path, name)| Ok((title_of(path)?, name))).collect::<Result<Vec<_>, String>>()?;
    listed.sort();
    let lines = |folder: &str| -> String {
        listed.iter().map(|(title, name)| format!("- [{title}]({folder}{name})\n")).collect()
    };
    let list = Path::new(STAGED).join("pages").join(page).join("README.md");
    files::write(list, format!("# {title}\n\n{}", lines("")))?;
    Ok(format!("- [Overview]({page}/README.md)\n{}", lines(&format!("{page}/"))))
}

fn title_of(page: &str) -> Result<String, String> {
    let text = files::read_text(page)?;
    let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
    title.map(str::to_owned).ok_or_else(|| format!("{page} does not begin with its title"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_no_part_names_is_found() {
        let parts = parts().unwrap();
        let files =
            |path: &str| BTreeSet::from([FIRST.to_owned(), "docs/how-to/x.md".to_owned(), path.to_owned()]);
        assert_eq!(not_named(&parts, &files("docs/report.png")), None);
        assert_eq!(not_named(&parts, &files("docs/NEW.md")).unwrap(), "docs/NEW.md");
    }
}
