//! CPU time and switches of the server process behind a session, from the operating system.
//!
//! PostgreSQL has one process with one thread for each connection.

use threadwise_process::proc;
use threadwise_study::SessionSlice;

/// CPU time and switches of a backend so far; all 0 if the server is not on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    /// CPU time, nanoseconds.
    pub(super) cpu_ns: u64,
    /// Time on run queues, nanoseconds, if known.
    pub(super) wait_ns: Option<u64>,
    /// Voluntary context switches.
    pub(super) voluntary: u64,
    /// Involuntary context switches.
    pub(super) involuntary: u64,
}

/// Names of a backend's counters in a closed loop.
const NAMES: [&str; 4] = ["backend_cpu_ns", "backend_wait_ns", "backend_voluntary", "backend_involuntary"];

impl Usage {
    /// The current values; `pid` is `None` if the backend is out of reach.
    pub(super) fn read(pid: Option<u32>) -> Self {
        let Some(pid) = pid else { return Self::default() };
        let times = proc::thread_times(pid, pid);
        let switches = proc::switches(pid, pid);
        Self {
            cpu_ns: times.map_or(0, |times| times.cpu_ns),
            wait_ns: times.map(|times| times.wait_ns),
            voluntary: switches.map_or(0, |switches| switches.voluntary),
            involuntary: switches.map_or(0, |switches| switches.involuntary),
        }
    }

    /// Increments since `first`.
    pub(super) fn since(self, first: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(first.cpu_ns),
            wait_ns: self.wait_ns.zip(first.wait_ns).map(|(now, then)| now.saturating_sub(then)),
            voluntary: self.voluntary.saturating_sub(first.voluntary),
            involuntary: self.involuntary.saturating_sub(first.involuntary),
        }
    }

    /// As counters of a closed loop on this thread, for which the backend works.
    pub(super) fn as_counters(self) -> [(&'static str, u64); 4] {
        let wait_ns = self.wait_ns.unwrap_or_default();
        let values = [self.cpu_ns, wait_ns, self.voluntary, self.involuntary];
        [(NAMES[0], values[0]), (NAMES[1], values[1]), (NAMES[2], values[2]), (NAMES[3], values[3])]
    }

    /// In a closed loop's slice: what the loop measured of this thread becomes the client's, and its counters of the
    /// backend become the session's.
    pub(super) fn swap_sides(slice: &mut SessionSlice, knows_waits: bool) {
        let client_cpu_ns = slice.cpu_ns;
        let [cpu_ns, wait_ns, voluntary, involuntary] =
            NAMES.map(|name| slice.counters.remove(name).unwrap_or_default());
        let wait_ns = Some(wait_ns).filter(|_| knows_waits);
        Self { cpu_ns, wait_ns, voluntary, involuntary }.tell(slice, Part::ALL);
        slice.counters.insert("client_cpu_ns".to_owned(), client_cpu_ns);
    }

    /// Writes the share `part` to a slice.
    pub(super) fn tell(self, slice: &mut SessionSlice, part: Part) {
        slice.cpu_ns = part.of(self.cpu_ns);
        slice.run_queue_wait_ns = self.wait_ns.map(|wait_ns| part.of(wait_ns));
        slice.voluntary_switches = part.of(self.voluntary);
        slice.involuntary_switches = part.of(self.involuntary);
    }
}

/// The share of a call's work that was inside the window: values of the whole call are scaled by it, so that counters,
/// CPU time and rows belong to equal amounts of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Work inside.
    pub(super) inside: u64,
    /// Work of the whole call.
    pub(super) whole: u64,
}

impl Part {
    /// The whole call.
    pub(super) const ALL: Self = Self { inside: 1, whole: 1 };

    /// The share of a total, rounded to the nearest.
    pub(super) fn of(self, total: u64) -> u64 {
        if self.whole == 0 {
            return 0;
        }
        let (inside, whole) = (u128::from(self.inside), u128::from(self.whole));
        ((u128::from(total) * inside + whole / 2) / whole) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_to_the_nearest() {
        let part = Part { inside: 2, whole: 3 };
        assert_eq!(
            [0, 1, 2, 3, u64::MAX / 2].map(|total| part.of(total)),
            [0, 1, 1, 2, 6_148_914_691_236_517_205]
        );
        assert_eq!(Part { inside: 0, whole: 0 }.of(7), 0);
        assert_eq!(Part::ALL.of(7), 7);
    }

    #[test]
    fn a_backend_out_of_reach_has_no_times() {
        let usage = Usage::read(None);
        assert_eq!(usage, Usage::default());
        let mut slice = SessionSlice::default();
        usage.since(usage).tell(&mut slice, Part::ALL);
        assert_eq!((slice.cpu_ns, slice.run_queue_wait_ns), (0, None));
    }
}
