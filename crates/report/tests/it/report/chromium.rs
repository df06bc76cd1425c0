//! Opens a report in a headless browser: charts are drawn, the console is clean.

use crate::report::accessibility::{assert_accessible, assert_accessible_in_every_window};
use crate::report::page::hostile;
use crate::report::probes::{Probed, eight, many, two};
use crate::support::Fixture;
use std::path::Path;
use std::process::{Command, Stdio};
use threadwise_analysis::probe_document;
use threadwise_report::html;

/// Names under which distributions install it.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn installed() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|program| {
        let version =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

/// The document after its scripts have run, and what the browser logged.
pub fn dump(program: &str, folder: &Path, page: &Path, budget_ms: u32) -> (String, String) {
    let output = Command::new(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--log-level=0", "--window-size=1200,900"])
        .arg(format!("--virtual-time-budget={budget_ms}"))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(["--dump-dom", &format!("file://{}", page.display())])
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// The browser; `None`, said loudly, where there is none and this is not CI.
pub fn found() -> Option<&'static str> {
    let found = installed();
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "no Chromium: apt-get install chromium");
        // Not by the macro, whose output the test program keeps back.
        let line = "SKIPPED: the HTML report in a browser: no chromium on PATH (Debian: chromium)\n";
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
    }
    found
}

/// A page's document after its scripts have run, its root element's attributes, and what the
/// console got. `None` where there is no browser.
pub fn opened(text: &str) -> Option<(String, String, Vec<String>)> {
    let program = found()?;
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    std::fs::write(&page, text).unwrap();
    let (dom, log) = dump(program, folder.path(), &page, 5000);
    let root = dom.split_once("<html").and_then(|(_, rest)| rest.split_once('>')).unwrap().0.to_owned();
    let console = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    Some((dom, root, console))
}

#[test]
fn hostile_texts_do_nothing_in_a_browser() {
    let Some((dom, root, console)) = opened(&html::render(&hostile().document()).unwrap()) else { return };
    assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
    assert!(!dom.contains("<img"), "a text became an element");
    assert!(!root.contains("data-charts=\"0\""), "{root}");
}

#[test]
fn studies_and_hostile_texts_are_accessible() {
    assert_accessible_in_every_window(
        "a study",
        &html::render(&Fixture::generated(4, 5).document()).unwrap(),
    );
    assert_accessible("hostile texts", &html::render(&hostile().document()).unwrap());
}

#[test]
fn probes_are_accessible() {
    for (name, probed) in [("2 CPUs", two()), ("8 CPUs", eight()), ("768 CPUs", many())] {
        assert_accessible(name, &probe_page(&probed));
    }
    let mut fixture = Fixture::generated(2, 3);
    let probed = eight();
    (fixture.probe, fixture.hardware) = (Some(probed.probe), Some(probed.hardware));
    assert_accessible("a study with a probe", &html::render(&fixture.document()).unwrap());
}

#[test]
fn charts_are_drawn_and_the_console_is_clean() {
    let Some((dom, root, console)) = opened(&html::render(&Fixture::generated(8, 20).document()).unwrap())
    else {
        return;
    };
    assert!(root.contains("data-errors=\"0\""), "faults on the page: {root}");
    // The answer, 2 throughput, 2 ratios, roles, busy, steal, 2 time charts.
    assert!(root.contains("data-charts=\"10\""), "not every chart was drawn: {root}");
    assert!(console.is_empty(), "{console:#?}");
    let circles = dom.matches("data-mark=\"dot\"").count();
    assert!(circles >= 6, "{circles} groups of dots");
    assert!(dom.matches("<svg").count() >= 9);
    assert!(dom.contains("aria-label=\"SIMULATED · Throughput inside L2\""));
    // Every slice of every valid run has its mark: 16 treatments, 8 blocks, 20 rounds, one run failed.
    let marks = dom.matches("<path").count() + dom.matches("<circle").count();
    assert!(marks >= 16 * 8 * 20 - 20, "{marks} marks");
}

#[test]
fn tips_that_come_with_the_pointer_are_no_fault_either() {
    let page = html::render(&Fixture::generated(2, 3).document()).unwrap();
    // The page's own policy would not let a test point.
    let (head, rest) = page.split_once("script-src ").unwrap();
    let rest = rest.split_once(';').unwrap().1;
    let point = "<script>const dot = document.querySelector('.chart [data-mark=dot] path').getBoundingClientRect(); \
                 document.querySelector('.chart > svg').dispatchEvent(new PointerEvent('pointermove', { \
                 pointerType: 'mouse', bubbles: true, clientX: dot.x + dot.width / 2, clientY: dot.y }));</script></body>";
    let pointed = format!("{head}script-src 'unsafe-inline';{rest}").replace("</body>", point);
    let Some((dom, root, console)) = opened(&pointed) else { return };
    assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
    let texts = dom
        .split("data-mark=\"tip\"")
        .skip(1)
        .filter(|tip| tip.split("</g></g>").next().unwrap().contains("<tspan"));
    assert_eq!(texts.count(), 1, "one tip is shown");
    assert!(!dom.contains("aria-label=\"tip\""));
}

/// The page of a probe alone.
pub fn probe_page(probed: &Probed) -> String {
    let Probed { topology, probe, hardware } = probed;
    html::render(&probe_document(topology, probe, hardware, "0.1.0", "2026-01-01T12:00:00Z")).unwrap()
}

#[test]
fn probes_of_every_size_are_drawn() {
    // Cells of the lower and the upper triangle; squares of groups below them where there are many.
    for (probed, charts, cells) in
        [(two(), 3, 3 * 2), (eight(), 3, 2 * (27 + 28 + 28)), (many(), 2, 4 * 2000)]
    {
        let Some((dom, root, console)) = opened(&probe_page(&probed)) else { return };
        assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
        assert!(root.contains(&format!("data-charts=\"{charts}\"")), "{root}");
        let drawn = dom.split_once("<figcaption><h3>Cache-line latency").unwrap();
        let rects = [drawn.0, drawn.1].map(|part| part.matches("<rect").count());
        assert!(rects[0] + rects[1] >= cells, "{rects:?}");
        for method in ["compare-and-swap", "one writer and one reader"] {
            assert!(dom.contains(&format!("aria-label=\"Cache-line latency by {method}\"")), "{method}");
        }
        let low_ns = probed.probe.levels[0].low_ns;
        let written = format!(">{}", threadwise_document::numbers::nanoseconds(low_ns));
        assert!(dom.contains(&written), "{written}: no figure in a cell or table");
    }
}

#[test]
fn a_study_with_a_probe_draws_both() {
    let mut fixture = Fixture::generated(2, 3);
    let probed = eight();
    (fixture.probe, fixture.hardware) = (Some(probed.probe), Some(probed.hardware));
    let Some((_, root, console)) = opened(&html::render(&fixture.document()).unwrap()) else { return };
    assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
    // The charts of a study (the answer, 2 throughput, 2 ratios, roles, busy, steal, 2 time) and 3 of pairs.
    assert!(root.contains("data-charts=\"13\""), "{root}");
}
