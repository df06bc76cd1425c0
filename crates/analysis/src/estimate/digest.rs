//! The numbers of one run that the analysis uses.

use super::readings::Amounts;
use super::readings::Telemetry;
use super::requests;
use super::work::Halves;
use super::work::Work;
use crate::activity::sums::Sums;
use threadwise_machine::{CpuSet, Topology};
use threadwise_statistics::{MergedLatency, mean};
use threadwise_study::arrivals::{DUE, UNSERVED};
use threadwise_study::{Run, RunStatus, Slice};

/// A run in which a larger share of rounds had no row is invalid (`no-work`).
pub const MAX_EMPTY_SHARE: f64 = 0.1;

/// Fewest steps in a block for a percentile: the 99th then has ten steps above it.
pub const MIN_STEPS: u64 = 1000;

/// Latency bounds in nanoseconds; the share of steps above each is counted.
pub const LATENCY_BOUNDS_NS: [u64; 4] = [100_000, 1_000_000, 10_000_000, 100_000_000];

/// Whether a run counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunValidity {
    /// Its numbers count.
    Usable,
    /// It ended in an error, in one line.
    Failed(String),
    /// It ended, but its numbers must not be used, for a reason in one line.
    Invalid(String),
}

/// One run's numbers.
#[derive(Debug, Clone)]
pub struct Digest {
    /// Whether it counts.
    pub state: RunValidity,
    /// Work of each round.
    pub rounds: Vec<Work>,
    /// Work of each half of each round, if every slice recorded it.
    pub halves: Option<Halves>,
    /// Step latencies of all its slices and sessions.
    pub latency: Latency,
    /// Mean latency of its requests, of a run at a rate.
    pub mean_latency_ns: Option<f64>,
    /// Share of its requests that waited at the end of their window, of a run at a rate.
    pub waiting_share: Option<f64>,
    /// Sums over its slices.
    pub totals: Totals,
    /// Results of its readings.
    pub telemetry: Telemetry,
    /// Energy, instructions, cache misses and pages of its readings.
    pub amounts: Amounts,
    /// What its sessions did besides reading rows.
    pub(crate) activity: Sums,
}

/// Percentiles of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Latency {
    /// The engine has no steps of its own, or fewer than [`MIN_STEPS`].
    TooFew,
    /// Values in nanoseconds.
    Known {
        /// Median.
        p50_ns: u64,
        /// 99th percentile.
        p99_ns: u64,
        /// The longest.
        max_ns: u64,
        /// Geometric mean over slices of their 99th percentiles; `None` if a slice has fewer than [`MIN_STEPS`].
        p99_of_slices_ns: Option<f64>,
        /// Share of the steps above each of [`LATENCY_BOUNDS_NS`].
        above: [f64; LATENCY_BOUNDS_NS.len()],
    },
    /// The histograms cannot be read.
    Unreadable(String),
}

/// Sums over the slices of a run.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Windows.
    pub window_ns: f64,
    /// Windows times sessions.
    pub session_ns: f64,
    /// Rows.
    pub rows: f64,
    /// The engine's `logical_reads`.
    pub logical_reads: f64,
    /// Context switches of both kinds.
    pub switches: f64,
    /// Run-queue wait, if every session of every slice reports it.
    pub wait_ns: Option<f64>,
    /// Most sessions of a slice.
    pub sessions: usize,
    /// Whether sessions never outnumbered the run's logical CPUs and nothing else of the study ran there: run-queue
    /// wait is then caused by others.
    pub has_cpus: bool,
    /// For a fixed amount of work: windows as long as the work took.
    pub fixed: Fixed,
    /// The run's own logical CPUs.
    pub assigned: CpuTotals,
    /// Their siblings that no session uses.
    pub left_over: CpuTotals,
    /// All other online logical CPUs.
    pub others: CpuTotals,
}

/// Windows of a fixed amount of work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fixed {
    /// Windows.
    pub windows: f64,
    /// From the common start to the end of the last session, added up.
    pub elapsed_ns: f64,
    /// Idle tails, added up: (longest - mean of the sessions) / longest.
    pub idle_tail: f64,
}

impl Fixed {
    fn add(&mut self, slice: &Slice) {
        let finished: Option<Vec<u64>> = slice.sessions.iter().map(|session| session.finished_ns).collect();
        let Some(finished) = finished.filter(|all| !all.is_empty()) else { return };
        let longest = finished.iter().copied().max().unwrap_or(0) as f64;
        if longest <= 0.0 {
            return;
        }
        let mean = finished.iter().map(|ns| *ns as f64).sum::<f64>() / finished.len() as f64;
        self.windows += 1.0;
        self.elapsed_ns += slice.window_ns as f64;
        self.idle_tail += (longest - mean) / longest;
    }
}

/// Times of a set of logical CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuTotals {
    /// Busy.
    pub busy_ns: f64,
    /// Taken by the hypervisor.
    pub steal_ns: f64,
    /// All.
    pub total_ns: f64,
}

impl CpuTotals {
    /// Adds another time or set.
    pub fn add(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.steal_ns += other.steal_ns;
        self.total_ns += other.total_ns;
    }

    /// Busy share; `None` if no time passed.
    pub fn busy_share(&self) -> Option<f64> {
        (self.total_ns > 0.0).then(|| self.busy_ns / self.total_ns)
    }

    /// Steal share; `None` if no time passed.
    pub fn steal_share(&self) -> Option<f64> {
        (self.total_ns > 0.0).then(|| self.steal_ns / self.total_ns)
    }
}

/// Context for reading a run.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Rounds of the design.
    pub rounds: u32,
    /// The machine, if known.
    pub topology: Option<&'a Topology>,
    /// Whether the study is of a model.
    pub simulated: bool,
    /// Whether the engine may have threads in addition to those of its sessions, using their CPUs.
    pub service_threads: bool,
}

impl Digest {
    /// Makes the digest of a run. `merged` is working memory.
    pub fn new(run: &Run, surroundings: &Surroundings<'_>, merged: &mut MergedLatency) -> Self {
        let Surroundings { rounds, topology, simulated, service_threads } = *surroundings;
        let mut digest = Self {
            state: state(run),
            rounds: Vec::new(),
            halves: None,
            latency: Latency::TooFew,
            mean_latency_ns: None,
            waiting_share: None,
            totals: Totals { wait_ns: Some(0.0), ..Totals::default() },
            telemetry: Telemetry::default(),
            amounts: Amounts::default(),
            activity: Sums::default(),
        };
        if digest.state != RunValidity::Usable {
            return digest;
        }
        let assigned: CpuSet = run.cpus.iter().copied().collect();
        let left_over = left_over(&assigned, topology);
        digest.telemetry = Telemetry::of(&run.readings, &assigned);
        digest.amounts = Amounts::of(&run.readings, &assigned);
        digest.activity = Sums::new(run, digest.telemetry.counted_mhz);
        merged.clear();
        digest.halves = Halves::of(&run.slices, rounds);
        let (mut of_slice, mut slices_p99_ns) = (MergedLatency::new(), Vec::new());
        // A round number beyond the design is damage; it must not cost memory.
        for slice in run.slices.iter().filter(|slice| slice.round < rounds) {
            digest.add_round(slice);
            digest.totals.add(slice, &assigned, &left_over);
            digest.activity.add(slice);
            if simulated && slice.cpu_times.is_empty() {
                digest.totals.assigned.add(&model_times(slice));
            }
            slices_p99_ns.push(digest.add_latency(slice, merged, &mut of_slice));
        }
        digest.waiting_share = requests::waiting_share(run);
        digest.mean_latency_ns = digest.waiting_share.and_then(|_| requests::mean_latency_ns(merged));
        if digest.latency == Latency::TooFew {
            digest.latency = known(merged, &slices_p99_ns).unwrap_or(Latency::TooFew);
        }
        digest.totals.has_cpus = !service_threads && digest.totals.sessions <= assigned.len();
        digest.check_work(run.slices.iter().filter(|slice| is_overrun(slice)).count() as u32);
        digest
    }

    /// Whether its numbers count.
    pub fn is_usable(&self) -> bool {
        self.state == RunValidity::Usable
    }

    fn add_round(&mut self, slice: &Slice) {
        let round = slice.round as usize;
        if self.rounds.len() <= round {
            self.rounds.resize(round + 1, Work::default());
        }
        self.rounds[round] = Work::of(slice);
    }

    /// Share of the sessions' time in which they waited for a CPU that others used; `None` if there are not enough CPUs
    /// for the sessions, or the wait is unknown.
    pub fn waited_share(&self) -> Option<f64> {
        let totals = &self.totals;
        let wait_ns = totals.wait_ns.filter(|_| totals.has_cpus && totals.session_ns > 0.0)?;
        Some(wait_ns / totals.session_ns)
    }

    /// All rounds together.
    pub fn work(&self) -> Work {
        self.rounds.iter().fold(Work::default(), |sum, round| sum.and(round))
    }

    /// Adds a slice's steps and returns their 99th percentile, if they suffice. `of_slice` is working memory.
    fn add_latency(
        &mut self,
        slice: &Slice,
        merged: &mut MergedLatency,
        of_slice: &mut MergedLatency,
    ) -> Option<u64> {
        of_slice.clear();
        let added: Result<(), _> =
            slice.sessions.iter().try_for_each(|session| of_slice.add(&session.latency));
        if let Err(error) = added.and_then(|()| merged.merge(of_slice)) {
            self.latency = Latency::Unreadable(error.to_string());
        }
        of_slice.quantile(0.99).filter(|_| of_slice.steps() >= MIN_STEPS)
    }

    /// A run that did (almost) nothing is invalid: something is wrong with it that no ratio should show. Rounds that were
    /// `overrun` have no row because of their load.
    fn check_work(&mut self, overrun: u32) {
        let rounds = self.rounds.len() as u32;
        let is_empty = |round: &&Work| round.is_there() && round.rows_per_s().is_none();
        let empty = (self.rounds.iter().filter(is_empty).count() as u32).saturating_sub(overrun);
        if rounds == 0 {
            self.state = RunValidity::Invalid("no-work: it has no slices".to_owned());
        } else if f64::from(empty) > MAX_EMPTY_SHARE * f64::from(rounds) {
            let s = if rounds == 1 { "" } else { "s" };
            self.state = RunValidity::Invalid(format!("no-work: {empty} of {rounds} round{s} had no row"));
        }
    }
}

/// Whether so many requests came that those from before the window took all of it.
fn is_overrun(slice: &Slice) -> bool {
    slice.rows() == 0 && slice.counter(UNSERVED) > 0
}

/// Percentiles of a run's steps, given the 99th of each of its slices; `None` if its steps do not suffice.
fn known(merged: &MergedLatency, slices_p99_ns: &[Option<u64>]) -> Option<Latency> {
    if merged.steps() < MIN_STEPS {
        return None;
    }
    let quantile = |q: f64| merged.quantile(q).map(|ns| ns.max(1));
    let logs: Option<Vec<f64>> =
        slices_p99_ns.iter().map(|p99| p99.map(|ns| (ns.max(1) as f64).ln())).collect();
    Some(Latency::Known {
        p50_ns: quantile(0.5)?,
        p99_ns: quantile(0.99)?,
        max_ns: quantile(1.0)?,
        p99_of_slices_ns: logs.and_then(|logs| mean(logs.into_iter())).map(f64::exp),
        above: LATENCY_BOUNDS_NS.map(|bound| merged.share_above(bound).unwrap_or(0.0)),
    })
}

impl Totals {
    fn add(&mut self, slice: &Slice, assigned: &CpuSet, left_over: &CpuSet) {
        self.window_ns += slice.window_ns as f64;
        self.session_ns += slice.window_ns as f64 * slice.sessions.len() as f64;
        self.rows += slice.rows() as f64;
        self.logical_reads += slice.counter("logical_reads") as f64;
        self.sessions = self.sessions.max(slice.sessions.len());
        self.fixed.add(slice);
        for session in &slice.sessions {
            self.switches += (session.voluntary_switches + session.involuntary_switches) as f64;
            self.wait_ns = self.wait_ns.zip(session.run_queue_wait_ns).map(|(sum, ns)| sum + ns as f64);
        }
        for times in &slice.cpu_times {
            let set = if assigned.contains(times.cpu) {
                &mut self.assigned
            } else if left_over.contains(times.cpu) {
                &mut self.left_over
            } else {
                &mut self.others
            };
            set.add(&CpuTotals {
                busy_ns: times.busy_ns as f64,
                steal_ns: times.steal_ns as f64,
                total_ns: times.total_ns as f64,
            });
        }
        self.others.add(&CpuTotals {
            busy_ns: slice.other_cpus.busy_ns as f64,
            steal_ns: slice.other_cpus.steal_ns as f64,
            total_ns: slice.other_cpus.total_ns as f64,
        });
    }
}

/// CPU times of a model's slice, which used no CPU: the part of the window in which its sessions did not run was taken
/// by the model's hypervisor.
fn model_times(slice: &Slice) -> CpuTotals {
    let total_ns = slice.window_ns as f64 * slice.sessions.len() as f64;
    // What was done for requests from before the window is in no session.
    let busy_ns = if is_overrun(slice) { total_ns } else { (slice.cpu_ns() as f64).min(total_ns) };
    // Sessions that wait for requests are idle.
    let steal_ns = if slice.counters.contains_key(DUE) { 0.0 } else { total_ns - busy_ns };
    CpuTotals { busy_ns, steal_ns, total_ns }
}

fn state(run: &Run) -> RunValidity {
    match &run.status {
        RunStatus::Valid => RunValidity::Usable,
        RunStatus::Failed { kind, message } => RunValidity::Failed(format!("{kind}: {message}")),
        RunStatus::Invalid { kind, message } => RunValidity::Invalid(format!("{kind}: {message}")),
        RunStatus::Superseded => RunValidity::Invalid("superseded: the block was redone".to_owned()),
    }
}

/// Siblings of the run's own logical CPUs that are not its own.
pub(crate) fn left_over(assigned: &CpuSet, topology: Option<&Topology>) -> CpuSet {
    let Some(topology) = topology else { return CpuSet::new() };
    let used = assigned.iter().filter_map(|cpu| topology.cpu(cpu));
    used.flat_map(|cpu| cpu.siblings.iter()).filter(|sibling| !assigned.contains(*sibling)).collect()
}
