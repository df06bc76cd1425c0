//! Whole studies of `logical-io`: what the slices say is what the server did, and what was made is dropped.

use crate::bench::{Bench, LONG_NS, session, slice, window};
use crate::model::{Settings, now_us};
use threadwise_engine::{Engine, clock};
use threadwise_engine_sqlserver::Client;
use threadwise_tds::{Request, Value};

#[test]
fn a_study_says_what_the_server_did_and_leaves_nothing() {
    let bench = Bench::new(Settings { looks: 2, ..Settings::default() });
    let load = bench.load("logical-io", "blocks=200 work_unit=8", 2);
    let (keeper, notes, running) = bench.begin(&load);
    assert_eq!(
        notes,
        ["200 rows of 7000 bytes, one a page of 8192 bytes; 200 data pages in sys.allocation_units"]
    );
    let slices = slice(&bench, running.as_ref(), &load, LONG_NS);
    for slice in slices.done() {
        assert_eq!((slice.steps, slice.rows, slice.answers_checked, slice.answers_wrong), (30, 240, 30, 0));
        // 40 ms and 40 · 8 · 3 reads for 40 steps, 30 of them in the window.
        assert_eq!((slice.cpu_ns, slice.counters["logical_reads"]), (30_000_000, 720));
        assert_eq!(slice.counters["physical_reads"], 0);
        assert!(slice.counters.contains_key("client_cpu_ns") && slice.latency.is_empty());
    }
    // Three quarters of what the server counted during both loops.
    let counters = &slices.counters;
    assert_eq!(counters["spinlock/LOGCACHE_ACCESS/spins"], 1500);
    assert_eq!(counters["spinlock/LOGCACHE_ACCESS/collisions"], 4);
    assert_eq!(counters["spinlock/LOGCACHE_ACCESS/backoffs"], 1);
    assert!(!counters.keys().any(|name| name.contains("LOCK_HASH")), "it stood still");
    assert_eq!((counters["server_wait/WRITELOG/wait_ms"], counters["server_wait/WRITELOG/waits"]), (30, 6));
    assert_eq!((counters["latch/BUFFER/wait_ms"], counters["latch/BUFFER/waits"]), (3, 1));
    assert!(counters["waits/WRITELOG"] >= 2, "{counters:?}");
    assert_eq!(counters["waits/WRITELOG"], counters["waits/running"]);
    assert_eq!(counters["waits_sampled"], 2 * counters["waits/running"]);
    assert!(running.standing().unwrap().placed.is_empty());
    let says = |part: &str| slices.notes.iter().any(|note| note.contains(part));
    for part in
        ["the server is yours", "not pinned", "not encrypted", "inside the server", "sys.dm_exec_sessions"]
    {
        assert!(says(part), "{part}: {:?}", slices.notes);
    }
    assert!(!says("lacks"), "{:?}", slices.notes);
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn what_was_made_is_dropped_in_order() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 2);
    let (keeper, _, running) = bench.begin(&load);
    drop(running);
    keeper.end().unwrap();
    let log = bench.state().log.clone();
    let suffix = log.iter().find_map(|line| line.strip_prefix("CREATE TABLE [threadwise].[blocks")).unwrap();
    let suffix = suffix.strip_suffix("_0]").unwrap();
    let [mark, objects, loads] =
        ["mark", "objects", "loads"].map(|name| format!("TABLE [threadwise].[threadwise_{name}]"));
    let object = |kind: &str, name: &str, table: u32| format!("{kind} [threadwise].[{name}{suffix}_{table}]");
    let wanted = [
        "CREATE SCHEMA [threadwise]".to_owned(),
        format!("CREATE {mark}"),
        format!("CREATE {objects}"),
        format!("CREATE {loads}"),
        object("CREATE TABLE", "blocks", 0),
        object("CREATE PROCEDURE", "read_blocks", 0),
        object("CREATE TABLE", "blocks", 1),
        object("CREATE PROCEDURE", "read_blocks", 1),
        object("DROP PROCEDURE", "read_blocks", 0),
        object("DROP PROCEDURE", "read_blocks", 1),
        object("DROP TABLE", "blocks", 0),
        object("DROP TABLE", "blocks", 1),
        format!("DROP {loads}"),
        format!("DROP {objects}"),
        format!("DROP {mark}"),
        "DROP SCHEMA [threadwise]".to_owned(),
    ];
    assert_eq!(log, wanted);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn every_connection_is_set_up_and_has_a_name() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let (keeper, _, running) = bench.begin(&load);
    slice(&bench, running.as_ref(), &load, LONG_NS).done();
    drop(running);
    keeper.end().unwrap();
    let mut names = Vec::new();
    for received in bench.responder.requests() {
        if let Request::Login(login) = received.request {
            // The connection that only learns the version sets nothing.
            let set = bench.state().sessions.get(&received.connection).map_or(0, |session| session.set.len());
            assert_eq!(set, if login.application == "threadwise" { 0 } else { 6 }, "{}", login.application);
            assert_eq!((login.database.as_str(), login.read_only), ("shop", false));
            names.push(login.application);
        }
    }
    for name in ["threadwise study", "threadwise load", "threadwise same-core", "threadwise session 0"] {
        assert_eq!(names.iter().filter(|found| *found == name).count(), 1, "{name}: {names:?}");
    }
    bench.assert_over();
}

#[test]
fn a_loop_is_told_its_window_on_the_clock_of_the_server() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let (keeper, _, running) = bench.begin(&load);
    let mut open = running.open(&session(&load, 0)).unwrap();
    open.warm().unwrap();
    bench.state().is_warm = true;
    // Microseconds of the server's clock at 0 of our clock. Two readings are never at the same moment: the largest
    // difference is of the nearest two.
    let offset = || now_us() - i64::try_from(clock::monotonic_ns() / 1000).unwrap();
    let offset = (0..50).map(|_| offset()).max().unwrap();
    let mut seeds = Vec::new();
    for number in 0..3 {
        let window = window(number, 250_000_000);
        open.slice(&window).unwrap();
        let called = bench.state().loops.last().unwrap().clone();
        let [start, end, seed] = called.values[..] else { panic!("{called:?}") };
        assert!((end - start - 250_000).abs() <= 1, "{called:?}");
        let wanted = i64::try_from(window.start_ns / 1000).unwrap() + offset;
        assert!((start - wanted).abs() < 5000, "{start} is not {wanted}");
        seeds.push(seed);
    }
    seeds.dedup();
    assert_eq!(seeds.len(), 3, "each slice has steps of its own");
    drop((open, running));
    keeper.end().unwrap();
    bench.assert_over();
}

#[test]
fn updates_leave_every_sum_as_it_is() {
    for more in ["", " shared=true"] {
        let bench = Bench::new(Settings::default());
        let load = bench.load("logical-io", &format!("blocks=100 work_unit=4 update_pct=50{more}"), 2);
        let (keeper, _, running) = bench.begin(&load);
        let slices = slice(&bench, running.as_ref(), &load, LONG_NS).done();
        assert!(slices.iter().all(|slice| slice.rows == 120 && slice.answers_wrong == 0));
        let tables: Vec<i64> = {
            let state = bench.state();
            let ours = state.tables.iter().filter(|(name, _)| name.contains("blocks"));
            ours.map(|(_, table)| table.numbers("value").filter(|value| *value != 1 << 40).count())
                .map(|changed| i64::try_from(changed).unwrap())
                .collect()
        };
        assert_eq!(tables.len(), if more.is_empty() { 2 } else { 1 });
        assert!(tables.iter().all(|changed| *changed > 0), "{tables:?}");
        drop(running);
        keeper.end().unwrap();
        bench.assert_over();
        bench.assert_clean();
    }
}

#[test]
fn a_loop_in_the_client_counts_its_own_steps() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", "blocks=100 work_unit=4 update_pct=50 loop=client", 1);
    let (keeper, _, running) = bench.begin(&load);
    let [slice] = &slice(&bench, running.as_ref(), &load, 300_000_000).done()[..] else {
        panic!("one session")
    };
    let calls = bench.responder.requests().into_iter().filter(|received| match &received.request {
        Request::Rpc(rpc) => rpc.statement().is_some_and(|sql| sql.contains("WHERE k BETWEEN @P1 AND @P2")),
        _ => false,
    });
    let calls = u64::try_from(calls.count()).unwrap();
    assert!(slice.steps > 0 && slice.steps < calls, "{} of {calls}", slice.steps);
    assert_eq!((slice.rows, slice.answers_checked, slice.answers_wrong), (4 * slice.steps, slice.steps, 0));
    // 1 ms and 12 reads a step.
    assert_eq!((slice.cpu_ns, slice.counters["logical_reads"]), (slice.steps * 1_000_000, slice.steps * 12));
    assert_eq!(slice.counters["round_trips"], slice.steps, "a statement a step");
    assert!(!slice.latency.is_empty());
    let notes = running.standing().unwrap().notes;
    assert!(!notes.iter().any(|note| note.text.contains("inside the server")), "{notes:?}");
    drop(running);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn data_that_is_whole_is_found_and_data_that_is_not_is_made_anew() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let keeper = Client.keep(&load, 0).unwrap().unwrap();
    let first = Client.load(&load).unwrap();
    let made = bench.state().log.len();
    // Treatments that change nothing share their data.
    let mut other = load.clone();
    other.treatment = "two-cores".into();
    assert_eq!(Client.load(&other).unwrap(), first);
    assert_eq!(bench.state().log.len(), made, "it was made twice");
    bench.state().tables.get_mut("[threadwise].[threadwise_loads]").unwrap().rows.clear();
    bench.state().tables.values_mut().for_each(|table| {
        table.rows.retain(|row| row.first() != Some(&Value::Int(7)));
    });
    assert_eq!(Client.load(&load).unwrap(), first);
    keeper.end().unwrap();
    bench.assert_over();
    bench.assert_clean();
}
