//! The workloads on a real server: what is loaded, what is counted, what is found wrong.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

pub mod place;

use place::{Place, place};
use threadwise_engine::workloads::insert::CHECK_MODULUS;
use threadwise_engine::{EngineError, LoadRequest, Loaded, Session, SessionRequest, Window, clock, latency};
use threadwise_engine_postgres::{Server, parse_steps};
use threadwise_engine_sql::{Driver, Objects, Sessions, load_shared};
use threadwise_machine::CpuSet;
use threadwise_study::{OptionValue, Options, SessionSlice};

const SUFFIX: &str = "_t1";

fn options(pairs: &[(&str, OptionValue)]) -> Options {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn whole(value: i64) -> OptionValue {
    OptionValue::Integer(value)
}

fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

fn request(workload: &str, pairs: &[(&str, OptionValue)], sessions: u32) -> LoadRequest {
    LoadRequest {
        workload: workload.into(),
        options: options(pairs),
        engine_options: Options::new(),
        data_dir: std::env::temp_dir(),
        treatment: "alone".into(),
        sessions,
        seed: 7,
    }
}

fn small_io(more: &[(&str, OptionValue)]) -> LoadRequest {
    request("logical-io", &[&[("blocks", whole(500)), ("work_unit", whole(20))], more].concat(), 1)
}

fn small_insert(more: &[(&str, OptionValue)]) -> LoadRequest {
    request("insert", &[&[("seed_rows", whole(3000)), ("durability", text("relaxed"))], more].concat(), 1)
}

type Treatment = threadwise_engine_sql::Treatment<Server>;

fn loaded(place: &Place, load: &LoadRequest) -> Loaded {
    let server = place.server();
    let mut control = Driver::connect(server, "test").unwrap();
    load_shared(server, &mut control, &parse_steps(load).unwrap(), load, SUFFIX).unwrap()
}

/// Starts a treatment on what was loaded, which is not thrown away.
fn start(place: &Place, load: &LoadRequest) -> Result<Treatment, EngineError> {
    Treatment::start(place.server().clone(), parse_steps(load).unwrap(), load, SUFFIX, false)
}

fn started(place: &Place, load: &LoadRequest) -> Treatment {
    loaded(place, load);
    start(place, load).unwrap()
}

fn open(treatment: &Treatment, load: &LoadRequest, session: u32) -> Box<dyn Session> {
    let request =
        SessionRequest { load: load.clone(), session, sessions: load.sessions, cpus: CpuSet::new(), seed: 3 };
    treatment.open(&request).unwrap()
}

/// A window that begins in 5 ms.
fn window(length_ms: u64) -> Window {
    let start_ns = clock::monotonic_ns() + 5_000_000;
    Window { sequence: 0, start_ns, end_ns: start_ns + length_ms * 1_000_000, piece_ns: None, arrivals: None }
}

/// Slices until one has counted something: on a busy machine a window may pass without a step.
fn slice(session: &mut dyn Session, length_ms: u64) -> SessionSlice {
    let mut slices = (0..100).map(|_| session.slice(&window(length_ms)).unwrap());
    slices.find(|slice| slice.steps > 0).unwrap()
}

fn query<T: for<'a> postgres::types::FromSql<'a>>(place: &Place, sql: &str) -> T {
    place.client().query_one(sql, &[]).unwrap().get(0)
}

fn wrong_answer(result: Result<impl Sized, EngineError>) -> String {
    match result.err() {
        Some(EngineError::WrongAnswer(why)) => why,
        other => panic!("{other:?} instead of a wrong answer"),
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn every_row_has_a_block_of_its_own_and_neighbours_lie_apart() {
    let place = place("blocks");
    let load = small_io(&[]);
    let made = loaded(&place, &load);
    assert_eq!((made.rows_per_session, made.bytes_per_session / 8192), (500, 500));
    let objects = parse_steps(&load).unwrap().objects(load.sessions, SUFFIX, &Objects::default());
    assert_eq!(objects.tables, ["blocks_t1_0"]);
    let table = place.name(&objects.tables[0]);
    let blocks: i64 = query(&place, &format!("SELECT count(DISTINCT (ctid::text::point)[0]) FROM {table}"));
    assert_eq!(blocks, 500);
    let together = format!(
        "SELECT count(*) FROM (SELECT k - lag(k) OVER (ORDER BY ctid) AS step FROM {table}) AS s WHERE abs(step) = 1"
    );
    let together: i64 = query(&place, &together);
    assert!(together < 10, "{together}");
    // What is whole is kept, what is not is made again.
    let file = |place: &Place| query::<u32>(place, &format!("SELECT '{table}'::regclass::oid"));
    let first = file(&place);
    assert_eq!(loaded(&place, &load), made);
    assert_eq!(file(&place), first);
    place.client().batch_execute("DELETE FROM threadwise.threadwise_loads").unwrap();
    loaded(&place, &load);
    assert_ne!(file(&place), first);
}

#[test]
#[ignore = "laboratory: servers"]
fn reads_are_counted_by_the_session_alone_and_found_in_the_cache() {
    let place = place("reads");
    for (place_of_loop, shared) in [("server", false), ("client", false), ("server", true), ("client", true)]
    {
        let mut load = small_io(&[("loop", text(place_of_loop)), ("shared", OptionValue::Flag(shared))]);
        load.sessions = 2;
        let treatment = started(&place, &load);
        let (mut first, mut second) = (open(&treatment, &load, 0), open(&treatment, &load, 1));
        first.warm().unwrap();
        second.warm().unwrap();
        let slices = std::thread::scope(|scope| {
            // The second session reads at the same time, on another thread, and is not counted.
            let other = scope.spawn(|| {
                let mut third = open(&treatment, &load, 1);
                slice(third.as_mut(), 40)
            });
            [slice(first.as_mut(), 40), other.join().unwrap()]
        });
        for slice in slices {
            assert_eq!((slice.rows, slice.answers_checked), (20 * slice.steps, slice.steps));
            // Each row's block, and the index: its root and one or two leaves a step.
            let reads = slice.counters["logical_reads"] as f64 / slice.rows as f64;
            assert!((1.05..1.2).contains(&reads), "{place_of_loop} shared={shared}: {reads}");
            assert_eq!(slice.counters["physical_reads"], 0);
            assert!(slice.cpu_ns > 0 && slice.run_queue_wait_ns.is_some(), "{slice:?}");
            assert!(slice.counters["client_cpu_ns"] > 0);
            let trips = slice.counters.get("round_trips").copied();
            assert_eq!(trips, (place_of_loop == "client").then_some(slice.steps));
            let latencies = if place_of_loop == "client" { latency::steps(&slice.latency) } else { Ok(0) };
            assert_eq!(latencies, Ok(if place_of_loop == "client" { slice.steps } else { 0 }));
        }
        let notes = treatment.notes().unwrap().join("\n");
        assert!(notes.contains("Index Scan using blocks_by_k on blocks"), "{notes}");
        let threads = treatment.threads().unwrap().sessions;
        assert_eq!(threads.iter().map(|(session, _)| *session).collect::<Vec<_>>(), [0, 1, 1]);
        treatment.finish().unwrap();
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn what_warming_up_read_is_reported_to_the_statistics_at_once() {
    let place = place("warm");
    if place.server().version_num() < 150_000 {
        // There is no way to ask for it before.
        return;
    }
    let load = small_io(&[]);
    let treatment = started(&place, &load);
    let sql = "SELECT sum(heap_blks_hit + heap_blks_read)::bigint FROM pg_statio_user_tables";
    let mut session = open(&treatment, &load, 0);
    let before: i64 = query(&place, sql);
    session.warm().unwrap();
    let after: i64 = query(&place, sql);
    // 500 blocks, read twice: otherwise they would be counted in the first slice.
    assert!(after - before >= 1000, "{before} {after}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_changed_row_is_found_by_both_loops() {
    let place = place("changed");
    for place_of_loop in ["server", "client"] {
        let load = small_io(&[("loop", text(place_of_loop)), ("blocks", whole(20))]);
        let treatment = started(&place, &load);
        let mut session = open(&treatment, &load, 0);
        session.warm().unwrap();
        slice(session.as_mut(), 20);
        let table = place.name("blocks_t1_0");
        place.client().batch_execute(&format!("UPDATE {table} SET a = a + 1 WHERE k = 5")).unwrap();
        let why = wrong_answer(session.slice(&window(20)));
        assert!(why.contains("blocks_t1_0") || why.contains("keys 0 to 19"), "{why}");
        drop(session);
        let why = wrong_answer(open(&treatment, &load, 0).warm());
        assert!(why.contains("20 rows and sum 1391 instead of 20 rows and sum 1390"), "{why}");
        place.client().batch_execute(&format!("DELETE FROM {table} WHERE k = 7")).unwrap();
        let why = wrong_answer(open(&treatment, &load, 0).warm());
        assert!(why.contains("gave 19 rows"), "{why}");
        place.forget();
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn updates_stay_on_their_blocks_and_keep_the_sums() {
    let place = place("updates");
    for place_of_loop in ["server", "client"] {
        let load = small_io(&[("loop", text(place_of_loop)), ("update_pct", whole(50))]);
        let treatment = started(&place, &load);
        let mut session = open(&treatment, &load, 0);
        session.warm().unwrap();
        let rows: u64 = (0..4).map(|_| slice(session.as_mut(), 30).rows).sum();
        assert!(rows > 0);
        session.warm().unwrap();
        drop(session);
        let table = place.name("blocks_t1_0");
        let changed: i64 = query(&place, &format!("SELECT sum(a)::bigint FROM {table}"));
        assert!(changed > 0);
        let elsewhere = format!(
            "SELECT n_tup_upd - n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = '{table}'::regclass"
        );
        assert_eq!(query::<i64>(&place, &elsewhere), 0);
        let bytes: i64 = query(&place, &format!("SELECT pg_relation_size('{table}')"));
        assert_eq!(bytes, 500 * 8192);
        assert_eq!(query::<i64>(&place, &format!("SELECT sum(a + b)::bigint FROM {table}")), 874_750);
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_cache_that_is_too_small_is_an_error_that_says_so() {
    let place = place::small("small");
    let load = request("logical-io", &[("blocks", whole(2000))], 1);
    let treatment = started(&place, &load);
    let message = open(&treatment, &load, 0).warm().unwrap_err().to_string();
    assert!(message.contains("not cached") && message.contains("shared_buffers is"), "{message}");
    assert!(message.contains("--set data_mib="), "{message}");
    // This server does not sync either.
    drop(treatment);
    place.forget();
    let load = small_insert(&[("durability", text("full"))]);
    let treatment = started(&place, &load);
    let request = SessionRequest { load, session: 0, sessions: 1, cpus: CpuSet::new(), seed: 3 };
    let message = treatment.open(&request).err().unwrap().to_string();
    assert!(message.contains("fsync") && message.contains("durability=relaxed"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn inserts_are_counted_checked_and_put_back() {
    let place = place("inserts");
    let table = place.name("inserted_t1");
    for (place_of_loop, key, rows_per_tx) in [
        ("server", "sequential", 2),
        ("server", "random", 3),
        ("client", "sequential", 1),
        ("client", "random", 2),
    ] {
        let load = small_insert(&[
            ("loop", text(place_of_loop)),
            ("key", text(key)),
            ("rows_per_tx", whole(rows_per_tx)),
            ("table", text(if key == "random" { "unlogged" } else { "durable" })),
        ]);
        let treatment = started(&place, &load);
        let mut session = open(&treatment, &load, 0);
        session.warm().unwrap();
        treatment.before().unwrap();
        let mut slices = [slice(session.as_mut(), 60)];
        let rows = slices[0].rows;
        let counters = treatment.after(&mut slices).unwrap();
        assert!(rows > 0 && rows.is_multiple_of(rows_per_tx as u64));
        // Those of the window, as the rows are.
        assert!(counters["commits"] >= rows / rows_per_tx as u64, "{counters:?}");
        assert!(counters["wal_records"] > 0 && counters["wal_bytes"] > 0, "{counters:?}");
        let inserted: i64 = query(&place, &format!("SELECT count(*) FROM {table} WHERE c4 = 1"));
        assert!(inserted as u64 >= rows, "{inserted} rows are there, {rows} were counted");
        let low: i64 = query(&place, &format!("SELECT min(c1) FROM {table} WHERE c4 = 1"));
        let high: i64 = query(&place, &format!("SELECT max(c1) FROM {table} WHERE c4 = 1"));
        if key == "sequential" {
            assert_eq!((low, high), (10_000_000_000, 10_000_000_000 + inserted - 1));
        } else {
            assert!(low >= 0 && high > 1 << 60, "{low} to {high}");
        }
        drop(session);
        treatment.finish().unwrap();
        assert_eq!(query::<i64>(&place, &format!("SELECT count(*) FROM {table}")), 3000);
        place.forget();
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn rows_that_went_or_came_behind_our_back_are_found() {
    let place = place("behind");
    let table = place.name("inserted_t1");
    let delete = format!("DELETE FROM {table} WHERE c1 = (SELECT min(c1) FROM {table} WHERE c4 = 1)");
    let double = format!(
        "INSERT INTO {table} SELECT c1 + {CHECK_MODULUS}, c2, c3, c4, c5, c6 FROM {table} WHERE c4 = 1 LIMIT 1"
    );
    let seeded = format!("DELETE FROM {table} WHERE c1 = (SELECT min(c1) FROM {table} WHERE c4 = 0)");
    let exchange = format!("UPDATE {table} SET c1 = c1 + 1000000 WHERE c1 = 10000000000");
    for (sql, is_reset) in [(&delete, true), (&double, true), (&exchange, true), (&seeded, false)] {
        let load = small_insert(&[]);
        let treatment = started(&place, &load);
        let mut session = open(&treatment, &load, 0);
        slice(session.as_mut(), 10);
        drop(session);
        let changed = place.client().execute(sql.as_str(), &[]).unwrap();
        assert_eq!(changed, 1, "{sql}");
        let why = wrong_answer(treatment.finish());
        let when = if is_reset { "after the run" } else { "after the reset" };
        assert!(why.contains(when) && why.contains("key sum"), "{sql}: {why}");
        if is_reset {
            // What a run left is removed before the next.
            drop(start(&place, &load).unwrap());
            assert_eq!(query::<i64>(&place, &format!("SELECT count(*) FROM {table}")), 3000);
        } else {
            place.client().execute(&format!("DELETE FROM {table} WHERE c4 <> 0"), &[]).unwrap();
            wrong_answer(start(&place, &load).map(drop));
        }
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_fixed_amount_of_work_is_done_exactly_or_not_at_all() {
    let place = place("fixed");
    let table = place.name("inserted_t1");
    for place_of_loop in ["server", "client"] {
        let load = small_insert(&[("rows_per_session", whole(400)), ("loop", text(place_of_loop))]);
        let treatment = started(&place, &load);
        let mut session = open(&treatment, &load, 0);
        let long = window(60_000);
        treatment.before().unwrap();
        let slice = session.slice(&long).unwrap();
        assert_eq!((slice.rows, slice.steps), (400, 200));
        // Sampling does not outlast the work, whatever is left of the window.
        treatment.during(&long).unwrap();
        assert!(!treatment.after(&mut []).unwrap().contains_key("waits_sampled"));
        let finished_ns = slice.finished_ns.unwrap();
        assert!(finished_ns > 1000 && finished_ns < 60_000_000_000, "{finished_ns}");
        assert_eq!(query::<i64>(&place, &format!("SELECT count(*) FROM {table}")), 3400);
        let message = session.slice(&window(1)).unwrap_err().to_string();
        assert!(message.contains("400 rows"), "{message}");
        drop(session);
        drop(treatment);
        drop(start(&place, &load).unwrap());
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn no_more_steps_are_counted_than_fit_into_the_window() {
    let place = place("fits");
    for place_of_loop in ["server", "client"] {
        let load = small_io(&[("loop", text(place_of_loop)), ("think_time_us", whole(4000))]);
        let treatment = started(&place, &load);
        let mut session = open(&treatment, &load, 0);
        for length_ms in [1, 10, 50] {
            let steps = session.slice(&window(length_ms)).unwrap().steps;
            assert!(steps <= length_ms / 4 + 1, "{steps} steps in {length_ms} ms");
        }
        // A window that is over already counts nothing.
        let past = Window { sequence: 0, start_ns: 1, end_ns: 2, piece_ns: None, arrivals: None };
        assert_eq!(session.slice(&past).unwrap().steps, 0);
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn a_session_that_waits_for_a_lock_is_seen_waiting() {
    let place = place("waits");
    let load = small_insert(&[]);
    let treatment = started(&place, &load);
    let mut blocker = place.client();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let (go, orders) = std::sync::mpsc::channel::<Window>();
    let counters = std::thread::scope(|scope| {
        let (treatment, load) = (&treatment, &load);
        let worker = scope.spawn(move || {
            let mut session = open(treatment, load, 0);
            ready.send(()).unwrap();
            session.slice(&orders.recv().unwrap()).unwrap()
        });
        is_ready.recv().unwrap();
        let locked = format!("BEGIN; LOCK TABLE {} IN SHARE MODE", place.name("inserted_t1"));
        blocker.batch_execute(&locked).unwrap();
        // Nothing of this slice's is sampled before it begins.
        let window = window(500);
        treatment.before().unwrap();
        go.send(window.clone()).unwrap();
        treatment.during(&window).unwrap();
        clock::sleep_until_ns(window.end_ns + 1_000_000);
        blocker.batch_execute("COMMIT").unwrap();
        assert_eq!(worker.join().unwrap().rows, 0);
        treatment.after(&mut []).unwrap()
    });
    assert!(counters["waits/Lock:relation"] >= 1, "{counters:?}");
    assert!((1..=10).contains(&counters["waits_sampled"]), "{counters:?}");
    assert!(!counters.contains_key("waits/Client:ClientRead"), "{counters:?}");
}
