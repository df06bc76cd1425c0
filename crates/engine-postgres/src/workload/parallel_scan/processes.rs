//! Results of each process of a scan, from the scan's answer and from looks at its processes.
//!
//! Rows, beginnings and ends are from the answer, to 64 rows. Where a process was is known only at the looks, some
//! milliseconds apart: of the time between its first and its last row it ran for the share of the looks that found it
//! runnable, less its waits on a run queue; of that its sibling was busy for the share in which another process
//! of the same scan was found runnable on a sibling logical CPU.

use threadwise_machine::CpuSet;
use threadwise_study::parallel::{MOST_PROCESSES, Parts, ProcessPart};

/// Fewest looks at every process of a scan that counts: the share of a process is then known to a third.
const LEAST_LOOKS: usize = 3;

/// One process in the answer of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) rows: u64,
    /// CLOCK_MONOTONIC at its first and its last row, nanoseconds.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

/// The processes of a scan, the leader first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Scan(pub(super) Vec<Process>);

/// A process as a look found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessLook {
    pub(super) pid: u32,
    pub(super) cpu: u32,
    /// Running, or waiting for a CPU.
    pub(super) is_runnable: bool,
    /// Time on run queues since its start, nanoseconds, if known.
    pub(super) waited_ns: Option<u64>,
}

/// One look: all processes of a server that may belong to a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(super) at_ns: u64,
    pub(super) seen: Vec<ProcessLook>,
}

/// Adds up the scans of a slice. `siblings` gives the logical CPUs of a logical CPU's core.
pub(super) fn add_up(scans: &[Scan], looks: &[Look], siblings: impl Fn(u32) -> CpuSet) -> Parts {
    let mut parts = Parts::default();
    for Scan(processes) in scans {
        let start_ns = processes.iter().map(|one| one.start_ns).min().unwrap_or(0);
        let end_ns = processes.iter().map(|one| one.end_ns).max().unwrap_or(0);
        let first = looks.partition_point(|look| look.at_ns < start_ns);
        let last = looks.partition_point(|look| look.at_ns <= end_ns);
        let of_scan = &looks[first..last.max(first)];
        let found: Option<Vec<Ran>> =
            processes.iter().map(|process| Ran::of(process, processes, of_scan, &siblings)).collect();
        match found.filter(|found| !found.is_empty()) {
            Some(found) => add(&mut parts, processes, &found, (start_ns, end_ns)),
            None => parts.unsampled_scans += 1,
        }
    }
    parts
}

fn add(parts: &mut Parts, processes: &[Process], found: &[Ran], (start_ns, end_ns): (u64, u64)) {
    parts.scans += 1;
    parts.processes += processes.len() as u64;
    parts.span_ns += end_ns - start_ns;
    parts.process_span_ns += (end_ns - start_ns) * processes.len() as u64;
    parts
        .by_process
        .resize(parts.by_process.len().max(processes.len().min(MOST_PROCESSES)), ProcessPart::default());
    for (at, (process, ran)) in processes.iter().zip(found).enumerate() {
        let tail_ns = end_ns - process.end_ns;
        parts.tail_ns += tail_ns;
        parts.samples += ran.looks;
        if let Some(part) = parts.by_process.get_mut(at) {
            part.rows += process.rows;
            part.running_ns += ran.running_ns;
            part.sibling_busy_ns += ran.sibling_busy_ns;
            part.idle_tail_ns += tail_ns;
        }
    }
    let rate = |process: &Process| process.rows as f64 / (process.end_ns - process.start_ns) as f64;
    let rows: u64 = processes.iter().map(|process| process.rows).sum();
    let slowest = processes.iter().map(rate).fold(f64::INFINITY, f64::min);
    parts.equal_ns += (rows as f64 / processes.len() as f64 / slowest) as u64;
    parts.by_rate_ns += (rows as f64 / processes.iter().map(rate).sum::<f64>()) as u64;
}

/// How a process of a scan ran.
struct Ran {
    running_ns: u64,
    sibling_busy_ns: u64,
    looks: u64,
}

impl Ran {
    /// `None` if there were too few looks at it, or it did too little to have a rate.
    fn of(
        process: &Process,
        all: &[Process],
        looks: &[Look],
        siblings: impl Fn(u32) -> CpuSet,
    ) -> Option<Self> {
        let span_ns = process.end_ns.checked_sub(process.start_ns).filter(|span_ns| *span_ns > 0)?;
        let is_at_work = |one: &Process, at_ns: u64| (one.start_ns..=one.end_ns).contains(&at_ns);
        let (mut seen, mut runnable, mut shared) = (Vec::new(), 0_u64, 0_u64);
        for look in looks.iter().filter(|look| is_at_work(process, look.at_ns)) {
            let Some(found) = look.seen.iter().find(|seen| seen.pid == process.pid) else { continue };
            seen.push(*found);
            if !found.is_runnable {
                continue;
            }
            runnable += 1;
            let core = siblings(found.cpu);
            let is_beside = |other: &ProcessLook| {
                other.cpu != found.cpu
                    && other.is_runnable
                    && core.contains(other.cpu)
                    && all.iter().any(|one| one.pid == other.pid && is_at_work(one, look.at_ns))
            };
            shared += u64::from(look.seen.iter().any(is_beside));
        }
        if seen.len() < LEAST_LOOKS || runnable == 0 {
            return None;
        }
        let ends = seen.first().zip(seen.last());
        let waited = ends.and_then(|(first, last)| last.waited_ns?.checked_sub(first.waited_ns?));
        let looks = seen.len() as u64;
        let running_ns = part(span_ns, runnable, looks).saturating_sub(waited.unwrap_or(0)).max(1);
        Some(Self { running_ns, sibling_busy_ns: part(running_ns, shared, runnable), looks })
    }
}

/// A share of a time.
fn part(ns: u64, some: u64, whole: u64) -> u64 {
    (u128::from(ns) * u128::from(some) / u128::from(whole.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn process(pid: u32, rows: u64, ends_ms: u64) -> Process {
        Process { pid, rows, start_ns: 0, end_ns: ends_ms * MS }
    }

    /// Looks every 10 ms at these processes on these logical CPUs.
    fn looks(seen: &[(u32, u32)], count: u64) -> Vec<Look> {
        let seen = |waited_ns| {
            let one = |&(pid, cpu)| ProcessLook { pid, cpu, is_runnable: true, waited_ns: Some(waited_ns) };
            seen.iter().map(one).collect()
        };
        (0..count).map(|at| Look { at_ns: (5 + 10 * at) * MS, seen: seen(0) }).collect()
    }

    /// 0 and 2 are siblings, as are 1 and 3.
    fn siblings(cpu: u32) -> CpuSet {
        [cpu % 2, cpu % 2 + 2].into_iter().collect()
    }

    #[test]
    fn two_on_a_core_are_shared_and_one_alone_is_not() {
        let scan = Scan(vec![process(10, 600, 100), process(11, 600, 100), process(12, 1000, 100)]);
        let got = add_up(&[scan], &looks(&[(10, 0), (11, 2), (12, 1), (99, 3)], 10), siblings);
        let shares: Vec<_> = got.by_process.iter().map(|one| (one.running_ns, one.sibling_busy_ns)).collect();
        // 99 is on a sibling of 12, and none of the scan's.
        assert_eq!(shares, [(100 * MS, 100 * MS), (100 * MS, 100 * MS), (100 * MS, 0)]);
        assert_eq!((got.scans, got.processes, got.samples, got.tail_ns), (1, 3, 30, 0));
        // 2200 rows: equal parts of 733.3 take 122.2 ms at 6 rows a ms; by rate, 22 rows a ms, 100 ms.
        assert!((got.equal_ns as f64 / 1e6 - 122.22).abs() < 0.01 && got.by_rate_ns.abs_diff(100 * MS) < 10);
    }

    #[test]
    fn a_process_that_has_ended_is_not_beside_another() {
        let scan = Scan(vec![process(10, 500, 100), process(11, 250, 50)]);
        let got = add_up(&[scan.clone(), scan], &looks(&[(10, 0), (11, 2)], 10), siblings);
        assert_eq!(got.by_process[0].sibling_busy_ns, 2 * 50 * MS);
        assert_eq!(
            (got.by_process[1].idle_tail_ns, got.tail_ns, got.span_ns),
            (2 * 50 * MS, 2 * 50 * MS, 2 * 100 * MS)
        );
        assert_eq!(got.process_span_ns, 2 * 200 * MS);
    }

    #[test]
    fn a_wait_for_a_cpu_is_not_running_and_asleep_is_neither() {
        let mut looks = looks(&[(10, 0)], 10);
        for (at, look) in looks.iter_mut().enumerate() {
            look.seen[0].waited_ns = Some(at as u64 * MS);
            look.seen[0].is_runnable = at >= 2;
        }
        let got = add_up(&[Scan(vec![process(10, 500, 100)])], &looks, siblings);
        assert_eq!(got.by_process[0].running_ns, (80 - 9) * MS);
    }

    #[test]
    fn a_scan_with_too_few_looks_gives_nothing() {
        let scan = Scan(vec![process(10, 500, 100), process(11, 500, 100)]);
        for (seen, count) in [(&[(10, 0), (11, 1)][..], 2), (&[(10, 0)], 10), (&[], 10)] {
            let got = add_up(std::slice::from_ref(&scan), &looks(seen, count), siblings);
            assert_eq!(got, Parts { unsampled_scans: 1, ..Parts::default() });
        }
        assert_eq!(add_up(&[], &[], siblings), Parts::default());
    }
}
