//! Every form of report of stored studies, frozen: `studies/` has a small result file of each kind, `snapshots/`
//! what each form showed of it when it was last accepted. A difference fails; `INSTA_UPDATE=always cargo test -p
//! threadwise-report --test it frozen` accepts it, and `git diff` shows it.
//!
//! Nothing here depends on a machine, a clock or a locale. Scripts, styles and the geometry of drawings are left
//! out; chart data and JSON are shown with rounded figures.

mod forms;
mod lab_figures;
mod opened;
mod page;
mod tree;

use opened::Opened;
use threadwise_machine::text::is_deceptive;

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

            fn check(form: &str, text: impl FnOnce(&Opened) -> String) {
                compare(&format!("{}-{form}", $file), &text(&Opened::open($file)));
            }

            #[test]
            fn terminal() {
                check("terminal", |opened| forms::terminal(&opened.facts(), $widths));
            }

            #[test]
            fn page() {
                check("page", |opened| forms::page(&opened.facts()));
            }

            #[test]
            fn charts() {
                check("charts", |opened| forms::charts(&opened.facts()));
            }

            #[test]
            fn json() {
                check("json", |opened| forms::json(&opened.facts()));
            }

            #[test]
            fn exports() {
                check("exports", |opened| forms::exports(&opened.facts()));
            }
        }
    };
}

/// The forms of the probe that a study holds.
macro_rules! probe {
    ($module:ident, $file:literal) => {
        mod $module {
            use crate::frozen::{Opened, compare, forms};

            fn check(form: &str, text: impl FnOnce(&Opened) -> String) {
                compare(&format!("probe-{}-{form}", $file), &text(&Opened::open($file)));
            }

            #[test]
            fn terminal() {
                check("terminal", forms::probe_terminal);
            }

            #[test]
            fn page() {
                check("page", forms::probe_page);
            }

            #[test]
            fn json() {
                check("json", forms::probe_json);
            }
        }
    };
}

/// The forms of studies side by side.
macro_rules! side_by_side {
    ($module:ident, $name:literal, $files:expr) => {
        mod $module {
            use crate::frozen::{Opened, compare, forms};

            fn check(form: &str, text: impl FnOnce(&[Opened]) -> String) {
                compare(&format!("compare-{}-{form}", $name), &text(&$files.map(Opened::open)));
            }

            #[test]
            fn terminal() {
                check("terminal", forms::compared_terminal);
            }

            #[test]
            fn page() {
                check("page", forms::compared_page);
            }

            #[test]
            fn json() {
                check("json", forms::compared_json);
            }
        }
    };
}

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

const ALL: &[usize] = &[40, 80, 120, 200];
const ONE: &[usize] = &[80];

study!(rates, "rates", crate::frozen::ALL);
study!(levels, "levels", crate::frozen::ONE);
study!(sweep, "sweep", crate::frozen::ONE);
study!(inserts, "inserts", crate::frozen::ONE);
study!(waits, "waits", crate::frozen::ALL);
study!(log_writer, "log-writer", crate::frozen::ONE);
study!(queries, "queries", crate::frozen::ALL);
study!(queries_postgres, "queries-postgres", crate::frozen::ONE);
study!(streams, "streams", crate::frozen::ALL);
study!(scans, "scans", crate::frozen::ONE);
study!(commands, "commands", crate::frozen::ALL);
study!(failed, "failed", crate::frozen::ONE);
study!(worklist, "worklist", crate::frozen::ALL);
study!(worklist_sqlite, "worklist-sqlite", crate::frozen::ONE);
study!(schedule, "schedule", crate::frozen::ALL);
study!(simulated, "simulated", crate::frozen::ONE);
study!(no_data, "no-data", crate::frozen::ONE);
study!(interrupted, "interrupted", crate::frozen::ONE);
study!(resumed, "resumed", crate::frozen::ONE);
study!(looks, "looks", crate::frozen::ALL);
study!(long_windows, "long-windows", crate::frozen::ALL);
study!(arms, "arms", crate::frozen::ALL);
study!(hostile_placement, "hostile-placement", crate::frozen::ALL);
study!(hostile_queries, "hostile-queries", crate::frozen::ONE);
study!(hostile_commands, "hostile-commands", crate::frozen::ONE);
study!(hostile_worklist, "hostile-worklist", crate::frozen::ONE);

probe!(probe_rates, "rates");
probe!(probe_hostile_placement, "hostile-placement");

side_by_side!(compare_rates, "rates", ["rates", "simulated"]);
side_by_side!(compare_queries, "queries", ["queries", "queries-postgres", "streams"]);
side_by_side!(compare_commands, "commands", ["commands", "failed", "worklist"]);
side_by_side!(compare_mixed, "mixed", ["rates", "queries", "commands"]);
side_by_side!(compare_hostile, "hostile", ["hostile-placement", "hostile-queries"]);
