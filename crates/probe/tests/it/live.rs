//! The live bench on this machine, in a file of its own: it looks at all threads of its process. None
//! of these tests looks at how long something takes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_machine::CpuSet;
use threadwise_machine::pin::current_affinity;
use threadwise_probe::bench::{Bench, ProbeError};
use threadwise_probe::kernels::Kernel;
use threadwise_probe::live::LiveBench;

const WINDOW_NS: u64 = 1_000_000;

/// One bench at a time: they would fight for the same CPUs, and threads are found by name.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bench_of(cpus: &CpuSet) -> LiveBench {
    LiveBench::new(cpus, Arc::new(AtomicBool::new(false))).unwrap()
}

/// Some of the CPUs that may be used here.
fn some() -> Vec<u32> {
    current_affinity().unwrap().iter().take(8).collect()
}

fn set(cpus: &[u32]) -> CpuSet {
    cpus.iter().copied().collect()
}

/// Threads of benches in this process: number and CPU.
fn threads() -> BTreeSet<(u32, u32)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let thread = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let cpu = name.trim().strip_prefix("probe-")?.parse().ok()?;
        Some((task.file_name().to_str()?.parse().ok()?, cpu))
    };
    tasks.filter_map(thread).collect()
}

fn asleep(thread: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit(") ").next().unwrap().starts_with('S')
}

/// How often a thread has left a CPU, which every kernel counts.
fn switches(thread: u32) -> Vec<String> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
    status.lines().filter(|line| line.contains("ctxt_switches")).map(str::to_owned).collect()
}

#[test]
fn timings_come_in_the_order_of_the_cpus_and_make_sense() {
    let _guard = alone();
    let mut cpus = some();
    cpus.reverse();
    let mut bench = bench_of(&set(&cpus));
    for kernel in [Kernel::Wide, Kernel::Chain, Kernel::LoadStore] {
        let timings = bench.run(kernel, &cpus, WINDOW_NS).unwrap();
        assert_eq!(timings.iter().map(|timing| timing.cpu).collect::<Vec<_>>(), cpus);
        for timing in timings {
            assert!(timing.step_ns.is_finite() && timing.step_ns > 0.0, "{kernel:?}: {timing:?}");
            assert!(timing.steps_per_ns.is_finite() && timing.steps_per_ns > 0.0, "{kernel:?}: {timing:?}");
            assert!((0.0..=1.0).contains(&timing.on_cpu_share), "{kernel:?}: {timing:?}");
        }
    }
    assert_eq!(bench.cpus(), set(&cpus));
}

#[test]
fn one_cpu_may_run_as_often_as_wanted_and_no_cpu_at_all_is_no_timing() {
    let _guard = alone();
    let first = some()[0];
    let mut bench = bench_of(&set(&[first]));
    for _ in 0..50 {
        assert_eq!(bench.run(Kernel::Chain, &[first], 50_000).unwrap()[0].cpu, first);
    }
    assert_eq!(bench.run(Kernel::Chain, &[], WINDOW_NS).unwrap(), []);
}

#[test]
fn a_window_shorter_than_a_chunk_is_a_few_chunks() {
    let _guard = alone();
    let cpus = some();
    let timings = bench_of(&set(&cpus)).run(Kernel::Wide, &cpus, 0).unwrap();
    assert!(timings.iter().all(|timing| timing.step_ns > 0.0 && timing.steps_per_ns > 0.0), "{timings:?}");
}

#[test]
fn a_cpu_that_is_not_there_is_an_error_that_names_it() {
    let allowed = current_affinity().unwrap();
    let error = LiveBench::new(&allowed.union(&set(&[9999])), Arc::default()).unwrap_err();
    assert!(matches!(error, ProbeError::Cpus(_)));
    let text = error.to_string();
    assert!(
        text.contains("logical CPUs 9999:") && text.contains(&format!("may use only {allowed}")),
        "{text}"
    );
}

#[test]
fn a_window_takes_only_cpus_of_the_bench_and_each_once() {
    let _guard = alone();
    let first = some()[0];
    let mut bench = bench_of(&set(&[first]));
    let error = bench.run(Kernel::Wide, &[first, 9999], WINDOW_NS).unwrap_err().to_string();
    assert!(error.contains("CPU 9999 is not one of") && error.contains(&format!("({first})")), "{error}");
    let error = bench.run(Kernel::Wide, &[first, first], WINDOW_NS).unwrap_err().to_string();
    assert!(error.contains("twice"), "{error}");
    assert!(bench.run(Kernel::Wide, &[first], WINDOW_NS).is_ok(), "errors leave it usable");
}

#[test]
fn stop_ends_a_window_and_refuses_the_next() {
    let _guard = alone();
    let cpus = some();
    let stop = Arc::new(AtomicBool::new(false));
    let mut bench = LiveBench::new(&set(&cpus), Arc::clone(&stop)).unwrap();
    let threads: Vec<u32> = threads().into_iter().map(|(thread, _)| thread).collect();
    let setter = std::thread::spawn(move || {
        // Once a thread is awake, so that the window has begun.
        while threads.iter().all(|thread| asleep(*thread)) {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    // An hour, if stopping did not work.
    let long_ns = 3_600_000_000_000;
    assert!(matches!(bench.run(Kernel::Chain, &cpus, long_ns), Err(ProbeError::Stopped)));
    setter.join().unwrap();
    assert!(matches!(bench.run(Kernel::Chain, &cpus, WINDOW_NS), Err(ProbeError::Stopped)));
}

#[test]
fn threads_without_a_part_do_not_run() {
    let _guard = alone();
    let cpus = some();
    // On a machine of one CPU only the second bench has threads without a part.
    let mut bench = bench_of(&set(&cpus));
    let used = threads().into_iter().find(|(_, cpu)| *cpu == cpus[0]).unwrap();
    let beside = bench_of(&set(&cpus));
    let unused: Vec<u32> = threads().into_iter().filter(|t| *t != used).map(|(thread, _)| thread).collect();
    assert_eq!(unused.len(), 2 * cpus.len() - 1);
    while !unused.iter().all(|thread| asleep(*thread)) {
        std::thread::yield_now();
    }
    let before: Vec<_> = unused.iter().map(|thread| switches(*thread)).collect();
    assert!(before.iter().all(|counts| counts.len() == 2), "{before:?}");
    let used_before = switches(used.0);
    for kernel in [Kernel::Wide, Kernel::Chain, Kernel::LoadStore] {
        bench.run(kernel, &cpus[..1], WINDOW_NS).unwrap();
    }
    assert_eq!(before, unused.iter().map(|thread| switches(*thread)).collect::<Vec<_>>());
    // The thread with a part has run, and goes to sleep when it gets to it.
    while used_before == switches(used.0) {
        std::thread::yield_now();
    }
    drop(beside);
}

#[test]
fn dropping_ends_all_threads() {
    let _guard = alone();
    let cpus = some();
    let mut bench = bench_of(&set(&cpus));
    assert_eq!(threads().len(), cpus.len());
    bench.run(Kernel::Wide, &cpus, WINDOW_NS).unwrap();
    drop(bench);
    // A joined thread may stay listed for a moment: the kernel wakes the joiner first.
    while !threads().is_empty() {
        std::thread::yield_now();
    }
}
