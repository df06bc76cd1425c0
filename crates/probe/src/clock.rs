//! The clock of one busy logical CPU compared with all of them busy, so that turbo is not taken for contention.
//!
//! Source: turbostat's figures from APERF, MPERF and the time stamp counter
//! ([`threadwise_telemetry::perf::turbostat`]), read around windows in which the latency-limited kernel
//! runs; without them, cpufreq. In any case also the effective clock by that kernel itself: one add a cycle.
//! It holds if a step takes one cycle, as on the processors that [`crate::kernels`] names, and is checked
//! against APERF if available.

use crate::bench::{Bench, ProbeError, Timing};
use crate::kernels::Kernel;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use threadwise_machine::CpuSet;
use threadwise_study::probe::{ClockReading, ClockSource, ProbeForm};
use threadwise_telemetry::perf::kept::{Grown, Kept, Plan, evenly};
use threadwise_telemetry::perf::msr;
use threadwise_telemetry::perf::open::{Source, most_fds, source};
use threadwise_telemetry::perf::turbostat::{Counts, clocks};

/// Most logical CPUs that are measured alone.
const MOST_ALONE: usize = 16;
/// Time for the clock to settle after the number of busy CPUs changed: governors and the hardware
/// need up to some milliseconds (kernel `Documentation/admin-guide/pm/intel_pstate.rst`).
const RAMP_NS: u64 = 10_000_000;
/// Measured time.
const WINDOW_NS: u64 = 20_000_000;
/// Fewest and most rounds, each of which has every state once.
const ROUNDS: (usize, usize) = (3, 12);
/// Difference between the two methods above which a step is not one cycle.
const TOLERATED: f64 = 0.05;

/// Measured clocks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clocks {
    /// One busy CPU first, then all; ascending by logical CPU, then by source.
    pub readings: Vec<ClockReading>,
    /// What is missing, one line each.
    pub gaps: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Measures clocks on `cpus`, with the counters that the kernel below `root` offers: about a second on two logical
/// CPUs, less than three on many, of which some are measured alone.
///
/// # Errors
/// No CPUs are given, or the bench fails; being stopped is not an error.
pub fn measure(
    bench: &mut dyn Bench,
    root: &Path,
    cpus: &[u32],
    form: ProbeForm,
) -> Result<Clocks, ProbeError> {
    measure_with(bench, source(root), root, cpus, form)
}

/// The same with counters from `source`.
///
/// # Errors
/// As [`measure`].
pub fn measure_with(
    bench: &mut dyn Bench,
    source: Box<dyn Source>,
    root: &Path,
    cpus: &[u32],
    form: ProbeForm,
) -> Result<Clocks, ProbeError> {
    if cpus.is_empty() {
        return Err(ProbeError::Cpus("no logical CPU to measure the clock of".to_owned()));
    }
    let states = states(cpus);
    let mut meter = Meter::new(root, source, cpus);
    let mut seen: Vec<BusyReadings> = states.iter().map(|_| BusyReadings::default()).collect();
    let interrupted = match run(bench, &mut meter, &states, &mut seen, rounds(states.len(), form)) {
        Err(ProbeError::Stopped) => true,
        other => other.map(|()| false)?,
    };
    let mut found = Clocks { interrupted, ..Clocks::default() };
    for (busy, readings) in states.iter().zip(&seen) {
        readings.report(u32::try_from(busy.len()).unwrap_or(u32::MAX), meter.lack.is_some(), &mut found);
    }
    found.gaps.extend(meter.lack);
    if !found.readings.is_empty() && found.readings.iter().all(|one| one.bzy_mhz.is_none() || by_kernel(one))
    {
        found.gaps.push(
            "the clock comes from the CHAIN kernel alone (adds that depend on each other): right where a dependent add takes one cycle".to_owned(),
        );
    }
    // A gap that holds for every CPU and state is one line.
    let mut listed = BTreeSet::new();
    found.gaps.retain(|gap| listed.insert(gap.clone()));
    Ok(found)
}

/// Which logical CPUs are busy together: some alone, and all.
fn states(cpus: &[u32]) -> Vec<Vec<u32>> {
    let set: CpuSet = cpus.iter().copied().collect();
    let mut states: Vec<Vec<u32>> = evenly(&set, MOST_ALONE).into_iter().map(|cpu| vec![cpu]).collect();
    if set.len() > 1 {
        states.push(set.iter().collect());
    }
    states
}

fn rounds(states: usize, form: ProbeForm) -> usize {
    let budget_ns = match (states > 5, form) {
        (true, _) => 2_500_000_000,
        (false, ProbeForm::Short) => 600_000_000,
        (false, _) => 1_000_000_000,
    };
    let round_ns = states as u64 * (RAMP_NS + WINDOW_NS);
    usize::try_from(budget_ns / round_ns).unwrap_or(0).clamp(ROUNDS.0, ROUNDS.1)
}

/// Runs the rounds.
fn run(
    bench: &mut dyn Bench,
    meter: &mut Meter,
    states: &[Vec<u32>],
    seen: &mut [BusyReadings],
    rounds: usize,
) -> Result<(), ProbeError> {
    for round in 0..rounds {
        // Rotating the order at the start of each round spreads drift and neighbours over the states.
        for at in 0..states.len() {
            let at = (round + at) % states.len();
            window(bench, meter, &states[at], &mut seen[at])?;
        }
    }
    Ok(())
}

/// Keeps some logical CPUs busy: lets the clock settle, then measures.
fn window(
    bench: &mut dyn Bench,
    meter: &mut Meter,
    busy: &[u32],
    readings: &mut BusyReadings,
) -> Result<(), ProbeError> {
    bench.run(Kernel::Chain, busy, RAMP_NS)?;
    meter.start(busy);
    let timings = bench.run(Kernel::Chain, busy, WINDOW_NS)?;
    meter.finish(readings);
    readings.add_steps(&timings);
    Ok(())
}

/// Sources of the clock beside the kernel.
struct Meter<'a> {
    root: &'a Path,
    kept: Kept,
    plan: Option<Plan>,
    /// Why APERF and MPERF are not available, according to the kernel's list of events.
    lack: Option<String>,
    /// Logical CPUs on which the counters are read: those that are measured alone.
    read_on: CpuSet,
    reading: CpuSet,
}

impl<'a> Meter<'a> {
    fn new(root: &'a Path, source: Box<dyn Source>, cpus: &[u32]) -> Self {
        let msr::Registers { plan, lack } = msr::registers(root);
        let all: CpuSet = cpus.iter().copied().collect();
        Self {
            root,
            // The probe has no other files open in number.
            kept: Kept::new(source, most_fds(root) / 2),
            plan,
            lack,
            read_on: evenly(&all, MOST_ALONE).into_iter().collect(),
            reading: CpuSet::new(),
        }
    }

    fn start(&mut self, busy: &[u32]) {
        let busy: CpuSet = busy.iter().copied().collect();
        self.reading = busy.intersection(&self.read_on);
        let plans: Vec<Plan> = self.plan.iter().cloned().collect();
        self.kept.start(&self.reading, |_| plans.clone());
    }

    fn finish(&mut self, readings: &mut BusyReadings) {
        // The counters' own time is used, not the length of the window.
        let left_out = self.kept.finish(0, |cpu, plan, grown| readings.add_cycles(cpu, plan, grown));
        readings.gaps.extend(left_out);
        for cpu in self.reading.iter() {
            if let Some(mhz) = cpufreq_mhz(self.root, cpu) {
                readings.cpus.entry(cpu).or_default().cpufreq_mhz.push(mhz);
            }
        }
    }
}

/// cpufreq's clock just after a window: drivers that measure it look back over the last milliseconds,
/// others give the requested one (kernel `Documentation/admin-guide/pm/cpufreq.rst`).
fn cpufreq_mhz(root: &Path, cpu: u32) -> Option<f64> {
    let path = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"));
    let khz = fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()?;
    (khz > 0).then_some(khz as f64 / 1e3)
}

/// Readings while some logical CPUs were busy together.
#[derive(Default)]
struct BusyReadings {
    cpus: BTreeMap<u32, CpuReadings>,
    gaps: Vec<String>,
}

/// Readings of one of them, over all windows.
#[derive(Default)]
struct CpuReadings {
    cycles: Counts,
    elapsed_ns: u64,
    cpufreq_mhz: Vec<f64>,
    chain_mhz: Vec<f64>,
}

impl BusyReadings {
    fn add_steps(&mut self, timings: &[Timing]) {
        for timing in timings.iter().filter(|timing| timing.step_ns.is_finite() && timing.step_ns > 0.0) {
            self.cpus.entry(timing.cpu).or_default().chain_mhz.push(1e3 / timing.step_ns);
        }
    }

    fn add_cycles(&mut self, cpu: u32, plan: &Plan, grown: Result<Grown, String>) {
        let grown = match grown {
            Ok(grown) => grown,
            Err(why) => return self.gaps.push(why),
        };
        self.gaps.extend(grown.values.iter().filter_map(|value| value.clone().err()));
        let seen = self.cpus.entry(cpu).or_default();
        let counts = msr::counts(plan, &grown);
        let add =
            |sum: Option<u64>, more: Option<u64>| more.map(|more| sum.unwrap_or(0).saturating_add(more));
        // A register that is missing in one window is missing in the sum; the others still count.
        let first = seen.elapsed_ns == 0;
        let sum = |sum: Option<u64>, more| if first || sum.is_some() { add(sum, more) } else { None };
        seen.cycles = Counts {
            aperf: sum(seen.cycles.aperf, counts.aperf),
            mperf: sum(seen.cycles.mperf, counts.mperf),
            tsc: sum(seen.cycles.tsc, counts.tsc),
        };
        seen.elapsed_ns = seen.elapsed_ns.saturating_add(grown.enabled_ns);
    }

    /// `lacking`: it is reported elsewhere why APERF and MPERF are missing.
    fn report(&self, busy_cpus: u32, lacking: bool, found: &mut Clocks) {
        found.gaps.extend(self.gaps.iter().cloned());
        for (&cpu, seen) in &self.cpus {
            let empty = ClockReading {
                cpu,
                busy_cpus,
                source: ClockSource::Chain,
                avg_mhz: None,
                busy_pct: None,
                bzy_mhz: None,
                tsc_mhz: None,
            };
            let mut counted = None;
            if seen.elapsed_ns > 0 {
                let figures = clocks(&seen.cycles, seen.elapsed_ns);
                counted = figures.bzy_mhz;
                found.readings.push(ClockReading {
                    source: ClockSource::Perf,
                    avg_mhz: figures.avg_mhz,
                    busy_pct: figures.busy_pct,
                    bzy_mhz: figures.bzy_mhz,
                    tsc_mhz: figures.tsc_mhz,
                    ..empty
                });
                found.gaps.extend(figures.gap.filter(|_| !lacking));
            }
            if let Some(mhz) = median(&seen.cpufreq_mhz).filter(|_| counted.is_none()) {
                found.readings.push(ClockReading {
                    source: ClockSource::Cpufreq,
                    bzy_mhz: Some(mhz),
                    ..empty
                });
            }
            let chain = median(&seen.chain_mhz);
            found
                .gaps
                .extend(chain.zip(counted).and_then(|(chain, counted)| not_one_cycle(cpu, chain, counted)));
            if chain.is_some() {
                found.readings.push(ClockReading { bzy_mhz: chain, ..empty });
            }
        }
    }
}

fn by_kernel(reading: &ClockReading) -> bool {
    reading.source == ClockSource::Chain
}

/// A warning if the kernel's clock is not the counted one.
fn not_one_cycle(cpu: u32, chain_mhz: f64, counted_mhz: f64) -> Option<String> {
    let cycles = counted_mhz / chain_mhz;
    ((cycles - 1.0).abs() > TOLERATED).then(|| {
        format!(
            "on logical CPU {cpu} a dependent add took {cycles:.2} cycles by APERF instead of one: its effective clock is not valid"
        )
    })
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_keep_within_the_time_at_every_size() {
        for (cpus, form, most_s) in [
            (1, ProbeForm::Standard, 1.1),
            (2, ProbeForm::Short, 0.7),
            (2, ProbeForm::Standard, 1.1),
            (8, ProbeForm::Full, 2.9),
            (768, ProbeForm::Standard, 2.9),
        ] {
            let all: Vec<u32> = (0..cpus).collect();
            let states = states(&all);
            let rounds = rounds(states.len(), form);
            let seconds = (rounds * states.len()) as f64 * (RAMP_NS + WINDOW_NS) as f64 / 1e9;
            assert!(seconds <= most_s && rounds >= ROUNDS.0, "{cpus}: {rounds} rounds, {seconds} s");
            assert_eq!(states.len(), if cpus == 1 { 1 } else { all.len().min(MOST_ALONE) + 1 });
            assert_eq!(states.last().map(Vec::len), Some(all.len()));
        }
    }

    #[test]
    fn the_median_of_few_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0]), Some(5.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn a_step_of_more_than_a_cycle_is_reported() {
        assert_eq!(not_one_cycle(3, 3900.0, 4000.0), None);
        assert!(not_one_cycle(3, 2000.0, 4000.0).unwrap().contains("took 2.00 cycles"));
    }
}
