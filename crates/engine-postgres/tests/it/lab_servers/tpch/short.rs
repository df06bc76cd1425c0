//! Sessions of short queries beside a stream.

use super::place::{Study, folder, request, window};
use crate::support::{cpus, engine};
use std::collections::BTreeMap;
use std::sync::{Barrier, Mutex};
use threadwise_engine::{SessionRequest, StartRequest, Window, latency};
use threadwise_study::SessionSlice;
use threadwise_tpch::Dialect;

const SHORT: u32 = 2;
/// Length of a window.
const LIMIT_MS: u64 = 120_000;

/// Slices of one stream with these queries each, with [`SHORT`] sessions beside it.
fn slices(scripts: &[&[u8]]) -> (Vec<Vec<SessionSlice>>, Vec<u32>) {
    let folder = folder(Dialect::Postgres, 1);
    let given =
        [("dop", "2"), ("test", "throughput"), ("short", "2"), ("hold_plan", "true"), ("queries", "1,6")];
    let load = request(folder.path(), &given, &[], 1 + SHORT);
    let study = Study::of(engine(), folder, &load);
    let sessions = vec![cpus(); load.sessions as usize];
    let start = StartRequest { load: load.clone(), sessions, service: cpus(), seed: 7, journal: None };
    let running = engine().start(&start).unwrap();
    let everybody = Barrier::new(load.sessions as usize + 1);
    let moment: Mutex<Option<Window>> = Mutex::default();
    let done: Mutex<BTreeMap<u32, SessionSlice>> = Mutex::default();
    let (all, pids) = std::thread::scope(|scope| {
        for session in 0..load.sessions {
            let (load, running, everybody, moment, done) =
                (load.clone(), &running, &everybody, &moment, &done);
            scope.spawn(move || {
                let sessions = load.sessions;
                let request = SessionRequest { load, session, sessions, cpus: cpus(), seed: 7 };
                let mut opened = running.open(&request).unwrap();
                opened.warm().unwrap();
                everybody.wait();
                for queries in scripts {
                    everybody.wait();
                    let window = moment.lock().unwrap().clone().unwrap();
                    let slice = match session {
                        0 => opened.queries(&window, queries).unwrap(),
                        _ => opened.slice(&window).unwrap(),
                    };
                    done.lock().unwrap().insert(session, slice);
                    everybody.wait();
                }
                // Parked, and not closed, until the last slice was read.
                everybody.wait();
            });
        }
        everybody.wait();
        let pids = running.standing().unwrap().placed.iter().map(|placed| placed.pid).collect();
        let one = |(sequence, _): (usize, &&[u8])| {
            running.before().unwrap();
            let window = moment
                .lock()
                .unwrap()
                .insert(Window { sequence: sequence as u64, ..window(LIMIT_MS) })
                .clone();
            everybody.wait();
            running.during(&window).unwrap();
            everybody.wait();
            let mut slices: Vec<_> = std::mem::take(&mut *done.lock().unwrap()).into_values().collect();
            running.after(&mut slices).unwrap();
            slices
        };
        let all: Vec<_> = scripts.iter().enumerate().map(one).collect();
        everybody.wait();
        (all, pids)
    });
    running.finish().unwrap();
    study.end();
    (all, pids)
}

#[test]
#[ignore = "laboratory: servers"]
fn short_queries_run_beside_a_stream_until_it_is_done() {
    let (slices, pids) = slices(&[&[1, 6], &[6]]);
    assert!(pids.len() > 3, "the server processes of all three sessions are placed");
    for sessions in &slices {
        let [stream, short @ ..] = sessions.as_slice() else { panic!("{sessions:?}") };
        assert_eq!(short.len(), SHORT as usize);
        assert!(stream.queries.iter().all(|one| one.cpu_ns.is_none() && one.counters.is_empty()));
        assert!(stream.latency.is_empty() && stream.cpu_ns > 0);
        for one in short {
            assert!(one.queries.is_empty() && one.steps > 0);
            assert_eq!((one.rows, one.answers_checked, one.answers_wrong), (one.steps, one.steps, 0));
            assert_eq!(latency::steps(&one.latency), Ok(one.steps));
            // It was the stream that ended it, and not the end of its window.
            assert!(one.finished_ns.unwrap() < LIMIT_MS * 1_000_000, "{:?}", one.finished_ns);
            assert!(one.cpu_ns > 0 && one.counters["client_cpu_ns"] > 0);
        }
    }
    let steps = |slice: usize| -> u64 { slices[slice][1..].iter().map(|one| one.steps).sum() };
    assert!(steps(0) > 0 && steps(1) > 0);
}
