//! The points of a study: throughput of each treatment by block, with its load.

use super::fit::Draws;
use super::load::{Load, Shape};
use super::result::{SeriesLaw, laws};
use super::sweep::{Clock, Measured, Series};
use crate::estimate::Observed;
use crate::groups::grouped;
use crate::queries;
use crate::setting::Setting;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_machine::{CpuSet, Topology};
use threadwise_statistics::mean;
use threadwise_study::{ComparisonKind, Role, Run, Study, Treatment};

/// The laws of a study with a sweep; none for any other.
pub(crate) fn of_sweeps(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Vec<SeriesLaw> {
    let is_sweep =
        setting.study.comparisons.iter().any(|comparison| comparison.kind == ComparisonKind::SweepStep);
    if !is_sweep || setting.study.is_fixed_work() {
        return Vec::new();
    }
    of_each(&series(setting, observed, runs), &[], setting)
}

/// The laws of any study, with or without a sweep, one per group, and their predictions for other machines.
pub fn of_study(study: &Study, topology: &Topology, runs: &[Run], predict: &[Shape]) -> Vec<SeriesLaw> {
    let runs = &*queries::streams_alone(study, runs);
    let observed = Observed::new(study, Some(topology), runs);
    let setting = Setting { study, topology: Some(topology), probe: None, alpha: 1.0 - study.design.level };
    of_each(&series(&setting, &observed, runs), predict, &setting)
}

/// Groups are different work, and say nothing about each other.
fn of_each(all: &[Series], predict: &[Shape], setting: &Setting<'_>) -> Vec<SeriesLaw> {
    let draws = Draws { level: 1.0 - setting.alpha, ..Draws::usual(setting.study.seed) };
    all.iter().flat_map(|one| laws(std::slice::from_ref(one), predict, draws)).collect()
}

/// One series for each group of a study that has throughput, in the study's order.
fn series(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Vec<Series> {
    let Some(topology) = setting.topology else { return Vec::new() };
    let groups = observed.groups.iter().enumerate();
    groups.map(|(group, name)| of_group(setting, observed, runs, topology, (group, name))).collect()
}

/// Observations of one treatment.
struct Point<'a> {
    treatment: &'a Treatment,
    load: Load,
    /// By block.
    log_rates: BTreeMap<u32, f64>,
    clock_mhz: Option<f64>,
    /// Packages that it keeps busy; `None` if the machine does not report them.
    packages: Option<u32>,
}

fn of_group(
    setting: &Setting<'_>,
    observed: &Observed,
    runs: &[Run],
    topology: &Topology,
    (group, name): (usize, &str),
) -> Series {
    let all = setting.study.treatments.iter().enumerate();
    let members = all.filter(|(at, _)| observed.group_of[*at] == group);
    let baseline = members.clone().find(|(_, treatment)| treatment.role == Role::Baseline);
    let (mut left_out, mut points): (Vec<String>, Vec<Point<'_>>) = (Vec::new(), Vec::new());
    for (at, treatment) in members {
        let found = match baseline.is_some_and(|(_, baseline)| is_like(treatment, baseline)) {
            true => point(observed, runs, topology, at, treatment),
            false => Err("differs in more than sessions and placement".to_owned()),
        };
        match found {
            Ok(point) => points.push(point),
            Err(why) => left_out.push(format!("{}: {why}", treatment.name)),
        }
    }
    let in_all = |block: &u32| points.iter().all(|point| point.log_rates.contains_key(block));
    let of_first = points.iter().take(1).flat_map(|first| first.log_rates.keys().copied());
    let blocks: Vec<u32> = of_first.filter(in_all).collect();
    let clocks: Vec<(u32, Option<f64>)> =
        points.iter().map(|point| (point.load.busy_cores(), point.clock_mhz)).collect();
    let (clock, ratios) = Clock::of(&clocks);
    let packages = points.iter().filter_map(|point| point.packages).max();
    let threads_of_cores: Vec<u32> = topology.cores.iter().map(|core| core.cpus.len() as u32).collect();
    let measured = points.into_iter().zip(&ratios).map(|(point, clock)| Measured {
        label: point.treatment.name.clone(),
        load: point.load.at_clock(*clock),
        log_rates: blocks.iter().map(|block| point.log_rates[block]).collect(),
    });
    Series {
        name: name.to_owned(),
        points: measured.collect(),
        threads_of_cores,
        is_machine_known: true,
        packages,
        clock,
        left_out,
    }
}

/// Whether two treatments differ only in sessions, placement and binding.
fn is_like(one: &Treatment, other: &Treatment) -> bool {
    one.options == other.options
        && one.instance == other.instance
        && one.arm == other.arm
        && one.memory == other.memory
        && one.service == other.service
}

fn point<'a>(
    observed: &Observed,
    runs: &[Run],
    topology: &Topology,
    at: usize,
    treatment: &'a Treatment,
) -> Result<Point<'a>, String> {
    let (mut log_rates, mut clocks, mut load) = (BTreeMap::new(), Vec::new(), None);
    let mut packages = None;
    for block in &observed.blocks {
        let Some(digest) = observed.usable(block, at) else { continue };
        let rate = digest.work().rows_per_s().filter(|rate| *rate > 0.0 && rate.is_finite());
        log_rates.extend(rate.map(|rate| (block.number, rate.ln())));
        clocks.extend(digest.telemetry.clock_mhz);
        if let Some(run) = block.sources[at].and_then(|source| runs.get(source)) {
            packages = packages.max(packages_of(run, topology));
            load = load.or_else(|| Some(load_of(run, topology, treatment.sessions)));
        }
    }
    let load = load.ok_or("no valid run")?;
    let load = load.ok_or_else(|| "more sessions than logical CPUs".to_owned())?;
    let clock_mhz = if clocks.len() == log_rates.len() { mean(clocks.iter().copied()) } else { None };
    Ok(Point { treatment, load, log_rates, clock_mhz, packages })
}

/// Packages of a run's logical CPUs; `None` if any is unknown.
fn packages_of(run: &Run, topology: &Topology) -> Option<u32> {
    let package = |cpu: &u32| topology.cpu(*cpu)?.package;
    let all: Option<BTreeSet<u32>> = run.cpus.iter().map(package).collect();
    Some(all?.len() as u32)
}

/// Load of a run; `None` if it has more sessions than logical CPUs.
fn load_of(run: &Run, topology: &Topology, sessions: u32) -> Option<Load> {
    let cpus: CpuSet = run.cpus.iter().copied().collect();
    let by_core = grouped(cpus.iter().map(|cpu| (topology.cpu(cpu).and_then(|cpu| cpu.core), cpu)));
    Load::spread(sessions, &by_core.iter().map(|(_, cpus)| cpus.len() as u32).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::result::Outcome;
    use super::*;
    use crate::fixtures::{comparison, machine, run, study};
    use crate::{Facts, document};
    use threadwise_study::Comparison;

    /// A sweep of 8 cores of 2 threads, λ 1000, yield 1.3, σ 0.02; blocks differ by 2%, points within by 0.5%.
    fn swept() -> (Study, Vec<Run>) {
        let lines = [
            "S2 spread:2 2",
            "S4 spread:4 4",
            "S8 spread:8 8",
            "S12 spread:12 12",
            "S16 all 16",
            "S24 all 24",
        ];
        let mut study = study(&[""], &lines);
        let step = |top: &str, below: &str| Comparison {
            kind: ComparisonKind::SweepStep,
            ..comparison(top, &[below], "")
        };
        study.comparisons.extend([step("S4", "S2"), step("S8", "S4"), step("S12", "S8"), step("S16", "S12")]);
        let mut runs = Vec::new();
        for block in 0..8 {
            let level = 1.0 + 0.02 * f64::from(block % 3);
            for (at, treatment) in study.treatments.iter().enumerate() {
                let n = f64::from(treatment.sessions.min(16));
                let cores = n.min(8.0) + 0.3 * (n.max(8.0) - 8.0);
                let noise = 1.0 + 0.005 * f64::from((block * 5 + at as u32 * 3) % 7) / 3.0 - 0.005;
                let rows = 1e6 * level * noise * cores / (1.0 + 0.02 * (n - 1.0));
                // The fixture's machine numbers both threads of a core together.
                let count = treatment.sessions.min(16);
                let first = (0..8).map(|core| 2 * core).chain((0..8).map(|core| 2 * core + 1));
                let cpus = first.take(count as usize).collect();
                let one = run(block, &treatment.name, &[rows as u64; 20]);
                runs.push(Run { cpus, ..one });
            }
        }
        (study, runs)
    }

    #[test]
    fn a_sweep_of_a_study_has_the_law_that_it_was_made_with() {
        let (study, runs) = swept();
        let topology = machine(1, 8, 2);
        let analysis = crate::analyse_on(&study, Some(&topology), &runs, 1.0);
        let [one] = analysis.scaling_laws.as_slice() else { panic!("{:?}", analysis.scaling_laws) };
        let Outcome::Law(law) = &one.outcome else { panic!("{one:?}") };
        assert_eq!(one.left_out, ["S24: more sessions than logical CPUs"]);
        assert_eq!((law.blocks, law.loads, law.points.len()), (8, 6, 7));
        let holds = |value: &crate::Interval, truth: f64| value.low <= truth && truth <= value.high;
        assert!(holds(&law.yields[0].known, 1.3) && holds(law.sigma.as_ref().unwrap(), 0.02), "{law:?}");
        assert!(law.yields[0].known.high - law.yields[0].known.low < 0.2, "{:?}", law.yields);
        assert_eq!(law.points[6].busy_cores, [0, 8]);
        let facts = Facts { runs: &runs, ..Facts::new(&study, &topology, &analysis) };
        let section = document(&facts).sections.into_iter().find(|section| section.id == "scaling-law");
        assert!(section.is_some());
        // Asked for other machines it is the same law.
        let asked = of_study(&study, &topology, &runs, &["4c2t".parse().unwrap()]);
        let Outcome::Law(again) = &asked[0].outcome else { panic!("{asked:?}") };
        assert_eq!((&again.sigma, &again.curve), (&law.sigma, &law.curve));
        assert!(!again.predictions[0].is_extrapolated);
    }

    #[test]
    fn without_a_sweep_the_report_has_no_law() {
        let (mut study, runs) = swept();
        study.comparisons.retain(|comparison| comparison.kind != ComparisonKind::SweepStep);
        let topology = machine(1, 8, 2);
        assert!(crate::analyse_on(&study, Some(&topology), &runs, 1.0).scaling_laws.is_empty());
        assert!(matches!(of_study(&study, &topology, &runs, &[])[0].outcome, Outcome::Law(_)));
    }
}
