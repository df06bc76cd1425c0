//! Tests of the log writer with real files.

use super::super::locks::LockKind;
use super::super::log::Tally;
use super::super::record::{Draft, Head, Kind};
use super::super::table::Content;
use super::*;
use std::io::{Read, Seek, SeekFrom};
use threadwise_machine::pin::{current_affinity, thread_affinity};

const RING_BYTES: usize = 1 << 16;

fn record(draft: &mut Draft, session: u16, key: i64) -> &[u8] {
    draft.clear();
    Row::new(key, 1, i32::from(session), 0, 0).encode(draft.content());
    let transaction = key as u64;
    draft.finish(&Head { kind: Kind::Rows, commits: true, session, transaction, place: 0, count: 1 })
}

struct Running {
    folder: tempfile::TempDir,
    log: Arc<Log>,
    writer: LogWriter,
}

fn start(durability: Durability) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(Log::new(LockKind::LockFree, RING_BYTES, 12, true));
    let path = folder.path().join("x.log");
    let cpus = current_affinity().unwrap();
    let writer = LogWriter::start(Arc::clone(&log), path, &cpus, durability).unwrap();
    Running { folder, log, writer }
}

impl Running {
    /// Four sessions commit so many records each; others in every round, since a session has one
    /// thread in its life.
    fn commit(&self, round: u16, each: i64, durability: Durability) -> Content {
        thread::scope(|scope| {
            for session in 4 * (round - 1)..4 * round {
                let log = &self.log;
                scope.spawn(move || {
                    log.attach(usize::from(session));
                    let (mut draft, mut tally) = (Draft::new(), Tally::default());
                    for number in 0..each {
                        let key = i64::from(session % 4) * each + number;
                        let record = record(&mut draft, session, key);
                        let end = log.append(usize::from(session), record, &mut tally).unwrap();
                        if durability == Durability::Full {
                            log.await_durable(usize::from(session), end).unwrap();
                            let durable = log.durable();
                            assert!(durable >= end && durable <= log.drained());
                        }
                    }
                    log.wake_writer();
                });
            }
        });
        let mut content = Content::default();
        (0..4 * each).for_each(|key| content.add(key));
        content
    }

    fn read_back(&self) -> Recovered {
        self.writer.read_back(|_, _| {}).unwrap()
    }
}

#[test]
fn everything_is_in_the_file_and_the_file_can_be_emptied() {
    for (durability, each) in [(Durability::Relaxed, 5000), (Durability::Full, 50)] {
        let running = start(durability);
        for round in 1..=3_u16 {
            let content = running.commit(round, each, durability);
            running.writer.settle().unwrap();
            let found = running.read_back();
            assert_eq!((found.content, found.transactions), (content, content.rows));
            assert_eq!((found.torn_bytes, found.unfinished), (0, 0));
            let written = running.writer.written();
            assert_eq!(written.bytes, u64::from(round) * found.whole_bytes);
            match durability {
                Durability::Full => assert!((1..=written.writes).contains(&written.syncs)),
                Durability::Relaxed => assert_eq!(written.syncs, 0),
            }
            running.writer.empty().unwrap();
            assert_eq!(running.read_back(), Recovered::default());
        }
        let Running { folder, log, writer } = running;
        drop(writer);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(log.failure(), None);
    }
}

#[test]
fn a_damaged_file_is_found() {
    let running = start(Durability::Relaxed);
    running.commit(1, 10, Durability::Relaxed);
    running.writer.settle().unwrap();
    let path = running.folder.path().join("x.log");
    let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(1000)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(1000)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
    let found = running.read_back();
    // A record of one row has 192 bytes.
    assert_eq!((found.transactions, found.whole_bytes), (5, 960));
    assert_eq!(found.torn_bytes, 40 * 192 - 960);
}

#[test]
fn an_idle_writer_is_where_it_was_put_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(Log::new(LockKind::Mcs, RING_BYTES, 1, true));
    let cpus: CpuSet = current_affinity().unwrap().iter().last().into_iter().collect();
    let path = folder.path().join("x.log");
    let writer = LogWriter::start(Arc::clone(&log), path, &cpus, Durability::Relaxed).unwrap();
    log.attach(0);
    let used = || {
        let status = std::fs::read_to_string(format!("/proc/self/task/{}/status", writer.tid())).unwrap();
        status.lines().filter(|line| line.contains("ctxt_switches")).collect::<String>()
    };
    let quiet = || {
        let before = used();
        thread::sleep(Duration::from_millis(30));
        before == used()
    };
    assert_eq!(thread_affinity(std::process::id(), writer.tid()).unwrap(), cpus);
    for number in 0..3 {
        // Woken by an append like any other, and asleep again afterwards, for good.
        log.append(0, record(&mut Draft::new(), 0, number), &mut Tally::default()).unwrap();
        writer.settle().unwrap();
        assert!((0..100).any(|_| quiet()));
    }
    assert_eq!(writer.read_back(|_, _| {}).unwrap().transactions, 3);
}

#[test]
fn a_full_disk_ends_the_writer_and_tells_who_waits() {
    let log = Log::new(LockKind::Spin, RING_BYTES, 1, true);
    log.attach(0);
    let end = log.append(0, record(&mut Draft::new(), 0, 1), &mut Tally::default()).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let path = Path::new("/dev/full");
    let error = work(&log, &full, path, &Done::default(), Durability::Full).unwrap_err();
    assert!(error.0.contains("write to /dev/full") && error.0.contains("space"), "{error}");
    log.fail(error.0.clone());
    assert_eq!(log.await_durable(0, end), Err(error));
}

#[test]
fn a_writer_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let begin = |path: &str, cpus: &CpuSet| {
        let log = Arc::new(Log::new(LockKind::Spin, RING_BYTES, 1, true));
        LogWriter::start(log, folder.path().join(path), cpus, Durability::Full).map(|_| ())
    };
    let here = current_affinity().unwrap();
    let message = begin("none/x.log", &here).unwrap_err().to_string();
    assert!(message.contains("none/x.log"), "{message}");
    let nowhere = CpuSet::parse_list("65535").unwrap();
    let message = begin("x.log", &nowhere).unwrap_err().to_string();
    assert!(message.contains("65535"), "{message}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
