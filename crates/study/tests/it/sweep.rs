//! Session sweeps in one order and in both: their points, their names, and what is compared.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{MIB, file, machine, names, server, small_guest, treatment};
use threadwise_machine::Topology;
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{OptionValue, Study};

fn swept(sweep: &str, topology: &Topology) -> Study {
    file(&format!("[sweep]\n{sweep}\n")).unwrap().resolve(topology, &Overrides::default()).unwrap()
}

fn compared(study: &Study, kind: &str) -> Vec<String> {
    let of_kind = study.comparisons.iter().filter(|comparison| comparison.kind.word() == kind);
    of_kind.map(|one| format!("{}: {} / {}", one.name, one.treatment, one.baseline.join(" & "))).collect()
}

fn sessions(study: &Study, word: &str) -> Vec<u32> {
    let points = study.treatments.iter().filter(|treatment| treatment.name.starts_with(word));
    points.map(|treatment| treatment.sessions).collect()
}

/// 2 packages of 6 cores of 2 logical CPUs: 6 cores a package and node, 12 in all, 24 logical CPUs.
#[test]
fn auto_has_points_at_the_cores_of_package_node_and_machine() {
    let study = swept("sessions = \"auto\"", &machine(2, 6, 2, Some(MIB), Some(32 * MIB)));
    assert_eq!(sessions(&study, "sessions-"), [2, 4, 6, 8, 12, 16, 24, 36]);
    assert_eq!(treatment(&study, "sessions-36").placement.text, "spread:24");
    assert_eq!(compared(&study, "beyond-cores"), ["beyond-cores 12-24: sessions-24 / sessions-12"]);
    // Where the next point is the last one, the step says it.
    let guest = swept("sessions = \"auto\"", &small_guest());
    assert_eq!(sessions(&guest, "sessions-"), [2, 3]);
    assert!(compared(&guest, "beyond-cores").is_empty());
}

/// 2 packages of 2 cores of 2 logical CPUs. Spread takes 0, 2, 1, 3, 4, 6, ..., packed 0, 4, 1, 5, 2, ...
#[test]
fn both_orders_are_arms_of_one_sweep() {
    let topology = machine(2, 2, 2, Some(MIB), Some(32 * MIB));
    let study = swept("order = [\"spread\", \"packed\"]\nsessions = [1, 2, 4, 8, 12]", &topology);
    assert_eq!(
        names(&study),
        [
            "alone",
            "alone'",
            "spread-2",
            "packed-2",
            "spread-4",
            "packed-4",
            "sessions-8",
            "spread-12",
            "packed-12"
        ]
    );
    assert_eq!(treatment(&study, "packed-4").placement.text, "packed:4");
    assert_eq!(
        study.left_out,
        ["packed at 1, 8 sessions: the same logical CPUs as spread on this machine"],
        "once for all; of 12 sessions the last four share other logical CPUs"
    );
    assert_eq!(
        compared(&study, "sweep-step"),
        [
            "sweep-step spread 2-4: spread-4 / spread-2",
            "sweep-step spread 4-8: sessions-8 / spread-4",
            "sweep-step spread 8-12: spread-12 / sessions-8",
            "sweep-step packed 2-4: packed-4 / packed-2",
            "sweep-step packed 4-8: sessions-8 / packed-4",
            "sweep-step packed 8-12: packed-12 / sessions-8",
        ]
    );
    let one = swept("order = [\"packed\"]\nsessions = [2, 4]", &topology);
    assert_eq!(names(&one)[2..], ["sessions-2", "sessions-4"], "one order needs no name");
    assert_eq!(treatment(&one, "sessions-2").placement.text, "packed:2");
}

/// The published list on a machine with fewer logical CPUs: sessions share them.
#[test]
fn the_published_list_runs_on_a_smaller_machine() {
    let points = vec![2, 4, 6, 8, 12, 16, 18, 20, 24, 28, 32];
    let overrides = Overrides { sessions: Some(points.clone()), ..Overrides::default() };
    let study = StudyFile::preset("session-sweep").unwrap();
    let overrides =
        Overrides { options: [("data".into(), OptionValue::Text("l2".into()))].into(), ..overrides };
    let study = study.resolve(&machine(1, 2, 2, Some(MIB), Some(32 * MIB)), &overrides).unwrap();
    assert_eq!(sessions(&study, "sessions-"), points);
    assert_eq!(treatment(&study, "sessions-32").placement.text, "spread:4");
}

#[test]
fn the_command_line_asks_for_orders() {
    let asked = |orders: &[&str]| {
        let orders = Some(orders.iter().map(|&order| order.to_owned()).collect());
        let overrides = Overrides { orders, ..Overrides::default() };
        StudyFile::preset("concurrent-inserts").unwrap().resolve(&server(), &overrides)
    };
    let study = asked(&["packed"]).unwrap();
    assert!(sessions(&study, "sessions-").contains(&4), "a study without a sweep has one then");
    let doubled = study
        .comparisons
        .iter()
        .any(|one| one.name.starts_with("sweep-step 8-16") && one.treatment.starts_with("package/"));
    assert!(doubled, "{:?}", study.comparisons);
    assert!(asked(&["sprad"]).unwrap_err().to_string().contains("--sweep: order is 'sprad'; spread"));
    assert!(asked(&[]).unwrap_err().to_string().contains("no order is given"));
    let overrides = Overrides { orders: Some(vec!["packed".into()]), ..Overrides::default() };
    for (preset, why) in [
        ("parallel-queries", "the treatments of this study are those of [dop]"),
        ("work-list", "the treatments of this study are those of [jobs]"),
        ("smt-boots", "--sweep"),
    ] {
        let error =
            StudyFile::preset(preset).unwrap().resolve(&server(), &overrides).unwrap_err().to_string();
        assert!(error.contains("--sweep") && error.contains(why), "{error}");
    }
    assert!(asked(&["packed", "packed"]).unwrap_err().to_string().contains("appears twice"));
}

#[test]
fn orders_of_a_file_are_checked() {
    for (order, why) in [
        ("\"up\"", "order is 'up'; spread"),
        ("[]", "no order is given"),
        ("[\"spread\", 1]", "order is 1; a word is needed"),
        ("true", "order is true; spread, packed, packed-cores or a list"),
        ("[\"spread\", \"packed\", \"packed-cores\"]", "two orders at most"),
    ] {
        let error = file(&format!("[sweep]\norder = {order}\n")).unwrap_err().to_string();
        assert!(error.contains(why), "{order}: {error}");
    }
}
