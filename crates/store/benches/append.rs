//! Cost of storing a run, compared with a bare durable SQLite transaction of the same bytes as one blob.
//!
//! Pairs are interleaved in one process on one disk, in alternating order, since a disk's flush
//! time drifts; the ratio is the mean of ln(append / yardstick) over the pairs with its 95%
//! interval (normal, n = 400). Absolute figures by divan follow.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/made.rs"]
#[allow(dead_code)]
mod made;
#[path = "../tests/it/made_queries.rs"]
mod made_queries;

use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use threadwise_store::Store;
use threadwise_study::Run;

const PAIRS: usize = 400;
const SLICES: u32 = 20;
const SESSIONS: u32 = 2;

/// Beside the build output: /tmp is memory on many machines, where a flush costs nothing.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn store(folder: &Path) -> Store {
    let path = folder.join("study.tw");
    let mut store = Store::create(&path, &made::study(), &made::topology(), &made::versions()).unwrap();
    store.block_started(0, 0, 0.0).unwrap();
    store
}

/// Size of a run: 8 bytes a number, and its histograms. Names are not counted.
fn payload(run: &Run) -> usize {
    let slice = |slice: &threadwise_study::Slice| {
        let sessions = slice.sessions.iter().map(|one| 8 * (8 + one.counters.len()) + one.latency.len());
        32 + 32 * slice.cpu_times.len() + sessions.sum::<usize>()
    };
    64 + run.slices.iter().map(slice).sum::<usize>() + 40 * run.readings.len()
}

/// A minimal durable transaction, with the store's own settings.
fn yardstick(folder: &Path) -> Connection {
    let connection = Connection::open(folder.join("yardstick.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;
             CREATE TABLE blobs (id INTEGER PRIMARY KEY, bytes BLOB)",
        )
        .unwrap();
    connection
}

fn timed(task: impl FnOnce()) -> Duration {
    let start = Instant::now();
    task();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn pairs(cpus: u32) {
    let folder = folder();
    let (mut store, yardstick) = (store(folder.path()), yardstick(folder.path()));
    let bytes = vec![7_u8; payload(&made::run(0, 0, 0, SLICES, SESSIONS, cpus))];
    let (mut appends, mut bare, mut logs) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let run = made::run(pair as u64, 0, 0, SLICES, SESSIONS, cpus);
        let mut append = || timed(|| assert!(store.append_run(&run).unwrap() > 0));
        let blob = || {
            timed(|| {
                let mut insert = yardstick.prepare_cached("INSERT INTO blobs (bytes) VALUES (?)").unwrap();
                insert.execute([&bytes]).unwrap();
            })
        };
        let (appended, bared) = match pair % 2 {
            0 => (append(), blob()),
            _ => {
                let bared = blob();
                (append(), bared)
            }
        };
        logs.push((appended.as_secs_f64() / bared.as_secs_f64()).ln());
        appends.push(appended);
        bare.push(bared);
    }
    let n = PAIRS as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = 1.96 * (variance / n).sqrt();
    let grown = store.path().metadata().unwrap().len() / PAIRS as u64;
    println!(
        "append_run, {SLICES} slices x {SESSIONS} sessions x {cpus} logical CPUs: ratio to a bare transaction \
         {:.2} [{:.2}, {:.2}] over {PAIRS} pairs; medians {:?} and {:?}; {} bytes of payload, {grown} in the file",
        mean.exp(),
        (mean - half).exp(),
        (mean + half).exp(),
        median(appends),
        median(bare),
        bytes.len(),
    );
}

#[divan::bench(args = [2, 64, 1000], sample_count = 50)]
fn append_run(bencher: divan::Bencher, cpus: u32) {
    let folder = folder();
    let mut store = store(folder.path());
    let run = made::run(1, 0, 0, SLICES, SESSIONS, cpus);
    bencher.bench_local(|| store.append_run(&run).unwrap());
}

/// Opening a file of 1,000 runs and reading all of it.
#[divan::bench(sample_count = 20)]
fn open_and_read_1000_runs(bencher: divan::Bencher) {
    let folder = folder();
    let mut store = store(folder.path());
    let path = store.path().to_owned();
    for seed in 0..1000 {
        store.append_run(&made::run(seed, 0, 0, SLICES, SESSIONS, 2)).unwrap();
    }
    drop(store);
    bencher.bench_local(|| Store::open(&path).unwrap().runs().unwrap().len());
}

/// A file of 10,010 executions of 22 queries, each in its own slice.
fn executions(folder: &Path) -> PathBuf {
    let mut store = store(folder);
    for seed in 0..455 {
        store.append_run(&made_queries::query_run(seed, 0, 22, 1, 1)).unwrap();
    }
    store.path().to_owned()
}

/// Opening a file of 10,010 executions and reading all of it.
#[divan::bench(sample_count = 20)]
fn open_and_read_10010_executions(bencher: divan::Bencher) {
    let folder = folder();
    let path = executions(folder.path());
    bencher.bench_local(|| Store::open(&path).unwrap().runs().unwrap().len());
}

fn main() {
    for cpus in [2, 64, 1000] {
        pairs(cpus);
    }
    let folder = folder();
    let bytes = executions(folder.path()).metadata().unwrap().len();
    println!("10,010 executions of 22 queries with 22 plans, each in a slice of its own: {bytes} bytes");
    divan::main();
}
