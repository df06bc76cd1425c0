//! CPU time of all samplers and of /proc/stat at 10 readings a second, as a share of one CPU.
//! Fails when it is not below 0.2%.
//!
//! CPU time is that of this thread from /proc/thread-self/schedstat (its first number), so that
//! other load does not count.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;
use threadwise_machine::CpuSet;
use threadwise_telemetry::{Moment, proc_stat, samplers};

const READS: u32 = 2000;
const READS_PER_S: f64 = 10.0;
const MOST: f64 = 0.002;

fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    samplers::schedstat::parse(&text).map(|times| times.cpu_ns)
}

/// One reading of everything: a start and a finish, as around a slice.
fn measure() -> Option<f64> {
    let root = Path::new("/");
    let cpus = CpuSet::new();
    let mut samplers = samplers::all(root);
    let mut stat = proc_stat::ProcStat::open(root).ok()?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut readings = Vec::new();
    let started_ns = cpu_ns()?;
    for read in 0..READS {
        for sampler in &mut samplers {
            sampler.start(&Moment { now_ns: u64::from(read), cpus: &cpus, pids: &[] });
        }
        stat.read(&mut before).ok()?;
        stat.read(&mut after).ok()?;
        std::hint::black_box(proc_stat::difference(&before, &after));
        for sampler in &mut samplers {
            sampler.finish(&Moment { now_ns: u64::from(read) + 1, cpus: &cpus, pids: &[] }, &mut readings);
        }
        std::hint::black_box(&readings);
        readings.clear();
    }
    Some((cpu_ns()? - started_ns) as f64 / f64::from(READS))
}

fn main() -> ExitCode {
    let Some(ns_per_read) = measure() else {
        eprintln!("telemetry: /proc/stat or /proc/thread-self/schedstat cannot be read");
        return ExitCode::FAILURE;
    };
    let share = ns_per_read * READS_PER_S / 1e9;
    println!(
        "telemetry: {:.1} us of CPU a reading (start and finish), {:.4}% of one CPU at {READS_PER_S} readings a second, limit {}%",
        ns_per_read / 1e3,
        share * 100.0,
        MOST * 100.0
    );
    if share < MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
