//! The presets of the five published studies: on which logical CPUs their arms are on machines made by hand, and that
//! each can be planned on every recorded machine.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{MIB, machine};
use threadwise_machine::placement::{resolve, resolve_service};
use threadwise_machine::{Draw, Pin, Topology};
use threadwise_study::Study;
use threadwise_study::load::{Overrides, StudyFile};

pub const PRESETS: [&str; 6] = [
    "cached-reads",
    "concurrent-inserts",
    "log-buffer",
    "log-buffer-memory",
    "parallel-queries",
    "work-list",
];

pub fn study(preset: &str, topology: &Topology) -> Study {
    StudyFile::preset(preset)
        .unwrap()
        .resolve(topology, &Overrides::default())
        .unwrap_or_else(|error| panic!("{preset}: {error}"))
}

/// Logical CPUs of a treatment, and of its service threads, where no block draws others.
fn place(study: &Study, name: &str, topology: &Topology) -> (String, Option<String>) {
    let (_, treatment) = study.treatment(name).unwrap_or_else(|| panic!("no {name}: {:?}", study.left_out));
    let draw = Draw::identity(topology);
    let found = resolve(&treatment.placement, topology, &draw, treatment.sessions, Pin::Each).unwrap();
    let service = treatment.service.as_ref();
    let service =
        service.map(|service| resolve_service(service, topology, &draw, &found).unwrap().to_string());
    (found.set().to_string(), service)
}

/// 2 packages of 6 cores of 2 logical CPUs, as published: first siblings are 0-5 and 6-11, second ones 12-17 and 18-23.
fn published() -> Topology {
    machine(2, 6, 2, Some(MIB), Some(12 * MIB))
}

#[test]
fn inserts_have_the_published_arms_of_one_package() {
    let topology = published();
    let inserts = study("concurrent-inserts", &topology);
    for (name, cpus, sessions) in [
        ("package-half-cores/random", "0-2,12-14", 6),
        ("package-no-smt/random", "0-5", 6),
        ("package/random", "0-5,12-17", 12),
    ] {
        assert_eq!(place(&inserts, name, &topology).0, cpus, "{name}");
        assert_eq!(inserts.treatment(name).unwrap().1.sessions, sessions, "{name}");
    }
}

#[test]
fn the_log_writer_and_the_sessions_both_move() {
    let topology = published();
    let buffer = study("log-buffer", &topology);
    let at = |name: &str| place(&buffer, name, &topology);
    // Five cores of one package, and the writer on what is left of it, or on the other one.
    assert_eq!(at("near"), ("0-4".into(), Some("5,12-17".into())));
    assert_eq!(at("far"), ("0-4".into(), Some("6-11,18-23".into())));
    assert_eq!(at("package 0"), ("0-5".into(), Some("12-17".into())));
    assert_eq!(at("package 1"), ("6-11".into(), Some("18-23".into())));
    assert_eq!(at("package 1, writer on 0"), ("6-11".into(), Some("0-5,12-17".into())));
    assert_eq!(at("both threads"), ("0-2,12-14".into(), Some("3-5,15-17".into())));
    assert_eq!(at("2 packages").0, "0-23");
    let missing = "4 packages: there is no package 2, counted from 0: this machine has 2 packages";
    assert!(buffer.left_out.iter().any(|line| line == missing), "{:?}", buffer.left_out);
}

#[test]
fn named_comparisons_are_there_where_their_sides_are() {
    let has = |preset: &str, topology: &Topology, name: &str| {
        study(preset, topology).comparisons.iter().any(|one| one.name.split('/').next() == Some(name))
    };
    for (preset, names) in [
        ("cached-reads", &["core-of-two-threads", "two-cores", "two-packages"][..]),
        ("concurrent-inserts", &["both-threads", "doubled-up", "twice-the-cores"]),
        ("log-buffer", &["far-node", "doubled-up", "second-package", "writer-left-behind"]),
        ("log-buffer-memory", &["far-node", "doubled-up"]),
    ] {
        for name in names {
            assert!(has(preset, &published(), name), "{preset}: {name}");
        }
        let alone = machine(1, 1, 1, Some(MIB), Some(MIB));
        assert!(names.iter().all(|name| !has(preset, &alone, name)), "{preset} on one logical CPU");
    }
    // Half of two cores is one core with two sessions, which is `same-core`: the comparison is its.
    let small = machine(1, 2, 2, Some(MIB), Some(MIB));
    assert!(has("concurrent-inserts", &small, "doubled-up"));
}
