//! The engine `native` behind the worker: whole lives of its workloads, in real time, with real files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use threadwise_engine::engines::native::Native;
use threadwise_engine::protocol::{self, Reply, Request, VERSION, WireLoad, WireSession};
use threadwise_engine::{Engine, LoadRequest, clock, worker};
use threadwise_machine::pin::{current_affinity, thread_affinity};
use threadwise_study::{OptionValue, Options, SessionSlice};

const ENGINES: [&'static dyn Engine; 1] = [&Native];

const SESSIONS: u32 = 3;

fn load(folder: &Path, workload: &str, options: &[(&str, OptionValue)]) -> WireLoad {
    let mut given: Options =
        options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    if workload == "insert" {
        given.entry("seed_rows".into()).or_insert(OptionValue::Integer(20_000));
    }
    let load = LoadRequest {
        workload: workload.into(),
        options: given,
        engine_options: Options::new(),
        data_dir: folder.to_owned(),
        treatment: "one".into(),
        sessions: SESSIONS,
        seed: 5,
    };
    WireLoad::try_from(&load).unwrap()
}

fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

/// One session on each of the process's logical CPUs, round robin.
fn prepare(load: &WireLoad) -> Request {
    let cpus: Vec<u32> = current_affinity().unwrap().iter().collect();
    let on = |index: u32| cpus[index as usize % cpus.len()].to_string();
    let sessions = (0..load.sessions).map(|index| WireSession { cpus: on(index) }).collect();
    let service = Some(on(1));
    Request::Prepare { protocol: VERSION, load: load.clone(), sessions, seed: 9, service, journal: None }
}

fn go(sequence: u64, window_ns: u64) -> Request {
    Request::Go { sequence, warmup_ns: 1_000_000, window_ns, queries: Vec::new(), piece_ns: None }
}

/// Runs a worker over the whole input; its replies, and an empty folder at its end.
fn converse(folder: &Path, requests: &[Request]) -> Vec<Reply> {
    let input: String = requests.iter().map(|request| protocol::encode(request).unwrap()).collect();
    let mut output = Vec::new();
    let result = worker::run(&ENGINES, "native", input.as_bytes(), &mut output);
    let lines = String::from_utf8(output).unwrap();
    assert_eq!(result, Ok(()), "{lines}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    lines.lines().map(|line| protocol::decode(line).unwrap()).collect()
}

fn slices(replies: &[Reply]) -> Vec<(Vec<SessionSlice>, &threadwise_study::Counters)> {
    let found = replies.iter().filter_map(|reply| match reply {
        Reply::Slice { sessions, counters, .. } => Some((sessions, counters)),
        _ => None,
    });
    found
        .map(|(sessions, counters)| {
            let sessions = sessions.iter().map(|slice| SessionSlice::try_from(slice.clone()).unwrap());
            (sessions.collect(), counters)
        })
        .collect()
}

/// Runs three slices, in which the worker itself compares table, log and sessions. On a busy machine
/// or disk it may be that no step ends inside a window; then another life will do.
fn live(workload: &str, options: &[(&str, OptionValue)]) -> Vec<Reply> {
    let rows = |replies: &Vec<Reply>| -> u64 {
        slices(replies).iter().flat_map(|(sessions, _)| sessions).map(|session| session.rows).sum()
    };
    (0..50).map(|_| three_slices(workload, options)).find(|replies| rows(replies) > 0).unwrap()
}

fn three_slices(workload: &str, options: &[(&str, OptionValue)]) -> Vec<Reply> {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), workload, options);
    let request = Request::Load { protocol: VERSION, load: load.clone(), connections: None };
    let slice = |sequence| go(sequence, 20_000_000);
    let requests = [request, prepare(&load), slice(0), slice(1), slice(2), Request::Stop];
    let replies = converse(folder.path(), &requests);
    assert!(matches!(&replies[1], Reply::Loaded { keep: false, notes, .. } if notes.len() == 1));
    assert!(matches!(replies.last(), Some(Reply::Done { .. })));
    replies
}

#[test]
fn inserts_with_every_index_and_every_log() {
    for (index, log) in [("lock-free", "lock-free"), ("locked", "spin"), ("lock-free", "mcs")] {
        let options = [("index", text(index)), ("log", text(log)), ("durability", text("relaxed"))];
        let replies = live("insert", &options);
        for (sessions, counters) in slices(&replies) {
            let rows: u64 = sessions.iter().map(|slice| slice.rows).sum();
            for slice in sessions.iter().filter(|slice| slice.steps > 0) {
                assert_eq!((slice.rows, slice.answers_checked), (2 * slice.steps, slice.steps));
                // Counters cover as many steps as are counted: one record of 320 bytes each.
                let full = slice.counters["log_full_waits"];
                assert_eq!(slice.counters["log_bytes"], 320 * slice.steps);
                let again = if log == "lock-free" { 0 } else { full };
                assert_eq!(slice.counters["lock_acquisitions"], slice.steps + again);
                assert!(log != "lock-free" || slice.counters["spins"] == 0);
                assert!(slice.counters["spin_ns"] <= slice.counters["counted_ns"]);
                assert!(slice.counters["spins"] >= slice.counters["lock_contended"]);
            }
            let has_worked = rows > 0;
            assert!(!has_worked || counters["log_written_bytes"] > 0 && counters["log_writer_cpu_ns"] > 0);
            assert_eq!(counters["log_syncs"], 0);
        }
    }
}

#[test]
fn full_durability_syncs_and_unlogged_writes_nothing() {
    let replies = live("insert", &[("durability", text("full")), ("key", text("random"))]);
    for (sessions, counters) in slices(&replies) {
        let steps: u64 = sessions.iter().map(|slice| slice.steps).sum();
        assert!(steps == 0 || counters["log_syncs"] > 0);
        assert!(counters["log_syncs"] <= counters["log_writes"]);
        // Each commit in the window waited for a sync, which all sessions may share.
        assert!(steps <= u64::from(SESSIONS) * counters["log_syncs"], "{steps} steps, {counters:?}");
    }
    for (sessions, counters) in slices(&live("insert", &[("table", text("unlogged"))])) {
        assert!(counters.is_empty());
        assert!(sessions.iter().all(|slice| slice.counters.get("log_bytes").is_none_or(|bytes| *bytes == 0)));
    }
}

#[test]
fn the_log_buffer_alone() {
    for log in ["spin", "mcs", "lock-free"] {
        for writer in [true, false] {
            let options = [
                ("log", text(log)),
                ("writer", OptionValue::Flag(writer)),
                ("records_per_step", OptionValue::Integer(5)),
                ("log_buffer_kib", OptionValue::Integer(256)),
            ];
            let replies = live("log-buffer", &options);
            for (sessions, counters) in slices(&replies) {
                for slice in sessions.iter().filter(|slice| slice.steps > 0) {
                    // 200 bytes and a header of 32, padded to 256.
                    assert_eq!(slice.rows, 5 * slice.steps);
                    assert_eq!(slice.counters["log_bytes"], 256 * slice.rows);
                    assert!(writer || slice.counters["log_full_waits"] == 0);
                }
                assert_eq!(counters.contains_key("log_writes"), writer);
            }
        }
    }
}

#[test]
fn a_fixed_amount_of_work_is_done_exactly() {
    for per_tx in [0, 4] {
        let folder = tempfile::tempdir().unwrap();
        let options = [
            ("rows_per_session", OptionValue::Integer(20_000)),
            ("rows_per_tx", OptionValue::Integer(per_tx)),
            ("durability", text("relaxed")),
            ("index", text("locked")),
            ("log_buffer_kib", OptionValue::Integer(256)),
        ];
        let load = load(folder.path(), "insert", &options);
        let replies = converse(folder.path(), &[prepare(&load), go(0, 600_000_000_000), Request::Stop]);
        let Some(Reply::Slice { window_ns, .. }) =
            replies.iter().find(|reply| matches!(reply, Reply::Slice { .. }))
        else {
            panic!("{replies:?}")
        };
        let (sessions, _) = &slices(&replies)[0];
        for slice in sessions {
            assert_eq!((slice.rows, slice.answers_wrong), (20_000, 0));
            assert_eq!(slice.steps, if per_tx == 0 { 1 } else { 5000 });
        }
        assert_eq!(sessions.iter().map(|slice| slice.finished_ns).max().flatten(), Some(*window_ns));
    }
}

#[test]
fn the_log_writer_is_placed_reported_and_parked_between_slices() {
    let folder = tempfile::tempdir().unwrap();
    let load = load(folder.path(), "insert", &[("durability", text("relaxed"))]);
    let (from_runner, mut to_worker) = std::io::pipe().unwrap();
    let (from_worker, to_runner) = std::io::pipe().unwrap();
    let worker =
        std::thread::spawn(move || worker::run(&ENGINES, "native", BufReader::new(from_runner), to_runner));
    let mut replies = BufReader::new(from_worker);
    let mut reply = || {
        let mut line = String::new();
        replies.read_line(&mut line).unwrap();
        protocol::decode::<Reply>(line.trim_end()).unwrap()
    };
    let mut send =
        |request: &Request| to_worker.write_all(protocol::encode(request).unwrap().as_bytes()).unwrap();
    assert!(matches!(reply(), Reply::Hello { .. }));
    send(&prepare(&load));
    let Reply::Ready { placed, tids, .. } = reply() else { panic!("not ready") };
    let [writer] = placed.as_slice() else { panic!("{placed:?}") };
    assert_eq!((writer.name.as_str(), writer.pid), ("log writer", std::process::id()));
    assert!(!tids.contains(&writer.tid));
    let allowed: Vec<u32> = current_affinity().unwrap().iter().collect();
    let mask = thread_affinity(writer.pid, writer.tid).unwrap();
    assert_eq!(mask, [allowed[1 % allowed.len()]].into_iter().collect());
    send(&go(0, 20_000_000));
    assert!(matches!(reply(), Reply::Slice { .. }));
    let used = |tid: u32| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()?;
        Some(status.lines().filter(|line| line.contains("ctxt_switches")).collect::<String>())
    };
    let all: Vec<u32> = tids.iter().copied().chain([writer.tid]).collect();
    let quiet = || {
        let before: Vec<_> = all.iter().map(|tid| used(*tid)).collect();
        clock::sleep_until_ns(clock::monotonic_ns() + 50_000_000);
        before == all.iter().map(|tid| used(*tid)).collect::<Vec<_>>()
    };
    assert!((0..100).any(|_| quiet()));
    drop(to_worker);
    assert!(matches!(reply(), Reply::Done { .. }));
    assert_eq!(worker.join().unwrap(), Ok(()));
    // A joined thread may stay listed for a moment: the kernel wakes the joiner first.
    while used(writer.tid).is_some() {
        std::thread::yield_now();
    }
}
