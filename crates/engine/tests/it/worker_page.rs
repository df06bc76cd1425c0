//! docs/WORKER.md is checked: its examples are messages of the protocol, and its Python worker works.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use threadwise_engine::protocol::{self, REPLY_FD, Reply, Request, VERSION, WireLoad, WireSession};
use threadwise_machine::pin::{current_affinity, thread_affinity};
use threadwise_study::{OptionValue, SessionSlice};

const PAGE: &str = include_str!("../../../../docs/WORKER.md");

fn examples(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    PAGE.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_example_is_a_message() {
    let (mut requests, mut replies) = (Vec::new(), Vec::new());
    for line in examples("json") {
        let line = line.trim_end();
        match (protocol::decode::<Request>(line), protocol::decode::<Reply>(line)) {
            (Ok(request), _) => requests.push(format!("{request:?}")),
            (_, Ok(reply)) => replies.push(format!("{reply:?}")),
            (Err(request), Err(reply)) => panic!("{request}; {reply}"),
        }
    }
    assert_eq!((requests.len(), replies.len()), (6, 7), "{requests:?} {replies:?}");
    assert!(PAGE.contains(&format!("Protocol version: {VERSION}.")));
    assert!(PAGE.contains(REPLY_FD));
}

#[test]
fn the_python_worker_keeps_to_the_protocol() {
    // What this process starts is a command's to the tests of commands.
    let _alone = crate::command::ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if Command::new("python3").arg("--version").output().is_err() {
        // Not by the macro, whose output the test program keeps back.
        let line = "SKIPPED: the Python worker of docs/WORKER.md: no python3 on PATH (Debian: python3)\n";
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
        return;
    }
    let [program] = examples("python")[..] else { panic!("the page has one Python program") };
    let cpus: Vec<u32> = current_affinity().unwrap().iter().collect();
    let load = WireLoad {
        workload: "logical-io".into(),
        options: [("blocks".to_owned(), OptionValue::Integer(500))].into(),
        engine_options: Default::default(),
        data_dir: "/proc/nonexistent".into(),
        treatment: "pair".into(),
        sessions: 2,
        seed: 1,
    };
    let mut worker = Command::new("python3")
        .args(["-c", program])
        .env(REPLY_FD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = worker.stdin.take().unwrap();
    let mut output = BufReader::new(worker.stdout.take().unwrap()).lines();
    let mut reply = || protocol::decode::<Reply>(&output.next().expect("a reply").unwrap()).unwrap();
    let mut send =
        |request: &Request| input.write_all(protocol::encode(request).unwrap().as_bytes()).unwrap();
    assert!(matches!(reply(), Reply::Hello { protocol: VERSION, .. }));
    send(&Request::Load { protocol: VERSION, load: load.clone(), connections: None });
    assert!(matches!(reply(), Reply::Loaded { rows_per_session: 500, .. }));
    let pins = [cpus[0], cpus[cpus.len() - 1]];
    let sessions = pins.iter().map(|cpu| WireSession { cpus: cpu.to_string() }).collect();
    send(&Request::Prepare { protocol: VERSION, load, sessions, seed: 1, service: None, journal: None });
    let Reply::Ready { tids, .. } = reply() else { panic!("not ready") };
    for (tid, cpu) in tids.iter().zip(pins) {
        assert_eq!(thread_affinity(worker.id(), *tid).unwrap(), [cpu].into_iter().collect());
    }
    let mut rows = 0;
    for sequence in 0..100 {
        send(&Request::Go {
            sequence,
            warmup_ns: 1_000_000,
            window_ns: 20_000_000,
            queries: Vec::new(),
            piece_ns: None,
        });
        let Reply::Slice { sequence: its, window_ns: 20_000_000, sessions, .. } = reply() else {
            panic!("no slice")
        };
        assert_eq!((its, sessions.len()), (sequence, 2));
        for slice in sessions {
            let slice = SessionSlice::try_from(slice).unwrap();
            assert_eq!((slice.rows, slice.answers_wrong), (500 * slice.steps, 0));
            rows += slice.rows;
        }
        if rows > 0 {
            break; // a busy machine may take a few windows
        }
    }
    assert!(rows > 0);
    send(&Request::Stop);
    assert!(matches!(reply(), Reply::Done { .. }));
    assert!(worker.wait().unwrap().success());
}
