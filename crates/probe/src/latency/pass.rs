//! Lines, and how two threads pass them.
//!
//! What limits a batch is the coherence protocol: a store or an atomic operation needs the line alone,
//! and a read of a line that another core has written needs it from there (Nagarajan, Sorin, Hill and
//! Wood, *A Primer on Memory Consistency and Cache Coherence*, 2nd edition, 2020, chapters 6 to 8). With
//! compare-and-swap the waiting side asks for the line alone again and again, so that it arrives ready
//! to be written: one move each way. On two lines the reader polls a copy, which the writer has to take
//! back before it can store, and which the reader then fetches again: two moves each way.
//!
//! Which part of a mesh keeps the directory of a line depends on the line's address. With one line a
//! batch, the best placed one made minima up to 15% lower, and differently for the two methods. So a
//! batch goes through the lines of a whole page, and a sample is a mean over places. The waiting loops
//! have no pause instruction, whose length differs between processors by more than a line takes.

use super::Method;
use crate::bench::ProbeError;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Places that a batch goes through, each of two lines. Together a page.
pub(super) const PLACES: usize = 16;
const LINES: usize = 2 * PLACES;
/// Looks at a line between two looks at the clock, which stand in the way of the next one. At most about
/// 100 ns each.
const LOOKS: u32 = 8192;
/// The C library maps allocations of this size on their own (mallopt(3): M_MMAP_THRESHOLD is never above
/// 32 MiB), so their pages are new and lie on the node of the thread that touches them first. Only the
/// page that is used takes memory.
const MAPPED_BYTES: usize = 33 << 20;

/// A line of its own: two times 64 bytes, since prefetchers fetch neighbours in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Line(pub(crate) AtomicU64);

/// Swaps `turn` for `turn` + 1, then `turn` + 2 for `turn` + 3 and so on, `times` times, whenever the line
/// gets there; every `TRIES` tries it asks whether to give up. Whether all was done.
///
/// One loop of its own without a branch on the outcome. What runs between a success and the next request
/// for the line is part of what is measured: with a loop for each wait, whose end was mispredicted, a move
/// took 65 to 90 ns here, depending on how the code was laid out.
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

/// Where two threads meet for one call.
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

    /// Takes the line again and again until it has the value.
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

    /// Gives lines to both; only one of the two does.
    pub(super) fn provide(&self, lines: Vec<Line>) {
        let _ = self.lines.set(lines);
    }

    /// Waits for the lines, whoever allocates them.
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

    /// Whether somebody ended the meeting or time is up; ends it then, for both.
    #[cold]
    #[inline(never)]
    fn is_over(&self, until: Instant) -> bool {
        let over = self.over.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed);
        if over || Instant::now() > until {
            self.end();
        }
        self.over.load(Ordering::Relaxed)
    }

    /// Passes the lines of one place to and fro; whether that was done in time. Each trip has a number of
    /// its own, which goes on from the last pass on the same lines.
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

    /// Writes the own line and waits for the other's. A plain store: the request for the line of an
    /// atomic exchange was at times sent before the wait had ended, and moves overlapped.
    fn call(&self, mine: &Line, other: &Line, trips: Range<u64>, until: Instant) -> bool {
        trips.into_iter().all(|trip| {
            mine.0.store(trip + 1, Ordering::Release);
            self.sees(other, trip + 1, until)
        })
    }

    /// Waits for the other's line and writes the own one.
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

/// Lines on a page that nobody has touched, where memory for a mapping of its own can be had; else any.
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
