//! Rows of one treatment: what its runs read, by logical CPU and by package.

use super::types::{CpuRow, PackageRow, TreatmentCpus, Use};
use crate::Interval;
use crate::estimate::amounts::{package_of, watts};
use crate::estimate::left_over;
use crate::estimate::readings::{Readings, per};
use crate::setting::Setting;
use std::collections::BTreeMap;
use threadwise_machine::{CpuSet, Topology};
use threadwise_statistics::{arithmetic, geometric};
use threadwise_study::Run;

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
            // A CPU of which nothing was read has no row.
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

    /// The means over blocks; `None` where nothing was read.
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

/// A mean of what is above 0, and varies by factors.
fn positive(values: &[f64], unit: &str, alpha: f64) -> Option<Interval> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    geometric(&logs, 1.0, unit, alpha)
}

/// The system's numbers of a logical CPU's package and core; the topology's own where the system has none.
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
