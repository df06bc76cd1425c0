//! Cost of looks: throughput of slices of one session with and without looks, in turns.
//!
//! `cargo bench -p threadwise --bench looks`. One study, in which the slices of every other round have looks.
//! The result is the mean over blocks of ln(with / without) of neighbouring rounds with its 95% t interval;
//! it also prints the time that looks took, waiting included, and their size in the file.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use threadwise_machine::Topology;
use threadwise_machine::pin::current_affinity;
use threadwise_runner::{Decision, Looks, Settings, Worker, run};
use threadwise_statistics::MeanEstimate;
use threadwise_store::{Store, Versions};
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{Run, Slice};

const BLOCKS: u32 = 16;
const STUDY: &str = r#"
version = 1
name = "looks"
title = "Cost of looks"
engine = "sqlite"
workload = "logical-io"

[options]
data = "l2"

[design]
rounds = 80
slice_ms = 50
rewarm_ms = 5

[baseline]
placement = "1c1t"
sessions = 1

[[treatment]]
name = "all"
placement = "all"
sessions = 2
"#;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let topology = Topology::read(Path::new("/"), Some(&current_affinity().unwrap())).unwrap();
    let overrides = Overrides { blocks: Some(BLOCKS), ..Overrides::default() };
    let study = StudyFile::parse(STUDY, "looks").unwrap().resolve(&topology, &overrides).unwrap();
    let versions = ["0", "sqlite", "0", "2025-01-01T00:00:00Z"].map(str::to_owned);
    let [program, engine, engine_version, created_utc] = versions;
    let versions = Versions { program, engine, engine_version, created_utc };
    let file = folder.path().join("looks.threadwise");
    let mut store = Store::create(&file, &study, &topology, &versions).unwrap();
    let mut settings = Settings::new(Worker {
        program: env!("CARGO_BIN_EXE_threadwise").into(),
        args: ["worker", "--engine", "sqlite"].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        withheld: Vec::new(),
    });
    (settings.allow_busy, settings.looks) = (true, Looks::EveryOtherRound);
    settings.data_root = folder.path().to_owned();
    let stop = Arc::new(AtomicBool::new(false));
    run(&topology, &settings, &mut store, &mut |_| {}, &mut |_, _| Decision::Continue, &stop).unwrap();
    let runs = store.runs().unwrap();
    drop(store);
    for run in runs.iter().filter(|run| !run.status.is_valid()) {
        println!("block {}, {}: {:?}", run.block, run.treatment, run.status);
    }
    throughput(&runs);
    time(&runs);
    space(&file);
}

/// Ratio of slices with looks to their neighbours without them, of one session alone.
fn throughput(runs: &[Run]) {
    let alone = runs.iter().filter(|run| run.cpus.len() == 1 && run.status.is_valid());
    let of_run = |run: &Run| {
        let pair = |two: &[Slice]| (two[0].rows_per_s() / two[1].rows_per_s()).ln();
        // A session that never had its CPU in a slice has no rate.
        let ln: Vec<f64> = run.slices.chunks_exact(2).map(pair).filter(|ln| ln.is_finite()).collect();
        (run.block, ln.iter().sum::<f64>() / ln.len() as f64)
    };
    let of_runs: Vec<(u32, f64)> = alone.map(of_run).collect();
    let blocks: Vec<f64> = (0..BLOCKS)
        .filter_map(|block| {
            let here: Vec<f64> = of_runs.iter().filter(|(at, _)| *at == block).map(|(_, ln)| *ln).collect();
            (!here.is_empty()).then(|| here.iter().sum::<f64>() / here.len() as f64)
        })
        .collect();
    let mean = MeanEstimate::of(&blocks).unwrap();
    let (low, high) = mean.interval(0.05);
    println!(
        "throughput with looks over without: {:.4} [{:.4}, {:.4}], {} blocks",
        mean.mean.exp(),
        low.exp(),
        high.exp(),
        blocks.len()
    );
}

/// Time of looks, as a share of the slices' windows.
fn time(runs: &[Run]) {
    let slices = || runs.iter().flat_map(|run| &run.slices).filter(|slice| !slice.looks.is_empty());
    let mut took: Vec<u64> = slices().flat_map(|slice| &slice.looks).map(|one| one.look.took_ns).collect();
    took.sort_unstable();
    let window_ns: u64 = slices().map(|slice| slice.window_ns).sum();
    let at = |share: f64| Duration::from_nanos(took[(share * (took.len() - 1) as f64) as usize]);
    println!(
        "{} looks took {:.2}% of the time measured: median {:?}, 90th percentile {:?}, most {:?}",
        took.len(),
        100.0 * took.iter().sum::<u64>() as f64 / window_ns as f64,
        at(0.5),
        at(0.9),
        at(1.0)
    );
}

/// Bytes of looks in the file, per slice that has them.
fn space(file: &Path) {
    let file = rusqlite::Connection::open(file).unwrap();
    let one = |sql: &str| file.query_row(sql, [], |row| row.get::<_, f64>(0)).unwrap();
    let slices = one("SELECT CAST(count(DISTINCT slice) AS REAL) FROM looks");
    let parts = |list: &str| {
        one(&format!("SELECT CAST(sum(json_array_length(json, '$.{list}')) AS REAL) FROM looks"))
    };
    let looks = one("SELECT CAST(count(*) AS REAL) FROM looks");
    file.execute_batch("VACUUM").unwrap();
    let size = || one("SELECT CAST(page_count * page_size AS REAL) FROM pragma_page_count, pragma_page_size");
    let (with, counts) = (size(), [looks, parts("cpus"), parts("pairs")]);
    file.execute_batch("DELETE FROM looks; VACUUM").unwrap();
    println!(
        "{:.0} bytes a slice ({} looks, {} logical CPUs in them, {} pairs)",
        (with - size()) / slices,
        counts[0],
        counts[1],
        counts[2]
    );
}
