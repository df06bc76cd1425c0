//! The worker over in-memory streams: life cycle, faults, hostile input. One process, real threads.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Write};
use threadwise_engine::engines;
use threadwise_engine::protocol::{self, Reply, Request, VERSION, WireLoad, WireSession};
use threadwise_engine::worker::{self, WorkerError};
use threadwise_engine::{
    Engine, EngineError, LoadRequest, Loaded, Running, Session, SessionRequest, StartRequest, Window, clock,
};
use threadwise_machine::pin::{current_affinity, thread_affinity};
use threadwise_study::{OptionValue, Options, SessionSlice, Workload};

const WINDOW_NS: u64 = 20_000_000;

fn allowed_cpus() -> Vec<u32> {
    current_affinity().unwrap().iter().collect()
}

fn load(data_dir: &std::path::Path, sessions: u32, engine_options: &[(&str, f64)]) -> WireLoad {
    let engine_options =
        engine_options.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value)));
    let load = LoadRequest {
        workload: "logical-io".into(),
        options: Options::from([("blocks".into(), OptionValue::Integer(200))]),
        engine_options: engine_options.collect(),
        data_dir: data_dir.to_owned(),
        treatment: "pair/l2".into(),
        sessions,
        seed: 5,
    };
    WireLoad::try_from(&load).unwrap()
}

/// One session on each of the process's logical CPUs, round robin.
fn prepare(load: &WireLoad) -> Request {
    let cpus = allowed_cpus();
    let on = |index: u32| cpus[index as usize % cpus.len()].to_string();
    let sessions = (0..load.sessions).map(|index| WireSession { cpus: on(index) }).collect();
    Request::Prepare {
        protocol: VERSION,
        load: load.clone(),
        sessions,
        seed: 9,
        service: None,
        journal: None,
    }
}

fn load_request(load: &WireLoad) -> Request {
    Request::Load { protocol: VERSION, load: load.clone(), connections: None }
}

fn go(sequence: u64) -> Request {
    Request::Go { sequence, warmup_ns: 1_000_000, window_ns: WINDOW_NS, queries: Vec::new(), piece_ns: None }
}

/// Runs a worker over the whole input; gives its replies and how it ended.
fn converse(engine: &str, input: &[u8]) -> (Vec<Reply>, Result<(), WorkerError>) {
    let mut output = Vec::new();
    let result = worker::run(engines::all(), engine, input, &mut output);
    let text = String::from_utf8(output).unwrap();
    (text.lines().map(|line| protocol::decode(line).unwrap()).collect(), result)
}

fn lines(requests: &[Request]) -> Vec<u8> {
    requests.iter().map(|request| protocol::encode(request).unwrap()).collect::<String>().into_bytes()
}

fn failure(replies: &[Reply]) -> (&str, &str) {
    match replies.last() {
        Some(Reply::Failed { kind, message }) => (kind, message),
        other => panic!("{other:?} is not a failure"),
    }
}

fn slices(replies: &[Reply]) -> Vec<Vec<SessionSlice>> {
    let sessions = replies.iter().filter_map(|reply| match reply {
        Reply::Slice { sessions, .. } => Some(sessions),
        _ => None,
    });
    sessions
        .map(|sessions| sessions.iter().map(|slice| SessionSlice::try_from(slice.clone()).unwrap()).collect())
        .collect()
}

#[test]
fn a_whole_life_with_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 3, &[]);
    let before_ns = clock::monotonic_ns();
    let requests = [load_request(&load), prepare(&load), go(4), go(5), Request::Stop];
    // On a busy machine it may be that no step ends inside a window; then another life will do.
    let lives = (0..50).map(|_| {
        let (replies, result) = converse("sqlite", &lines(&requests));
        assert_eq!(result, Ok(()), "{replies:?}");
        replies
    });
    let has_rows = |replies: &Vec<Reply>| slices(replies).concat().iter().any(|slice| slice.rows > 0);
    let replies = lives.into_iter().find(has_rows).unwrap();
    assert!(matches!(&replies[0], Reply::Hello { protocol: VERSION, engine, .. } if engine == "sqlite"));
    assert!(matches!(&replies[1], Reply::Loaded { rows_per_session: 200, .. }));
    let Reply::Ready { tids, .. } = &replies[2] else { panic!("{:?}", replies[2]) };
    let different: std::collections::BTreeSet<u32> = tids.iter().copied().collect();
    assert_eq!(different.len(), 3);
    let Reply::Slice { sequence: 5, start_ns, window_ns, .. } = &replies[4] else {
        panic!("{:?}", replies[4])
    };
    assert_eq!(*window_ns, WINDOW_NS);
    assert!(*start_ns > before_ns + WINDOW_NS && *start_ns < clock::monotonic_ns());
    assert!(matches!(replies[5], Reply::Done { .. }));
    let all: Vec<SessionSlice> = slices(&replies).concat();
    assert_eq!(all.len(), 6);
    // On a busy machine a session may go without a CPU for a whole window; then it has no counters.
    for slice in all.iter().filter(|slice| slice.steps > 0) {
        assert_eq!((slice.rows, slice.answers_checked), (64 * slice.steps, slice.steps));
        assert_eq!((slice.answers_wrong, slice.counters["physical_reads"]), (0, 0));
        assert!(slice.counters["logical_reads"] >= slice.rows);
    }
}

#[test]
fn inserts_are_checked_and_put_back_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut load = load(folder.path(), 2, &[]);
    load.workload = "insert".into();
    load.options = [("seed_rows", 500), ("rows_per_session", 300)]
        .map(|(name, value)| (name.to_owned(), OptionValue::Integer(value)))
        .into();
    load.options.insert("file".into(), OptionValue::Text("shared".into()));
    let long = Request::Go {
        sequence: 0,
        warmup_ns: 1_000_000,
        window_ns: 3_600_000_000_000,
        queries: Vec::new(),
        piece_ns: None,
    };
    let requests = [load_request(&load), prepare(&load), long, Request::Stop];
    for _ in 0..2 {
        let (replies, result) = converse("sqlite", &lines(&requests));
        assert_eq!(result, Ok(()), "{replies:?}");
        assert!(matches!(&replies[1], Reply::Loaded { rows_per_session: 500, .. }));
        let Reply::Slice { window_ns, .. } = &replies[3] else { panic!("{:?}", replies[3]) };
        let sessions = slices(&replies).concat();
        assert!(sessions.iter().all(|slice| slice.rows == 300 && slice.steps == 150));
        assert_eq!(sessions.iter().filter_map(|slice| slice.finished_ns).max(), Some(*window_ns));
        let data = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let left: Vec<_> = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["template.db"]);
    }
}

#[test]
fn sessions_are_bound_and_parked_between_slices() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 2, &[]);
    let (from_runner, mut to_worker) = std::io::pipe().unwrap();
    let (from_worker, to_runner) = std::io::pipe().unwrap();
    let worker = std::thread::spawn(move || {
        worker::run(engines::all(), "sqlite", BufReader::new(from_runner), to_runner)
    });
    let mut replies = BufReader::new(from_worker);
    let mut reply = || {
        let mut line = String::new();
        replies.read_line(&mut line).unwrap();
        protocol::decode::<Reply>(line.trim_end()).unwrap()
    };
    let mut send =
        |request: &Request| to_worker.write_all(protocol::encode(request).unwrap().as_bytes()).unwrap();
    assert!(matches!(reply(), Reply::Hello { .. }));
    send(&load_request(&load));
    assert!(matches!(reply(), Reply::Loaded { .. }));
    send(&prepare(&load));
    let Reply::Ready { tids, .. } = reply() else { panic!("not ready") };
    send(&go(0));
    assert!(matches!(reply(), Reply::Slice { .. }));
    let cpus = allowed_cpus();
    let used = |tid: u32| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()?;
        Some(status.lines().filter(|line| line.contains("ctxt_switches")).collect::<String>())
    };
    for (index, tid) in tids.iter().enumerate() {
        let mask = thread_affinity(std::process::id(), *tid).unwrap();
        assert_eq!(mask, [cpus[index % cpus.len()]].into_iter().collect());
    }
    // A thread may still be on its way to sleep after its last reply, long after on a busy machine;
    // from some moment on it uses no CPU at all.
    let quiet = || {
        let before: Vec<_> = tids.iter().map(|tid| used(*tid)).collect();
        clock::sleep_until_ns(clock::monotonic_ns() + 50_000_000);
        before == tids.iter().map(|tid| used(*tid)).collect::<Vec<_>>()
    };
    assert!((0..100).any(|_| quiet()));
    drop(to_worker);
    assert!(matches!(reply(), Reply::Done { .. }));
    assert_eq!(worker.join().unwrap(), Ok(()));
}

#[test]
fn simulated_slices_are_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 2, &[("ratio.pair", 1.5), ("noise_sd", 0.1), ("base_rows_per_s", 1e7)]);
    let requests = lines(&[prepare(&load), go(0), go(1)]);
    let (first, result) = converse("simulated", &requests);
    assert_eq!(result, Ok(()));
    assert_eq!(slices(&first), slices(&converse("simulated", &requests).0));
    assert_ne!(slices(&first)[0], slices(&first)[1]);
    assert!(matches!(first.last(), Some(Reply::Done { .. })));
    // Moments of CLOCK_MONOTONIC are those of the machine, and distances between them those of the seed.
    let at_a_rate = lines(&[prepare(&at_a_rate(&load, "poisson")), go_for(3, 500_000_000)]);
    let (rated, result) = converse("simulated", &at_a_rate);
    assert_eq!(result, Ok(()));
    let steps = |replies: &[Reply]| slices(replies)[0].iter().map(|slice| slice.steps).collect::<Vec<_>>();
    assert_eq!(steps(&rated), steps(&converse("simulated", &at_a_rate).0));
    assert!((900..1_100).contains(&steps(&rated).iter().sum::<u64>()), "{:?}", steps(&rated));
}

/// Options of a load at 2,000 requests a second.
fn at_a_rate(load: &WireLoad, way: &str) -> WireLoad {
    let mut load = load.clone();
    load.options.insert("rate_per_s".into(), OptionValue::Number(2000.0));
    load.options.insert("arrivals".into(), OptionValue::Text(way.into()));
    load
}

fn go_for(sequence: u64, window_ns: u64) -> Request {
    Request::Go { sequence, warmup_ns: 5_000_000, window_ns, queries: Vec::new(), piece_ns: None }
}

#[test]
fn all_requests_that_are_due_in_a_window_are_served_or_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let load = at_a_rate(&load(folder.path(), 2, &[]), "constant");
    let requests = [load_request(&load), prepare(&load), go_for(0, 100_000_000), go_for(1, 100_000_000)];
    let (replies, result) = converse("sqlite", &lines(&requests));
    assert_eq!(result, Ok(()), "{replies:?}");
    let counters: Vec<_> = replies
        .iter()
        .filter_map(|reply| match reply {
            Reply::Slice { counters, .. } => Some(counters),
            _ => None,
        })
        .collect();
    for (counters, sessions) in counters.iter().zip(slices(&replies)) {
        // 2,000 a second for a tenth of a second, however fast they are served.
        let due = counters["arrivals_due"];
        assert!((199..=201).contains(&due), "{due}");
        let steps: u64 = sessions.iter().map(|slice| slice.steps).sum();
        assert_eq!(steps + counters["arrivals_unserved"], due);
        let latencies: u64 =
            sessions.iter().map(|slice| threadwise_engine::latency::steps(&slice.latency).unwrap()).sum();
        assert_eq!(latencies, steps);
        for slice in sessions.iter().filter(|slice| slice.steps > 0) {
            assert_eq!((slice.rows, slice.answers_checked), (64 * slice.steps, slice.steps));
            assert!(slice.counters.contains_key("arrivals_queued_ns"));
        }
    }
    assert_eq!(counters.len(), 2);
}

#[test]
fn rates_that_cannot_be_and_loops_that_take_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 1, &[]);
    for (name, value, part) in [
        ("rate_per_s", OptionValue::Number(-1.0), "not a number of requests a second"),
        ("rate_per_s", OptionValue::Text("much".into()), "'much'"),
        ("arrivals", OptionValue::Text("poisson".into()), "needs a rate"),
        ("arrivals", OptionValue::Text("hourly".into()), "one of: poisson, constant"),
    ] {
        let mut load = load.clone();
        load.options.insert(name.into(), value);
        let (replies, _) = converse("sqlite", &lines(&[load_request(&load)]));
        let (kind, message) = failure(&replies);
        assert!(kind == "option" && message.contains(part), "{message}");
    }
    let mut thinking = at_a_rate(&load, "poisson");
    thinking.options.insert("think_time_us".into(), OptionValue::Integer(5));
    let (replies, _) = converse("sqlite", &lines(&[load_request(&thinking)]));
    assert!(failure(&replies).1.contains("leave one of them out"), "{replies:?}");
    let mut kernels = WireLoad { workload: "kernels".into(), ..load };
    kernels.options.clear();
    let (replies, result) = converse("native", &lines(&[load_request(&kernels), Request::Stop]));
    assert_eq!(result, Ok(()), "{replies:?}");
    kernels.options.insert("rate_per_s".into(), OptionValue::Number(2000.0));
    let (replies, _) = converse("native", &lines(&[load_request(&kernels)]));
    let (kind, message) = failure(&replies);
    assert!(kind == "option" && message.contains("rate_per_s"), "{kind}: {message}");
}

/// An engine that takes a rate, and whose sessions do not wait for requests to arrive.
struct Deaf;

impl Engine for Deaf {
    fn name(&self) -> &'static str {
        "deaf"
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Ok("1".into())
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn workloads(&self) -> &'static [Workload] {
        &[Workload::LogicalIo]
    }

    fn check(&self, _: &LoadRequest) -> Result<(), EngineError> {
        Ok(())
    }

    fn load(&self, _: &LoadRequest) -> Result<Loaded, EngineError> {
        Err(EngineError::Missing("no data".into()))
    }

    fn start(&self, _: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        Ok(Box::new(Self))
    }
}

impl Running for Deaf {
    fn open(&self, _: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(Self))
    }
}

impl Session for Deaf {
    fn warm(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn slice(&mut self, _: &Window) -> Result<SessionSlice, EngineError> {
        Ok(SessionSlice { steps: 5, rows: 5, ..SessionSlice::default() })
    }
}

#[test]
fn sessions_that_do_not_take_arrivals_are_not_reported_as_if_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 1, &[]);
    let run = |load: &WireLoad| {
        let mut output = Vec::new();
        let requests = lines(&[prepare(load), go(0), Request::Stop]);
        let result = worker::run(&[&Deaf], "deaf", &requests[..], &mut output);
        let text = String::from_utf8(output).unwrap();
        (text.lines().map(|line| protocol::decode(line).unwrap()).collect::<Vec<Reply>>(), result)
    };
    let (replies, result) = run(&load);
    assert_eq!(result, Ok(()), "{replies:?}");
    let (replies, result) = run(&at_a_rate(&load, "poisson"));
    let (kind, message) = failure(&replies);
    assert!(
        kind == "option" && message.contains("rate_per_s") && message.contains("leave --rate out"),
        "{message}"
    );
    assert!(slices(&replies).is_empty() && result.is_err(), "{replies:?}");
}

#[test]
fn a_corrupt_row_is_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 2, &[]);
    assert_eq!(converse("sqlite", &lines(&[load_request(&load)])).1, Ok(()));
    let data = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let connection = rusqlite::Connection::open(data.join("session-1.db")).unwrap();
    connection.execute("UPDATE blocks SET value = value - 1 WHERE k = 3", []).unwrap();
    drop(connection);
    let (replies, result) = converse("sqlite", &lines(&[prepare(&load), go(0)]));
    let (kind, message) = failure(&replies);
    assert_eq!(kind, "wrong-answer");
    assert!(message.contains("session-1.db"), "{message}");
    assert!(result.is_err());
}

#[test]
fn faults_of_the_engine_end_the_worker_with_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    let crashing = load(folder.path(), 2, &[("crash.pair", 2.0)]);
    let (replies, result) = converse("simulated", &lines(&[prepare(&crashing), go(0), go(1), go(2)]));
    assert_eq!(slices(&replies).len(), 1);
    assert_eq!(failure(&replies).0, "engine");
    assert!(matches!(result, Err(WorkerError::Engine(_))));
    let wrong = load(folder.path(), 1, &[("wrong.pair/l2", 1.0)]);
    let (replies, _) = converse("simulated", &lines(&[prepare(&wrong), go(0)]));
    assert_eq!(slices(&replies)[0][0].answers_wrong, 1);
    let mut unknown = load(folder.path(), 1, &[]);
    unknown.options.insert("sclae".into(), OptionValue::Integer(1));
    let (replies, _) = converse("sqlite", &lines(&[load_request(&unknown)]));
    let (kind, message) = failure(&replies);
    assert!(kind == "option" && message.contains("allowed: blocks"), "{message}");
    let missing = load(folder.path(), 1, &[]);
    let (replies, _) = converse("sqlite", &lines(&[prepare(&missing)]));
    assert!(failure(&replies).1.contains("load the data"));
}

#[test]
fn a_cpu_that_does_not_exist_is_a_lost_pin() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 1, &[]);
    let sessions = vec![WireSession { cpus: "65535".into() }];
    let request =
        Request::Prepare { protocol: VERSION, load, sessions, seed: 9, service: None, journal: None };
    let (replies, _) = converse("simulated", &lines(&[request]));
    let (kind, message) = failure(&replies);
    assert!(kind == "lost-pin" && message.contains("65535"), "{kind}: {message}");
}

#[test]
fn requests_that_cannot_be_followed_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), 1, &[]);
    let sessions = |list: &[&str]| Request::Prepare {
        protocol: VERSION,
        load: load.clone(),
        sessions: list.iter().map(|cpus| WireSession { cpus: (*cpus).into() }).collect(),
        seed: 1,
        service: None,
        journal: None,
    };
    let endless =
        Request::Go { sequence: 0, warmup_ns: 0, window_ns: u64::MAX, queries: Vec::new(), piece_ns: None };
    let cases = [
        (vec![sessions(&[])], "names no session"),
        (vec![sessions(&["0", "0"])], "2 sessions, but data is loaded for 1"),
        (vec![sessions(&["0-x"])], "'x' is not a number"),
        (vec![go(0)], "prepare first"),
        (vec![prepare(&load), prepare(&load)], "open already"),
        (vec![prepare(&load), endless], "window_ns must be"),
        (vec![Request::Load { protocol: 99, load: load.clone(), connections: None }], "protocol 99"),
    ];
    for (requests, part) in cases {
        let (replies, result) = converse("simulated", &lines(&requests));
        let (kind, message) = failure(&replies);
        assert!(kind == "protocol" && message.contains(part), "{kind}: {message}");
        assert!(result.is_err());
    }
}

#[test]
fn hostile_input_ends_the_worker_with_one_line() {
    let long = vec![b'x'; protocol::MAX_LINE_BYTES + 10];
    let cases: [(&[u8], &str); 5] = [
        (b"hello\n", "'hello' is not a message"),
        (b"{\"type\":\"go\"", "middle of a line"),
        (b"\xff\xfe\n", "UTF-8"),
        (b"\n", "EOF"),
        (&long, "longer than 67108864 bytes"),
    ];
    for (input, part) in cases {
        let (replies, result) = converse("simulated", input);
        let (kind, message) = failure(&replies);
        assert!(kind == "protocol" && message.contains(part), "{kind}: {message}");
        assert!(matches!(result, Err(WorkerError::Protocol(_))));
    }
}

#[test]
fn the_end_of_input_is_a_stop_and_unknown_engines_are_listed() {
    assert!(matches!(converse("simulated", b"").0.last(), Some(Reply::Done { .. })));
    let (replies, result) = converse("dbase", b"");
    let (kind, message) = failure(&replies);
    assert!(
        kind == "option" && message.contains("there are: sqlite, native, command, simulated"),
        "{message}"
    );
    assert!(result.is_err());
}

#[test]
fn a_runner_that_is_gone_is_noticed() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let result = worker::run(engines::all(), "simulated", &b""[..], writer);
    assert!(matches!(result, Err(WorkerError::Protocol(_))), "{result:?}");
}
