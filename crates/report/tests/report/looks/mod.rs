//! Where slices ran, in every form of report.

mod model;

use crate::chromium::opened;
use crate::support::Fixture;
use model::moved;
use threadwise_report::html;

#[test]
fn zz_write() {
    for (name, f) in [("two", moved(2, 8, 20)), ("one", moved(1, 8, 20)), ("many", moved(2, 25, 100))] {
        std::fs::write(format!("/tmp/looks-{name}.html"), html::render(&f.document()).unwrap()).unwrap();
        let style = threadwise_report::terminal::Style { color: false, unicode: true, width: 100 };
        let d = f.document();
        std::fs::write(
            format!("/tmp/looks-{name}.txt"),
            format!(
                "{}\n\n{}",
                threadwise_report::terminal::verdict(&d, style),
                threadwise_report::terminal::sections(&d, style)
            ),
        )
        .unwrap();
        std::fs::write(format!("/tmp/looks-{name}.json"), threadwise_report::json::report(&f.facts(), &d))
            .unwrap();
    }
}
