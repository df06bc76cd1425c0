//! Opens pages in a headless Chromium, for the laboratory: charts are drawn, the console is clean, and the page passes in
//! light and dark, on a desk and in a hand: no fault that axe-core knows of (<https://github.com/dequelabs/axe-core>),
//! none of the page's own, nothing wider than the window.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Names under which distributions install it.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Names the folder of axe-core.
const VARIABLE: &str = "THREADWISE_TEST_AXE";

/// A window's width in CSS pixels, and its colour scheme.
type Window = (u32, &'static str);

/// Rules for widths and rules for colours do not depend on each other, so that two windows have every rule.
const OPPOSITE: [Window; 2] = [(1200, "light"), (390, "dark")];

/// All four, for the page that has the most.
const EVERY: [Window; 4] = [(1200, "light"), (390, "dark"), (1200, "dark"), (390, "light")];

/// Unfolds everything, looks for faults, and sends what was found to the page around. axe-core's time
/// grows with rows and marks, of which a loop makes many that differ in text and place alone: of each table and group of
/// marks the first two of every kind stay, once the page's width is known.
const LOOK: &str = r#"
for (const fold of document.querySelectorAll("details")) fold.open = true;
const scroll = document.documentElement.scrollWidth;
const looks = ["class", "style", "fill", "stroke", "opacity", "role", "aria-label", "scope", "headers", "colspan", "tabindex", "href", "title"];
const kind = node => node.tagName + looks.map(name => node.getAttribute(name) ?? "") + (node.textContent.trim() === "");
const thin = (parents, children) => {
  for (const parent of document.querySelectorAll(parents)) {
    const seen = new Map();
    for (const child of [...parent.children].filter(one => one.matches(children))) {
      const kinds = [child, ...child.querySelectorAll("*")].map(kind).join();
      seen.set(kinds, (seen.get(kinds) ?? 0) + 1);
      if (seen.get(kinds) > 2) child.remove();
    }
  }
};
thin("tbody", "tr");
thin("svg g", "path, circle, rect, line");
axe.run(document, { resultTypes: ["violations"] }).then(found => parent.postMessage({
  window: name,
  width: innerWidth,
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  scroll,
  errors: document.documentElement.dataset.errors,
  charts: document.querySelectorAll(".chart").length - Number(document.documentElement.dataset.charts),
  faults: found.violations.map(one => `${one.id} (${one.impact}), ${one.nodes.length} times: ${one.nodes[0].html.slice(0, 200)}`),
}, "*"));
"#;

/// Keeps what windows send as attributes of the root element.
const KEEP: &str = r#"
addEventListener("message", ({ data }) => { document.documentElement.setAttribute(`data-found-${data.window}`, JSON.stringify(data)); });
"#;

/// The document after its scripts have run, and what the browser logged.
fn dump(folder: &Path, page: &Path, budget_ms: u32) -> (String, String) {
    let start = |program: &&str| {
        let output = Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--enable-logging=stderr", "--log-level=0", "--window-size=1200,900"])
            .arg(format!("--virtual-time-budget={budget_ms}"))
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .args(["--dump-dom", &format!("file://{}", page.display())])
            .output();
        output.ok()
    };
    let output = PROGRAMS.iter().find_map(start).expect("no Chromium here: apt-get install chromium");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "Chromium: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// A page as it is once its scripts have run.
pub struct Drawn {
    /// The document.
    pub dom: String,
    /// Attributes of its root element.
    pub root: String,
}

impl Drawn {
    /// The part of the document that a chart was drawn into.
    pub fn chart(&self, chart: &str) -> &str {
        let (_, rest) = self.dom.split_once(&format!("data-chart=\"{chart}\"")).expect(chart);
        rest.split("<details").next().unwrap()
    }

    /// How many charts were drawn.
    pub fn charts(&self) -> usize {
        let (_, rest) = self.root.split_once("data-charts=\"").unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    }
}

/// Opens a page, whose scripts must report no fault and whose console must stay empty.
pub fn opened(page: &str) -> Drawn {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let (dom, log) = dump(folder.path(), &file, 5000);
    let root = dom.split_once("<html").and_then(|(_, rest)| rest.split_once('>')).unwrap().0.to_owned();
    let console: Vec<&str> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
    Drawn { dom, root }
}

/// The page with a script of the test, which its own policy would not let run.
pub fn with_script(page: &str, script: &str) -> String {
    let (head, rest) = page.split_once("script-src ").unwrap();
    let (_, rest) = rest.split_once(';').unwrap();
    let (body, end) = rest.rsplit_once("</body>").unwrap();
    format!("{head}script-src 'unsafe-inline';{body}<script>{script}</script></body>{end}")
}

/// The page with axe-core in it.
fn with_axe(page: &str) -> String {
    let folder = std::env::var_os(VARIABLE).expect("THREADWISE_TEST_AXE names no folder of axe-core");
    let program = std::fs::read_to_string(Path::new(&folder).join("axe.min.js")).unwrap();
    assert!(!program.contains("</script"));
    with_script(page, &format!("{program}</script><script>{LOOK}"))
}

/// A page with a frame for each window; a frame has the width and the scheme that it is given.
fn around(windows: &[Window]) -> String {
    let frame = |(width, scheme): &Window| {
        format!(
            "<iframe name=\"{scheme}-{width}\" src=\"page.html\" \
             style=\"width: {width}px; height: 900px; border: 0; color-scheme: {scheme}\"></iframe>"
        )
    };
    let frames: Vec<String> = windows.iter().map(frame).collect();
    format!(
        "<!doctype html><html lang=\"en\"><meta name=\"color-scheme\" content=\"light dark\">\
         <script>{KEEP}</script>{}</html>",
        frames.concat()
    )
}

/// Opens the page wide and light, narrow and dark, and checks both.
pub fn assert_accessible(what: &str, page: &str) {
    assert_in(&OPPOSITE, what, page);
}

/// Opens the page in both widths with both colour schemes.
pub fn assert_accessible_in_every_window(what: &str, page: &str) {
    assert_in(&EVERY, what, page);
}

fn assert_in(windows: &[Window], what: &str, page: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.html"), with_axe(page)).unwrap();
    let outer = folder.path().join("windows.html");
    std::fs::write(&outer, around(windows)).unwrap();
    let (dom, log) = dump(folder.path(), &outer, 60_000);
    let root = dom.split_once("<html").and_then(|(_, rest)| rest.split_once('>')).unwrap().0;
    let mut found = BTreeSet::new();
    for part in root.split("data-found-").skip(1) {
        let (_, text) = part.split_once("=\"").unwrap();
        let text = text.split('"').next().unwrap().replace("&quot;", "\"");
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let window: Value = serde_json::from_str(&text).unwrap();
        let name = window["window"].as_str().unwrap().to_owned();
        let (scheme, width) = name.split_once('-').unwrap();
        assert_eq!(window["width"].to_string(), width, "{what}: {window:#}");
        assert_eq!(window["dark"], scheme == "dark", "{what}: {window:#}");
        assert!(window["scroll"].as_u64() <= window["width"].as_u64(), "{what} is too wide: {window:#}");
        assert_eq!(
            (window["errors"].as_str(), window["charts"].as_i64()),
            (Some("0"), Some(0)),
            "{what}: {window:#}"
        );
        assert_eq!(window["faults"], serde_json::json!([]), "{what}: {window:#}");
        found.insert(name);
    }
    assert_eq!(found.len(), windows.len(), "{what}: windows that answered: {found:?}");
    let console: Vec<&str> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(console.is_empty(), "{what}: {console:#?}");
}
