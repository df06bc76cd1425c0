//! What a server used for one call or one client's loop, and the window's share of it.
//!
//! Of a call, CPU time, switches and reads are read before and after all of it, re-warm included, and scaled by steps in
//! the window over steps of the call, so that they belong to equal amounts of work. A client's loop reads them at the ends
//! of its window ([`crate::session::Metered`]): its first steps find cold caches, and take more than their share.

use threadwise_engine::servers::Thread;
use threadwise_process::proc;
use threadwise_study::SessionSlice;

/// What a session of the server has used since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Time on run queues, nanoseconds; `None` if unknown.
    pub wait_ns: Option<u64>,
    /// Pages asked for, and those of them that were not in the cache; `None` if the server does not count them by
    /// session.
    pub reads: Option<[u64; 2]>,
    /// Other counters of the session, with their names.
    pub counted: [Counted; 3],
}

/// A counter with its name; `None` if the server does not count it by session.
pub type Counted = Option<(&'static str, u64)>;

impl Usage {
    /// What threads of a process have used. Zeros for those that have ended, which the connection's error reports.
    pub fn of_threads(pid: u32, threads: impl IntoIterator<Item = u32>) -> Self {
        threads.into_iter().fold(Self::default(), |sum, tid| {
            let times = proc::thread_times(pid, tid);
            let switches = proc::switches(pid, tid).unwrap_or_default();
            Self {
                cpu_ns: sum.cpu_ns + times.map_or(0, |times| times.cpu_ns),
                voluntary: sum.voluntary + switches.voluntary,
                involuntary: sum.involuntary + switches.involuntary,
                wait_ns: times.map(|times| times.wait_ns + sum.wait_ns.unwrap_or(0)).or(sum.wait_ns),
                ..Self::default()
            }
        })
    }

    /// The same for the thread of a session; zeros if it is out of reach.
    pub fn of_thread(thread: Option<Thread>) -> Self {
        thread.map_or_else(Self::default, |(pid, tid)| Self::of_threads(pid, [tid]))
    }

    /// Increments since an earlier reading.
    fn since(self, before: Self) -> Self {
        let both = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let reads = |at: usize| both(self.reads.map(|reads| reads[at]), before.reads.map(|reads| reads[at]));
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
            wait_ns: both(self.wait_ns, before.wait_ns),
            reads: reads(0).zip(reads(1)).map(|(all, missed)| [all, missed]),
            counted: std::array::from_fn(|at| {
                let (name, now) = self.counted[at]?;
                Some((name, now.saturating_sub(before.counted[at]?.1)))
            }),
        }
    }
}

/// Steps of one call of a loop in the server, or of one loop in the client, and what was used for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Steps that ended inside the window.
    pub steps: u64,
    /// All steps.
    pub calls: u64,
    /// Rows of each step.
    pub rows_per_step: u64,
    /// Used by the server for all steps.
    pub used: Usage,
    /// CPU time of the client's thread for all steps, nanoseconds.
    pub client_cpu_ns: u64,
    /// When the client had the answer of a call, on CLOCK_MONOTONIC.
    pub answered_ns: u64,
}

impl Call {
    /// A call between two readings.
    pub fn new(steps: u64, calls: u64, rows_per_step: u64, [before, after]: [Usage; 2]) -> Self {
        Self { steps, calls, rows_per_step, used: after.since(before), client_cpu_ns: 0, answered_ns: 0 }
    }

    /// Rows of all steps.
    pub fn all_rows(&self) -> u64 {
        self.calls * self.rows_per_step
    }

    /// The share of an amount of the whole call that belongs to the window's steps.
    pub fn share(&self, amount: u64) -> u64 {
        share(amount, self.steps, self.calls)
    }

    /// The slice of a loop inside the server.
    pub fn slice(&self) -> SessionSlice {
        let mut slice = SessionSlice {
            steps: self.steps,
            rows: self.steps * self.rows_per_step,
            answers_checked: self.steps,
            ..SessionSlice::default()
        };
        self.give_to(&mut slice);
        slice
    }

    /// In the slice of a loop in the client, the client's thread used what becomes `client_cpu_ns`, and the server what
    /// becomes the session's.
    pub fn give_to(&self, slice: &mut SessionSlice) {
        slice.cpu_ns = self.share(self.used.cpu_ns);
        slice.voluntary_switches = self.share(self.used.voluntary);
        slice.involuntary_switches = self.share(self.used.involuntary);
        slice.run_queue_wait_ns = self.used.wait_ns.map(|wait_ns| self.share(wait_ns));
        slice.counters.insert("client_cpu_ns".to_owned(), self.share(self.client_cpu_ns));
        for (name, amount) in self.used.counted.into_iter().flatten() {
            slice.counters.insert(name.to_owned(), self.share(amount));
        }
        if let Some([all, missed]) = self.used.reads {
            slice.counters.insert(LOGICAL_READS.to_owned(), self.share(all));
            slice.counters.insert(PHYSICAL_READS.to_owned(), self.share(missed));
        }
    }
}

/// Counter of pages that were asked for.
pub(crate) const LOGICAL_READS: &str = "logical_reads";
/// Counter of those that were not in the cache.
pub(crate) const PHYSICAL_READS: &str = "physical_reads";

/// The share of an amount that belongs to this part of a whole.
pub(crate) fn share(amount: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(amount) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_scaled_to_the_steps_of_the_window() {
        let before =
            Usage { cpu_ns: 1000, voluntary: 1, involuntary: 2, wait_ns: Some(10), ..Usage::default() };
        let after =
            Usage { cpu_ns: 5000, voluntary: 5, involuntary: 6, wait_ns: Some(50), ..Usage::default() };
        let call = Call { client_cpu_ns: 8, ..Call::new(30, 40, 64, [before, after]) };
        let slice = call.slice();
        assert_eq!((slice.rows, slice.steps, slice.cpu_ns), (1920, 30, 3000));
        assert_eq!((slice.voluntary_switches, slice.involuntary_switches), (3, 3));
        assert_eq!((slice.run_queue_wait_ns, slice.counters["client_cpu_ns"]), (Some(30), 6));
        assert_eq!(slice.counters.len(), 1);
        let counts = |reads| Usage { reads, wait_ns: None, ..before };
        let counted = Call::new(1, 4, 1, [counts(Some([100, 8])), counts(Some([180, 4]))]);
        let mut stepped =
            SessionSlice { cpu_ns: 9, counters: [("rows".to_owned(), 7)].into(), ..SessionSlice::default() };
        counted.give_to(&mut stepped);
        assert_eq!((stepped.cpu_ns, stepped.counters["rows"], stepped.run_queue_wait_ns), (0, 7, None));
        assert_eq!((stepped.counters["logical_reads"], stepped.counters["physical_reads"]), (20, 0));
        let unknown = Call::new(1, 1, 1, [counts(None), counts(Some([1, 1]))]);
        assert!(!unknown.slice().counters.contains_key("logical_reads"));
        let idle = Call::new(0, 0, 1, [before, after]).slice();
        assert_eq!((idle.cpu_ns, idle.rows), (0, 0));
    }
}
