//! What is reported of logical CPUs and packages, treatment by treatment.

use crate::Interval;
use crate::estimate::Change;
use serde::Serialize;

/// What logical CPUs and packages did under each treatment.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Cpus {
    /// In study order; treatments of which nothing was read are left out.
    pub treatments: Vec<TreatmentCpus>,
    /// The clock of the busy logical CPUs, one entry for each comparison of the study whose sides both have it by the
    /// processor's own counters.
    pub clock: Vec<ClockChange>,
}

/// One treatment's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreatmentCpus {
    /// Its name.
    pub treatment: String,
    /// The logical CPUs that its runs used and the idle siblings of these, by package, core and number.
    pub logical_cpus: Vec<CpuRow>,
    /// Packages whose energy was read.
    pub packages: Vec<PackageRow>,
}

/// What a logical CPU was to the runs that a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Sessions were placed on it.
    Used,
    /// A sibling of one that was used, on which no session was placed.
    IdleSibling,
}

/// One logical CPU, over the blocks in which it was the same to the treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuRow {
    /// The system's number.
    pub cpu: u32,
    /// The system's number of its package.
    pub package: Option<i64>,
    /// The system's number of its core, which is unique only within a package.
    pub core: Option<i64>,
    /// What it was to the treatment.
    #[serde(rename = "use")]
    pub usage: Use,
    /// Blocks.
    pub blocks: u32,
    /// Share of the time of slices in which it was busy, by /proc/stat.
    pub busy_share: Option<Interval>,
    /// Clock while not idle in MHz: turbostat's Bzy_MHz.
    pub busy_mhz: Option<Interval>,
    /// Cycles over wall-clock time in MHz, idle time included: turbostat's Avg_MHz.
    pub average_mhz: Option<Interval>,
    /// cpufreq's clock in MHz, where the processor's own counters cannot be read. On many drivers it is the clock that
    /// was asked for.
    pub cpufreq_mhz: Option<Interval>,
    /// Instructions per cycle.
    pub instructions_per_cycle: Option<Interval>,
}

/// Power of one package.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PackageRow {
    /// Its name by powercap: the system's number, with a die's behind it where a package has several.
    pub package: String,
    /// Blocks.
    pub blocks: u32,
    /// Power of the package, W.
    pub power_w: Option<Interval>,
    /// Power of its memory, W.
    pub memory_power_w: Option<Interval>,
}

/// A change of the clock, paired by block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockChange {
    /// Name of the comparison.
    pub comparison: String,
    /// Treatment.
    pub treatment: String,
    /// Its baselines, joined by ` and `.
    pub baseline: String,
    /// The ratio of clocks; the adjusted intervals of all comparisons hold together.
    #[serde(flatten)]
    pub ratio: Change,
}
