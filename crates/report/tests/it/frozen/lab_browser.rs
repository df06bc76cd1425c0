//! Pages of three studies in a browser: every chart is drawn, texts do nothing, and the pages are accessible.

use crate::browser::{assert_accessible, assert_accessible_in_every_window, opened};
use crate::frozen::Opened;
use threadwise_analysis::document;
use threadwise_report::html;

fn page(study: &str) -> String {
    html::render(&document(&Opened::open(study).facts())).unwrap()
}

#[test]
#[ignore = "laboratory: browser"]
fn smoke_every_chart_is_drawn_and_the_console_is_clean() {
    for study in ["rates", "streams", "hostile-commands"] {
        let page = page(study);
        let drawn = opened(&page);
        assert_eq!(drawn.charts(), page.matches("data-chart=\"").count(), "{study}: {}", drawn.root);
        assert!(!drawn.dom.contains("<img"), "{study}: a text became an element");
    }
}

#[test]
#[ignore = "laboratory: browser"]
fn pages_are_accessible() {
    // A probe, and what every study has.
    assert_accessible_in_every_window("rates", &page("rates"));
    for study in ["streams", "hostile-commands"] {
        assert_accessible(study, &page(study));
    }
}
