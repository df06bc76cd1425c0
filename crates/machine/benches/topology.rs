//! Time to read the largest recorded machine, compared with opening and reading as many files of its tree once
//! in the same run. `cargo bench -p threadwise-machine`
//!
//! Fails if the median is 20 ms or more. THREADWISE_MACHINES names the folder of recorded machines; without
//! it the program prints NOT MEASURED.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use threadwise_machine::Topology;

const PAIRS: usize = 40;
const LIMIT_MS: f64 = 20.0;
const LARGEST: &str = "256ppc-8n8s4t";

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

fn timed_ms(task: impl FnOnce()) -> f64 {
    let start = Instant::now();
    task();
    start.elapsed().as_secs_f64() * 1e3
}

/// A quantile of sorted values.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

fn main() -> ExitCode {
    let folder = std::env::var_os("THREADWISE_MACHINES").map(PathBuf::from).unwrap_or_default();
    let archive = folder.join(format!("{LARGEST}.tar.bz2"));
    if !archive.exists() {
        println!("NOT MEASURED: no recorded machines in {}", folder.display());
        return ExitCode::SUCCESS;
    }
    let temporary = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").arg("-xjf").arg(&archive).arg("-C").arg(temporary.path()).status();
    assert!(unpacked.unwrap().success());
    let root = temporary.path().join(LARGEST);
    let mut all = Vec::new();
    files(&root, &mut all);

    let (mut reads, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let read = timed_ms(|| assert_eq!(Topology::read(&root, None).unwrap().allowed().len(), 256));
        let plain = timed_ms(|| all.iter().for_each(|file| assert!(std::fs::read(file).is_ok())));
        reads.push(read);
        ratios.push(read / plain);
    }
    let (median, high) = (quantile(&mut reads, 0.5), quantile(&mut reads, 0.975));
    println!("{LARGEST}: {median:.2} ms median, {high:.2} ms at the 97.5th percentile of {PAIRS} reads");
    println!(
        "against reading all {} files of the tree: {:.2}x median [{:.2}, {:.2}]",
        all.len(),
        quantile(&mut ratios, 0.5),
        quantile(&mut ratios, 0.025),
        quantile(&mut ratios, 0.975)
    );
    if median < LIMIT_MS { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
