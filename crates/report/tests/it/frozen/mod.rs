//! Every form of report of stored studies: `studies/` has a small result file of each kind.
//!
//! Of the studies below, which together have every kind of workload and state, `snapshots/` has what JSON and terminal
//! showed when it was last accepted. A difference fails; `INSTA_UPDATE=always cargo test -p threadwise-report --test it
//! frozen` accepts it, and `git diff` shows it. Pages, exports and the rest of the studies are checked by structure
//! (`structure`, made-up studies too), the figures of all in the laboratory (`lab_figures`), three
//! pages there in a browser (`lab_browser`).
//!
//! Nothing here depends on a machine, a clock or a locale.

mod forms;
mod lab_browser;
mod lab_figures;
mod opened;
mod page;
mod screens;
mod structure;
mod tree;

use opened::Opened;
use threadwise_machine::text::is_deceptive;

/// All studies in `studies/`, which `studies/README.md` describes.
const STUDIES: [&str; 26] = [
    "arms",
    "commands",
    "failed",
    "hostile-commands",
    "hostile-placement",
    "hostile-queries",
    "hostile-worklist",
    "inserts",
    "interrupted",
    "levels",
    "log-writer",
    "long-windows",
    "looks",
    "no-data",
    "queries",
    "queries-postgres",
    "rates",
    "resumed",
    "scans",
    "schedule",
    "simulated",
    "streams",
    "sweep",
    "waits",
    "worklist",
    "worklist-sqlite",
];

/// Compares with `snapshots/NAME.snap`, in which a character that acts on a terminal or deceives a reader, and
/// should not be there, is seen by its number.
fn compare(name: &str, text: &str) {
    let seen = |c: char| match c {
        c if c != '\n' && is_deceptive(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    let text: String = text.chars().map(seen).collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// One test a form of a study, so that each difference has a name.
macro_rules! study {
    ($module:ident, $file:literal, $widths:expr) => {
        mod $module {
            use crate::frozen::{Opened, compare, forms};
            use threadwise_analysis::document;

            #[test]
            fn terminal() {
                let opened = Opened::open($file);
                let document = document(&opened.facts());
                let text = forms::at_widths($widths, |style| forms::screen(&document, style));
                compare(concat!($file, "-terminal"), &text);
            }

            #[test]
            fn json() {
                compare(concat!($file, "-json"), &forms::report(&Opened::open($file).facts()));
            }
        }
    };
}

// Cached reads, two treatments, eight blocks, and a probe: what every report has, at every width.
study!(rates, "rates", &[40, 80, 120, 200]);
// Inserts on a server: waits, engine counters, CPU time of engine and client.
study!(waits, "waits", &[80]);
// Queries of several streams: query by query, steps of DOP, heat maps, plans.
study!(streams, "streams", &[80, 120]);
// Processes of parallel scans, without siblings to compare.
study!(scans, "scans", &[80]);
// A command with numbers of its own, failed and invalid runs, and every text hostile.
study!(hostile_commands, "hostile-commands", &[80]);
// A work list by number of jobs, with schedules computed from the same runs.
study!(worklist, "worklist", &[80, 120]);
// Looks around slices: every state, the strip, ratios by state.
study!(looks, "looks", &[80]);
// External arms over boots, of a model: simulated.
study!(arms, "arms", &[80]);
// A treatment without data: gaps, and a study that is not valid as a whole.
study!(no_data, "no-data", &[80]);

#[test]
fn studies_side_by_side() {
    let studies = ["rates", "streams", "worklist"].map(Opened::open);
    let all: Vec<_> = studies.iter().map(Opened::facts).collect();
    let document = forms::compared_document(&all);
    compare("compare-terminal", &forms::at_widths(&[80, 120], |style| forms::screen(&document, style)));
    compare("compare-json", &forms::compared(&all));
}

#[test]
fn screen_of_a_probe() {
    let opened = Opened::open("rates");
    let (probe, hardware) = (opened.probe.as_ref().unwrap(), opened.hardware.as_ref().unwrap());
    let screen = |style| threadwise_report::terminal::probe(&opened.topology, probe, hardware, style) + "\n";
    compare("probe-terminal", &forms::at_widths(&[80, 120], screen));
}
