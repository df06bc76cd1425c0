//! Raw observations: runs, slices, sessions, readings. No estimates.

use crate::look::SliceLook;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use threadwise_machine::CpuSet;

/// Engine counters by name, with the unit last (`logical_reads`, `physical_reads`).
pub type Counters = BTreeMap<String, u64>;

/// Counter of a session: its rows of the first half of the window. The worker sets it, not the engine.
pub const ROWS_FIRST_HALF: &str = "rows_first_half";

/// Counter of a session: round trips of its client to its server, one for each statement that was sent and answered, or
/// more where a driver needs several. Only of loops in the client.
pub const ROUND_TRIPS: &str = "round_trips";

/// One treatment in one block.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Number in the store; 0 before it is stored.
    pub id: u64,
    /// Block, from 0.
    pub block: u32,
    /// Attempt at the block: 0 for the first, 1 after one `--resume`, and so on.
    pub attempt: u32,
    /// Treatment name.
    pub treatment: String,
    /// The logical CPUs as resolved for this block, in order of use.
    pub cpus: Vec<u32>,
    /// How it ended.
    pub status: RunStatus,
    /// Its slices in the order in which they were taken; those of a failed run up to the failure.
    pub slices: Vec<Slice>,
    /// Start of its worker, seconds since the study's start.
    pub started_s: f64,
    /// Duration of load, open and first warm-up in nanoseconds.
    pub prepare_ns: u64,
    /// Readings of samplers, summed over the run's slices. `window_ns` is the sampled time, which shares are of.
    pub readings: Vec<Reading>,
    /// Times of the online logical CPUs that [`Slice::cpu_times`] leaves out, summed over the slices; ascending.
    pub other_cpu_times: Vec<CpuTimes>,
}

impl Run {
    /// Keeps the times of the logical CPUs in `near` in each slice, and sums the others: by slice into
    /// [`Slice::other_cpus`], by logical CPU into [`Run::other_cpu_times`]. On 1,000 logical CPUs they are most of a
    /// run's data.
    pub fn add_up_other_cpus(&mut self, near: &CpuSet) {
        let mut others: BTreeMap<u32, CpuTimes> =
            self.other_cpu_times.drain(..).map(|times| (times.cpu, times)).collect();
        for slice in &mut self.slices {
            let all = std::mem::take(&mut slice.cpu_times);
            for times in all {
                if near.contains(times.cpu) {
                    slice.cpu_times.push(times);
                } else {
                    slice.other_cpus.add(&times);
                    let empty = CpuTimes { cpu: times.cpu, ..CpuTimes::default() };
                    others.entry(times.cpu).or_insert(empty).add(&times);
                }
            }
        }
        self.other_cpu_times = others.into_values().collect();
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum RunStatus {
    /// Usable.
    Valid,
    /// It ended with an error (crash, timeout, engine error).
    Failed {
        /// `crash`, `timeout`, `engine`, `protocol`, `wrong-answer`, `memory-policy`.
        kind: String,
        /// One line.
        message: String,
    },
    /// It ended, and its numbers must not be used.
    Invalid {
        /// `lost-pin`, `lost-memory-policy`, `not-cached`, `throttled`, …
        kind: String,
        /// One line.
        message: String,
    },
    /// Finished in a block that was interrupted and redone by `--resume`.
    Superseded,
}

impl RunStatus {
    /// Whether the run's slices are used.
    pub fn is_valid(&self) -> bool {
        *self == Self::Valid
    }
}

/// One measured window of one treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slice {
    /// Number in the study's order of execution, from 0.
    pub sequence: u64,
    /// Round in the block, from 0.
    pub round: u32,
    /// Start of the window in nanoseconds since the study's start (CLOCK_MONOTONIC).
    pub start_ns: u64,
    /// Length of the window.
    pub window_ns: u64,
    /// One entry per session, in session order.
    #[serde(skip)]
    pub sessions: Vec<SessionSlice>,
    /// Engine counters without a session. `waits/NAME` counts samples of what a session waited for (the state of one
    /// session at one moment), `waits_sampled` all samples.
    pub counters: Counters,
    /// Times of the run's logical CPUs and their siblings over the slice's command (re-warm and window together).
    pub cpu_times: Vec<CpuTimes>,
    /// The same of all other online logical CPUs together.
    pub other_cpus: CpuTimesSum,
    /// Looks around it, in order; empty if there were none.
    #[serde(skip)]
    pub looks: Vec<SliceLook>,
}

/// What one session did in one window.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SessionSlice {
    /// Steps that ended inside the window.
    pub steps: u64,
    /// Rows that those steps read.
    pub rows: u64,
    /// Answers that were checked.
    pub answers_checked: u64,
    /// Answers that were wrong; more than 0 fails the run.
    pub answers_wrong: u64,
    /// CPU time of the session's thread inside the window, nanoseconds.
    pub cpu_ns: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Nanoseconds that the thread waited on a run queue (`schedstat`), if known.
    pub run_queue_wait_ns: Option<u64>,
    /// The engine's own counters over the same steps.
    pub counters: Counters,
    /// Step latencies in nanoseconds, HdrHistogram V2 bytes (not base64); empty where the engine
    /// has no steps of its own.
    #[serde(skip)]
    pub latency: Vec<u8>,
    /// For a fixed amount of work: nanoseconds from the window's start to the end of this session's part; the longest
    /// of them is the window's length. `None` for a timed window.
    pub finished_ns: Option<u64>,
    /// Queries that it ran, in order; empty if the workload has no queries.
    #[serde(skip)]
    pub queries: Vec<QueryExecution>,
    /// Metrics of a command's output by name ([`crate::command`]), until the runner converts them to readings; never
    /// stored.
    #[serde(skip)]
    pub metrics: BTreeMap<String, f64>,
    /// Results of each item of a work list ([`crate::worklist`]), until the runner converts them to readings; never
    /// stored.
    #[serde(skip)]
    pub items: Vec<ItemSpan>,
    /// Rows by piece of a window that measures a warm-up, until the runner has chosen one; never stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows_by_piece: Vec<u64>,
}

/// One item of a work list in one run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ItemSpan {
    /// Its position in the list as given, from 0.
    pub index: u32,
    /// Display name.
    pub name: String,
    /// The job that did it, from 0.
    pub job: u32,
    /// Nanoseconds from the window's start to the start of its recipe.
    pub started_ns: u64,
    /// Duration of its recipe, nanoseconds.
    pub elapsed_ns: u64,
}

/// Rows of an answer as text, `None` for NULL: numbers plain and decimal, dates as `1995-03-15`.
pub type Answer = Vec<Vec<Option<String>>>;

/// One execution of one query of the workload `tpch`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct QueryExecution {
    /// Its number, 1 to 22.
    pub query: u8,
    /// Nanoseconds from the window's start to its start, planning included.
    pub started_ns: u64,
    /// From the planned query to the last row in the client, nanoseconds.
    pub elapsed_ns: u64,
    /// Planning, nanoseconds; `None` if the engine does not report it, and `elapsed_ns` includes it.
    pub planning_ns: Option<u64>,
    /// CPU time of all threads that worked for it, nanoseconds; `None` if streams share a process.
    pub cpu_ns: Option<u64>,
    /// Observed degree of parallelism: threads or processes that took part.
    pub dop: Option<u32>,
    /// Rows of the answer.
    pub rows: u64,
    /// Its plan in canonical form: one line an operator, two spaces a level, `~ ` before operators that only move rows
    /// between threads or processes; the engine's estimates after ` # ` (docs/WORKER.md).
    pub plan: Option<String>,
    /// The engine's counters over it, with the unit last: `read_bytes`, `spill_bytes`.
    #[serde(default)]
    pub counters: Counters,
    /// Its answer, until the runner has compared it; never stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// Separator between an operator of a plan and the engine's estimates.
const BEFORE_ESTIMATES: &str = " # ";

/// Splits a line of a canonical plan into its operator and the engine's estimates: `rows=N`, `cost=N`, or both with a
/// space between.
pub fn operator_and_estimates(line: &str) -> (&str, &str) {
    let is_estimate = |word: &str| word.starts_with("rows=") || word.starts_with("cost=");
    match line.rsplit_once(BEFORE_ESTIMATES) {
        Some((operator, rest)) if rest.split(' ').all(is_estimate) => (operator, rest),
        _ => (line, ""),
    }
}

/// A canonical plan without the engine's estimates: plans are equal if these texts are.
pub fn without_estimates(plan: &str) -> String {
    plan.lines().flat_map(|line| [operator_and_estimates(line).0, "\n"]).collect()
}

/// Times of one logical CPU between two readings of /proc/stat.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuTimes {
    /// OS number.
    pub cpu: u32,
    /// Busy time in nanoseconds: not idle, not waiting for I/O, without steal.
    pub busy_ns: u64,
    /// Stolen by the hypervisor.
    pub steal_ns: u64,
    /// All columns together.
    pub total_ns: u64,
}

impl CpuTimes {
    /// Adds another window's times of the same logical CPU.
    pub fn add(&mut self, other: &Self) {
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        self.steal_ns = self.steal_ns.saturating_add(other.steal_ns);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
    }
}

/// Times of several logical CPUs, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuTimesSum {
    /// Number of logical CPUs.
    pub cpus: u32,
    /// As in [`CpuTimes`].
    pub busy_ns: u64,
    /// As in [`CpuTimes`].
    pub steal_ns: u64,
    /// As in [`CpuTimes`].
    pub total_ns: u64,
}

impl CpuTimesSum {
    /// Adds one more logical CPU.
    pub fn add(&mut self, times: &CpuTimes) {
        self.cpus = self.cpus.saturating_add(1);
        self.busy_ns = self.busy_ns.saturating_add(times.busy_ns);
        self.steal_ns = self.steal_ns.saturating_add(times.steal_ns);
        self.total_ns = self.total_ns.saturating_add(times.total_ns);
    }
}

/// One number from a sampler, or the reason why it is missing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    /// Sampler name.
    pub sampler: String,
    /// Metric name with the unit last.
    pub metric: String,
    /// Logical CPU, if it belongs to one.
    pub cpu: Option<u32>,
    /// Start of its first acquisition window, nanoseconds since the study's start.
    pub start_ns: u64,
    /// End of its last acquisition window; windows of a sum have gaps between them.
    pub end_ns: u64,
    /// The value; `None` if it is missing.
    pub value: Option<f64>,
    /// Why it is missing.
    pub gap: Option<String>,
}

/// The sessions that a treatment is about: all, or only the streams where some sessions are streams of queries and the
/// others run short queries beside them.
pub fn main_sessions(sessions: &[SessionSlice]) -> impl Iterator<Item = &SessionSlice> + Clone {
    let has_streams = has_streams(sessions);
    sessions.iter().filter(move |session| !has_streams || !session.queries.is_empty())
}

fn has_streams(sessions: &[SessionSlice]) -> bool {
    sessions.iter().any(|session| !session.queries.is_empty())
}

impl Slice {
    /// See [`main_sessions`].
    pub fn main_sessions(&self) -> impl Iterator<Item = &SessionSlice> + Clone {
        main_sessions(&self.sessions)
    }

    /// Sessions that run short queries beside streams.
    pub fn short_sessions(&self) -> impl Iterator<Item = &SessionSlice> + Clone {
        let has_streams = has_streams(&self.sessions);
        self.sessions.iter().filter(move |session| has_streams && session.queries.is_empty())
    }

    /// Rows of its main sessions together.
    pub fn rows(&self) -> u64 {
        self.main_sessions().map(|session| session.rows).sum()
    }

    /// Rows of its main sessions per second of the common window.
    pub fn rows_per_s(&self) -> f64 {
        self.rows() as f64 * 1e9 / self.window_ns as f64
    }

    /// Query and elapsed nanoseconds of a slice that ran one query alone; otherwise `None`.
    pub fn only_query(&self) -> Option<(u8, u64)> {
        let mut executed = self.sessions.iter().flat_map(|session| &session.queries);
        let first = executed.next()?;
        executed.next().is_none().then_some((first.query, first.elapsed_ns))
    }

    /// Rows of all sessions in the first half of the window; `None` if an active session did not report them.
    pub fn rows_first_half(&self) -> Option<u64> {
        let of_session = |session: &SessionSlice| match session.counters.get(ROWS_FIRST_HALF) {
            None if session.rows == 0 => Some(0),
            known => known.copied(),
        };
        self.sessions.iter().map(of_session).sum()
    }

    /// One engine counter: the sum over the sessions and the counters without a session.
    pub fn counter(&self, name: &str) -> u64 {
        let sessions = self.sessions.iter().map(|session| &session.counters);
        sessions.chain([&self.counters]).filter_map(|counters| counters.get(name)).sum()
    }

    /// CPU time of its main sessions in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.main_sessions().map(|session| session.cpu_ns).sum()
    }
}
