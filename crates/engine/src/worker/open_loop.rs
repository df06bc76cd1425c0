//! The loop of a session that takes requests as they arrive, and what is counted of them.

use hdrhistogram::Histogram;
use threadwise_study::SessionSlice;
use threadwise_study::arrivals::{BEGUN_LATE, QUEUED_NS, WOKEN_LATE_NS};

use super::arrivals::{Arrivals, Next};
use super::measure::{Pieces, Reading, StepResult, count, latency_failed};
use crate::clock::{self, RunQueueWait};
use crate::{EngineError, Window, latency};

/// See [`super::step_loop`].
pub(super) fn open_loop<const N: usize>(
    window: &Window,
    arrivals: &Arrivals,
    mut step: impl FnMut() -> Result<StepResult, EngineError>,
    mut counters: impl FnMut() -> Result<[(&'static str, u64); N], EngineError>,
) -> Result<SessionSlice, EngineError> {
    let _exact = clock::ExactSleeps::begin();
    let run_queue = RunQueueWait::of_this_thread();
    let mut requests = Requests::new(window)?;
    let mut first = None;
    let mut free_ns = clock::monotonic_ns();
    while let Next::Due(due_ns) = arrivals.next(free_ns) {
        if first.is_none() && arrivals.is_counted(due_ns) {
            first = Some(Reading::take(&run_queue, counters()?));
        }
        if due_ns > free_ns {
            clock::sleep_until_ns(due_ns);
        }
        let began_ns = clock::monotonic_ns();
        let result = step()?;
        let ended_ns = clock::monotonic_ns();
        if arrivals.is_counted(due_ns) {
            requests.add(&Moments { due_ns, free_ns, began_ns, ended_ns }, result);
        }
        free_ns = ended_ns;
    }
    let mut slice = SessionSlice::default();
    if let Some(first) = first {
        Reading::take(&run_queue, counters()?).add_since(&first, &mut slice);
    }
    requests.give(slice)
}

/// When a request was due, when its session was free for it, when it began and when it was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub due_ns: u64,
    pub free_ns: u64,
    pub began_ns: u64,
    pub ended_ns: u64,
}

/// What a session did with the requests of a window.
#[derive(Debug)]
pub(crate) struct Requests {
    end_ns: u64,
    done: SessionSlice,
    histogram: Histogram<u32>,
    pieces: Pieces,
    queued_ns: u64,
    woken_late_ns: u64,
    begun_late: u64,
}

impl Requests {
    /// None yet.
    ///
    /// # Errors
    /// None in practice ([`latency::histogram`]).
    pub(crate) fn new(window: &Window) -> Result<Self, EngineError> {
        Ok(Self {
            end_ns: window.end_ns,
            done: SessionSlice::default(),
            histogram: latency::histogram().map_err(latency_failed)?,
            pieces: Pieces::new(window),
            queued_ns: 0,
            woken_late_ns: 0,
            begun_late: 0,
        })
    }

    /// Counts one. Its latency begins when it was due.
    pub(crate) fn add(&mut self, moments: &Moments, result: StepResult) {
        let Moments { due_ns, free_ns, began_ns, ended_ns } = *moments;
        count(&mut self.done, &mut self.histogram, result, ended_ns.saturating_sub(due_ns));
        self.pieces.add(due_ns, result.rows);
        let waited_ns = began_ns.saturating_sub(due_ns);
        match due_ns > free_ns {
            true => self.woken_late_ns += waited_ns,
            false => self.queued_ns += waited_ns,
        }
        self.begun_late += u64::from(began_ns > self.end_ns);
    }

    /// The slice, with what `used` has of CPU time and counters.
    ///
    /// # Errors
    /// The histogram cannot be encoded.
    pub(crate) fn give(self, used: SessionSlice) -> Result<SessionSlice, EngineError> {
        let SessionSlice { steps, rows, answers_checked, answers_wrong, .. } = self.done;
        let mut slice = SessionSlice { steps, rows, answers_checked, answers_wrong, ..used };
        if steps > 0 {
            self.pieces.give(&mut slice);
            let waits = [
                (QUEUED_NS, self.queued_ns),
                (WOKEN_LATE_NS, self.woken_late_ns),
                (BEGUN_LATE, self.begun_late),
            ];
            slice.counters.extend(waits.map(|(name, amount)| (name.to_owned(), amount)));
        }
        slice.latency = latency::to_bytes(&self.histogram).map_err(latency_failed)?;
        Ok(slice)
    }
}
