//! Rights and settings that are missing: what the study can do without is a note, the rest is refused before anything
//! is made.

use crate::bench::{Bench, LONG_NS, assert_clear, slice};
use crate::model::Settings;
use threadwise_engine::Engine;
use threadwise_engine_sqlserver::Client;
use threadwise_study::Counters;
use threadwise_tds::Message;

/// The beginnings of statements on the views, what their notes begin with, and what then is not counted.
const VIEWS: [(&str, &str, &str); 4] = [
    ("SELECT CAST(name AS nvarchar(128)), CAST(spins", "sys.dm_os_spinlock_stats is not read", "spinlock/"),
    ("SELECT CAST(wait_type AS nvarchar(128))", "sys.dm_os_wait_stats is not read", "server_wait/"),
    ("SELECT CAST(latch_class", "sys.dm_os_latch_stats is not read", "latch/"),
    ("SELECT CAST(session_id AS int)", "waits of sessions are not sampled", "waits/"),
];

fn denied(number: i32) -> Message {
    Message::new(number, "VIEW SERVER STATE permission was denied on object 'server', database 'master'.")
        .class(14)
}

/// A study to its end: its notes and its counters.
fn study(settings: Settings) -> (Vec<String>, Counters) {
    let bench = Bench::new(settings);
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let (keeper, _, running) = bench.begin(&load);
    let slices = slice(&bench, running.as_ref(), &load, LONG_NS);
    let [done] = &slices.done()[..] else { panic!("one session") };
    assert_eq!((done.steps, done.rows, done.cpu_ns), (30, 120, 30_000_000));
    let notes = slices.notes.clone();
    notes.iter().for_each(|note| assert_clear(note));
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
    (notes, slices.counters)
}

#[test]
fn each_view_that_may_not_be_read_is_a_note_that_names_the_right() {
    for number in [297, 300] {
        for (begins, note, prefix) in VIEWS {
            let fails = vec![(begins, denied(number))];
            let looks = usize::from(prefix != "waits/");
            let (notes, counters) = study(Settings { fails, looks, ..Settings::default() });
            let found: Vec<&String> = notes.iter().filter(|line| line.starts_with(note)).collect();
            assert_eq!(found.len(), 1, "{notes:?}");
            assert!(found[0].contains("VIEW SERVER STATE"), "{found:?}");
            for (_, _, other) in VIEWS {
                let is_counted = counters.keys().any(|name| name.starts_with(other));
                assert_eq!(is_counted, other != prefix, "{other} without {prefix}: {counters:?}");
            }
        }
    }
}

#[test]
fn without_the_right_to_look_nothing_is_sampled() {
    let (notes, counters) = study(Settings { may_look: false, ..Settings::default() });
    let note = notes.iter().find(|line| line.starts_with("waits of sessions are not sampled")).unwrap();
    assert!(note.contains("VIEW SERVER STATE"), "{note}");
    assert!(!counters.contains_key("waits_sampled"), "{counters:?}");
}

#[test]
fn without_any_view_the_study_goes_on() {
    let fails = VIEWS.map(|(begins, ..)| (begins, denied(300))).to_vec();
    let (notes, counters) = study(Settings { fails, may_look: false, ..Settings::default() });
    assert_eq!(notes.iter().filter(|note| note.contains("VIEW SERVER STATE")).count(), 4, "{notes:?}");
    assert!(counters.is_empty(), "{counters:?}");
}

#[test]
fn pages_that_may_not_be_counted_are_a_note_or_an_error_that_names_them() {
    let text = "The user does not have permission to perform this action.";
    let fails = vec![("SELECT CAST(SUM(u.data_pages)", Message::new(297, text).class(14))];
    let bench = Bench::new(Settings { fails, ..Settings::default() });
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let keeper = Client.keep(&load, 0).unwrap().unwrap();
    let message = Client.load(&load).unwrap_err().to_string();
    assert_clear(&message);
    assert!(message.contains("count the pages") && message.contains("GRANT"), "{message}");
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

/// A load of `insert` that has to be refused before anything is made.
fn refused(settings: Settings, options: &str) -> String {
    let bench = Bench::new(settings);
    let load = bench.load("insert", &format!("seed_rows=10 {options}"), 1);
    Client.check(&load).unwrap();
    let message = Client.load(&load).unwrap_err().to_string();
    assert_clear(&message);
    assert!(message.contains("'shop'"), "{message}");
    assert_eq!(bench.state().log, [""; 0], "something was made");
    bench.assert_over();
    bench.assert_clean();
    message
}

#[test]
fn delayed_durability_that_the_database_does_not_allow_is_refused() {
    for storage in ["disk", "memory-optimised"] {
        let settings = Settings { delayed: "DISABLED", ..Settings::default() };
        let message = refused(settings, &format!("durability=relaxed storage={storage}"));
        for part in ["delayed durability", "ALTER DATABASE", "ALLOWED", "durability=full"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
}

#[test]
fn commits_that_the_database_always_delays_are_not_measured_as_full_ones() {
    let message = refused(Settings { delayed: "FORCED", ..Settings::default() }, "durability=full");
    assert!(message.contains("delays all of them") && message.contains("durability=relaxed"), "{message}");
}

#[test]
fn tables_in_memory_need_a_filegroup() {
    let message = refused(Settings { filegroup: false, ..Settings::default() }, "storage=memory-optimised");
    for part in ["no filegroup", "MEMORY_OPTIMIZED_DATA", "storage=disk"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// Beginnings of statements by which `threadwise check` looks, and the point that each is.
const LOOKS: [(&str, &str); 6] = [
    ("SELECT CAST(name AS nvarchar(128)), CAST(spins", "sys.dm_os_spinlock_stats"),
    ("SELECT CAST(wait_type AS nvarchar(128))", "sys.dm_os_wait_stats"),
    ("SELECT CAST(latch_class", "sys.dm_os_latch_stats"),
    ("SELECT CAST(session_id AS int)", "sys.dm_exec_requests"),
    ("SELECT TOP (1) last_dop", "sys.dm_exec_query_stats"),
    ("SELECT TOP (1) data_pages", "sys.allocation_units"),
];

#[test]
fn a_check_names_what_works_and_what_lacks_and_changes_nothing() {
    let bench = Bench::new(Settings::default());
    let points = Client.points(&bench.engine_options("")).unwrap();
    assert!(points.iter().all(|point| point.works), "{points:?}");
    bench.assert_over();
    let settings = Settings {
        fails: LOOKS.map(|(begins, _)| (begins, denied(300))).to_vec(),
        delayed: "DISABLED",
        filegroup: false,
        plans: crate::model::Plans::None,
        ..Settings::default()
    };
    let bench = Bench::new(settings);
    let points = Client.points(&bench.engine_options("")).unwrap();
    points.iter().for_each(|point| assert_clear(&point.says));
    for name in LOOKS.map(|(_, name)| name) {
        let point = points.iter().find(|point| point.name == name).unwrap();
        assert!(!point.works && point.says.contains("VIEW SERVER STATE"), "{point:?}");
    }
    for name in ["SET SHOWPLAN_XML", "delayed durability"] {
        assert!(points.iter().any(|point| point.name == name && !point.works), "{points:?}");
    }
    assert_eq!(bench.state().log, [""; 0]);
    bench.assert_over();
    bench.assert_clean();
}
