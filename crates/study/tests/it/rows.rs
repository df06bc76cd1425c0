//! Tables of presets of `insert` on machines with little memory.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{MIB, machine};
use threadwise_machine::Topology;
use threadwise_study::engine::Properties;
use threadwise_study::insert::{added_bytes, seed_rows};
use threadwise_study::load::{Overrides, StudyFile, option_value};
use threadwise_study::{Options, Study};

/// A quarter of what is available where 4 GiB are built in and the system has taken a tenth.
const QUARTER_OF_4_GIB: u64 = 1024 * MIB / 10 * 9;
const INSERTS: [&str; 2] = ["concurrent-inserts", "log-buffer"];

fn native() -> Properties {
    Properties { row_bytes: 0, row_memory_bytes: 160, ..Properties::default() }
}

fn of_disk(row_bytes: u64) -> Properties {
    Properties { row_bytes, ..Properties::default() }
}

fn limited(engine_properties: &Properties, limit: u64, options: Options) -> Overrides {
    Overrides {
        engine_properties: engine_properties.clone(),
        memory_limit_bytes: Some(limit),
        memory_rule: "a quarter of the 4 GiB of memory that are available".to_owned(),
        options,
        ..Overrides::default()
    }
}

/// What the guard adds up: a copy in the cache of each session, or a table in memory with its index and its log.
fn guarded_bytes(study: &Study) -> u64 {
    let engine = study.properties();
    let of_treatment = |treatment: &threadwise_study::Treatment| {
        let seeded = match engine.row_memory_bytes {
            0 => u64::from(treatment.sessions) * seed_rows(treatment) * engine.row_bytes,
            size => seed_rows(treatment) * size + 10 * MIB,
        };
        seeded + added_bytes(study, treatment)
    };
    study.treatments.iter().map(of_treatment).sum()
}

fn eight_logical_cpus() -> Vec<Topology> {
    [(1, 4, 2), (2, 2, 2), (1, 8, 1), (4, 1, 2), (4, 2, 1), (1, 2, 4), (8, 1, 1)]
        .map(|(packages, cores, threads)| machine(packages, cores, threads, Some(MIB), Some(32 * MIB)))
        .into()
}

#[test]
fn presets_fit_into_4_gib_on_8_logical_cpus() {
    let (mut fitting, mut smaller) = (0, 0);
    for topology in eight_logical_cpus() {
        for (name, engine) in INSERTS.into_iter().flat_map(|name| {
            [native(), of_disk(165), of_disk(270)].into_iter().map(move |engine| (name, engine))
        }) {
            let overrides = limited(&engine, QUARTER_OF_4_GIB, Options::new());
            // A preset that needs two packages is not for every machine.
            let Ok(study) = StudyFile::preset(name).unwrap().resolve(&topology, &overrides) else { continue };
            let bytes = guarded_bytes(&study);
            assert!(bytes <= QUARTER_OF_4_GIB, "{name}, {} bytes a row: {bytes}", engine.row_bytes);
            let is_smaller = seed_rows(&study.treatments[0]) < 200_000;
            let says_so = study.left_out.iter().any(|line| line.starts_with("tables of 200000 rows: "));
            assert_eq!(is_smaller, says_so, "{:?}", study.left_out);
            assert!(study.treatments.iter().all(|one| seed_rows(one) == seed_rows(&study.treatments[0])));
            fitting += 1;
            smaller += usize::from(is_smaller);
        }
    }
    assert!(fitting >= 34 && smaller >= 7, "{smaller} of {fitting}");
}

#[test]
fn a_table_is_made_smaller_only_where_it_has_to_be_and_nobody_asked_for_it() {
    let topology = machine(2, 2, 2, Some(MIB), Some(32 * MIB));
    let rows = |limit, options| {
        let study = StudyFile::preset("concurrent-inserts").unwrap();
        let study = study.resolve(&topology, &limited(&of_disk(165), limit, options)).unwrap();
        // Two cores a package: half of one is one core, one thread of each is two cores.
        let others = study.left_out.into_iter().filter(|line| !line.contains("the same as same-"));
        (seed_rows(&study.treatments[0]), others.collect::<Vec<String>>())
    };
    // 48 sessions with a copy each: 165 bytes times 200,000 rows are 1,511 MiB.
    assert_eq!(rows(3100 * MIB, Options::new()), (200_000, Vec::new()));
    let (smaller, left_out) = rows(1024 * MIB, Options::new());
    assert_eq!(smaller, 67_000, "half of 1 GiB");
    assert_eq!(
        left_out.last().unwrap(),
        "tables of 200000 rows: 67000 instead, since those of all treatments together may take 512 MiB, of a quarter \
         of the 4 GiB of memory that are available"
    );
    assert_eq!(rows(0, Options::new()).0, 1000, "the guard says no");
    let asked = Options::from([("seed_rows".to_owned(), option_value("300000"))]);
    assert_eq!(rows(1024 * MIB, asked), (300_000, Vec::new()));
}

#[test]
fn a_definition_of_a_users_is_left_as_it_is() {
    let lines = "[[treatment]]\nplacement = \"all\"\n";
    let text = format!("version = 1\nname = \"one\"\nengine = \"sqlite\"\nworkload = \"insert\"\n{lines}");
    let file = StudyFile::parse(&text, "one.toml").unwrap();
    let overrides = limited(&of_disk(165), MIB, Options::new());
    let study = file.resolve(&machine(1, 4, 2, None, None), &overrides).unwrap();
    assert!(study.treatments.iter().all(|treatment| seed_rows(treatment) == 200_000));
}

#[test]
fn rows_that_are_added_count_by_the_longest_window_where_they_lie_in_memory() {
    let topology = machine(1, 2, 1, None, None);
    let study = |overrides: Overrides| {
        StudyFile::preset("concurrent-inserts").unwrap().resolve(&topology, &overrides)
    };
    let with = |slice_ms, engine_properties| Overrides {
        slice_ms: Some(slice_ms),
        engine_properties,
        ..Overrides::default()
    };
    let two_sessions = |study: &Study| added_bytes(study, &study.treatments[2]);
    let short = study(with(50.0, native())).unwrap();
    assert_eq!((short.treatments[2].sessions, two_sessions(&short)), (2, 2 * 65_000 * 160));
    assert_eq!(two_sessions(&study(with(10.0, native())).unwrap()), 2 * 65_000 * 160, "touched before");
    assert_eq!(two_sessions(&study(with(500.0, native())).unwrap()), 2 * 650_000 * 160);
    assert_eq!(two_sessions(&study(with(50.0, of_disk(165))).unwrap()), 0);
    let long = Overrides { long_windows: Some(2), ..with(50.0, native()) };
    assert_eq!(two_sessions(&study(long).unwrap()), 2 * 13_000_000 * 160);
}

#[test]
fn long_windows_whose_rows_memory_would_not_hold_are_left_out_unless_they_are_asked_for() {
    let topology = machine(1, 2, 1, None, None);
    let study = |limit, long_windows| {
        let overrides =
            Overrides { budget_s: Some(3600.0), long_windows, ..limited(&native(), limit, Options::new()) };
        StudyFile::preset("concurrent-inserts").unwrap().resolve(&topology, &overrides).unwrap()
    };
    let small = study(1024 * MIB, None);
    assert_eq!(small.design.long_windows, None);
    let line = small.left_out.iter().find(|line| line.starts_with("long windows: rows that sessions insert"));
    assert!(line.unwrap().contains("in 10 s may take"), "{:?}", small.left_out);
    assert!(study(1 << 40, None).design.long_windows.is_some());
    assert!(study(1024 * MIB, Some(2)).design.long_windows.is_some(), "the guard says no");
}
