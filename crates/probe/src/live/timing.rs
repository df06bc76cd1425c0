//! A thread's record of a window, and its figures. Pure.

use crate::bench::Timing;

/// A chunk that took longer than the median by this many medians was interrupted. A busy sibling
/// slows the kernels two- to threefold and must not count. Interruptions last from tens of
/// microseconds (a timer tick in a virtual machine) to milliseconds (a time slice): many chunks.
const INTERRUPTED: f64 = 3.0;

/// A thread's record of a window.
#[derive(Debug)]
pub struct Record<'a> {
    /// Time of each chunk, at least one; reordered here.
    pub chunks_ns: &'a mut [u64],
    /// Steps in a chunk.
    pub steps_per_chunk: u64,
    /// When all should have started.
    pub start_ns: u64,
    /// When the first chunk started.
    pub begun_ns: u64,
    /// When the last chunk ended.
    pub finish_ns: u64,
    /// Time of one reading of the clock; each chunk has one.
    pub read_ns: f64,
    /// Forced context switches between start and finish.
    pub involuntary_switches: u64,
}

/// The figures of a record.
pub fn timing(cpu: u32, record: Record<'_>) -> Timing {
    let chunks = record.chunks_ns.len();
    let (_, median, _) = record.chunks_ns.select_nth_unstable(chunks / 2);
    let median_ns = (*median).max(1) as f64;
    let steps = record.steps_per_chunk as f64;
    let wall_ns = record.finish_ns.saturating_sub(record.start_ns).max(1) as f64;

    // A late start is off the CPU as well: the thread was ready but not run.
    let late_ns = record.begun_ns.saturating_sub(record.start_ns) as f64;
    let late_ns = if late_ns > INTERRUPTED * median_ns { late_ns } else { 0.0 };
    let over = record.chunks_ns.iter().map(|chunk| *chunk as f64 - median_ns);
    let off_ns = late_ns + over.filter(|over_ns| *over_ns > INTERRUPTED * median_ns).sum::<f64>();

    // Readings of the clock take our time, not the kernel's; a coarse step may make a median shorter
    // than a reading.
    let in_kernel = |time_ns: f64, reads: f64| (time_ns - reads * record.read_ns).max(time_ns / 2.0);
    Timing {
        cpu,
        step_ns: in_kernel(median_ns, 1.0) / steps,
        steps_per_ns: chunks as f64 * steps / in_kernel(wall_ns, chunks as f64),
        on_cpu_share: (1.0 - off_ns / wall_ns).clamp(0.0, 1.0),
        involuntary_switches: record.involuntary_switches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(chunks_ns: &[u64], late_ns: u64) -> Timing {
        let mut chunks_ns = chunks_ns.to_vec();
        let finish_ns = 1000 + late_ns + chunks_ns.iter().sum::<u64>();
        timing(
            7,
            Record {
                chunks_ns: &mut chunks_ns,
                steps_per_chunk: 1000,
                start_ns: 1000,
                begun_ns: 1000 + late_ns,
                finish_ns,
                read_ns: 0.0,
                involuntary_switches: 2,
            },
        )
    }

    #[test]
    fn an_undisturbed_thread_was_always_on_its_cpu() {
        let timing = of(&[5000; 200], 0);
        assert_eq!((timing.cpu, timing.involuntary_switches), (7, 2));
        assert_eq!((timing.step_ns, timing.steps_per_ns, timing.on_cpu_share), (5.0, 0.2, 1.0));
    }

    #[test]
    fn a_time_slice_of_somebody_else_shows_in_the_share_and_not_in_the_step() {
        let mut chunks = vec![5000; 100];
        chunks[40] = 505_000;
        let timing = of(&chunks, 0);
        assert_eq!(timing.step_ns, 5.0);
        assert!((timing.steps_per_ns - 0.1).abs() < 1e-9, "{timing:?}");
        assert!((timing.on_cpu_share - 0.5).abs() < 1e-9, "{timing:?}");
    }

    #[test]
    fn a_busy_sibling_is_not_an_interruption() {
        let chunks: Vec<u64> = (0..100).map(|chunk| if chunk < 45 { 12_000 } else { 5000 }).collect();
        assert_eq!(of(&chunks, 0).on_cpu_share, 1.0);
    }

    #[test]
    fn a_late_begin_counts_as_time_off_the_cpu() {
        assert!((of(&[5000; 100], 500_000).on_cpu_share - 0.5).abs() < 1e-9);
        assert_eq!(of(&[5000; 100], 300).on_cpu_share, 1.0, "no thread begins to the nanosecond");
        let only = of(&[5000], 995_000);
        assert!((only.on_cpu_share - 0.005).abs() < 1e-9, "{only:?}");
    }

    #[test]
    fn readings_of_the_clock_are_taken_off() {
        let mut chunks_ns = [5050; 10];
        let timing = timing(
            0,
            Record {
                chunks_ns: &mut chunks_ns,
                steps_per_chunk: 1000,
                start_ns: 0,
                begun_ns: 0,
                finish_ns: 50_500,
                read_ns: 50.0,
                involuntary_switches: 0,
            },
        );
        assert!((timing.step_ns - 5.0).abs() < 1e-9);
        assert!((timing.steps_per_ns - 0.2).abs() < 1e-9);
    }
}
