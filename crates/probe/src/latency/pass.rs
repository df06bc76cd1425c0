//! Lines, and how two threads pass them to each other.
//!
//! The coherence protocol limits a batch: a store or an atomic operation needs exclusive ownership of the line,
//! and a read of a line that another core has written needs it from there (Nagarajan, Sorin, Hill and
//! Wood, *A Primer on Memory Consistency and Cache Coherence*, 2nd edition, 2020, chapters 6 to 8). With
//! compare-and-swap the waiting side keeps asking for exclusive ownership, so that the line arrives ready
//! to be written: one move each way. On two lines the reader polls a copy, which the writer has to take
//! back before it can store, and which the reader then fetches again: two moves each way.
//!
//! The part of a mesh that keeps the directory of a line depends on the line's address. With one line a
//! batch, the best placed one made minima up to 15% lower, and differently for the two methods. So a
//! batch goes through the lines of a whole page, and a sample is a mean over places. The waiting loops
//! have no pause instruction: its length differs between processors by more than a line takes.

use super::Method;
use crate::bench::ProbeError;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Places that a batch goes through, each of two lines. Together a page.
pub(super) const PLACES: usize = 16;
const LINES: usize = 2 * PLACES;
/// Checks of a line between two checks of the clock, which delay the next one. At most about 100 ns each.
const LOOKS: u32 = 8192;
/// The C library gives allocations of this size their own mapping (mallopt(3): M_MMAP_THRESHOLD is never above
/// 32 MiB), so their pages are new and on the node of the thread that touches them first. Only the
/// used page takes memory.
const MAPPED_BYTES: usize = 33 << 20;

/// Its own line: two times 64 bytes, since prefetchers fetch neighbours in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Line(pub(crate) AtomicU64);

/// Swaps `turn` for `turn` + 1, then `turn` + 2 for `turn` + 3 and so on, `times` times, whenever the line
/// arrives; every `TRIES` tries it asks whether to give up. Returns whether all was done.
///
/// One loop without a branch on the outcome. What runs between a success and the next request
/// for the line is part of the measured time: with a loop for each wait, whose end was mispredicted, a move
/// took 65 to 90 ns here, depending on the layout of the code.
#[inline(never)]
pub(crate) fn swaps<const TRIES: u32>(
    line: &Line,
    mut turn: u64,
    times: u64,
    is_over: &dyn Fn() -> bool,
) -> bool {
    let end = turn + 2 * times;
    let mut tries = 0_u32;
    while turn != end {
        let swapped = line.0.compare_exchange(turn, turn + 1, Ordering::AcqRel, Ordering::Relaxed);
        turn += 2 * u64::from(swapped.is_ok());
        tries = tries.wrapping_add(1);
        if tries.is_multiple_of(TRIES) && is_over() {
            return false;
        }
    }
    true
}

/// The shared state of two threads for one call.
pub(super) struct Meeting {
    lines: OnceLock<Vec<Line>>,
    over: AtomicBool,
    stop: Arc<AtomicBool>,
}

impl Meeting {
    pub(super) fn new(stop: Arc<AtomicBool>) -> Self {
        Self { lines: OnceLock::new(), over: AtomicBool::new(false), stop }
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn swaps(&self, line: &Line, turn: u64, times: u64, until: Instant) -> bool {
        swaps::<LOOKS>(line, turn, times, &|| self.is_over(until))
    }

    /// Retries until it has the line and the line has the value.
    fn takes(&self, line: &Line, value: u64, until: Instant) -> bool {
        let mut looks = 0_u32;
        while line.0.compare_exchange(value, value, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS) && self.is_over(until) {
                return false;
            }
        }
        true
    }

    /// Waits until the line has the value.
    #[inline(never)]
    fn sees(&self, line: &Line, value: u64, until: Instant) -> bool {
        let mut looks = 0_u32;
        while line.0.load(Ordering::Acquire) != value {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS) && self.is_over(until) {
                return false;
            }
        }
        true
    }

    /// Gives the lines to both; only one of the two calls it.
    pub(super) fn provide(&self, lines: Vec<Line>) {
        let _ = self.lines.set(lines);
    }

    /// Waits for the lines from the other thread.
    pub(super) fn lines(&self, until: Instant) -> Option<&[Line]> {
        loop {
            if let Some(lines) = self.lines.get() {
                return Some(lines);
            }
            if self.is_over(until) {
                return None;
            }
        }
    }

    /// Whether the call was ended or its time is over; then ends it for both.
    #[cold]
    #[inline(never)]
    fn is_over(&self, until: Instant) -> bool {
        let over = self.over.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed);
        if over || Instant::now() > until {
            self.end();
        }
        self.over.load(Ordering::Relaxed)
    }

    /// Passes the lines of one place back and forth; returns whether that finished in time. Each trip has its own
    /// number, which continues from the last pass on the same lines.
    pub(super) fn pass(
        &self,
        (method, leads): (Method, bool),
        (one, other): (&Line, &Line),
        trips: Range<u64>,
        until: Instant,
    ) -> bool {
        match (method, leads) {
            // The leading side turns 2n into 2n + 1 and the other that into 2n + 2; at the end the leading
            // side takes the line once more, to know that the other is done.
            (Method::Cas, true) => {
                self.swaps(one, 2 * trips.start, trips.end - trips.start, until)
                    && self.takes(one, 2 * trips.end, until)
            }
            (Method::Cas, false) => self.swaps(one, 2 * trips.start + 1, trips.end - trips.start, until),
            (Method::TwoLines, true) => self.call(one, other, trips, until),
            (Method::TwoLines, false) => self.reply(one, other, trips, until),
        }
    }

    /// Writes its own line and waits for the other's. A plain store: the request for the line of an
    /// atomic exchange was at times sent before the wait had ended, and moves overlapped.
    fn call(&self, mine: &Line, other: &Line, trips: Range<u64>, until: Instant) -> bool {
        trips.into_iter().all(|trip| {
            mine.0.store(trip + 1, Ordering::Release);
            self.sees(other, trip + 1, until)
        })
    }

    /// Waits for the other's line and writes its own.
    fn reply(&self, other: &Line, mine: &Line, trips: Range<u64>, until: Instant) -> bool {
        trips.into_iter().all(|trip| {
            let called = self.sees(other, trip + 1, until);
            if called {
                mine.0.store(trip + 1, Ordering::Release);
            }
            called
        })
    }
}

/// Moves of a line in one batch.
pub(super) fn moves(method: Method, round_trips: u64) -> u64 {
    let trips = round_trips * u64::from(method.moves_per_round_trip());
    // With compare-and-swap the leading side takes the line once more to see the last answer.
    let last = if method == Method::Cas { 1 } else { 0 };
    PLACES as u64 * (trips + last)
}

/// Lines on an untouched page, if memory for its own mapping is available; else any.
pub(super) fn new_lines() -> Result<Vec<Line>, ProbeError> {
    let mut lines: Vec<Line> = Vec::new();
    let mapped = lines.try_reserve_exact(MAPPED_BYTES / size_of::<Line>());
    mapped
        .or_else(|_| lines.try_reserve_exact(LINES))
        .map_err(|error| ProbeError::Start(error.to_string()))?;
    lines.extend((0..LINES).map(|_| Line::default()));
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn meeting() -> Meeting {
        Meeting::new(Arc::new(AtomicBool::new(false)))
    }

    #[test]
    fn both_methods_make_every_pass() {
        for method in [Method::Cas, Method::TwoLines] {
            let (meeting, one, other) = (meeting(), Line::default(), Line::default());
            let until = Instant::now() + Duration::from_secs(60);
            std::thread::scope(|scope| {
                let follow = || meeting.pass((method, false), (&one, &other), 0..7, until);
                let followed = scope.spawn(follow);
                assert!(meeting.pass((method, true), (&one, &other), 0..7, until));
                assert!(followed.join().unwrap());
            });
            let counts = [one.0.into_inner(), other.0.into_inner()];
            assert_eq!(counts, if method == Method::Cas { [14, 0] } else { [7, 7] });
        }
    }

    #[test]
    fn nobody_waits_for_one_that_does_not_come() {
        for (method, leads) in [(Method::Cas, true), (Method::TwoLines, true), (Method::TwoLines, false)] {
            let (meeting, one, other) = (meeting(), Line::default(), Line::default());
            assert!(!meeting.pass((method, leads), (&one, &other), 0..7, Instant::now()));
            assert!(meeting.lines(Instant::now()).is_none(), "it stays over");
        }
    }

    #[test]
    fn lines_are_apart_and_counted() {
        let lines = new_lines().unwrap();
        assert_eq!((lines.len(), size_of::<Line>()), (LINES, 128));
        assert_eq!(moves(Method::Cas, 13), 16 * 27);
        assert_eq!(moves(Method::TwoLines, 13), 16 * 52);
    }
}
