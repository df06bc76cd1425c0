//! Steps of a session, counted inside a window: one after the other (a closed loop), or as requests arrive
//! ([`super::arrivals`]).
//!
//! # Closed loop
//!
//! A step counts if it *ends* inside (start, end], whatever it did before the start, so that the
//! rate has no edge effect: in the long run as many steps end inside as belong there. A thread that
//! has no CPU counts as active; its lost time is a result.
//!
//! Counters and CPU time cannot be read after every step (a `getrusage` costs more than 1% of a short step).
//! They are read twice: at the first step boundary inside the window and at the first one after it. With n
//! steps counted, that span has n steps too: it lacks the first counted step, which began before the window,
//! and has the one under way at the end. So ratios such as logical reads per row compare equal numbers of
//! steps, and the bias of counters and CPU time against the window is at most one step per session. The same
//! holds for switches and run-queue wait, where a descheduling in the last step counts whole.
//!
//! # Arrivals
//!
//! A step counts if it is *due* inside the window, and its latency begins when it is due. All of them are served, also
//! after the window's end: otherwise the slowest would be missing. Those that are still not begun when the window's length
//! has passed once more, at most 2 s (`MOST_EXTRA_NS`), are given up, and the slice says how many. Counters and CPU time
//! span the same steps: from the first counted one to the end of the last.
//!
//! # Both
//!
//! Rows of the window's first half are counted separately ([`ROWS_FIRST_HALF`]): if the warm-up is too short, second
//! halves are faster than first ones (docs/METHODOLOGY.md, "Warm-up and halves of slices").

use hdrhistogram::Histogram;
use threadwise_study::observation::ROWS_FIRST_HALF;
use threadwise_study::{Counters, SessionSlice};

use crate::clock::{self, RunQueueWait, Switches};
use crate::{EngineError, Window, latency};

/// Most pieces of a window.
pub(crate) const MAX_PIECES: usize = 1000;

/// Result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepResult {
    /// Rows that it read or changed.
    pub rows: u64,
    /// Answers that were checked.
    pub checked: u64,
    /// Answers that were wrong.
    pub wrong: u64,
    /// Pause requested after the step, nanoseconds; not part of its latency.
    pub think_ns: u64,
}

/// Values that are read at both ends of the counted span.
pub(super) struct Reading<const N: usize> {
    cpu_ns: u64,
    switches: Switches,
    run_queue_wait_ns: Option<u64>,
    counters: [(&'static str, u64); N],
}

impl<const N: usize> Reading<N> {
    pub(super) fn take(run_queue: &RunQueueWait, counters: [(&'static str, u64); N]) -> Self {
        Self {
            cpu_ns: clock::thread_cpu_ns(),
            switches: clock::thread_switches(),
            run_queue_wait_ns: run_queue.read_ns(),
            counters,
        }
    }

    pub(super) fn add_since(&self, first: &Self, slice: &mut SessionSlice) {
        slice.cpu_ns = self.cpu_ns.saturating_sub(first.cpu_ns);
        slice.voluntary_switches = self.switches.voluntary.saturating_sub(first.switches.voluntary);
        slice.involuntary_switches = self.switches.involuntary.saturating_sub(first.switches.involuntary);
        slice.run_queue_wait_ns = match (self.run_queue_wait_ns, first.run_queue_wait_ns) {
            (Some(now), Some(then)) => Some(now.saturating_sub(then)),
            _ => None,
        };
        let names_and_ends = self.counters.iter().zip(&first.counters);
        slice.counters = names_and_ends
            .map(|((name, now), (_, then))| ((*name).to_owned(), now.saturating_sub(*then)))
            .collect::<Counters>();
    }
}

/// Rows of a window by pieces of equal length: its halves, or the requested ones.
#[derive(Debug)]
pub(super) struct Pieces {
    length_ns: u64,
    /// End of the current piece.
    until_ns: u64,
    at: usize,
    rows: Vec<u64>,
    are_halves: bool,
}

impl Pieces {
    pub(super) fn new(window: &Window) -> Self {
        let window_ns = window.end_ns.saturating_sub(window.start_ns).max(1);
        let half_ns = window_ns.div_ceil(2);
        let length_ns = window.piece_ns.unwrap_or(half_ns).max(1);
        let pieces = usize::try_from(window_ns.div_ceil(length_ns)).unwrap_or(1).min(MAX_PIECES);
        Self {
            length_ns,
            until_ns: window.start_ns.saturating_add(length_ns),
            at: 0,
            rows: vec![0; pieces],
            are_halves: window.piece_ns.is_none(),
        }
    }

    /// Adds a step at the moment for which it counts: in a closed loop its end, with arrivals when it was due. One
    /// comparison, except at the end of a piece.
    #[inline]
    pub(super) fn add(&mut self, at_ns: u64, rows: u64) {
        while at_ns > self.until_ns && self.at + 1 < self.rows.len() {
            self.at += 1;
            self.until_ns = self.until_ns.saturating_add(self.length_ns);
        }
        self.rows[self.at] += rows;
    }

    pub(super) fn give(self, slice: &mut SessionSlice) {
        match self.are_halves {
            true => {
                slice.counters.insert(ROWS_FIRST_HALF.to_owned(), self.rows[0]);
            }
            false => slice.rows_by_piece = self.rows,
        }
    }
}

/// See [`super::step_loop`].
pub(super) fn closed_loop<const N: usize>(
    window: &Window,
    mut step: impl FnMut() -> Result<StepResult, EngineError>,
    mut counters: impl FnMut() -> Result<[(&'static str, u64); N], EngineError>,
) -> Result<SessionSlice, EngineError> {
    let run_queue = RunQueueWait::of_this_thread();
    let mut histogram = latency::histogram().map_err(latency_failed)?;
    let mut slice = SessionSlice::default();
    let mut first = None;
    let mut pieces = Pieces::new(window);
    let mut began_ns = clock::monotonic_ns();
    loop {
        let result = step()?;
        let ended_ns = clock::monotonic_ns();
        if ended_ns > window.end_ns {
            break;
        }
        let inside = ended_ns > window.start_ns;
        if inside {
            count(&mut slice, &mut histogram, result, ended_ns - began_ns);
            pieces.add(ended_ns, result.rows);
        }
        began_ns = ended_ns;
        if inside && first.is_none() {
            first = Some(Reading::take(&run_queue, counters()?));
            began_ns = clock::monotonic_ns();
        }
        if result.think_ns > 0 {
            // Never beyond the end, since the step that ends after it must still be done (see above).
            clock::sleep_until_ns(window.end_ns.min(began_ns + result.think_ns));
            began_ns = clock::monotonic_ns();
        }
    }
    if let Some(first) = first {
        Reading::take(&run_queue, counters()?).add_since(&first, &mut slice);
        pieces.give(&mut slice);
    }
    slice.latency = latency::to_bytes(&histogram).map_err(latency_failed)?;
    Ok(slice)
}

#[inline]
pub(super) fn count(
    slice: &mut SessionSlice,
    histogram: &mut Histogram<u32>,
    result: StepResult,
    latency_ns: u64,
) {
    slice.steps += 1;
    slice.rows += result.rows;
    slice.answers_checked += result.checked;
    slice.answers_wrong += result.wrong;
    histogram.saturating_record(latency_ns);
}

pub(super) fn latency_failed(cause: latency::LatencyError) -> EngineError {
    EngineError::Failed { engine: "worker".into(), action: "record latencies".into(), why: cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps whose work is counted by themselves, as an engine's counter would.
    fn run(window_ns: u64, step_ns: u64, think_ns: u64) -> (SessionSlice, Window) {
        let start_ns = clock::monotonic_ns() + 2_000_000;
        let window =
            Window { sequence: 0, start_ns, end_ns: start_ns + window_ns, piece_ns: None, arrivals: None };
        let done = std::cell::Cell::new(0_u64);
        let slice = closed_loop(
            &window,
            || {
                let until = clock::monotonic_ns() + step_ns;
                while clock::monotonic_ns() < until {}
                done.set(done.get() + 1);
                Ok(StepResult { rows: 3, checked: 1, wrong: 0, think_ns })
            },
            || Ok([("work", done.get())]),
        );
        (slice.unwrap(), window)
    }

    #[test]
    fn counters_cover_exactly_as_many_steps_as_are_counted() {
        for think_ns in [0, 300_000, 1_500_000] {
            // On a machine that gives us no CPU for a whole window, another window will do.
            let mut tries = (0..100).map(|_| run(5_000_000, 100_000, think_ns));
            let (slice, window) = tries.find(|(slice, _)| slice.steps > 0).unwrap();
            assert_eq!(slice.counters["work"], slice.steps);
            assert_eq!((slice.rows, slice.answers_checked), (3 * slice.steps, slice.steps));
            assert_eq!(latency::steps(&slice.latency), Ok(slice.steps));
            // Every counted step took at least 100 µs, and one at most began before the window.
            let most = (window.end_ns - window.start_ns) / (100_000 + think_ns) + 1;
            assert!(slice.steps <= most, "{} steps, {most} fit", slice.steps);
        }
    }

    #[test]
    fn rows_of_the_first_half_are_counted_apart() {
        let start_ns = clock::monotonic_ns();
        let window =
            Window { sequence: 0, start_ns, end_ns: start_ns + 20_000_000, piece_ns: None, arrivals: None };
        let middle_ns = start_ns + 10_000_000;
        // Steps do 1 row in the first half and 1,000 in the second; the one that is under way in the middle may be
        // counted on either side, so that each side has at most one step of the other.
        let slice = closed_loop(
            &window,
            || {
                let until = clock::monotonic_ns() + 50_000;
                while clock::monotonic_ns() < until {}
                let rows = if clock::monotonic_ns() <= middle_ns { 1 } else { 1_000 };
                Ok(StepResult { rows, ..StepResult::default() })
            },
            || Ok([]),
        );
        let slice = slice.unwrap();
        let first = slice.counters.get(ROWS_FIRST_HALF).copied().unwrap_or(0);
        assert!(first < 1_000, "{first} of {}", slice.rows);
        assert!(slice.rows % 1_000 >= first && slice.rows % 1_000 <= first + 1, "{first} of {}", slice.rows);
    }

    #[test]
    fn rows_are_counted_in_the_piece_in_which_their_step_ends() {
        let window =
            Window { sequence: 0, start_ns: 1_000, end_ns: 1_010, piece_ns: Some(4), arrivals: None };
        let mut pieces = Pieces::new(&window);
        for (ended_ns, rows) in [(1_001, 1), (1_004, 2), (1_005, 4), (1_009, 8), (1_010, 16)] {
            pieces.add(ended_ns, rows);
        }
        let mut slice = SessionSlice::default();
        pieces.give(&mut slice);
        assert_eq!((slice.rows_by_piece, slice.counters.len()), (vec![3, 4, 24], 0));
        // A step that takes several pieces leaves them empty.
        let mut pieces = Pieces::new(&window);
        pieces.add(1_010, 5);
        assert_eq!(pieces.rows, [0, 0, 5]);
        // An odd window's first half is the longer one.
        let mut halves = Pieces::new(&Window { end_ns: 1_005, piece_ns: None, ..window });
        [(1_003, 1), (1_004, 2), (1_005, 4)].iter().for_each(|(at, rows)| halves.add(*at, *rows));
        let mut slice = SessionSlice::default();
        halves.give(&mut slice);
        assert_eq!((slice.counters[ROWS_FIRST_HALF], slice.rows_by_piece.len()), (1, 0));
        let mut endless = Pieces::new(&Window {
            start_ns: 0,
            end_ns: u64::MAX,
            piece_ns: None,
            sequence: 0,
            arrivals: None,
        });
        endless.add(u64::MAX, 1);
        assert_eq!(endless.rows, [0, 1]);
    }

    #[test]
    fn a_step_longer_than_the_window_counts_nothing() {
        let (slice, _) = run(1_000, 6_000_000, 0);
        assert_eq!(slice, SessionSlice::default());
    }

    #[test]
    fn the_first_error_ends_the_loop() {
        let window = Window { sequence: 0, start_ns: 0, end_ns: u64::MAX, piece_ns: None, arrivals: None };
        let mut left = 3;
        let result = closed_loop(
            &window,
            || {
                left -= 1;
                let error = EngineError::WrongAnswer("5 rows instead of 4".into());
                if left == 0 { Err(error) } else { Ok(StepResult::default()) }
            },
            || Ok([]),
        );
        assert_eq!(result, Err(EngineError::WrongAnswer("5 rows instead of 4".into())));
    }
}
