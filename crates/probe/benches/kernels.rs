//! Adds per chain step on each allowed logical CPU, and the overhead of a window.
//! `cargo bench -p threadwise-probe --bench kernels`
//!
//! Prints whether the core was free. Fails if a kernel runs faster than its chains allow: then it
//! was optimised away and all figures of the probe are void.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::current_affinity;
use threadwise_probe::bench::{Bench, ProbeError};
use threadwise_probe::kernels::{self, Kernel, WIDE_ADDS_PER_STEP};
use threadwise_probe::live::LiveBench;

const WINDOW_NS: u64 = 2_000_000;
/// Pairs of a WIDE and a CHAIN window on each CPU: about 2 s.
const PAIRS: usize = 450;
/// More CPUs take 2 s each and show nothing new about the kernels.
const MOST_CPUS: usize = 16;
/// No integer core on the market with SMT is narrower.
const FREE_ADDS: f64 = 3.0;
/// Each of 8 registers takes one add a chain step; 3% for a clock that changes between two windows.
const MOST_ADDS: f64 = WIDE_ADDS_PER_STEP * 1.03;
/// A cycle at 10 GHz.
const SHORTEST_CHAIN_NS: f64 = 0.1;

/// A quantile of sorted values.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Prints the figures of one CPU; returns whether they can be true.
fn check(bench: &mut LiveBench, cpu: u32) -> Result<bool, ProbeError> {
    let (mut adds, mut chain_ns, mut load_store_ns) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let mut step_ns = |kernel| Ok(bench.run(kernel, &[cpu], WINDOW_NS)?[0].step_ns);
        let (wide, chain) = (step_ns(Kernel::Wide)?, step_ns(Kernel::Chain)?);
        adds.push(WIDE_ADDS_PER_STEP * chain / wide);
        chain_ns.push(chain);
        if pair % 10 == 0 {
            load_store_ns.push(step_ns(Kernel::LoadStore)?);
        }
    }
    let median = quantile(&adds, 0.5);
    let below = adds.iter().filter(|adds| **adds < FREE_ADDS).count();
    println!(
        "CPU {cpu}: {:.2} / {median:.2} / {:.2} adds per chain step (min / median / max of {PAIRS}), chain step {:.3} ns, load-store step {:.3} ns",
        quantile(&adds, 0.0),
        quantile(&adds, 1.0),
        quantile(&chain_ns, 0.5),
        quantile(&load_store_ns, 0.5),
    );
    let share = below as f64 / PAIRS as f64 * 100.0;
    match median >= FREE_ADDS {
        true => println!("  free core: 3 to 8 adds per chain step ({share:.1}% of windows below 3)"),
        false => {
            println!("  core is shared, or narrower than 3 adds a cycle ({share:.1}% of windows below 3)")
        }
    }
    let possible = median <= MOST_ADDS && quantile(&chain_ns, 0.5) >= SHORTEST_CHAIN_NS;
    if !possible {
        eprintln!("CPU {cpu}: faster than its chains allow: a kernel was optimised away");
    }
    Ok(possible)
}

/// Prints the overhead of a 1 ms window.
fn overhead(bench: &mut LiveBench, cpus: &[u32]) -> Result<(), ProbeError> {
    const NS: u64 = 1_000_000;
    let mut over_us = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        bench.run(Kernel::Chain, cpus, NS)?;
        over_us.push(begun.elapsed().as_secs_f64() * 1e6 - NS as f64 / 1e3);
    }
    println!(
        "a 1 ms window on {} CPUs takes {:.0} us more (median of 200; 90th percentile {:.0} us)",
        cpus.len(),
        quantile(&over_us, 0.5),
        quantile(&over_us, 0.9)
    );
    Ok(())
}

fn measure(allowed: &CpuSet) -> Result<bool, ProbeError> {
    let cpus: Vec<u32> = allowed.iter().take(MOST_CPUS).collect();
    println!("{} kernels", kernels::VERSION);
    if cpus.len() < allowed.len() {
        println!("first {MOST_CPUS} of {} CPUs", allowed.len());
    }
    let mut bench = LiveBench::new(&cpus.iter().copied().collect(), Arc::new(AtomicBool::new(false)))?;
    let mut possible = true;
    for &cpu in &cpus {
        possible &= check(&mut bench, cpu)?;
    }
    overhead(&mut bench, &cpus[..1])?;
    if cpus.len() > 1 {
        overhead(&mut bench, &cpus)?;
    }
    Ok(possible)
}

fn main() -> ExitCode {
    let measured = match current_affinity() {
        Ok(allowed) => measure(&allowed).map_err(|error| error.to_string()),
        Err(cause) => Err(format!("cannot read the allowed CPUs: {cause}")),
    };
    match measured {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
