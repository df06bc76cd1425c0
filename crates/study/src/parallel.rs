//! The workload `parallel-scan`: what its engine reports of the processes of a parallel query, as the analysis reads
//! it.
//!
//! Everything is an amount, so that scans of a slice can be summed, and is stored as counters of the slice: those of
//! one process are `parallel/K/NAME`, where K is 0 for the leader and from 1 on for its workers in the order of their
//! process IDs; those of all scans are `parallel/NAME`.

use crate::{Counters, OptionValue, Options};

/// Default rows of the table.
pub const USUAL_ROWS: u64 = 1_000_000;

/// Bytes that a row takes on PostgreSQL's pages: 44.3 measured.
pub const ROW_BYTES: u64 = 45;

/// Prefix of its counters.
pub const PREFIX: &str = "parallel/";

/// Processes of a query with their own counters: a worker may send 256 counters, with those of the server. Further
/// processes are only in the sums.
pub const MOST_PROCESSES: usize = 48;

/// Quantities of a process, with the unit last.
const OF_PROCESS: [&str; 4] = ["rows", "running_ns", "sibling_busy_ns", "idle_tail_ns"];

/// Work of one process of a query, summed over scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessPart {
    /// Rows that it aggregated.
    pub rows: u64,
    /// Time on a CPU between its first and its last row, nanoseconds.
    pub running_ns: u64,
    /// The part of that in which another process of the query ran on a sibling logical CPU of its core, nanoseconds.
    pub sibling_busy_ns: u64,
    /// From its last row to the last row of the slowest process, nanoseconds.
    pub idle_tail_ns: u64,
}

/// Work of the processes of a query, summed over the scans of a slice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// Scans with enough samples.
    pub scans: u64,
    /// Scans with too few samples of a process; the other amounts exclude them.
    pub unsampled_scans: u64,
    /// Processes that took part, summed over scans.
    pub processes: u64,
    /// Samples of a process between its first and its last row.
    pub samples: u64,
    /// From the first row of any process to the last, nanoseconds.
    pub span_ns: u64,
    /// Idle tails of all processes, nanoseconds.
    pub tail_ns: u64,
    /// Spans of all processes, one for each scan that a process took part in, nanoseconds.
    pub process_span_ns: u64,
    /// Duration of the scans at the processes' rates with rows divided equally, nanoseconds.
    pub equal_ns: u64,
    /// The same with rows divided by rate, so that all end together, nanoseconds.
    pub by_rate_ns: u64,
    /// CPU time of sampling, nanoseconds.
    pub looking_ns: u64,
    /// The leader's part, then the workers'; the first [`MOST_PROCESSES`] of them.
    pub by_process: Vec<ProcessPart>,
}

impl Parts {
    /// As counters of a slice.
    pub fn counters(&self) -> Counters {
        let sums = self.sums().map(|(name, value)| (format!("{PREFIX}{name}"), value));
        let of_process = |(at, part): (usize, &ProcessPart)| {
            let values = [part.rows, part.running_ns, part.sibling_busy_ns, part.idle_tail_ns];
            OF_PROCESS.iter().zip(values).map(move |(name, value)| (format!("{PREFIX}{at}/{name}"), value))
        };
        let processes = self.by_process.iter().take(MOST_PROCESSES).enumerate().flat_map(of_process);
        sums.into_iter().chain(processes).collect()
    }

    /// From the counters of a slice; `None` if it has none of these.
    pub fn read(counters: &Counters) -> Option<Self> {
        let sum = |name: &str| counters.get(&format!("{PREFIX}{name}")).copied();
        let process = |at: usize| {
            let of_it = |name: &str| sum(&format!("{at}/{name}"));
            let [rows, running_ns, sibling_busy_ns, idle_tail_ns] = OF_PROCESS.map(of_it);
            Some(ProcessPart {
                rows: rows?,
                running_ns: running_ns?,
                sibling_busy_ns: sibling_busy_ns?,
                idle_tail_ns: idle_tail_ns?,
            })
        };
        let mut parts = Self { scans: sum("scans")?, ..Self::default() };
        for (name, place) in parts.places() {
            *place = sum(name).unwrap_or(0);
        }
        parts.by_process = (0..MOST_PROCESSES).map_while(process).collect();
        Some(parts)
    }

    fn sums(&self) -> [(&'static str, u64); 10] {
        let mut copy = self.clone();
        copy.places().map(|(name, place)| (name, *place))
    }

    fn places(&mut self) -> [(&'static str, &mut u64); 10] {
        [
            ("scans", &mut self.scans),
            ("unsampled_scans", &mut self.unsampled_scans),
            ("processes", &mut self.processes),
            ("samples", &mut self.samples),
            ("span_ns", &mut self.span_ns),
            ("tail_ns", &mut self.tail_ns),
            ("process_span_ns", &mut self.process_span_ns),
            ("equal_ns", &mut self.equal_ns),
            ("by_rate_ns", &mut self.by_rate_ns),
            ("looking_ns", &mut self.looking_ns),
        ]
    }
}

/// Rows of the table by options; the engine refuses an invalid number.
pub fn rows(options: &Options) -> u64 {
    options.get("rows").and_then(OptionValue::whole).unwrap_or(USUAL_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_give_back_what_they_were_made_from() {
        let part = |rows| ProcessPart { rows, running_ns: 9, sibling_busy_ns: 4, idle_tail_ns: 1 };
        let parts = Parts {
            scans: 2,
            processes: 4,
            equal_ns: 7,
            by_process: vec![part(3), part(5)],
            ..Parts::default()
        };
        let counters = parts.counters();
        assert_eq!(counters["parallel/1/rows"], 5);
        assert_eq!(Parts::read(&counters), Some(parts));
        assert_eq!(Parts::read(&Counters::new()), None);
    }

    #[test]
    fn as_many_processes_as_there_may_be_fit_into_a_message() {
        let parts = Parts { by_process: vec![ProcessPart::default(); 4096], ..Parts::default() };
        // The limit is the protocol's; PostgreSQL has 20 counters of its own.
        assert!(parts.counters().len() + 40 <= 256, "{}", parts.counters().len());
        assert_eq!(Parts::read(&parts.counters()).map(|read| read.by_process.len()), Some(MOST_PROCESSES));
    }
}
