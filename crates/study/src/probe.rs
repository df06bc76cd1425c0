//! What was measured of the hardware: shared cores, neighbours, latencies, wake-ups, clocks. Raw answers with their numbers; the
//! analysis compares them with the reported topology.
//!
//! Methods: docs/PROBE.md.

mod wakeup;

pub use threadwise_machine::placement::Locality;
pub use wakeup::{WakeMethod, Wakeup};

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use threadwise_machine::CpuSet;
use threadwise_machine::cpuset::MAX_CPUS;

/// One probe of a machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Extent of the probe.
    pub form: ProbeForm,
    /// Logical CPUs that were probed.
    pub cpus: CpuSet,
    /// Wall-clock time of the probe.
    pub duration_s: f64,
    /// Pairs measured one by one.
    pub pairs: Vec<PairSharing>,
    /// Many logical CPUs at once, which clears most pairs of a large machine.
    pub sets: Vec<SetTest>,
    /// One entry per watched logical CPU.
    pub neighbours: Vec<Neighbour>,
    /// Pairs whose cache-line latency was measured.
    pub latencies: Vec<PairLatency>,
    /// The levels that the latencies fall into, nearest first.
    pub levels: Vec<LatencyLevel>,
    /// Wake-ups of sleeping threads, nearest first; empty in probes from before they were measured.
    #[serde(default)]
    pub wakeups: Vec<Wakeup>,
    /// Clocks, with one core busy and with all busy.
    pub clocks: Vec<ClockReading>,
    /// What could not be measured, one line each.
    pub gaps: Vec<String>,
    /// Whether the user stopped it; the rest was measured.
    pub interrupted: bool,
}

/// Extent of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ProbeForm {
    /// The probe before `run`, under 10 s on 2 logical CPUs.
    Short,
    /// The default of `probe`.
    #[default]
    Standard,
    /// The latency of every pair; up to 64 logical CPUs also a test of every pair for a shared core.
    Full,
}

impl ProbeForm {
    /// Word in files and options.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What two logical CPUs share, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Sharing {
    /// One logical CPU under two names: stacked, or time-sliced by the hypervisor.
    SameCpu,
    /// SMT siblings: one core.
    SameCore,
    /// Different cores.
    DifferentCores,
    /// Other work on the same cores hid the answer.
    Masked,
    /// The answer changed during the measurement: the hypervisor moves our vCPUs.
    Moving,
    /// The numbers fit no answer.
    Unclear,
}

impl Sharing {
    /// Word in files and tables.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A ratio over rounds: median and the range of its middle half.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slowdown {
    /// Median of time together over time alone; 1 is no slowdown.
    pub median: f64,
    /// First quartile.
    pub low: f64,
    /// Third quartile.
    pub high: f64,
}

/// Two logical CPUs under interference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairSharing {
    /// The lower OS number.
    pub a: u32,
    /// The higher OS number.
    pub b: u32,
    /// The answer.
    pub sharing: Sharing,
    /// For the kernel limited by issue width, while it ran, with the clock divided out; `None` without a usable round.
    pub wide: Option<Slowdown>,
    /// For the kernel limited by latency, as measured.
    pub chain: Option<Slowdown>,
    /// For the kernel of loads and stores, with the clock divided out.
    pub load_store: Option<Slowdown>,
    /// Mean share of the joint windows' wall-clock time that each of the two was on a CPU; about 0.5 if two names take
    /// turns on one logical CPU.
    pub on_cpu_share: Option<f64>,
    /// Rounds that were used.
    pub rounds_used: u32,
    /// Rounds that were measured.
    pub rounds: u32,
    /// One line: the evidence for the answer.
    pub why: String,
}

/// Many logical CPUs running the wide kernel at once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetTest {
    /// Logical CPUs that ran.
    pub ran: CpuSet,
    /// Those as fast as alone: on a core without another one of `ran`.
    pub at_full_width: CpuSet,
}

/// Whether other work was busy on the sibling threads of a logical CPU's core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// OS number.
    pub cpu: u32,
    /// Windows that were measured.
    pub windows: u32,
    /// Adds per chain step, tenth percentile; `None` without a usable window.
    pub adds_per_step_p10: Option<f64>,
    /// Adds per chain step, median; `None` without a usable window.
    pub adds_per_step_p50: Option<f64>,
    /// Adds per chain step, ninetieth percentile; `None` without a usable window.
    pub adds_per_step_p90: Option<f64>,
    /// Share of the windows in which the sibling was busy; `None` without a baseline.
    pub busy_share: Option<f64>,
    /// Share of the windows' wall-clock time in which our thread was not on a CPU.
    pub off_cpu_share: f64,
    /// One line: why `busy_share` is unknown, or its evidence.
    pub why: String,
}

/// Cache-line latency of a pair by two methods; one-way times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairLatency {
    /// The lower OS number.
    pub a: u32,
    /// The higher OS number.
    pub b: u32,
    /// Compare-and-swap on one line.
    pub cas: LatencyFigures,
    /// One writer and one reader on two lines.
    pub two_lines: LatencyFigures,
    /// Index into the probe's levels.
    pub level: Option<u32>,
}

/// Numbers of one method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyFigures {
    /// Smallest sample.
    pub min_ns: f64,
    /// Median sample.
    pub median_ns: f64,
    /// Half of the interquartile range.
    pub spread_ns: f64,
    /// Number of samples.
    pub samples: u32,
}

/// A cluster of latencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyLevel {
    /// The reported topology's name for most of its pairs: `same core`, `same LLC`, `same package`, `other package`;
    /// `None` if nothing is reported.
    pub name: Option<String>,
    /// Smallest minimum of its pairs.
    pub low_ns: f64,
    /// Largest minimum of its pairs.
    pub high_ns: f64,
    /// Groups of at least two logical CPUs within this level of each other. Members that were not measured against each
    /// other were inferred.
    pub groups: Vec<CpuSet>,
}

/// Source of a clock value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockSource {
    /// APERF, MPERF and TSC by the perf `msr` PMU.
    Perf,
    /// cpufreq's current frequency.
    Cpufreq,
    /// Steps of the latency-limited kernel per nanosecond, one per cycle.
    Chain,
}

/// The clock of one logical CPU over one window. Terms as in turbostat(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockReading {
    /// OS number.
    pub cpu: u32,
    /// Logical CPUs kept busy meanwhile, this one included.
    pub busy_cpus: u32,
    /// Source of the values below.
    pub source: ClockSource,
    /// Cycles over wall-clock time, idle time included.
    pub avg_mhz: Option<f64>,
    /// Non-idle time, percent.
    pub busy_pct: Option<f64>,
    /// Clock while not idle. With [`ClockSource::Chain`] the effective clock while on a CPU.
    pub bzy_mhz: Option<f64>,
    /// Clock of the time stamp counter.
    pub tsc_mhz: Option<f64>,
}

/// Largest figure: below 2^50, which is 13 days in ns.
const MOST: f64 = ((1_u64 << 50) - 1) as f64;
/// Most probed logical CPUs: Linux can be built for 8,192. Comparing pairs takes the square of it.
const MOST_PROBED: usize = 8_192;

impl Probe {
    /// What a reader could not compute with in a probe that came from elsewhere.
    pub fn fault(&self) -> Option<String> {
        let wrong = |number: f64, most: f64, what: &str| {
            (!(0.0..=most).contains(&number))
                .then(|| format!("{what} is {number}, which is not from 0 to {most}"))
        };
        let slowdowns = self.pairs.iter().flat_map(|pair| [pair.wide, pair.chain, pair.load_store]).flatten();
        let widths = self
            .neighbours
            .iter()
            .flat_map(|one| [one.adds_per_step_p10, one.adds_per_step_p50, one.adds_per_step_p90]);
        let latencies = self.latencies.iter().flat_map(|pair| [pair.cas, pair.two_lines]);
        let clocks = self.clocks.iter();
        let figures = slowdowns
            .flat_map(|slowdown| [slowdown.median, slowdown.low, slowdown.high])
            .chain(widths.flatten())
            .chain(latencies.flat_map(|one| [one.min_ns, one.median_ns, one.spread_ns]))
            .chain(self.levels.iter().flat_map(|level| [level.low_ns, level.high_ns]))
            .chain(self.wakeups.iter().flat_map(|one| [one.min_ns, one.median_ns, one.p90_ns]))
            .chain(self.wakeups.iter().flat_map(|one| [one.median_low_ns, one.median_high_ns]))
            .chain(self.wakeups.iter().map(|one| one.idle_ns as f64))
            .chain(clocks.flat_map(|one| [one.avg_mhz, one.busy_pct, one.bzy_mhz, one.tsc_mhz]).flatten())
            .chain([self.duration_s]);
        let shares = self.neighbours.iter().flat_map(|one| [one.busy_share, Some(one.off_cpu_share)]);
        let shares = shares.chain(self.pairs.iter().map(|pair| pair.on_cpu_share)).flatten();
        let cpus = self.pairs.iter().flat_map(|pair| [pair.a, pair.b]);
        let cpus = cpus.chain(self.latencies.iter().flat_map(|pair| [pair.a, pair.b]));
        let cpus = cpus.chain(self.wakeups.iter().flat_map(|one| [one.a, one.b]));
        let cpus = cpus.chain(self.neighbours.iter().map(|one| one.cpu));
        let cpus = cpus.chain(self.clocks.iter().flat_map(|one| [one.cpu, one.busy_cpus.saturating_sub(1)]));
        let level =
            self.latencies.iter().filter_map(|pair| pair.level).find(|at| *at as usize >= self.levels.len());
        figures
            .into_iter()
            .find_map(|figure| wrong(figure, MOST, "a figure"))
            .or_else(|| shares.into_iter().find_map(|share| wrong(share, 1.0, "a share")))
            .or_else(|| {
                let cpu = cpus.into_iter().find(|cpu| *cpu >= MAX_CPUS)?;
                Some(format!("the number of a logical CPU is {cpu}"))
            })
            .or_else(|| {
                let count = Some(self.cpus.len()).filter(|count| *count > MOST_PROBED)?;
                Some(format!("the number of logical CPUs is {count}, more than {MOST_PROBED}"))
            })
            .or_else(|| Some(format!("latency level {} of {}", level?, self.levels.len())))
    }

    /// What two logical CPUs share: as measured pairwise, otherwise by the sets; `None` if neither tells.
    pub fn sharing(&self, a: u32, b: u32) -> Option<Sharing> {
        let (low, high) = (a.min(b), a.max(b));
        if let Some(pair) = self.pairs.iter().find(|pair| (pair.a, pair.b) == (low, high)) {
            return Some(pair.sharing);
        }
        let apart = |test: &SetTest| {
            test.ran.contains(a)
                && test.ran.contains(b)
                && (test.at_full_width.contains(a) || test.at_full_width.contains(b))
        };
        self.sets.iter().any(apart).then_some(Sharing::DifferentCores)
    }

    /// The wake-up by a method at a distance, without a pause or with one, if measured.
    pub fn wakeup(&self, distance: Locality, method: WakeMethod, is_idle: bool) -> Option<&Wakeup> {
        let is_it = |one: &&Wakeup| (one.distance, one.method) == (distance, method);
        self.wakeups.iter().filter(is_it).find(|one| (one.idle_ns > 0) == is_idle)
    }

    /// Latency of a pair, if measured.
    pub fn latency(&self, a: u32, b: u32) -> Option<&PairLatency> {
        let (low, high) = (a.min(b), a.max(b));
        self.latencies.iter().find(|pair| (pair.a, pair.b) == (low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_clears_pairs_with_somebody_at_full_width() {
        let set = |text: &str| CpuSet::parse_list(text).unwrap();
        let probe =
            Probe { sets: vec![SetTest { ran: set("0-3"), at_full_width: set("2") }], ..Probe::default() };
        assert_eq!(probe.sharing(2, 0), Some(Sharing::DifferentCores));
        assert_eq!(probe.sharing(0, 1), None, "both were slowed");
        assert_eq!(probe.sharing(2, 4), None, "4 did not run");
    }

    #[test]
    fn a_measured_pair_counts_more_than_a_set() {
        let pair = PairSharing {
            a: 0,
            b: 2,
            sharing: Sharing::Moving,
            wide: None,
            chain: None,
            load_store: None,
            on_cpu_share: None,
            rounds_used: 0,
            rounds: 9,
            why: String::new(),
        };
        let cpus = CpuSet::parse_list("0,2").unwrap();
        let sets = vec![SetTest { ran: cpus.clone(), at_full_width: cpus }];
        let probe = Probe { pairs: vec![pair], sets, ..Probe::default() };
        assert_eq!(probe.sharing(2, 0), Some(Sharing::Moving));
    }

    #[test]
    fn words_are_those_of_files() {
        for sharing in [Sharing::SameCpu, Sharing::DifferentCores, Sharing::Moving, Sharing::Unclear] {
            assert_eq!(serde_json::to_value(sharing).unwrap(), sharing.word());
        }
        for form in [ProbeForm::Short, ProbeForm::Standard, ProbeForm::Full] {
            assert_eq!(serde_json::to_value(form).unwrap(), form.word());
        }
    }
}
