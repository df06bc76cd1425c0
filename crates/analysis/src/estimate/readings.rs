//! Readings of a run's own logical CPUs: neighbours, clock, stragglers, cost of the samplers.
//!
//! Readings are amounts added up over the run's slices; a share is taken of the same sampler's `window_ns`. The
//! neighbour's are not amounts: each is a share of the windows of one probe, right before or after the run. Names:
//! docs/PROBE.md and the samplers' own files.

use std::collections::BTreeMap;
use threadwise_machine::CpuSet;
use threadwise_statistics::mean;
use threadwise_study::Reading;

/// The sampler of neighbours.
const NEIGHBOUR: &str = "neighbour";

/// A run's readings in numbers. `None` is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Telemetry {
    /// Mean share of a neighbour over the run's own CPUs, before it.
    pub neighbour_before: Option<f64>,
    /// Mean share of a neighbour after it.
    pub neighbour_after: Option<f64>,
    /// Clock of its own CPUs while not idle, in MHz.
    pub clock_mhz: Option<f64>,
    /// The clock by the processor's own counters alone.
    pub counted_mhz: Option<f64>,
    /// Share of the time in which siblings of one core were busy while another core idled.
    pub straggler_share: Option<f64>,
    /// Periods a second in which a CPU quota stopped it.
    pub throttled_periods_per_s: Option<f64>,
    /// Share of the time of its own CPUs in which a quota stopped it.
    pub throttled_share: Option<f64>,
    /// CPU time of the samplers as a share of one CPU.
    pub own_cpu_share: Option<f64>,
}

impl Telemetry {
    /// Summarises the readings of a run on these logical CPUs.
    pub fn of(readings: &[Reading], assigned: &CpuSet) -> Self {
        let readings = Readings { readings, assigned };
        let machine = |sampler: &str, metric: &str| {
            per(readings.whole(sampler, metric)?, readings.whole(sampler, "window_ns")?)
        };
        Self {
            neighbour_before: readings.neighbour("before_busy_share"),
            neighbour_after: readings.neighbour("after_busy_share"),
            clock_mhz: readings.counted_mhz().or_else(|| readings.cpufreq_mhz()),
            counted_mhz: readings.counted_mhz(),
            straggler_share: machine("cpu", "siblings_busy_core_idle_ns"),
            throttled_periods_per_s: machine("quota", "throttled_periods").map(|per_ns| per_ns * 1e9),
            // The kernel adds up the time of each CPU on which something was stopped.
            throttled_share: machine("quota", "throttled_ns").map(|cpus| cpus / assigned.len().max(1) as f64),
            own_cpu_share: machine("telemetry", "own_cpu_ns"),
        }
    }

    /// Share of a neighbour before and after together: their mean, or the one that is known.
    pub fn neighbour(&self) -> Option<f64> {
        mean([self.neighbour_before, self.neighbour_after].into_iter().flatten())
    }
}

/// A quotient of amounts; `None` if the divisor is 0, or an amount is below 0.
pub(crate) fn per(above: f64, below: f64) -> Option<f64> {
    (below > 0.0 && above >= 0.0).then(|| above / below)
}

/// A run's readings with the logical CPUs that it was given.
pub(crate) struct Readings<'a> {
    pub readings: &'a [Reading],
    pub assigned: &'a CpuSet,
}

impl<'a> Readings<'a> {
    /// The readings of a metric.
    pub fn named(&self, sampler: &str, metric: &str) -> impl Iterator<Item = &'a Reading> {
        self.readings.iter().filter(move |reading| reading.sampler == sampler && reading.metric == metric)
    }

    /// The value that belongs to no logical CPU. For a sampler that gives its window for each CPU, the longest one.
    pub fn whole(&self, sampler: &str, metric: &str) -> Option<f64> {
        let whole = self.named(sampler, metric).find(|reading| reading.cpu.is_none());
        match whole {
            Some(reading) => reading.value,
            None if metric == "window_ns" => {
                self.named(sampler, metric).filter_map(|reading| reading.value).reduce(f64::max)
            }
            None => None,
        }
    }

    /// Known values of the run's own CPUs.
    pub fn known(&self, sampler: &str, metric: &str) -> impl Iterator<Item = (u32, f64)> {
        self.named(sampler, metric)
            .filter_map(|reading| Some((reading.cpu?, reading.value?)))
            .filter(|(cpu, _)| self.assigned.contains(*cpu))
    }

    /// Mean over the run's own CPUs, under either name of the sampler.
    fn neighbour(&self, metric: &str) -> Option<f64> {
        let known = self.known(NEIGHBOUR, metric);
        mean(known.map(|(_, value)| value))
    }

    /// Known values by logical CPU: a run on 512 of them has thousands of readings.
    pub fn by_cpu(&self, sampler: &str, metric: &str) -> BTreeMap<u32, f64> {
        self.known(sampler, metric).collect()
    }

    /// TSC · APERF / MPERF over the window by logical CPU, which turbostat(8) calls Bzy_MHz.
    pub fn busy_mhz(&self) -> BTreeMap<u32, f64> {
        let Some(window_ns) = self.whole("clock", "window_ns") else { return BTreeMap::new() };
        let (mperf, tsc) = (self.by_cpu("clock", "mperf_cycles"), self.by_cpu("clock", "tsc_cycles"));
        let counted = self.known("clock", "aperf_cycles").filter_map(|(cpu, aperf)| {
            Some((cpu, per(*tsc.get(&cpu)?, window_ns)? * 1e3 * per(aperf, *mperf.get(&cpu)?)?))
        });
        counted.filter(|(_, mhz)| *mhz > 0.0).collect()
    }

    /// A metric of the sampler `clock` over its window in MHz by logical CPU: for `aperf_cycles` turbostat's Avg_MHz,
    /// for `cpufreq_mhz_ns` cpufreq's figure.
    pub fn mhz_of(&self, metric: &str) -> BTreeMap<u32, f64> {
        let Some(window_ns) = self.whole("clock", "window_ns") else { return BTreeMap::new() };
        // Cycles per nanosecond are thousands of MHz; MHz times nanoseconds are MHz.
        let scale = if metric.ends_with("_cycles") { 1e3 } else { 1.0 };
        let known =
            self.known("clock", metric).filter_map(|(cpu, sum)| Some((cpu, per(sum, window_ns)? * scale)));
        known.filter(|(_, mhz)| *mhz > 0.0).collect()
    }

    fn counted_mhz(&self) -> Option<f64> {
        mean(self.busy_mhz().into_values())
    }

    fn cpufreq_mhz(&self) -> Option<f64> {
        mean(self.mhz_of("cpufreq_mhz_ns").into_values())
    }
}

/// A run's amounts. `None` is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amounts {
    /// Power of all packages together, W.
    pub power_w: Option<f64>,
    /// Instructions per cycle of the run's own logical CPUs.
    pub instructions_per_cycle: Option<f64>,
    /// Instructions per second.
    pub instructions_per_s: Option<f64>,
    /// Misses of the last-level cache per second.
    pub llc_misses_per_s: Option<f64>,
    /// Misses of the L2 per second.
    pub l2_misses_per_s: Option<f64>,
    /// Pages per second that NUMA nodes gave to processes on other nodes, of the whole machine; `None` with one node.
    pub other_node_pages_per_s: Option<f64>,
}

impl Amounts {
    /// The amounts of a run on these logical CPUs.
    pub fn of(readings: &[Reading], assigned: &CpuSet) -> Self {
        let readings = Readings { readings, assigned };
        Self {
            power_w: power_w(&readings),
            instructions_per_cycle: instructions_per_cycle(&readings),
            instructions_per_s: counted_per_s(&readings, "instructions"),
            llc_misses_per_s: counted_per_s(&readings, "llc_misses"),
            l2_misses_per_s: counted_per_s(&readings, "l2_misses"),
            other_node_pages_per_s: other_node_pages_per_s(&readings),
        }
    }
}

/// The package of a metric of the sampler `energy`, as powercap names its zone (`0`, or `0_die_1`); `None` for memory
/// and others.
pub(crate) fn package_of(metric: &str) -> Option<&str> {
    let zone = metric.strip_prefix("package_")?.strip_suffix("_energy_uj")?;
    (!zone.ends_with("_dram")).then_some(zone)
}

/// Power of a zone in W: microjoules per nanosecond are thousands of watts.
pub(crate) fn watts(readings: &Readings<'_>, metric: &str) -> Option<f64> {
    let window_ns = readings.whole("energy", "window_ns")?;
    Some(1e3 * per(readings.whole("energy", metric)?, window_ns)?).filter(|watts| *watts > 0.0)
}

/// The sum over packages; unknown if any package is.
fn power_w(readings: &Readings<'_>) -> Option<f64> {
    let packages = readings.readings.iter().filter(|reading| reading.sampler == "energy");
    let mut metrics =
        packages.map(|reading| reading.metric.as_str()).filter(|metric| package_of(metric).is_some());
    let first = watts(readings, metrics.next()?)?;
    metrics.try_fold(first, |sum, metric| Some(sum + watts(readings, metric)?))
}

fn instructions_per_cycle(readings: &Readings<'_>) -> Option<f64> {
    let cycles = readings.by_cpu("counters", "cycles");
    let both = readings
        .known("counters", "instructions")
        .filter_map(|(cpu, count)| Some((count, *cycles.get(&cpu)?)));
    let (instructions, cycles) = both.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    per(instructions, cycles).filter(|ratio| *ratio > 0.0)
}

fn counted_per_s(readings: &Readings<'_>, metric: &str) -> Option<f64> {
    let counted = readings.by_cpu("counters", metric);
    let is_whole = !counted.is_empty() && counted.len() == readings.assigned.len();
    let window_ns = readings.whole("counters", "window_ns").filter(|_| is_whole)?;
    per(counted.values().sum::<f64>() * 1e9, window_ns)
}

fn other_node_pages_per_s(readings: &Readings<'_>) -> Option<f64> {
    let is_one = |reading: &&Reading| {
        reading.sampler == "numa"
            && reading.metric.starts_with("node_")
            && reading.metric.ends_with("_other_pages")
    };
    let nodes: Vec<Option<f64>> =
        readings.readings.iter().filter(is_one).map(|reading| reading.value).collect();
    let pages: Option<Vec<f64>> = nodes.into_iter().collect();
    let pages = pages.filter(|nodes| nodes.len() >= 2)?;
    per(pages.into_iter().sum::<f64>() * 1e9, readings.whole("numa", "window_ns")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(sampler: &str, metric: &str, cpu: Option<u32>, value: Option<f64>) -> Reading {
        let (sampler, metric) = (sampler.to_owned(), metric.to_owned());
        let gap = value.is_none().then(|| "gap".to_owned());
        Reading { sampler, metric, cpu, start_ns: 0, end_ns: 1, value, gap }
    }

    fn telemetry_of(readings: &[Reading]) -> Telemetry {
        Telemetry::of(readings, &CpuSet::parse_list("0,2").unwrap())
    }

    #[test]
    fn neighbours_are_averaged_over_own_cpus_and_gaps_are_no_zeros() {
        let neighbour = |when: &str, cpu, value| reading(NEIGHBOUR, when, Some(cpu), value);
        let (before, after) = ("before_busy_share", "after_busy_share");
        let got = telemetry_of(&[
            neighbour(before, 0, Some(0.3)),
            neighbour(before, 2, Some(0.1)),
            neighbour(before, 5, Some(0.9)),
            neighbour(after, 0, None),
            neighbour(after, 2, Some(0.4)),
        ]);
        assert_eq!((got.neighbour_before, got.neighbour_after), (Some(0.2), Some(0.4)));
        assert!((got.neighbour().unwrap() - 0.3).abs() < 1e-12);
        let unknown = telemetry_of(&[neighbour(before, 0, None), neighbour(after, 1, Some(0.5))]);
        assert_eq!(unknown.neighbour(), None);
    }

    #[test]
    fn the_clock_is_that_of_busy_time() {
        let clock = |metric: &str, cpu, value| reading("clock", metric, cpu, Some(value));
        // 10 s at a TSC of 2,000 MHz, half of it busy at 3,000 MHz.
        let mut readings = vec![
            clock("window_ns", None, 1e10),
            clock("aperf_cycles", Some(0), 1.5e10),
            clock("mperf_cycles", Some(0), 1.0e10),
            clock("tsc_cycles", Some(0), 2.0e10),
            clock("cpufreq_mhz_ns", Some(0), 1.0e13),
        ];
        assert_eq!(telemetry_of(&readings).clock_mhz, Some(3000.0));
        readings[2].value = Some(0.0);
        assert_eq!(telemetry_of(&readings).clock_mhz, Some(1000.0), "no MPERF: cpufreq's");
        readings.remove(0);
        assert_eq!(telemetry_of(&readings).clock_mhz, None);
    }

    #[test]
    fn shares_are_of_the_samplers_own_window() {
        let got = telemetry_of(&[
            reading("telemetry", "own_cpu_ns", None, Some(2e6)),
            reading("telemetry", "window_ns", None, Some(1e9)),
            reading("cpu", "siblings_busy_core_idle_ns", None, Some(1e8)),
            reading("cpu", "window_ns", None, Some(1e9)),
        ]);
        assert_eq!((got.own_cpu_share, got.straggler_share), (Some(0.002), Some(0.1)));
        let gap = telemetry_of(&[reading("telemetry", "own_cpu_ns", None, None)]);
        assert_eq!(gap, Telemetry::default());
    }

    fn amounts_of(readings: &[Reading]) -> Amounts {
        Amounts::of(readings, &CpuSet::parse_list("0,2").unwrap())
    }

    #[test]
    fn power_is_that_of_all_packages_without_memory() {
        let energy = |metric: &str, value| reading("energy", metric, None, value);
        // 2 s: 100 J and 30 J in packages, 10 J in memory.
        let mut readings = vec![
            energy("window_ns", Some(2e9)),
            energy("package_0_energy_uj", Some(100e6)),
            energy("package_0_dram_energy_uj", Some(10e6)),
            energy("package_1_energy_uj", Some(30e6)),
        ];
        assert_eq!(amounts_of(&readings).power_w, Some(65.0));
        readings[3].value = None;
        assert_eq!(amounts_of(&readings).power_w, None, "a package that is unknown is no 0");
        assert_eq!(
            (package_of("package_1_die_0_energy_uj"), package_of("window_ns")),
            (Some("1_die_0"), None)
        );
    }

    #[test]
    fn counts_are_of_all_own_logical_cpus_and_of_no_other() {
        let count = |metric: &str, cpu, value| reading("counters", metric, cpu, Some(value));
        let mut readings = vec![
            count("window_ns", None, 5e8),
            count("cycles", Some(0), 1000.0),
            count("instructions", Some(0), 1500.0),
            count("cycles", Some(2), 1000.0),
            count("instructions", Some(2), 500.0),
            count("llc_misses", Some(0), 7.0),
            count("llc_misses", Some(2), 3.0),
            count("llc_misses", Some(9), 900.0),
        ];
        let got = amounts_of(&readings);
        assert_eq!((got.instructions_per_cycle, got.instructions_per_s), (Some(1.0), Some(4000.0)));
        assert_eq!((got.llc_misses_per_s, got.l2_misses_per_s), (Some(20.0), None));
        readings.remove(6);
        assert_eq!(amounts_of(&readings).llc_misses_per_s, None, "one of two");
    }

    #[test]
    fn pages_of_other_nodes_need_two_nodes() {
        let pages =
            |node: u32, value| reading("numa", &format!("node_{node}_other_pages"), None, Some(value));
        let window = reading("numa", "window_ns", None, Some(1e9));
        assert_eq!(amounts_of(&[window.clone(), pages(0, 5.0)]).other_node_pages_per_s, None);
        assert_eq!(amounts_of(&[window, pages(0, 5.0), pages(1, 7.0)]).other_node_pages_per_s, Some(12.0));
    }
}
