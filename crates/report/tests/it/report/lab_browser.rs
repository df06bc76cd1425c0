//! Pages of made-up documents in a browser: what charts draw, and pages that no frozen study has.

use crate::browser::{Drawn, assert_accessible, opened, with_script};
use crate::report::looks::model::{moved, odd, whole};
use crate::report::page::hostile;
use crate::report::probes::{eight, many, probe_page, two};
use crate::report::{activity, commands, compare, queries, scaling_law, worklist};
use crate::support::Fixture;
use threadwise_report::html;

#[test]
#[ignore = "laboratory: browser"]
fn every_slice_has_its_mark() {
    let drawn = opened(&html::render(&Fixture::generated(8, 20).document()).unwrap());
    // The answer, 2 throughput, 2 ratios, roles, busy, steal, 2 time charts.
    assert_eq!(drawn.charts(), 10);
    let dom = &drawn.dom;
    let circles = dom.matches("data-mark=\"dot\"").count();
    assert!(circles >= 6, "{circles} groups of dots");
    assert!(dom.matches("<svg").count() >= 9);
    assert!(dom.contains("aria-label=\"SIMULATED · Throughput inside L2\""));
    // Every slice of every valid run has its mark: 16 treatments, 8 blocks, 20 rounds, one run failed.
    let marks = dom.matches("<path").count() + dom.matches("<circle").count();
    assert!(marks >= 16 * 8 * 20 - 20, "{marks} marks");
}

#[test]
#[ignore = "laboratory: browser"]
fn tips_that_come_with_the_pointer_are_no_fault_either() {
    let page = html::render(&Fixture::generated(2, 3).document()).unwrap();
    let point = "const dot = document.querySelector('.chart [data-mark=dot] path').getBoundingClientRect(); \
                 document.querySelector('.chart > svg').dispatchEvent(new PointerEvent('pointermove', { \
                 pointerType: 'mouse', bubbles: true, clientX: dot.x + dot.width / 2, clientY: dot.y }));";
    let Drawn { dom, .. } = opened(&with_script(&page, point));
    let texts = dom
        .split("data-mark=\"tip\"")
        .skip(1)
        .filter(|tip| tip.split("</g></g>").next().unwrap().contains("<tspan"));
    assert_eq!(texts.count(), 1, "one tip is shown");
    assert!(!dom.contains("aria-label=\"tip\""));
}

#[test]
#[ignore = "laboratory: browser"]
fn probes_of_every_size_are_drawn() {
    // Cells of the lower and the upper triangle; squares of groups below them where there are many.
    for (probed, charts, cells) in
        [(two(), 3, 3 * 2), (eight(), 3, 2 * (27 + 28 + 28)), (many(), 2, 4 * 2000)]
    {
        let drawn = opened(&probe_page(&probed));
        assert_eq!(drawn.charts(), charts);
        let dom = &drawn.dom;
        let parts = dom.split_once("<figcaption><h3>Cache-line latency").unwrap();
        let rects = [parts.0, parts.1].map(|part| part.matches("<rect").count());
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
#[ignore = "laboratory: browser"]
fn work_lists_have_lines_slopes_and_idle_tails() {
    let drawn = opened(&html::render(&worklist::fixture::fixture(8).document()).unwrap());
    let jobs = drawn.chart("jobs");
    for text in [">1.83x<", ">1.14x<", ">1.31x<", ">perfect scaling<", ">items/min<", " no-smt<", " all<"] {
        assert!(jobs.contains(text), "{text} in {jobs}");
    }
    let runs = drawn.chart("timelines");
    assert_eq!(runs.matches("class=\"panel\"").count(), 4);
    // 40 items and as many tails as jobs that ended early, in each of four runs of 2 and 4 jobs.
    let tails = (1 + 3) * 2;
    assert_eq!(runs.matches("<rect").count(), 4 * 40 + tails + 3, "swatches are 3");
}

#[test]
#[ignore = "laboratory: browser"]
fn waits_are_bars() {
    let drawn = opened(&html::render(&activity::fixture().document()).unwrap());
    let waits = drawn.chart("waits");
    assert_eq!(waits.matches("data-mark=\"bar\"").count(), 1);
    // Three bars each: what has no share is not drawn; four names and their swatches.
    let bars = waits.split_once("data-mark=\"bar\"").unwrap().1.split_once("</g>").unwrap().0;
    assert_eq!(bars.matches("<rect").count(), 6, "{bars}");
    assert!(waits.contains(" LWLock:WALWrite") && waits.contains(">34%<"), "{waits}");
}

#[test]
#[ignore = "laboratory: browser"]
fn looks_are_a_strip_that_is_thinned_where_there_are_many() {
    for fixture in [moved(2, 8, 20), moved(2, 25, 100)] {
        let drawn = opened(&html::render(&fixture.document()).unwrap());
        // The answer, throughput, ratios, the strip, busy time by use and by logical CPU, the baseline's rate, slices in time order.
        assert_eq!(drawn.charts(), 8);
        let (_, strip) = drawn.dom.split_once("data-chart=\"strip\"").unwrap();
        let (strip, _) = strip.split_once("</figure>").unwrap();
        let marks = strip.matches("<rect").count() + strip.matches("<path").count();
        assert!((200..12_000).contains(&marks), "{marks} marks");
        for name in ["alone", "one core", "neighbour", ">CPU 1<", "block"] {
            assert!(strip.contains(name), "{name}");
        }
        assert!(!strip.contains("> away<"), "a state that never occurred has no entry in the legend");
    }
}

#[test]
#[ignore = "laboratory: browser"]
fn a_curve_a_law_is_drawn_and_names_stay_texts() {
    let drawn = opened(&html::render(&scaling_law::document()).unwrap());
    assert_eq!(drawn.charts(), 3);
    assert!(!drawn.dom.contains("<img"), "a name became an element");
    // Eight points less the one that waits, and the marks of cores, knee and peak.
    let curve = drawn.chart("curve");
    assert_eq!(curve.matches("<circle").count(), 7, "{curve}");
    assert!(curve.contains(">cores") && curve.contains("peak"), "{curve}");
}

#[test]
#[ignore = "laboratory: browser"]
fn bars_have_panels_stripes_and_signs() {
    let drawn = opened(&html::render(&queries::fixture::fixture(6, false).document()).unwrap());
    let bars = drawn.chart("bars");
    assert_eq!(bars.matches("class=\"panel\"").count(), 6);
    assert!(bars.contains("aria-label=\"Speed of each query against the baseline: no-smt d4\""));
    // Four treatments have two changed plans each: a stripe of one colour, two signs.
    assert_eq!(bars.matches("<pattern").count(), 4);
    assert_eq!(bars.matches("fill=\"url(#stripes-").count(), 8);
    assert_eq!(bars.matches(">P</text>").count(), 8);
    for label in ["0.5x", "1x", "2x", "4x", "8x"] {
        assert_eq!(bars.matches(&format!(">{label}</text>")).count(), 6, "{label}");
    }
    let steps = drawn.chart("steps");
    // Of 1 to 2 and 2 to 4.
    assert_eq!((steps.matches(">▲</text>").count(), steps.matches(">◆</text>").count()), (4, 1));
    assert_eq!(steps.matches(">P</text>").count(), 2);
    let cores = drawn.chart("cores");
    assert!(cores.contains("engine's CPU seconds (line)") && cores.contains("data-mark=\"tick\""));
}

#[test]
#[ignore = "laboratory: browser"]
fn bars_are_ordered_by_speed_on_demand() {
    let page = html::render(&queries::fixture::fixture(1, false).document()).unwrap();
    let first = |page: &str| {
        let drawn = opened(page);
        let (_, axis) = drawn.chart("bars").split_once("x-axis tick label").unwrap();
        axis.split_once("<text").unwrap().1.split_once('>').unwrap().1.split_once('<').unwrap().0.to_owned()
    };
    assert_eq!(first(&page), "Q1");
    let clicked = with_script(&page, "document.querySelector('input[value=speed]').click()");
    // Query 13 gains most from two threads.
    assert_eq!(first(&clicked), "Q13");
}

#[test]
#[ignore = "laboratory: browser"]
fn heat_maps_frame_the_plateau() {
    let drawn = opened(&html::render(&queries::fixture::fixture(17, true).document()).unwrap());
    let heat = drawn.chart("heats");
    // Six DOPs and three numbers of streams: 18 cells; a frame and a star for each number of streams.
    assert_eq!(heat.matches("stroke-width=\"2\"").count(), 1, "one group of frames");
    assert_eq!(heat.matches("<rect").count(), 18 + 3);
    assert_eq!(heat.matches(">★ ").count(), 3);
}

#[test]
#[ignore = "laboratory: browser"]
fn odd_pages_have_all_their_charts_and_no_elements_of_texts() {
    let study = |name: &str, fixture: &Fixture| (name.to_owned(), fixture.document());
    let pages = [
        study("hostile texts", &hostile()),
        study("commands, one block", &commands::fixture(1, &[])),
        study("a work list, one block", &worklist::fixture::fixture(1)),
        study("schedules", &worklist::fixture::schedules()),
        study("a hostile work list", &worklist::fixture::hostile()),
        study("one logical CPU", &moved(1, 2, 20)),
        study("looks during whole runs", &whole(commands::fixture(8, &[]))),
        study("queries", &queries::fixture::fixture(11, false)),
        study("queries with long names", &queries::fixture::long_names(6)),
        study("queries, one block", &queries::bare()),
        study("queries, nothing measured", &queries::empty()),
        study("hostile queries", &queries::hostile()),
    ];
    for (name, document) in pages {
        let page = html::render(&document).unwrap();
        let drawn = opened(&page);
        assert_eq!(drawn.charts(), page.matches("data-chart=\"").count(), "{name}: {}", drawn.root);
        assert!(!drawn.dom.contains("<img"), "{name}: a text became an element");
    }
}

/// Kinds of pages that no frozen study has.
#[test]
#[ignore = "laboratory: browser"]
fn pages_of_other_kinds_are_accessible() {
    let fixtures = compare::fixtures();
    let beside = threadwise_analysis::compare::document(&compare::named(&fixtures), "0.1.0");
    let pages = [
        ("studies side by side", html::render(&beside).unwrap()),
        ("scaling laws", html::render(&scaling_law::document()).unwrap()),
        ("a probe of 8 logical CPUs", probe_page(&eight())),
        ("a probe of 768", probe_page(&many())),
        ("waits and locks", html::render(&activity::fixture().document()).unwrap()),
        ("a strip with every state", html::render(&odd(3, 20).document()).unwrap()),
        ("schedules", html::render(&worklist::fixture::schedules().document()).unwrap()),
        // Both placements and more than one degree; axe-core's time grows with the bars.
        ("queries", html::render(&queries::fixture::fixture(7, false).document()).unwrap()),
        ("nothing was measured", html::render(&queries::empty().document()).unwrap()),
    ];
    for (name, page) in pages {
        assert_accessible(name, &page);
    }
}
