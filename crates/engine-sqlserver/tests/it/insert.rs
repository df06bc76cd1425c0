//! Whole studies of `insert`: on disk and in memory, with each kind of keys and of durability.

use crate::bench::{Bench, LONG_NS, session, slice, window};
use crate::model::Settings;
use crate::model::table::int;
use threadwise_study::SessionSlice;

/// What was made and done.
struct Study {
    notes: Vec<String>,
    /// The name and the text of each procedure, and the names of tables, in order.
    procedures: Vec<String>,
    table: crate::model::table::Table,
    slices: Vec<SessionSlice>,
}

/// A study with two sessions, to its end.
fn study(bench: &Bench, options: &str) -> Study {
    let load = bench.load("insert", &format!("seed_rows=1500 {options}"), 2);
    let (keeper, notes, running) = bench.begin(&load);
    let slices = slice(bench, running.as_ref(), &load, LONG_NS).done();
    let (procedures, table) = {
        let state = bench.state();
        let texts = state.procedures.values().map(|procedure| procedure.text.clone()).collect();
        let found = state.tables.iter().find(|(name, _)| name.contains("[inserted_"));
        (texts, found.unwrap().1.clone())
    };
    running.finish().unwrap();
    let left: Vec<i64> = {
        let state = bench.state();
        let found = state.tables.iter().find(|(name, _)| name.contains("[inserted_"));
        found.unwrap().1.numbers("c4").collect()
    };
    assert_eq!((left.len(), left.iter().sum::<i64>()), (1500, 0), "it was not put back");
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
    Study { notes, procedures, table, slices }
}

/// Keys that a session inserted, in order.
fn keys(study: &Study, owner: i64) -> Vec<i64> {
    let [c1, c4] = ["c1", "c4"].map(|name| study.table.at(name));
    study.table.rows.iter().filter(|row| int(&row[c4]) == owner).map(|row| int(&row[c1])).collect()
}

#[test]
fn sequential_keys_go_up_from_each_sessions_own_base() {
    let bench = Bench::new(Settings { looks: 1, ..Settings::default() });
    let study = study(&bench, "rows_per_tx=3");
    for slice in &study.slices {
        assert_eq!((slice.steps, slice.rows, slice.answers_wrong), (30, 90, 0));
        // 40 · 3 · 4 reads for 40 steps.
        assert_eq!((slice.cpu_ns, slice.counters["logical_reads"]), (30_000_000, 360));
        assert_eq!(slice.finished_ns, None);
    }
    for owner in [1, 2] {
        let base = owner * 10_000_000_000;
        // Those by which the session became warm, and those of the slice.
        assert_eq!(keys(&study, owner), (base..base + 2 * 120).collect::<Vec<_>>());
    }
    assert!(!study.table.in_memory && study.notes.is_empty());
    let [text] = &study.procedures[..] else { panic!("{:?}", study.procedures) };
    assert!(!text.contains("DELAYED_DURABILITY") && !text.contains("NATIVE"), "{text}");
    let drops: Vec<String> =
        bench.state().log.iter().filter(|line| line.starts_with("DROP ")).cloned().collect();
    let kinds: Vec<&str> = drops.iter().map(|line| line.split(['[', '_']).next().unwrap().trim()).collect();
    // Keys on their way into the table go first, while it is seeded.
    assert_eq!(
        kinds,
        [
            "DROP TABLE",
            "DROP PROCEDURE",
            "DROP TABLE",
            "DROP TABLE",
            "DROP TABLE",
            "DROP TABLE",
            "DROP SCHEMA"
        ]
    );
    assert!(drops[0].contains("[keys_"), "{drops:?}");
}

#[test]
fn random_keys_differ_from_session_to_session() {
    let bench = Bench::new(Settings::default());
    let study = study(&bench, "key=random");
    let (first, second) = (keys(&study, 1), keys(&study, 2));
    let mut all = [first.clone(), second].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!((first.len(), all.len()), (160, 320), "keys came twice");
    assert!(all[0] >= 0 && first.windows(2).any(|pair| pair[0] > pair[1]));
}

#[test]
fn relaxed_durability_delays_each_commit_where_the_database_allows_that() {
    let bench = Bench::new(Settings::default());
    let study = study(&bench, "durability=relaxed");
    let [text] = &study.procedures[..] else { panic!("{:?}", study.procedures) };
    assert!(text.contains("COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON);"), "{text}");
    for delayed in ["FORCED", "ALLOWED"] {
        self::study(
            &Bench::new(Settings { delayed, ..Settings::default() }),
            "durability=relaxed loop=client rows_per_session=10",
        );
    }
}

#[test]
fn tables_in_memory_are_filled_by_procedures_that_are_compiled() {
    for (options, durability, delayed) in [
        ("", "SCHEMA_AND_DATA", "OFF"),
        ("durability=relaxed key=random", "SCHEMA_AND_DATA", "ON"),
        ("table=unlogged buckets=4096", "SCHEMA_ONLY", "OFF"),
    ] {
        let bench = Bench::new(Settings::default());
        let study = study(&bench, &format!("storage=memory-optimised {options}"));
        assert!(study.table.in_memory, "{options}");
        let buckets = if options.contains("buckets") { "4096" } else { "2097152" };
        assert!(study.notes[0].contains(&format!("hash index of {buckets} buckets")), "{:?}", study.notes);
        let [few, rows] = &study.procedures[..] else { panic!("{:?}", study.procedures) };
        assert!(few.contains("NATIVE_COMPILATION, SCHEMABINDING") && !rows.contains("NATIVE"), "{few}");
        assert!(few.contains(&format!("DELAYED_DURABILITY = {delayed})")), "{few}");
        let made = bench.responder.requests().into_iter().any(|received| {
            format!("{:?}", received.request).contains(&format!("DURABILITY = {durability})"))
        });
        assert!(made, "{durability}");
        assert_eq!(keys(&study, 1).len(), 160);
    }
}

#[test]
fn all_rows_of_a_session_in_one_block_are_a_fixed_amount_of_work() {
    let bench = Bench::new(Settings::default());
    let study = study(&bench, "storage=memory-optimised rows_per_tx=0 rows_per_session=500 key=random");
    for slice in &study.slices {
        assert_eq!((slice.steps, slice.rows), (500, 500));
        assert!(slice.finished_ns.is_some_and(|ns| ns > 0));
    }
    let [batch] = &study.procedures[..] else { panic!("{:?}", study.procedures) };
    assert!(batch.contains("WHILE @calls < @rows_wanted"), "{batch}");
    assert_eq!(keys(&study, 2).len(), 500);
}

#[test]
fn a_fixed_amount_of_work_is_done_by_either_loop() {
    for options in ["", "loop=client", "loop=client key=random rows_per_tx=5"] {
        let bench = Bench::new(Settings::default());
        let study = study(&bench, &format!("rows_per_session=50 {options}"));
        for slice in &study.slices {
            assert_eq!(slice.rows, 50, "{options}");
            assert!(slice.finished_ns.is_some_and(|ns| ns > 0));
        }
        assert_eq!(keys(&study, 1).len(), 50, "{options}");
    }
}

#[test]
fn a_slice_goes_on_where_the_last_one_ended() {
    for key in ["sequential", "random"] {
        let bench = Bench::new(Settings::default());
        let load = bench.load("insert", &format!("seed_rows=0 key={key}"), 1);
        let (keeper, _, running) = bench.begin(&load);
        let mut open = running.open(&session(&load, 0)).unwrap();
        open.warm().unwrap();
        bench.state().is_warm = true;
        (0..3).for_each(|number| drop(open.slice(&window(number, 1_000_000)).unwrap()));
        drop(open);
        let keys: Vec<i64> = {
            let state = bench.state();
            let (_, table) = state.tables.iter().find(|(name, _)| name.contains("[inserted_")).unwrap();
            table.numbers("c1").collect()
        };
        let distinct: std::collections::BTreeSet<i64> = keys.iter().copied().collect();
        assert_eq!((keys.len(), distinct.len()), (320, 320), "{key}");
        if key == "sequential" {
            assert_eq!(keys, (10_000_000_000..10_000_000_320).collect::<Vec<_>>());
        }
        running.finish().unwrap();
        drop(running);
        keeper.end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn rows_that_a_killed_run_left_are_taken_out_at_the_next_start() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("insert", "seed_rows=100", 1);
    let (keeper, _, running) = bench.begin(&load);
    slice(&bench, running.as_ref(), &load, LONG_NS).done();
    // It is killed here, and never finished.
    drop(running);
    let rows = |bench: &Bench| {
        let state = bench.state();
        state.tables.iter().find(|(name, _)| name.contains("[inserted_")).unwrap().1.rows.len()
    };
    assert_eq!(rows(&bench), 260);
    use threadwise_engine::Engine as _;
    let again = threadwise_engine_sqlserver::Client.start(&crate::bench::start(&load)).unwrap();
    assert_eq!(rows(&bench), 100);
    slice(&bench, again.as_ref(), &load, LONG_NS).done();
    again.finish().unwrap();
    drop(again);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}
