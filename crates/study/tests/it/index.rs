//! The preset `locks` and the size of its indexes on machines of several kinds.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{MIB, machine};
use std::collections::BTreeSet;
use threadwise_machine::Topology;
use threadwise_study::engine::Properties;
use threadwise_study::insert::added_bytes;
use threadwise_study::load::{Overrides, StudyFile, option_value};
use threadwise_study::{OptionValue, Role, Study};

fn resolved(topology: &Topology, memory_limit_bytes: Option<u64>, set: &[(&str, &str)]) -> Study {
    let overrides = Overrides {
        engine_properties: Properties { row_bytes: 0, row_memory_bytes: 160, ..Properties::default() },
        memory_limit_bytes,
        memory_rule: "a quarter of what is available".to_owned(),
        options: set.iter().map(|(key, value)| ((*key).to_owned(), option_value(value))).collect(),
        ..Overrides::default()
    };
    StudyFile::preset("locks").unwrap().resolve(topology, &overrides).unwrap()
}

fn rows(study: &Study) -> u64 {
    let all: BTreeSet<String> = study.treatments.iter().map(|one| one.options["rows"].to_string()).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all.first().unwrap().parse().unwrap()
}

fn compared(study: &Study) -> BTreeSet<&str> {
    let compared = study.treatments.iter().filter(|one| one.role == Role::Compared);
    compared.map(|one| one.name.split('/').next().unwrap()).collect()
}

#[test]
fn locks_operations_and_orders_are_crossed_and_threads_are_those_that_there_are() {
    for (threads, names) in [
        (1, &["package-no-smt"][..]),
        (2, &["2-threads", "package-no-smt", "package"]),
        (4, &["2-threads", "4-threads", "package-no-smt", "package"]),
        (8, &["2-threads", "4-threads", "8-threads", "package-no-smt", "package"]),
    ] {
        let study = resolved(&machine(2, 4, threads, Some(MIB), Some(32 * MIB)), None, &[]);
        assert_eq!(compared(&study), names.iter().copied().collect::<BTreeSet<_>>(), "{threads}");
        assert_eq!((study.groups().len(), study.treatments.len()), (12, 12 * (2 + names.len())));
        let yields = study.comparisons.iter().filter(|one| one.kind.word() == "smt-whole").count();
        assert_eq!(yields, if threads > 1 { 12 } else { 0 });
    }
    // One core: its threads are the package's.
    let study = resolved(&machine(1, 1, 2, Some(MIB), Some(32 * MIB)), None, &[]);
    assert!(compared(&study).contains("2-threads") && !compared(&study).contains("package"));
    let study = resolved(&machine(2, 4, 2, None, None), None, &[("operation", "search"), ("key", "random")]);
    assert_eq!(study.groups(), ["lock=spin", "lock=mcs", "lock=lock-free"]);
}

#[test]
fn an_index_is_twice_the_last_level_cache_as_far_as_memory_and_time_go() {
    let of = |llc_mib: u64, limit: Option<u64>| {
        let study = resolved(&machine(1, 4, 2, Some(MIB), Some(llc_mib * MIB)), limit, &[]);
        let lines = study.left_out.iter().filter(|line| line.contains("larger than the LLC")).cloned();
        (rows(&study), lines.collect::<Vec<_>>())
    };
    assert_eq!(of(32, None), (1 << 20, Vec::new()));
    assert_eq!(of(1, None), (1 << 15, Vec::new()));
    let (rows, lines) = of(512, None);
    assert_eq!(rows, 1 << 22);
    assert_eq!(
        lines,
        [
            "an index larger than the LLC, which is reported as 512 MiB: 4194304 rows, 256 MiB, instead (--set rows=N for more)"
        ]
    );
    // 60 treatments share what rows that are added leave.
    let (rows, lines) = of(32, Some(2048 * MIB));
    assert!(rows < 1 << 19 && rows % 1000 == 0, "{rows}");
    assert!(lines[0].contains("since those of 60 treatments may take ") && lines[0].contains("a quarter of"));
    let study = resolved(&machine(1, 4, 2, None, None), None, &[]);
    assert!(
        study
            .left_out
            .contains(&"the system does not report the size of the LLC: 32 MiB is assumed".to_owned())
    );
    assert!(study.left_out.iter().all(|line| !line.contains("L2")));
}

#[test]
fn rows_that_are_asked_for_are_taken_and_added_rows_are_counted() {
    let topology = machine(1, 4, 2, Some(MIB), Some(32 * MIB));
    let study = resolved(&topology, Some(MIB), &[("rows", "5000")]);
    assert_eq!(rows(&study), 5000);
    assert!(study.left_out.iter().all(|line| !line.contains("larger than")));
    for treatment in &study.treatments {
        let inserts = treatment.options["operation"] == OptionValue::Text("insert".to_owned());
        // At least 50 ms of 1.3 million rows a second, 160 bytes each.
        let added = if inserts { 65_000 * 160 * u64::from(treatment.sessions) } else { 0 };
        assert_eq!(added_bytes(&study, treatment), added, "{}", treatment.name);
    }
}
