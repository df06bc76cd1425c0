//! Studies through the worker program, as the runner has them.

use crate::bench::{Bench, assert_clear};
use crate::model::{LIMIT, Settings};
use crate::worker::Worker;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};
use threadwise_engine::LoadRequest;
use threadwise_engine::protocol::{Reply, Request, VERSION, WireLoad, WireSession};
use threadwise_machine::pin::current_affinity;
use threadwise_study::OptionValue;
use threadwise_tds::{Message, Reply as Answer, Request as Received};

/// What is loaded, with the password in the environment.
fn wire(load: &LoadRequest) -> WireLoad {
    let mut load = load.clone();
    load.engine_options.remove("password_file");
    WireLoad::try_from(&load).unwrap()
}

pub fn load_request(load: &LoadRequest) -> Request {
    Request::Load { protocol: VERSION, load: wire(load), connections: Some(4) }
}

pub fn prepare(load: &LoadRequest) -> Request {
    let cpu = current_affinity().unwrap().iter().next().unwrap();
    let sessions = vec![WireSession { cpus: cpu.to_string() }; load.sessions as usize];
    Request::Prepare { protocol: VERSION, load: wire(load), sessions, seed: 9, service: None, journal: None }
}

pub fn go(sequence: u64, window_ns: u64) -> Request {
    Request::Go { sequence, warmup_ns: 1_000_000, window_ns, queries: Vec::new(), piece_ns: None }
}

/// A worker that said what it is.
pub fn worker(bench: &Bench) -> Worker {
    let mut worker = Worker::start(bench, true);
    let Reply::Hello { protocol, engine, version, properties, .. } = worker.reply() else {
        panic!("no hello")
    };
    assert_eq!((protocol, engine.as_str(), version.as_str()), (VERSION, "sqlserver", "unknown"));
    let properties = properties.unwrap();
    assert_eq!((properties.block_bytes, properties.dialect.as_deref()), (8192, Some("sqlserver")));
    worker
}

/// The message of a failure, which has to be clear and of this kind.
pub fn failed(reply: Reply, wanted: &str) -> String {
    let Reply::Failed { kind, message } = reply else { panic!("{reply:?}") };
    assert_eq!(kind, wanted, "{message}");
    assert_clear(&message);
    message
}

/// The worker ends with an error, and its log has the same line.
pub fn assert_ends_badly(worker: Worker, message: &str) {
    let (status, log) = worker.end();
    assert_eq!(status.code(), Some(1));
    assert_eq!(log.trim_end(), format!("threadwise-engine-sqlserver: {message}"));
}

/// The worker has said that it is done, and nothing to its log.
pub fn assert_ends_well(worker: Worker) {
    let (status, log) = worker.end();
    assert_eq!((status.code(), log.as_str()), (Some(0), ""));
}

#[test]
fn a_study_by_two_workers_says_what_the_server_did_and_leaves_nothing() {
    let bench = Bench::new(Settings { looks: 2, ..Settings::default() });
    let load = bench.load("insert", "seed_rows=50 durability=relaxed", 2);
    let mut loader = worker(&bench);
    let Reply::Loaded { rows_per_session, notes, keep, .. } = loader.ask(&load_request(&load)) else {
        panic!("not loaded")
    };
    assert_eq!((rows_per_session, notes.len(), keep), (50, 0, true));
    let mut measuring = worker(&bench);
    let Reply::Ready { tids, placed, notes, note_codes, .. } = measuring.ask(&prepare(&load)) else {
        panic!("not ready")
    };
    assert!(note_codes.contains(&"memory-placed-earlier".to_owned()), "{note_codes:?}");
    bench.state().is_warm = true;
    assert_eq!((tids.len(), placed.len()), (2, 0));
    assert!(notes.iter().any(|note| note.contains("inside the server")), "{notes:?}");
    for number in 0..2 {
        let reply = measuring.ask(&go(number, 60_000_000_000));
        let Reply::Slice { sequence, sessions, counters, window_ns, .. } = reply else { panic!("{reply:?}") };
        assert_eq!((sequence, window_ns, sessions.len()), (number, 60_000_000_000, 2));
        for slice in sessions {
            assert_eq!((slice.steps, slice.rows, slice.cpu_ns), (30, 60, 30_000_000));
            assert_eq!(slice.counters["logical_reads"], 240);
        }
        assert_eq!(counters["spinlock/LOGCACHE_ACCESS/spins"], 1500);
        assert!(counters["waits/WRITELOG"] >= 2, "{counters:?}");
    }
    assert!(matches!(measuring.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(measuring);
    assert!(bench.state().schemas.contains(&"threadwise".into()), "the loader still keeps it");
    assert!(matches!(loader.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(loader);
    bench.assert_over();
    bench.assert_clean();
    for received in bench.responder.requests() {
        if let Received::Login(login) = received.request {
            assert_eq!(login.password, crate::model::PASSWORD);
        }
    }
}

#[test]
fn a_worker_says_what_the_server_is_and_changes_nothing_there() {
    let bench = Bench::new(Settings::default());
    let mut worker = worker(&bench);
    let mut engine_options = bench.engine_options("");
    engine_options.remove("password_file");
    for looks in [false, true] {
        let engine_options = engine_options.clone();
        let reply =
            worker.ask(&Request::Server { protocol: VERSION, engine_options, points: looks, cpus: false });
        let Reply::Server { version, limits, points, .. } = reply else { panic!("{reply:?}") };
        assert_eq!((version.as_str(), limits[0].most), ("16.0.4135.4", 32_767));
        assert_eq!(points.is_empty(), !looks);
    }
    assert!(matches!(worker.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(worker);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_worker_reads_statistics_of_statements_by_one_connection_and_no_literal() {
    let bench = Bench::new(Settings::default());
    let mut worker = worker(&bench);
    let mut engine_options = bench.engine_options("");
    engine_options.remove("password_file");
    let mut ask = |keys: &[&str], wants_text: bool| {
        let request = Request::Statements {
            protocol: VERSION,
            engine_options: engine_options.clone(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            wants_text,
        };
        let reply = worker.ask(&request);
        let Reply::Statements { statements } = reply else { panic!("{reply:?}") };
        *statements
    };
    let first = ask(&[], false);
    assert_eq!(first.facts().version, "16.0.4135.4");
    let (first, second) = (first.snapshot(), ask(&[], false).snapshot());
    assert_eq!(first.started_unix_s, Some(1_700_000_000.0));
    let plan = |at: usize| &second.statements[at];
    assert_eq!((plan(0).key.as_str(), plan(1).since.as_deref()), ("0x01", Some("p2")));
    assert_eq!(plan(0).calls - first.statements[0].calls, 10);
    assert_eq!(plan(0).time_ns, plan(0).calls * 500_000);
    let texts = ask(&["0x01", "0x02"], true).texts();
    assert_eq!(texts[0].text.as_deref(), Some("(@p int)SELECT a FROM [t 1] WHERE b = @p AND c = ?"));
    assert_eq!((texts.len(), texts[1].is_ours, &texts[1].text), (2, true, &None));
    assert!(ask(&["0x01"], false).texts()[0].text.is_none());
    assert!(matches!(worker.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(worker);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_worker_without_a_password_says_where_to_put_it() {
    let bench = Bench::new(Settings::default());
    let mut worker = Worker::start(&bench, false);
    assert!(matches!(worker.reply(), Reply::Hello { .. }));
    let message = failed(worker.ask(&load_request(&bench.load("insert", "seed_rows=10", 1))), "engine");
    assert!(message.contains("none was given") && message.contains("SQLCMDPASSWORD"), "{message}");
    assert_ends_badly(worker, &message);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_load_that_fails_is_dropped_before_the_worker_ends() {
    let text = "Could not allocate space for object 'keys' because the 'PRIMARY' filegroup is full.";
    let fails = vec![("rows of [threadwise].[keys_", Message::new(1105, text).class(17))];
    let bench = Bench::new(Settings { fails, ..Settings::default() });
    let mut worker = worker(&bench);
    let message = failed(worker.ask(&load_request(&bench.load("insert", "seed_rows=10", 1))), "engine");
    assert!(message.contains(text) && message.contains("use less data"), "{message}");
    assert_ends_badly(worker, &message);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn options_that_are_refused_touch_no_server() {
    let bench = Bench::new(Settings::default());
    for (name, value, part) in [("pages", "7", "pages"), ("storage", "tape", "memory-optimised")] {
        let mut load = bench.load("insert", "seed_rows=10", 1);
        load.options.insert(name.into(), OptionValue::Text(value.into()));
        let mut worker = worker(&bench);
        let message = failed(worker.ask(&load_request(&load)), "option");
        assert!(message.contains(name) && message.contains(part), "{message}");
        assert_ends_badly(worker, &message);
    }
    assert_eq!(bench.responder.connections(), 0);
}

#[test]
fn a_slice_that_fails_ends_the_worker_and_the_loader_cleans_up() {
    let text = "The transaction log for database 'shop' is full due to 'LOG_BACKUP'.";
    let fails = vec![("EXEC [threadwise].[insert_rows_", Message::new(9002, text).class(17))];
    let bench = Bench::new(Settings { fails, ..Settings::default() });
    let load = bench.load("insert", "seed_rows=10", 2);
    let (mut loader, mut measuring) = (worker(&bench), worker(&bench));
    assert!(matches!(loader.ask(&load_request(&load)), Reply::Loaded { keep: true, .. }));
    assert!(matches!(measuring.ask(&prepare(&load)), Reply::Ready { .. }));
    bench.state().is_warm = true;
    let message = failed(measuring.ask(&go(0, 1_000_000)), "engine");
    assert!(message.contains(text), "{message}");
    assert_ends_badly(measuring, &message);
    // The end of its input is as good as a stop.
    loader.close();
    assert!(matches!(loader.reply(), Reply::Done { .. }));
    assert_ends_well(loader);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_server_that_is_killed_in_a_slice_ends_the_worker() {
    let before_loop = vec![Answer::Wait(Duration::from_secs(36_000))];
    let bench = Bench::new(Settings { before_loop, ..Settings::default() });
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let (mut loader, mut measuring) = (worker(&bench), worker(&bench));
    assert!(matches!(loader.ask(&load_request(&load)), Reply::Loaded { .. }));
    assert!(matches!(measuring.ask(&prepare(&load)), Reply::Ready { .. }));
    bench.state().is_warm = true;
    let reply = std::thread::scope(|scope| {
        scope.spawn(|| {
            bench.model.wait_until(|state| state.slices > 0);
            bench.responder.kill();
        });
        measuring.ask(&go(0, 60_000_000_000))
    });
    let message = failed(reply, "engine");
    assert!(message.contains("the connection broke"), "{message}");
    assert_ends_badly(measuring, &message);
    let message = failed(loader.ask(&Request::Stop), "engine");
    assert!(message.contains("drop its schema"), "{message}");
    assert_ends_badly(loader, &message);
    bench.assert_over();
}

#[test]
fn a_worker_that_is_killed_leaves_no_connection_and_the_next_study_cleans_up() {
    let bench = Bench::new(Settings::default());
    let load = bench.load("logical-io", "blocks=100 work_unit=4", 1);
    let mut first = worker(&bench);
    assert!(matches!(first.ask(&load_request(&load)), Reply::Loaded { .. }));
    assert_eq!(first.kill().signal(), Some(9));
    let end = Instant::now() + LIMIT;
    while bench.responder.connections_open() > 0 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(bench.state().schemas.contains(&"threadwise".into()));
    let mut second = worker(&bench);
    assert!(matches!(second.ask(&load_request(&load)), Reply::Loaded { .. }));
    assert!(matches!(second.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(second);
    bench.assert_over();
    bench.assert_clean();
}
