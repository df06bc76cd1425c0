//! What each logical CPU did while a treatment ran: busy share, clock, instructions per cycle; and the power of
//! packages. It shows whether a placement was what it says.
//!
//! Each figure is a mean over blocks with a t interval (Student 1908), over the blocks in which the logical CPU had the
//! same role for the treatment: blocks draw different cores. Clocks are turbostat's
//! (`tools/power/x86/turbostat/turbostat.8`), power is powercap's; both are over the samplers' own windows
//! (docs/TELEMETRY.md).

#[cfg(test)]
mod tests;

use crate::Interval;
use crate::estimate::readings::{Readings, per};
use crate::estimate::readings::{package_of, watts};
use crate::estimate::{Observed, left_over};
use crate::setting::Setting;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_machine::{CpuSet, Topology};
use threadwise_statistics::{arithmetic, geometric};
use threadwise_study::Run;

/// Readings of logical CPUs and packages; `None` without any. `runs` is the list that `observed` was made from.
pub(crate) fn cpus(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Option<Cpus> {
    let treatments = setting.study.treatments.iter().enumerate().filter_map(|(at, treatment)| {
        let mut rows = Rows::default();
        let usable = observed.blocks.iter().filter(|block| observed.usable(block, at).is_some());
        for run in usable.filter_map(|block| runs.get(block.sources[at]?)) {
            rows.add(run, setting);
        }
        rows.summary(&treatment.name, setting)
    });
    let cpus = Cpus { treatments: treatments.collect() };
    (!cpus.treatments.is_empty()).then_some(cpus)
}

/// What logical CPUs and packages did under each treatment.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Cpus {
    /// In study order; treatments without readings are left out.
    pub treatments: Vec<TreatmentCpus>,
}

/// Readings of one treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct TreatmentCpus {
    /// Its name.
    pub treatment: String,
    /// The logical CPUs that its runs used and the idle siblings of these, by package, core and number.
    pub logical_cpus: Vec<CpuRow>,
    /// Packages with known energy.
    pub packages: Vec<PackageRow>,
}

/// Role of a logical CPU in the runs of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Sessions were placed on it.
    Used,
    /// An idle sibling of one that was used.
    IdleSibling,
}

/// One logical CPU, over the blocks in which it had the same role for the treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct CpuRow {
    /// The system's number.
    pub cpu: u32,
    /// The system's number of its package.
    pub package: Option<i64>,
    /// The system's number of its core, which is unique only within a package.
    pub core: Option<i64>,
    /// Its role for the treatment.
    #[serde(rename = "use")]
    pub usage: Use,
    /// Blocks.
    pub blocks: u32,
    /// Share of the time of slices in which it was busy, from /proc/stat.
    pub busy_share: Option<Interval>,
    /// Clock while not idle in MHz: turbostat's Bzy_MHz.
    pub busy_mhz: Option<Interval>,
    /// Cycles over wall-clock time in MHz, idle time included: turbostat's Avg_MHz.
    pub average_mhz: Option<Interval>,
    /// cpufreq's clock in MHz, if the processor's own counters cannot be read. With many drivers it is the requested
    /// clock.
    pub cpufreq_mhz: Option<Interval>,
    /// Instructions per cycle.
    pub instructions_per_cycle: Option<Interval>,
}

/// Power of one package.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct PackageRow {
    /// Its name in powercap: the system's number, followed by a die's if a package has several.
    pub package: String,
    /// Blocks.
    pub blocks: u32,
    /// Power of the package, W.
    pub power_w: Option<Interval>,
    /// Power of its memory, W.
    pub memory_power_w: Option<Interval>,
}

/// Figures of a treatment's runs, a number for each block.
#[derive(Default)]
pub(super) struct Rows {
    cpus: BTreeMap<(u32, Use), OfCpu>,
    packages: BTreeMap<String, OfPackage>,
}

#[derive(Default)]
struct OfCpu {
    blocks: u32,
    busy_share: Vec<f64>,
    busy_mhz: Vec<f64>,
    average_mhz: Vec<f64>,
    cpufreq_mhz: Vec<f64>,
    instructions_per_cycle: Vec<f64>,
}

#[derive(Default)]
struct OfPackage {
    blocks: u32,
    power_w: Vec<f64>,
    memory_power_w: Vec<f64>,
}

impl Rows {
    /// Adds the run of a block.
    pub fn add(&mut self, run: &Run, setting: &Setting<'_>) {
        let used: CpuSet = run.cpus.iter().copied().collect();
        let siblings = left_over(&used, setting.topology);
        let busy = busy_shares(run, setting.study.design.rounds);
        let readings = Readings { readings: &run.readings, assigned: &used };
        let (busy_mhz, average_mhz) = (readings.busy_mhz(), readings.mhz_of("aperf_cycles"));
        let cpufreq_mhz = readings.mhz_of("cpufreq_mhz_ns");
        let (cycles, instructions) =
            (readings.by_cpu("counters", "cycles"), readings.by_cpu("counters", "instructions"));
        let used_cpus = used.iter().map(|cpu| (cpu, Use::Used));
        for (cpu, usage) in used_cpus.chain(siblings.iter().map(|cpu| (cpu, Use::IdleSibling))) {
            let per_cycle =
                instructions.get(&cpu).zip(cycles.get(&cpu)).and_then(|(above, below)| per(*above, *below));
            let figures = [
                busy.get(&cpu).copied(),
                busy_mhz.get(&cpu).copied(),
                average_mhz.get(&cpu).copied(),
                cpufreq_mhz.get(&cpu).copied(),
                per_cycle.filter(|ratio| *ratio > 0.0),
            ];
            // A CPU without readings has no row.
            if figures.iter().any(Option::is_some) {
                self.cpus.entry((cpu, usage)).or_default().add(figures);
            }
        }
        self.add_packages(&readings);
    }

    fn add_packages(&mut self, readings: &Readings<'_>) {
        let energy = readings.readings.iter().filter(|reading| reading.sampler == "energy");
        for package in energy.filter_map(|reading| package_of(&reading.metric)) {
            let power = watts(readings, &format!("package_{package}_energy_uj"));
            let memory = watts(readings, &format!("package_{package}_dram_energy_uj"));
            if power.or(memory).is_some() {
                let of_package = self.packages.entry(package.replace('_', " ")).or_default();
                of_package.blocks += 1;
                of_package.power_w.extend(power);
                of_package.memory_power_w.extend(memory);
            }
        }
    }

    /// The means over blocks; `None` without readings.
    pub fn summary(self, treatment: &str, setting: &Setting<'_>) -> Option<TreatmentCpus> {
        if self.cpus.is_empty() && self.packages.is_empty() {
            return None;
        }
        let mut logical_cpus: Vec<CpuRow> =
            self.cpus.into_iter().map(|((cpu, usage), figures)| row(cpu, usage, &figures, setting)).collect();
        logical_cpus.sort_by_key(|row| (row.package, row.core, row.cpu, row.usage));
        let packages = self.packages.into_iter().map(|(package, figures)| PackageRow {
            package,
            blocks: figures.blocks,
            power_w: positive(&figures.power_w, "W", setting.alpha),
            memory_power_w: positive(&figures.memory_power_w, "W", setting.alpha),
        });
        Some(TreatmentCpus { treatment: treatment.to_owned(), logical_cpus, packages: packages.collect() })
    }
}

impl OfCpu {
    fn add(&mut self, figures: [Option<f64>; 5]) {
        let [busy_share, busy_mhz, average_mhz, cpufreq_mhz, instructions_per_cycle] = figures;
        self.blocks += 1;
        self.busy_share.extend(busy_share);
        self.busy_mhz.extend(busy_mhz);
        self.average_mhz.extend(average_mhz);
        self.cpufreq_mhz.extend(cpufreq_mhz);
        self.instructions_per_cycle.extend(instructions_per_cycle);
    }
}

fn row(cpu: u32, usage: Use, figures: &OfCpu, setting: &Setting<'_>) -> CpuRow {
    let (package, core) = place(cpu, setting.topology);
    let mut busy_share = arithmetic(&figures.busy_share, "share", setting.alpha);
    for share in busy_share.iter_mut().filter(|share| share.high.is_finite()) {
        share.high = share.high.min(1.0);
    }
    CpuRow {
        cpu,
        package,
        core,
        usage,
        blocks: figures.blocks,
        busy_share,
        busy_mhz: positive(&figures.busy_mhz, "MHz", setting.alpha),
        average_mhz: positive(&figures.average_mhz, "MHz", setting.alpha),
        cpufreq_mhz: positive(&figures.cpufreq_mhz, "MHz", setting.alpha),
        instructions_per_cycle: positive(&figures.instructions_per_cycle, "1", setting.alpha),
    }
}

/// A mean of a quantity that is above 0 and varies by factors.
fn positive(values: &[f64], unit: &str, alpha: f64) -> Option<Interval> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    geometric(&logs, 1.0, unit, alpha)
}

/// The system's numbers of a logical CPU's package and core, or the topology's if the system has none.
fn place(cpu: u32, topology: Option<&Topology>) -> (Option<i64>, Option<i64>) {
    let Some((topology, found)) = topology.and_then(|topology| Some((topology, topology.cpu(cpu)?))) else {
        return (None, None);
    };
    let number = |dense: u32, os_id: Option<i64>| os_id.unwrap_or(i64::from(dense));
    let package = found
        .package
        .map(|at| number(at, topology.packages.get(at as usize).and_then(|package| package.os_id)));
    let core = found.core.map(|at| number(at, topology.cores.get(at as usize).and_then(|core| core.os_id)));
    (package, core)
}

/// Busy shares over a run's slices, by logical CPU.
fn busy_shares(run: &Run, rounds: u32) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    // A round beyond the design is damage, as everywhere.
    for times in run.slices.iter().filter(|slice| slice.round < rounds).flat_map(|slice| &slice.cpu_times) {
        let sum = sums.entry(times.cpu).or_default();
        *sum = (sum.0 + times.busy_ns as f64, sum.1 + times.total_ns as f64);
    }
    sums.into_iter().filter_map(|(cpu, (busy, total))| Some((cpu, per(busy, total)?))).collect()
}
