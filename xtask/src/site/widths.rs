//! Pages in Chromium: nothing is wider than the window, on a desk and in a hand.

use super::{SITE, links};
use crate::command::Task;
use crate::files;
use crate::lab::packages::is_on_path;

const SCRIPT: &str = include_str!("widths.html");
/// In CSS pixels.
const WIDTHS: [u32; 2] = [400, 1200];
/// Names under which distributions install it.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Opens every page of the site.
pub fn check() -> Result<(), String> {
    let pages = links::pages(&files::absolute(SITE)?)?;
    let urls: Vec<String> = pages.keys().map(|path| format!("file://{}", path.display())).collect();
    let script =
        SCRIPT.replacen("WIDTHS", &format!("{WIDTHS:?}"), 1).replacen("PAGES", &format!("{urls:?}"), 1);
    let folder = files::absolute("target/site-widths")?;
    let file = folder.join("widths.html");
    files::write(&file, script)?;
    let browser =
        BROWSERS.into_iter().find(|name| is_on_path(name)).ok_or("no Chromium: apt-get install chromium")?;
    let dump = "{} --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
                --allow-file-access-from-files --virtual-time-budget=600000 --user-data-dir={}/profile --dump-dom \
                file://{}";
    let found = Task::new(dump, &[&browser, &folder.display(), &file.display()]).output()?;
    let found = found.split_once("<body>").map_or("", |(_, body)| body).trim_end();
    let (opened, wide) = found.split_once('\n').unwrap_or_default();
    if opened != format!("opened {}", WIDTHS.len() * pages.len()) {
        return Err(format!("Chromium did not open every page: {found}"));
    }
    let wide: Vec<&str> = wide.lines().filter(|line| line.starts_with("file:")).collect();
    wide.iter().for_each(|page| eprintln!("{page}"));
    if !wide.is_empty() {
        return Err(format!("pages that are wider than their window: {}", wide.len()));
    }
    println!("{} pages, none wider than a window of {WIDTHS:?}", pages.len());
    Ok(())
}
