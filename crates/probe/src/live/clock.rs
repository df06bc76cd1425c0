//! CLOCK_MONOTONIC for chunks of a few microseconds, and whether it is fine enough.

use crate::bench::ProbeError;
use std::time::Instant;

/// Shortest chunk: interruptions last longer. A timer tick takes one or two microseconds on
/// hardware and, with the hypervisor's exits, some tens in a virtual machine; a time slice takes
/// milliseconds.
const CHUNK_NS: u64 = 5_000;

/// A chunk lasts this many clock steps or readings, so that either is 2.5% of it.
const CLOCKS_PER_CHUNK: u64 = 40;

/// Most chunks of a window, which bounds the memory of long windows.
const MOST_CHUNKS: u64 = 4_096;

/// Coarser clocks are refused. The time stamp counter takes 25 to 60 ns through the vDSO, Xen's
/// clock through a system call some hundreds; HPET and the ACPI timer take longer than this.
const COARSEST_NS: u64 = 1_000;

/// The clock of all threads of a bench.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    zero: Instant,
    /// Time that one reading takes.
    pub read_ns: f64,
    /// Smallest difference of two readings that is not 0: the clock's step or, if smaller, the time of a
    /// reading.
    pub step_ns: u64,
}

impl Clock {
    /// A clock that is fine enough.
    ///
    /// # Errors
    /// [`ProbeError::CoarseClock`].
    pub fn checked() -> Result<Self, ProbeError> {
        let zero = Instant::now();
        Self::read(zero, &mut || since(zero))
    }

    /// The clock with these readings.
    fn read(zero: Instant, now_ns: &mut impl FnMut() -> u64) -> Result<Self, ProbeError> {
        let step_ns = smallest_step(now_ns);
        if step_ns > COARSEST_NS {
            return Err(ProbeError::CoarseClock { step_ns });
        }
        Ok(Self { zero, read_ns: reading_time(now_ns), step_ns })
    }

    /// Nanoseconds since the clock was made; never 0, since its check took time.
    pub fn now_ns(&self) -> u64 {
        since(self.zero)
    }

    /// Length of a chunk of a window.
    pub fn chunk_ns(&self, window_ns: u64) -> u64 {
        CHUNK_NS.max(CLOCKS_PER_CHUNK * self.step_ns).max(window_ns / MOST_CHUNKS)
    }
}

fn since(zero: Instant) -> u64 {
    u64::try_from(zero.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Smallest difference above 0 of successive readings: of 200 changes, or of those within 20 ms.
fn smallest_step(now_ns: &mut impl FnMut() -> u64) -> u64 {
    let first = now_ns();
    let (mut last, mut smallest, mut changes) = (first, u64::MAX, 0);
    while changes == 0 || (changes < 200 && last - first < 20_000_000) {
        let now = now_ns();
        if now > last {
            smallest = smallest.min(now - last);
            changes += 1;
            last = now;
        }
    }
    smallest
}

/// Time of one reading: the best of some batches, to exclude interruptions.
fn reading_time(now_ns: &mut impl FnMut() -> u64) -> f64 {
    const READS: u32 = 200;
    let mut batch = || {
        let begun = now_ns();
        (0..READS).fold(begun, |_, _| now_ns()).saturating_sub(begun) as f64 / f64::from(READS)
    };
    (0..10).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock whose readings take `cost` and show multiples of `step`.
    fn made(cost: u64, step: u64) -> impl FnMut() -> u64 {
        let mut now = 0;
        move || {
            now += cost;
            now / step * step
        }
    }

    #[test]
    fn the_step_is_found_whether_reading_or_ticking_takes_longer() {
        assert_eq!(smallest_step(&mut made(25, 1)), 25);
        assert_eq!(smallest_step(&mut made(25, 4_000_000)), 4_000_000, "the scheduler's tick");
        assert_eq!(smallest_step(&mut made(30, 40)), 40);
        assert_eq!(smallest_step(&mut made(1500, 70)), 1470, "an HPET read through the hypervisor");
    }

    #[test]
    fn a_coarse_clock_is_refused_with_its_step() {
        let read = |cost, step| Clock::read(Instant::now(), &mut made(cost, step));
        for (cost, step, seen_ns) in [(25, 4_000_000, 4_000_000), (1500, 70, 1470), (25, 1_001, 1_001)] {
            let error = read(cost, step).unwrap_err();
            assert!(matches!(error, ProbeError::CoarseClock { step_ns } if step_ns == seen_ns), "{error}");
        }
        assert_eq!(read(25, 1).unwrap().step_ns, 25);
        assert_eq!(read(25, 1_000).unwrap().step_ns, 1_000);
    }

    #[test]
    fn the_time_of_a_reading_does_not_depend_on_the_step() {
        assert!((reading_time(&mut made(25, 1)) - 25.0).abs() < 1e-9);
        assert!((reading_time(&mut made(25, 100)) - 25.0).abs() < 1.0);
    }

    #[test]
    fn chunks_grow_with_the_clock_and_the_window() {
        let clock = |step_ns| Clock { zero: Instant::now(), read_ns: 25.0, step_ns };
        assert_eq!(clock(25).chunk_ns(1_000_000), 5_000);
        assert_eq!(clock(700).chunk_ns(1_000_000), 28_000);
        assert_eq!(clock(25).chunk_ns(4_096_000_000), 1_000_000);
    }
}
