//! Tests of the log with all three ways to reserve room.

use super::super::locks::LockKind;
use super::super::record::{Draft, Head, Kind, UNIT_BYTES, read, tagged_bytes};
use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

const KINDS: [LockKind; 3] = [LockKind::Spin, LockKind::Mcs, LockKind::LockFree];

const RING_BYTES: usize = 4096;

/// Bytes of one session's n-th record: of different lengths, and of nothing but its own number.
fn content(session: usize, number: u64) -> Vec<u8> {
    let length = 8 + (session * 37 + number as usize * 11) % 300;
    (0..length).map(|at| (session + number as usize + at) as u8).collect()
}

fn draft(draft: &mut Draft, session: usize, number: u64) -> &[u8] {
    let bytes = content(session, number);
    draft.clear();
    draft.content().extend_from_slice(&bytes);
    let session = session as u16;
    let count = bytes.len() as u32;
    draft.finish(&Head { kind: Kind::Plain, commits: true, session, transaction: number, place: 0, count })
}

fn append(log: &Log, session: usize, number: u64, tally: &mut Tally) -> Result<u64, LogError> {
    log.append(session, draft(&mut Draft::new(), session, number), tally)
}

/// Every record of a drained log, in its order; session and number.
fn records(bytes: &[u8]) -> Vec<(usize, u64)> {
    let mut at = 0;
    let mut found = Vec::new();
    while at < bytes.len() {
        let tag = u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let length = tagged_bytes(tag, at as u64).unwrap();
        let (head, body) = read(at as u64, &bytes[at..at + length]).unwrap();
        let (session, number) = (usize::from(head.session), head.transaction);
        assert_eq!(body[..head.count as usize], content(session, number));
        found.push((session, number));
        at += length;
    }
    found
}

/// Sessions append all at once, while a writer drains; gives what was drained and the tallies.
fn run(reserve: LockKind, ring_bytes: usize, sessions: usize, each: u64) -> (Vec<u8>, Vec<Tally>) {
    let log = Log::new(reserve, ring_bytes, sessions, true);
    let mut drained = Vec::new();
    let tallies = thread::scope(|scope| {
        let log = &log;
        let drain = scope.spawn(move || {
            log.attach_writer();
            let mut all = Vec::new();
            loop {
                match log.drain(1000, &mut all) {
                    Ok(0) if log.is_stopping() => return all,
                    Ok(0) => log.idle(),
                    Ok(_) => {}
                    Err(error) => {
                        log.fail(error.0);
                        return all;
                    }
                }
            }
        });
        while log.writer.0.1.get().is_none() {
            thread::yield_now();
        }
        let append_all = |session: usize| {
            move || {
                log.attach(session);
                let mut tally = Tally::default();
                let mut buffer = Draft::new();
                for number in 0..each {
                    log.append(session, draft(&mut buffer, session, number), &mut tally).unwrap();
                }
                log.wake_writer();
                tally
            }
        };
        let threads: Vec<_> = (0..sessions).map(|session| scope.spawn(append_all(session))).collect();
        let tallies = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        log.stop();
        drained = drain.join().unwrap();
        tallies
    });
    assert_eq!(log.end(), log.drained());
    (drained, tallies)
}

#[test]
fn every_record_is_kept_once_intact_and_in_its_sessions_order() {
    const EACH: u64 = 1500;
    for (reserve, ring_bytes) in KINDS.into_iter().flat_map(|kind| [(kind, RING_BYTES), (kind, 1 << 20)]) {
        let (drained, tallies) = run(reserve, ring_bytes, 8, EACH);
        let found = records(&drained);
        let mut next = [0; 8];
        for (session, number) in &found {
            assert_eq!(*number, next[*session], "{reserve:?}: session {session}");
            next[*session] += 1;
        }
        assert_eq!(next, [EACH; 8], "{reserve:?}");
        assert_eq!(tallies.iter().map(|tally| tally.bytes).sum::<u64>(), drained.len() as u64);
        if ring_bytes == RING_BYTES {
            assert!(drained.len() > 500 * RING_BYTES, "{} bytes", drained.len());
            assert!(tallies.iter().map(|tally| tally.full_waits).sum::<u64>() > 0);
        }
        for tally in tallies {
            // A lock is taken once a record, and once more for each time that the ring was full.
            let again = if reserve == LockKind::LockFree { 0 } else { tally.full_waits };
            assert_eq!(tally.lock.acquisitions, EACH + again, "{reserve:?}");
            assert!(
                tally.lock.contended <= tally.lock.acquisitions && tally.lock.contended <= tally.lock.spins
            );
            assert!(reserve != LockKind::LockFree || (tally.lock.spins, tally.lock.spin_ns) == (0, 0));
        }
    }
}

#[test]
fn a_session_alone_never_spins() {
    for reserve in KINDS {
        let (drained, tallies) = run(reserve, 1 << 20, 1, 1000);
        assert_eq!(records(&drained).len(), 1000);
        let tally = &tallies[0];
        assert_eq!(
            (tally.lock.spins, tally.lock.spin_ns, tally.lock.contended, tally.lock.yields),
            (0, 0, 0, 0),
            "{reserve:?}"
        );
        assert_eq!((tally.lock.acquisitions, tally.full_waits), (1000, 0));
    }
}

#[test]
fn without_a_writer_records_go_round_and_nobody_waits() {
    for reserve in KINDS {
        let log = Log::new(reserve, RING_BYTES, 1, false);
        let tally = &mut Tally::default();
        for number in 0..1000 {
            append(&log, 0, number, tally).unwrap();
        }
        assert_eq!((tally.lock.acquisitions, tally.full_waits), (1000, 0));
        assert_eq!(log.end(), tally.bytes);
    }
}

#[test]
fn lock_free_records_wait_for_those_before_them() {
    let log = Log::new(LockKind::LockFree, RING_BYTES, 2, true);
    let tally = &mut Tally::default();
    // A session that has reserved and does not run.
    let late = log.end.0.fetch_add(UNIT_BYTES as u64, Ordering::Relaxed);
    append(&log, 1, 0, tally).unwrap();
    append(&log, 1, 1, tally).unwrap();
    let mut drained = Vec::new();
    assert_eq!(log.drain(RING_BYTES, &mut drained), Ok(0));
    let mut buffer = Draft::new();
    let record = draft(&mut buffer, 0, 0);
    assert_eq!(record.len(), UNIT_BYTES);
    log.ring.put(late, record, record::tag(late, record.len()));
    let count = log.drain(RING_BYTES, &mut drained).unwrap() as u64;
    assert_eq!((count, log.drained()), (UNIT_BYTES as u64 + tally.bytes, log.end()));
    let numbers: Vec<_> = records(&drained).iter().map(|(session, _)| *session).collect();
    assert_eq!(numbers, [0, 1, 1]);
}

#[test]
fn a_tag_that_nobody_stored_is_an_error() {
    let log = Log::new(LockKind::LockFree, RING_BYTES, 1, true);
    append(&log, 0, 0, &mut Tally::default()).unwrap();
    log.ring.put(log.end(), &[0; 64], 12_345);
    let error = log.drain(RING_BYTES, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("corrupt"), "{error}");
}

/// Fills a ring that is not drained; the last append waits.
fn filling(log: &Arc<Log>, asks: &Arc<AtomicBool>) -> JoinHandle<Result<u64, LogError>> {
    let (log, asks) = (Arc::clone(log), Arc::clone(asks));
    thread::spawn(move || {
        log.attach(0);
        let tally = &mut Tally::default();
        while log.end() + 512 <= RING_BYTES as u64 {
            append(&log, 0, 0, tally)?;
        }
        asks.store(true, Ordering::SeqCst);
        for number in 0..20 {
            append(&log, 0, number, tally)?;
        }
        Ok(tally.full_waits)
    })
}

#[test]
fn a_full_ring_waits_for_the_writer_and_counts_it() {
    for reserve in KINDS {
        let log = Arc::new(Log::new(reserve, RING_BYTES, 1, true));
        let asks = Arc::new(AtomicBool::new(false));
        let session = filling(&log, &asks);
        let mut drained = Vec::new();
        while log.waiters[0].0.wanted.load(Ordering::SeqCst) == 0 {
            assert!(!session.is_finished(), "{reserve:?}: no session waited");
            thread::yield_now();
        }
        assert!(asks.load(Ordering::SeqCst) && !session.is_finished());
        while !session.is_finished() {
            log.drain(RING_BYTES, &mut drained).unwrap();
        }
        assert!(session.join().unwrap().unwrap() >= 1);
        log.drain(RING_BYTES, &mut drained).unwrap();
        assert_eq!(drained.len() as u64, log.end());
    }
}

#[test]
fn a_writer_that_fails_tells_everybody_who_waits() {
    for reserve in KINDS {
        let log = Arc::new(Log::new(reserve, RING_BYTES, 2, true));
        let session = filling(&log, &Arc::new(AtomicBool::new(false)));
        while log.waiters[0].0.wanted.load(Ordering::SeqCst) == 0 {
            assert!(!session.is_finished(), "{reserve:?}: no session waited");
            thread::yield_now();
        }
        log.fail("no space".into());
        assert_eq!(session.join().unwrap(), Err(LogError("no space".into())));
        assert_eq!(log.await_durable(1, 64), Err(LogError("no space".into())));
        assert_eq!(log.failure(), Some(LogError("no space".into())));
    }
}

#[test]
fn commits_return_when_their_own_record_is_on_the_disk() {
    let log = Log::new(LockKind::LockFree, RING_BYTES, 2, true);
    let tally = &mut Tally::default();
    let first = append(&log, 0, 0, tally).unwrap();
    let second = append(&log, 1, 0, tally).unwrap();
    thread::scope(|scope| {
        let wait = |session: usize, end: u64| {
            let log = &log;
            move || {
                log.attach(session);
                log.await_durable(session, end)
            }
        };
        let sessions = [scope.spawn(wait(0, first)), scope.spawn(wait(1, second))];
        let wants = |session: usize| log.waiters[session].0.wanted.load(Ordering::SeqCst) != 0;
        while !(wants(0) && wants(1)) {
            thread::yield_now();
        }
        log.drain(RING_BYTES, &mut Vec::new()).unwrap();
        assert!(wants(0) && wants(1));
        log.synced(first);
        let [early, late] = sessions;
        assert_eq!(early.join().unwrap(), Ok(()));
        assert!(wants(1) && !late.is_finished());
        log.synced(second);
        assert_eq!(late.join().unwrap(), Ok(()));
    });
}
