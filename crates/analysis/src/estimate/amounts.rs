//! What a run's readings say of amounts: energy, instructions, cache misses, pages. Each a second of its sampler's own
//! window, since rows are counted over another one; what is per row is made from both rates.
//!
//! An amount of logical CPUs is known where it was counted on all of the run's own; the sampler keeps to 64 of them
//! (docs/TELEMETRY.md), and a part is not the whole. Instructions per cycle need no whole.

use super::readings::{Readings, per};
use threadwise_machine::CpuSet;
use threadwise_study::Reading;

/// A run's amounts. `None` is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amounts {
    /// Power of all packages together, W.
    pub power_w: Option<f64>,
    /// Instructions per cycle of the run's own logical CPUs.
    pub instructions_per_cycle: Option<f64>,
    /// Instructions a second.
    pub instructions_per_s: Option<f64>,
    /// Misses of the last-level cache a second.
    pub llc_misses_per_s: Option<f64>,
    /// Misses of the L2 a second.
    pub l2_misses_per_s: Option<f64>,
    /// Pages a second that NUMA nodes gave to processes on other nodes, of the whole machine; `None` with one node.
    pub other_node_pages_per_s: Option<f64>,
}

impl Amounts {
    /// Those of a run on these logical CPUs.
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

/// The package that a metric of the sampler `energy` is of, as powercap names its zone (`0`, or `0_die_1`); `None` of
/// memory and of others.
pub(crate) fn package_of(metric: &str) -> Option<&str> {
    let zone = metric.strip_prefix("package_")?.strip_suffix("_energy_uj")?;
    (!zone.ends_with("_dram")).then_some(zone)
}

/// Power of a zone in W: microjoules in a nanosecond are thousands of watts.
pub(crate) fn watts(readings: &Readings<'_>, metric: &str) -> Option<f64> {
    let window_ns = readings.whole("energy", "window_ns")?;
    Some(1e3 * per(readings.whole("energy", metric)?, window_ns)?).filter(|watts| *watts > 0.0)
}

/// The sum over packages; unknown where that of one is.
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
        let gap = value.is_none().then(|| "gap".to_owned());
        let (sampler, metric) = (sampler.to_owned(), metric.to_owned());
        Reading { sampler, metric, cpu, start_ns: 0, end_ns: 1, value, gap }
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
