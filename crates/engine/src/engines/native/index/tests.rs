//! Every structure under every lock, with several sessions at once.

use super::keys::{in_order, value_of};
use super::structure::{Costs, Open};
use super::*;
use crate::engines::native::table::RowOrigin;
use crate::workloads::insert::Key;
use crate::{LoadRequest, Window, clock};
use std::path::PathBuf;
use std::thread;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::current_affinity;
use threadwise_study::{OptionValue, Options};

const SESSIONS: usize = 4;
const ROWS: u64 = 3_000;

fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

fn start(options: &[(&str, OptionValue)]) -> StartRequest {
    let mut given: Options =
        options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    given.entry("rows".into()).or_insert(OptionValue::Integer(ROWS as i64));
    let cpus: CpuSet = current_affinity().unwrap();
    StartRequest {
        load: LoadRequest {
            workload: "index".into(),
            options: given,
            engine_options: Options::new(),
            data_dir: PathBuf::new(),
            treatment: "x".into(),
            sessions: SESSIONS as u32,
            seed: 1,
        },
        sessions: vec![cpus.clone(); SESSIONS],
        service: cpus,
        seed: 5,
        journal: None,
    }
}

/// Structures and locks, each with the other options of a case.
fn cases(more: &[(&str, OptionValue)]) -> Vec<StartRequest> {
    let mut all = Vec::new();
    for structure in ["b-tree", "hash"] {
        for lock in LockKind::WORDS {
            let mut options = vec![("structure", text(structure)), ("lock", text(lock))];
            options.extend(more.iter().cloned());
            all.push(start(&options));
        }
    }
    all
}

fn requests(start: &StartRequest) -> Vec<SessionRequest> {
    let request = |session: usize| SessionRequest {
        load: start.load.clone(),
        session: session as u32,
        sessions: SESSIONS as u32,
        cpus: start.sessions[session].clone(),
        seed: start.seed,
    };
    (0..SESSIONS).map(request).collect()
}

/// Slices of all sessions at once, with what the worker's main thread does between them.
fn work(running: &RunningIndex, start: &StartRequest, slices: usize) -> Vec<SessionSlice> {
    let requests = requests(start);
    let barrier = &std::sync::Barrier::new(SESSIONS + 1);
    let parts: Vec<Vec<SessionSlice>> = thread::scope(|scope| {
        let threads: Vec<_> = requests
            .iter()
            .map(|request| {
                scope.spawn(move || {
                    let mut session = running.open(request).unwrap();
                    session.warm().unwrap();
                    barrier.wait();
                    barrier.wait();
                    let mut done = Vec::new();
                    for _ in 0..slices {
                        let start_ns = clock::monotonic_ns();
                        let end_ns = start_ns + 10_000_000;
                        let window = Window { sequence: 0, start_ns, end_ns, piece_ns: None, arrivals: None };
                        done.push(session.slice(&window).unwrap());
                        barrier.wait();
                        barrier.wait();
                    }
                    done
                })
            })
            .collect();
        barrier.wait();
        running.standing().unwrap();
        barrier.wait();
        for _ in 0..slices {
            barrier.wait();
            assert_eq!(running.after(&mut []), Ok(Counters::new()));
            barrier.wait();
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    parts.concat()
}

#[test]
fn lookups_find_what_is_there_and_nothing_else() {
    for key in ["random", "sequential"] {
        for start in cases(&[("key", text(key)), ("absent_pct", OptionValue::Integer(30))]) {
            let running = RunningIndex::begin(&start).unwrap();
            let slices = work(&running, &start, 2);
            assert_eq!(running.finish(), Ok(()));
            let is = |name: &str, value: &str| start.load.options[name] == text(value);
            for slice in slices.iter().filter(|slice| slice.steps > 0) {
                assert_eq!((slice.rows, slice.answers_checked), (16 * slice.steps, 16 * slice.steps));
                // A lock is taken once a lookup, and what is not counted is not there.
                let taken = slice.counters.get("lock_acquisitions").copied();
                assert_eq!(
                    taken,
                    (!is("lock", "lock-free")).then_some(slice.rows),
                    "{:?}",
                    start.load.options
                );
                assert_eq!(slice.counters.contains_key("spins"), taken.is_some());
                assert_eq!(slice.counters.contains_key("chain_steps"), is("structure", "hash"));
            }
            // On a busy machine a session may get no time in a slice.
            assert!(slices.iter().any(|slice| slice.rows > 0));
        }
    }
}

#[test]
fn inserts_are_all_kept_and_then_taken_out() {
    for key in ["random", "sequential"] {
        for start in cases(&[("operation", text("insert")), ("key", text(key))]) {
            let running = RunningIndex::begin(&start).unwrap();
            let slices = work(&running, &start, 3);
            assert_eq!(running.finish(), Ok(()), "{:?}", start.load.options);
            assert_eq!(running.shared.structure.content().unwrap().rows, ROWS);
            assert!(slices.iter().any(|slice| slice.rows > 0));
        }
    }
}

/// What was inserted by several sessions is all there before it is taken out.
#[test]
fn no_insert_is_lost_between_sessions() {
    const EACH: u64 = 4_000;
    for start in cases(&[("operation", text("insert"))]) {
        let running = RunningIndex::begin(&start).unwrap();
        let structure = &running.shared.structure;
        thread::scope(|scope| {
            for request in requests(&start) {
                scope.spawn(move || {
                    let session = request.session as usize;
                    let place = (request.session, request.sessions);
                    let mut keys = keys::Keys::new(Key::Random, ROWS, 0.0, place, 3);
                    let (open, mut costs) = (structure.open(), Costs::default());
                    for _ in 0..EACH {
                        let key = keys.insert();
                        let is_new = open
                            .insert(RowOrigin::Added, session, (key, &value_of(key)), &mut costs)
                            .unwrap();
                        assert!(is_new);
                        assert_eq!(open.find(session, (key, &value_of(key)), &mut costs), Ok(Some(true)));
                    }
                });
            }
        });
        assert_eq!(structure.content().unwrap().rows, ROWS + SESSIONS as u64 * EACH);
    }
}

#[test]
fn a_wrong_value_and_a_missing_key_fail_the_run() {
    for start in cases(&[("rows", OptionValue::Integer(SESSIONS as i64))]) {
        let running = RunningIndex::begin(&start).unwrap();
        let open = running.shared.structure.open();
        let mut costs = Costs::default();
        let key = stored_key(0);
        assert_eq!(open.find(0, (key, &value_of(key)), &mut costs), Ok(Some(true)));
        assert_eq!(open.find(0, (key, &value_of(key + 1)), &mut costs), Ok(Some(false)));
        assert_eq!(open.find(0, (key | 1, &value_of(key | 1)), &mut costs), Ok(None));
        // A value that is another key's is found by lookups and by the check of everything.
        let wrong = key | 1;
        assert_eq!(open.insert(RowOrigin::Seed, 0, (wrong, &value_of(key)), &mut costs), Ok(true));
        assert_eq!(open.find(0, (wrong, &value_of(wrong)), &mut costs), Ok(Some(false)));
        drop(open);
        let error = running.shared.structure.content().unwrap_err().to_string();
        assert!(error.contains("the key 1 has the value of another key"), "{error}");
    }
}

/// A session that finds what it should not, by each of the three ways.
#[test]
fn a_session_says_which_key_was_wrong() {
    let window = |ns| Window {
        sequence: 0,
        start_ns: 0,
        end_ns: clock::monotonic_ns() + ns,
        piece_ns: None,
        arrivals: None,
    };
    for (absent_pct, spoilt, part) in [
        (0, None, "did not find the key"),
        (100, Some(true), "was never stored"),
        (0, Some(false), "has the value of another key"),
    ] {
        let options = [
            ("absent_pct", OptionValue::Integer(absent_pct)),
            ("rows", OptionValue::Integer(SESSIONS as i64)),
        ];
        let start = start(&options);
        let running = RunningIndex::begin(&start).unwrap();
        let open = running.shared.structure.open();
        for key in in_order(SESSIONS as u64) {
            let mut costs = Costs::default();
            let key = key | i64::from(absent_pct == 100);
            if absent_pct == 0 {
                assert_eq!(open.remove(0, (key, &value_of(key)), &mut costs), Ok(true));
            }
            if let Some(is_right) = spoilt {
                let value = value_of(key + i64::from(!is_right));
                assert_eq!(open.insert(RowOrigin::Seed, 0, (key, &value), &mut costs), Ok(true));
            }
        }
        let mut session = running.open(&requests(&start)[0]).unwrap();
        let error = session.slice(&window(600_000_000_000)).unwrap_err();
        assert!(matches!(&error, EngineError::WrongAnswer(why) if why.contains(part)), "{error}");
    }
}

#[test]
fn a_session_that_says_too_much_fails_the_run_and_so_does_a_row_too_many() {
    let hash = start(&[("structure", text("hash")), ("operation", text("insert"))]);
    let running = RunningIndex::begin(&hash).unwrap();
    running.shared.reports.add(2, Content { rows: 1, key_sum: 0 });
    let error = running.after(&mut []).unwrap_err().to_string();
    assert!(error.contains("added rows"), "{error}");
    for start in cases(&[("operation", text("insert"))]) {
        let running = RunningIndex::begin(&start).unwrap();
        let key = stored_key(ROWS) | 1;
        let open = running.shared.structure.open();
        open.insert(RowOrigin::Seed, 0, (key, &value_of(key)), &mut Costs::default()).unwrap();
        drop(open);
        assert!(running.finish().unwrap_err().to_string().contains("at the end: 3001 rows"));
    }
}

#[test]
fn a_lock_that_lets_two_in_is_an_error() {
    let running = RunningIndex::begin(&start(&[])).unwrap();
    let Open::LockedTree(_, tree) = running.shared.structure.open() else { panic!("no locked tree") };
    // As if another session were inside.
    let _held = tree.lock().unwrap();
    let key = stored_key(1);
    let found = running.shared.structure.open().find(0, (key, &value_of(key)), &mut Costs::default());
    assert!(found.unwrap_err().to_string().contains("let two sessions in at once"));
}

#[test]
fn memory_is_that_of_one_index_for_all_sessions() {
    let spec = IndexSpec::parse(&start(&[("rows", OptionValue::Integer(1 << 20))]).load).unwrap();
    let loaded = size(&spec, 4);
    assert_eq!(loaded.bytes_per_session, 32 << 20);
    let free = start(&[("rows", OptionValue::Integer(1 << 20)), ("lock", text("lock-free"))]);
    assert_eq!(size(&IndexSpec::parse(&free.load).unwrap(), 4).bytes_per_session, 60 << 20);
    assert_eq!(
        loaded.notes,
        ["native: a B-tree (std::collections::BTreeMap) behind one lock, 1048576 rows, about 128 MiB"]
    );
}
