//! Pages of queries in a headless browser.

use super::fixture::{fixture, long_names};
use super::{bare, empty, hostile};
use crate::report::accessibility::assert_accessible;
use crate::report::chromium::opened;
use threadwise_report::html;

/// The part of a document that a chart was drawn into.
fn drawn<'d>(dom: &'d str, chart: &str) -> &'d str {
    let (_, rest) = dom.split_once(&format!("data-chart=\"{chart}\"")).expect(chart);
    rest.split("<details").next().unwrap()
}

#[test]
fn every_chart_is_drawn_and_the_console_is_clean() {
    // The answer, degrees, ratios, bars, steps, core-seconds, roles, busy, time, and the queries over DOP of each placement with two
    // steps; streams have two heat maps more where both placements have cells, and no steps without neighbours of the
    // same streams.
    for (name, charts) in
        [(fixture(11, false), 11), (long_names(6), 10), (bare(), 9), (empty(), 0), (hostile(), 9)]
    {
        let page = html::render(&name.document()).unwrap();
        let Some((dom, root, console)) = opened(&page) else { return };
        assert!(root.contains("data-errors=\"0\"") && console.is_empty(), "{root}\n{console:#?}");
        assert_eq!(page.matches("data-chart=\"").count(), charts);
        assert!(root.contains(&format!("data-charts=\"{charts}\"")), "{root}");
        assert!(!dom.contains("<img"));
    }
}

#[test]
fn pages_of_queries_are_accessible() {
    for (name, fixture) in [
        // Both placements and more than one degree; axe-core's time grows with the bars.
        ("queries", fixture(7, false)),
        ("streams", fixture(7, true)),
        ("nothing was measured", empty()),
        ("hostile queries", hostile()),
    ] {
        assert_accessible(name, &html::render(&fixture.document()).unwrap());
    }
}

#[test]
fn bars_have_panels_stripes_and_signs() {
    let Some((dom, ..)) = opened(&html::render(&fixture(6, false).document()).unwrap()) else { return };
    let bars = drawn(&dom, "bars");
    assert_eq!(bars.matches("class=\"panel\"").count(), 6);
    assert!(bars.contains("aria-label=\"Speed of each query against the baseline: no-smt d4\""));
    // Four treatments have two changed plans each: a stripe of one colour, two signs.
    assert_eq!(bars.matches("<pattern").count(), 4);
    assert_eq!(bars.matches("fill=\"url(#stripes-").count(), 8);
    assert_eq!(bars.matches(">P</text>").count(), 8);
    for label in ["0.5x", "1x", "2x", "4x", "8x"] {
        assert_eq!(bars.matches(&format!(">{label}</text>")).count(), 6, "{label}");
    }
    let steps = drawn(&dom, "steps");
    // Of 1 to 2 and 2 to 4.
    assert_eq!((steps.matches(">▲</text>").count(), steps.matches(">◆</text>").count()), (4, 1));
    assert_eq!(steps.matches(">P</text>").count(), 2);
    let cores = drawn(&dom, "cores");
    assert!(cores.contains("engine's CPU seconds (line)") && cores.contains("data-mark=\"tick\""));
}

#[test]
fn bars_are_ordered_by_speed_on_demand() {
    let page = html::render(&fixture(1, false).document()).unwrap();
    let first = |dom: &str| {
        let (_, axis) = drawn(dom, "bars").split_once("x-axis tick label").unwrap();
        axis.split_once("<text").unwrap().1.split_once('>').unwrap().1.split_once('<').unwrap().0.to_owned()
    };
    let Some((dom, ..)) = opened(&page) else { return };
    assert_eq!(first(&dom), "Q1");
    // The page's own policy would not let a test click.
    let (head, rest) = page.split_once("script-src ").unwrap();
    let rest = rest.split_once(';').unwrap().1;
    let click = "<script>document.querySelector('input[value=speed]').click()</script></body>";
    let clicked = format!("{head}script-src 'unsafe-inline';{rest}").replace("</body>", click);
    let Some((dom, root, _)) = opened(&clicked) else { return };
    assert!(root.contains("data-errors=\"0\""), "{root}");
    // Query 13 gains most from two threads.
    assert_eq!(first(&dom), "Q13");
}

#[test]
fn heat_maps_frame_the_plateau() {
    let Some((dom, ..)) = opened(&html::render(&fixture(17, true).document()).unwrap()) else { return };
    let heat = drawn(&dom, "heats");
    // Six DOPs and three numbers of streams: 18 cells; a frame and a star for each number of streams.
    assert_eq!(heat.matches("stroke-width=\"2\"").count(), 1, "one group of frames");
    assert_eq!(heat.matches("<rect").count(), 18 + 3);
    assert_eq!(heat.matches(">★ ").count(), 3);
}
