//! Cost of a window on a machine of 768 logical CPUs (2 packages of 192 cores of 2 threads): parsing the text of
//! /proc/stat, the arithmetic, and the text of every row, as a line, as metrics and as a screen. Fails if windows of
//! 1 s take 1% of a CPU or more.
//! `cargo bench -p threadwise-headroom --bench headroom`
//!
//! The texts are made here, in the form of `proc_stat(5)`, and so is the topology. The kernel's time for printing
//! /proc/stat is not included. CPU time is that of this thread from /proc/thread-self/schedstat.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::fmt::Write;
use std::hint::black_box;
use std::process::ExitCode;
use threadwise_headroom::core_time::core_times;
use threadwise_headroom::exposition::{Totals, Window, exposition};
use threadwise_headroom::screen::{Size, frame};
use threadwise_headroom::{Layout, SmtYield, cpu_times, rows, table};
use threadwise_machine::topology::LogicalCpu;
use threadwise_machine::{CpuSet, Topology};
use threadwise_telemetry::{proc_stat, samplers};

const CPUS: u32 = 768;
const CORES: u32 = CPUS / 2;
const WINDOWS: u32 = 2000;
const WINDOW_S: f64 = 1.0;
const MOST_SHARE: f64 = 0.01;

/// The scheduler updates the time when it is called, hence the yield.
fn cpu_ns() -> Option<u64> {
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    samplers::schedstat::parse(&text).map(|times| times.cpu_ns)
}

fn topology() -> Topology {
    let cpu = |os_id: u32| {
        let core = os_id % CORES;
        let package = Some(core / (CORES / 2));
        let siblings: CpuSet = [core, core + CORES].into_iter().collect();
        LogicalCpu {
            os_id,
            package,
            numa_node: package,
            siblings,
            allowed: true,
            online: true,
            ..LogicalCpu::default()
        }
    };
    Topology { logical_cpus: (0..CPUS).map(cpu).collect(), ..Topology::default() }
}

/// /proc/stat some weeks after boot, with its long line of interrupts; `busy` is the growth since.
fn stat(busy: impl Fn(u32) -> u64) -> String {
    let mut text = "cpu  1234567890 123 234567890 9876543210 1234567 0 2345678 0 0 0\n".to_owned();
    for cpu in 0..CPUS {
        let (user, idle) = (123_456_789 + busy(cpu), 876_543_210 + 100 - busy(cpu));
        writeln!(text, "cpu{cpu} {user} 1234 23456789 {idle} 123456 0 234567 0 0 0").unwrap();
    }
    text.push_str("intr 12345678901");
    (0..4000).for_each(|irq| write!(text, " {}", irq % 7 * 12345).unwrap());
    text.push_str(
        "\nctxt 98765432109\nbtime 1700000000\nprocesses 1234567\nprocs_running 400\nprocs_blocked 0\n",
    );
    text
}

fn main() -> ExitCode {
    let layout = Layout::of(&topology());
    let smt_yield = SmtYield::new(1.22, 1.32).unwrap();
    let texts = [stat(|_| 0), stat(|cpu| u64::from(cpu % 101))];
    let mut ticks = [Vec::new(), Vec::new()];
    let mut totals = Totals::default();
    let mut bytes = 0;
    proc_stat::parse(texts[0].as_bytes(), &mut ticks[0]);
    let Some(before_ns) = cpu_ns() else {
        eprintln!("headroom: /proc/thread-self/schedstat does not exist: the kernel lacks CONFIG_SCHED_INFO");
        return ExitCode::FAILURE;
    };
    for window in 0..WINDOWS {
        proc_stat::parse(black_box(texts[1].as_bytes()), &mut ticks[1]);
        let times = cpu_times(&proc_stat::difference(&ticks[0], &ticks[1]), WINDOW_S);
        let cores = core_times(&layout, &times, &[], WINDOW_S);
        let rows = rows(&layout, &cores, WINDOW_S, &smt_yield, 1.0);
        totals.add(&rows, WINDOW_S);
        let about = Window { end_unix_s: f64::from(window), length_s: WINDOW_S, smt_yield, clock_ratio: 1.0 };
        let size = Size { columns: 120, lines: 50, unicode: true };
        bytes += table::lines("12:25:01", &rows, true).len()
            + exposition(&about, &rows, &totals).len()
            + frame("headroom", &rows, &[], size).len();
    }
    black_box(bytes);
    let Some(after_ns) = cpu_ns() else { return ExitCode::FAILURE };
    let window_ns = (after_ns - before_ns) as f64 / f64::from(WINDOWS);
    let share = window_ns / 1e9 / WINDOW_S;
    println!(
        "headroom: {:.1} us of CPU time a window of {CPUS} logical CPUs, {:.4}% of a CPU at one a second (limit {}%)",
        window_ns / 1e3,
        100.0 * share,
        100.0 * MOST_SHARE
    );
    if share < MOST_SHARE { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
