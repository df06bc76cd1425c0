//! Studies side by side.

use crate::report::page::hostile;
use crate::support::Fixture;
use serde_json::Value;
use threadwise_analysis::compare;
use threadwise_report::Facts;
use threadwise_report::json::compare as json;
use threadwise_report::terminal::{Style, sections, verdict};

const UNICODE: Style = Style { color: false, unicode: true, width: 100 };

/// A study of one group, of another engine each, the second without its last treatments.
pub fn fixtures() -> [Fixture; 3] {
    let one = |engine: &str, treatments: usize| {
        let mut fixture = Fixture::generated(8, 5);
        fixture.study.engine = engine.to_owned();
        fixture.study.engine_properties = None;
        fixture.analysis.simulated = false;
        let comparisons = fixture.study.comparisons.clone();
        fixture.study.treatments.truncate(treatments);
        let study = &fixture.study;
        let kept =
            comparisons.into_iter().filter(|comparison| study.treatment(&comparison.treatment).is_some());
        let kept: Vec<_> = kept.collect();
        fixture
            .analysis
            .estimates
            .retain(|estimate| kept.iter().any(|comparison| comparison.name == estimate.name));
        fixture.study.comparisons = kept;
        fixture
    };
    let mut all = [one("sqlite", 6), one("postgres", 5), one("mariadb", 6)];
    let small = &mut all[0].analysis.estimates[0];
    (small.ratio.value, small.ratio.low, small.ratio.high) = (1.002, 0.99, 1.01);
    small.ratio.answer = threadwise_analysis::Answer::Equivalent;
    all[1].study.left_out.push("cross-package: one package".to_owned());
    all[1].analysis.noise_floors[0].alarm = Some(threadwise_analysis::estimate::Alarm::Wide);
    all[2].analysis.estimates.remove(2);
    all[2]
        .analysis
        .excluded_blocks
        .push("block 0, data=l2, same-package/l2 only: failed (crash: gone)".to_owned());
    all
}

pub fn named(fixtures: &[Fixture]) -> Vec<Facts<'_>> {
    let files = ["lite.threadwise", "pg.threadwise", "maria.threadwise"];
    fixtures.iter().zip(files).map(|(fixture, source)| Facts { source, ..fixture.facts() }).collect()
}

/// The screen of `compare`.
pub fn text(studies: &[Facts<'_>], style: Style) -> String {
    let document = compare::document(studies, "0.1.0");
    format!("{}\n{}\n", verdict(&document, style), sections(&document, style))
}

#[test]
fn a_table_of_three_engines() {
    insta::assert_snapshot!(text(&named(&fixtures()), UNICODE), @r"
    Ratios of rows/s side by side
    1. Of 3 common comparisons the same sign in all studies: 2; none points in opposite directions.
       engine        workload    result file       blocks  noise floor
    ──────────────────────────────────────────────────────────────────
    1  sqlite 1.0    logical-io  lite.threadwise        8        ±0.9%
    2  postgres 1.0  logical-io  pg.threadwise          8        ±0.9%
    3  mariadb 1.0   logical-io  maria.threadwise       8        ±0.9%
    ≠ engine
        1 sqlite  2 postgres  3 mariadb
    ≠ treatments
        1 also cross-package/l2 (cross-package x 2)  2 only those of all
        3 also cross-package/l2 (cross-package x 2)
    The same: CPU model Example Processor E5 @ 2.90GHz; hypervisor KVM; packages 2; cores 7; threads a
    core 2; NUMA nodes 2; allowed logical CPUs 0-6,8-14; kernel 6.1.0; memory 32 GiB; SMT control on;
    neighbours no cost shown; engine version 1.0; study placement; workload logical-io; slices 5 rounds
    of 50.0 ms; planned 8 blocks; margin 3%; option data l2; option work_unit 64; threadwise 0.1.0;
    begun 2026-01-01T12:00:00Z.
    comparison                1                     2                       3
    ────────────────────────────────────────────────────────────────────────────────────────────
    one-cpu/l2 : alone        = 1.00x [0.99, 1.01]  ? 0.98x [0.96, 1.00] ~  ? 0.98x [0.96, 1.00]
    same-core/l2 : alone      ▲ 1.27x [1.24, 1.31]  ▲ 1.27x [1.24, 1.31] ~  ▲ 1.27x [1.24, 1.31]
    same-package/l2 : alone   ▲ 1.92x [1.89, 1.95]  ▲ 1.92x [1.89, 1.95] ~  -
    cross-package/l2 : alone  ▲ 1.94x [1.90, 1.98]  -                       ▲ 1.94x [1.90, 1.98]
    smt-yield/l2              ▲ 1.29x [1.26, 1.34]  ▲ 1.29x [1.26, 1.34] ~  ▲ 1.29x [1.26, 1.34]
    2 -: one package  3 -: crash: gone
    ▲ higher  ▼ lower  = within the margin  ? undecided
    ~ the same, run twice, differed, or agrees only within more than the margin
    Ratios may be compared side by side: each is of an engine to itself. Rows per second are not: each
    engine's rows are its own work.
    ");
}

#[test]
fn a_narrow_terminal_gets_a_list() {
    let fixtures = fixtures();
    let narrow = text(&named(&fixtures), Style { width: 60, ..UNICODE });
    assert!(narrow.contains("same-core/l2 : alone\n    1 ▲ 1.27x"), "{narrow}");
}

#[test]
fn json_has_cells_in_the_order_of_studies() {
    let fixtures = fixtures();
    let value: Value = serde_json::from_str(&json(&named(&fixtures))).unwrap();
    assert_eq!(value["version"], 1);
    let engines: Vec<&Value> =
        value["studies"].as_array().unwrap().iter().map(|study| &study["engine"]).collect();
    assert_eq!(engines, ["sqlite", "postgres", "mariadb"]);
    assert_eq!(value["studies"][1]["file"], "pg.threadwise");
    let row = &value["rows"][3];
    assert_eq!(row["name"], "cross-package/l2 : alone");
    assert_eq!(row["cells"][1]["value"], Value::Null);
    assert_eq!(row["cells"][1]["reason"], "one package");
    assert_eq!(row["cells"][0]["answer"], "larger");
    assert_eq!(row["cells"][0]["reason"], Value::Null);
    assert!(value["note"].as_str().unwrap().contains("Rows per second are not"));
}

#[test]
fn nothing_and_hostile_texts() {
    assert!(text(&[], UNICODE).contains("No comparison in any of them."));
    let fixture = hostile();
    let both = [Facts { source: crate::report::page::HOSTILE, ..fixture.facts() }; 2];
    assert!(serde_json::from_str::<Value>(&json(&both)).is_ok());
}
