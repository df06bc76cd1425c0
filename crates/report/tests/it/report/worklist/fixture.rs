//! A made-up backup and restore of 40 files by 1, 2 and 4 jobs on one thread of every core and on both,
//! with the ratios of the published one.

use crate::report::page::HOSTILE;
use crate::support::{Draws, Fixture, topology};
use threadwise_analysis::worklist::{Bar, Computed, Pair, PairKind, Point, Series, Step, Timeline, Worklist};
use threadwise_analysis::{Direction, Interval, Ratio, analyse_on, plain_verdict};
use threadwise_machine::Pin;
use threadwise_study::{
    Comparison, OptionValue, Options, Reading, Role, Run, RunStatus, SessionSlice, Slice, Treatment,
    Workload, command, worklist,
};

/// Treatment, placement, jobs, seconds per item.
const TREATMENTS: [(&str, &str, u32, f64); 7] = [
    ("all j1", "all", 1, 22.95),
    ("all j1'", "all", 1, 22.95),
    ("no-smt j1", "no-smt", 1, 22.41),
    ("no-smt j2", "no-smt", 2, 12.24),
    ("no-smt j4", "no-smt", 4, 10.77),
    ("all j2", "all", 2, 12.57),
    ("all j4", "all", 4, 9.56),
];

/// Items of the export.
pub const NAMES: [&str; 4] = ["plain.fdb", "a \"quoted\", name.fdb", "=1+1 line\nbreak.fdb", "ümläut.fdb"];

/// A study of these treatments.
pub fn fixture(blocks: u32) -> Fixture {
    let mut fixture = Fixture::generated(1, 1);
    let study = &mut fixture.study;
    (study.name, study.engine) = ("reload".to_owned(), "worklist".to_owned());
    study.engine_properties = None;
    study.title = "Backup and restore of a list: 1, 2, 4 jobs".to_owned();
    study.workload = Workload::WorkList;
    (study.design.rounds, study.left_out) = (1, Vec::new());
    study.treatments = TREATMENTS.iter().enumerate().map(treatment).collect();
    let baseline = ["all j1", "all j1'"];
    let compared = TREATMENTS[2..].iter().map(|(name, ..)| comparison(name, &baseline, "baseline"));
    let steps = [("no-smt j2", "no-smt j1"), ("no-smt j4", "no-smt j2"), ("all j4", "all j2")];
    let steps = steps.map(|(top, below)| comparison(top, &[below], "jobs-step"));
    let pairs = ["j2", "j4"]
        .map(|jobs| comparison(&format!("all {jobs}"), &[&format!("no-smt {jobs}")], "smt-whole"));
    study.comparisons = compared.chain(steps).chain(pairs).collect();
    fixture.runs = runs(blocks);
    (fixture.topology, fixture.notes) = (topology(), Vec::new());
    fixture.analysis = analyse_on(&fixture.study, Some(&fixture.topology), &fixture.runs, 1.0);
    fixture.findings = plain_verdict(&fixture.study, &fixture.topology, &fixture.analysis);
    fixture.analysis.worklist = Some(shown(blocks));
    fixture
}

/// Schedules at the same number of jobs: series of one point each.
pub fn schedules() -> Fixture {
    let mut fixture = fixture(8);
    let list = fixture.analysis.worklist.as_mut().unwrap();
    let labels = ["all", "all, as given", "all, split"];
    list.series = labels
        .iter()
        .zip(["all j4", "no-smt j4", "no-smt j2"])
        .map(|(label, treatment)| {
            let mut series = series("all", 8);
            series.label = (*label).to_owned();
            series.points.drain(..2);
            series.points[0].treatment = treatment.to_owned();
            series.steps.clear();
            series
        })
        .collect();
    list.pairs = list.pairs.drain(2..).map(|pair| Pair { kind: PairKind::Schedule, ..pair }).collect();
    fixture
}

fn treatment((at, (name, placement, jobs, _)): (usize, &(&str, &str, u32, f64))) -> Treatment {
    let metrics = [("item_s", "s/item lower json:/item_s"), ("idle_share", "1 lower json:/idle_share")];
    let metrics = metrics.map(|(name, spec)| (format!("metric.{name}"), spec));
    let options = [("headline".to_owned(), "item_s"), ("recipe".to_owned(), "firebird")];
    let options: Options = metrics
        .into_iter()
        .chain(options)
        .map(|(name, text)| (name, OptionValue::Text(text.to_owned())))
        .collect();
    Treatment {
        name: (*name).to_owned(),
        group: String::new(),
        role: [Role::Baseline, Role::BaselineTwin].get(at).copied().unwrap_or(Role::Compared),
        placement: placement.parse().unwrap(),
        sessions: *jobs,
        pin: Pin::Set,
        memory: Default::default(),
        service: None,
        arm: Default::default(),
        instance: Default::default(),
        options,
        factors: Default::default(),
    }
}

fn comparison(name: &str, baseline: &[&str], kind: &str) -> Comparison {
    Comparison {
        name: format!("{name} : {}", baseline[0]),
        treatment: name.to_owned(),
        baseline: baseline.iter().map(|name| (*name).to_owned()).collect(),
        kind: kind.into(),
    }
}

/// The last run failed.
fn runs(blocks: u32) -> Vec<Run> {
    let mut draws = Draws(11);
    let mut runs = Vec::new();
    for block in 0..blocks {
        for (name, _, jobs, item_s) in TREATMENTS {
            let item_s = item_s * (1.0 + 0.01 * (draws.next() + draws.next() - 1.0));
            let idle = if jobs == 1 { 0.0 } else { 0.01 * f64::from(jobs) * (1.0 + 0.2 * draws.next()) };
            runs.push(run(runs.len() as u64, block, name, item_s, idle));
        }
    }
    if let Some(last) = runs.last_mut().filter(|_| blocks > 1) {
        let message = "2 of 40 items failed: a.fdb: backup: gbak exited with 1".to_owned();
        last.status = RunStatus::Failed { kind: "item".to_owned(), message };
        last.readings.clear();
        last.slices.clear();
    }
    runs
}

fn run(id: u64, block: u32, name: &str, item_s: f64, idle: f64) -> Run {
    let (start_ns, window_ns) = (id * 1_000_000_000_000, (item_s * 40e9) as u64);
    let reading = |sampler: &str, metric: String, from_s: u64, until_ns: u64, value: f64| Reading {
        sampler: sampler.to_owned(),
        metric,
        cpu: None,
        start_ns: start_ns + from_s * 1_000_000_000,
        end_ns: start_ns + until_ns,
        value: Some(value),
        gap: None,
    };
    let said = [("item_s", item_s), ("idle_share", idle)];
    let said = said.map(|(name, value)| reading(command::SAMPLER, name.to_owned(), 0, window_ns, value));
    let items = (0..).zip(NAMES).map(|(at, name): (u64, &str)| {
        reading(worklist::SAMPLER, format!("{at:05} {name}"), at, (at + 1) * 1_000_000_000, 0.0)
    });
    Run {
        id: id + 1,
        block,
        attempt: 0,
        treatment: name.to_owned(),
        cpus: vec![0, 1],
        status: RunStatus::Valid,
        slices: vec![Slice {
            sequence: id,
            round: 0,
            start_ns,
            window_ns,
            sessions: vec![SessionSlice {
                steps: 1,
                rows: 1,
                cpu_ns: window_ns,
                finished_ns: Some(window_ns),
                counters: [("peak_rss_bytes".to_owned(), 125_829_120)].into(),
                ..SessionSlice::default()
            }],
            counters: Default::default(),
            cpu_times: Vec::new(),
            other_cpus: Default::default(),
            looks: Vec::new(),
        }],
        started_s: id as f64 * 1000.0,
        prepare_ns: 1,
        other_cpu_times: Vec::new(),
        readings: said.into_iter().chain(items).collect(),
    }
}

/// A made-up interval; of one block there is none.
fn interval(mean: f64, half: f64, unit: &str, blocks: u32) -> Interval {
    let half = if blocks > 1 { half } else { f64::INFINITY };
    Interval { mean, low: mean - mean * half, high: mean + mean * half, unit: unit.to_owned() }
}

fn speed(value: f64, blocks: u32) -> Ratio {
    let (low, high) = if blocks > 1 { (value * 0.98, value * 1.02) } else { (0.0, f64::INFINITY) };
    Ratio {
        value,
        low,
        high,
        adjusted_low: low,
        adjusted_high: high,
        blocks,
        level: 0.95,
        unit: threadwise_document::estimate::RATIO,
        p: 0.0004,
        adjusted_p: 0.001,
        family: 2,
        correlation: 0.12,
        floor: None,
        margin: 0.03,
        answer: threadwise_analysis::Answer::by_interval(low, high, 0.03),
        direction: Direction::HigherIsBetter,
    }
}

/// Treatments with this placement, the twin apart.
fn of_placement(placement: &str) -> Vec<(&'static str, u32, f64)> {
    let rows = TREATMENTS.iter().filter(|(name, place, ..)| *place == placement && !name.ends_with('\''));
    rows.map(|(name, _, jobs, item_s)| (*name, *jobs, *item_s)).collect()
}

fn series(placement: &str, blocks: u32) -> Series {
    let points = of_placement(placement);
    let point = |(name, jobs, item_s): &(&str, u32, f64)| Point {
        treatment: (*name).to_owned(),
        jobs: *jobs,
        item_s: interval(*item_s, 0.01, "s/item", blocks),
        item_s_joint: interval(*item_s, 0.02, "s/item", blocks),
        total_s: Some(interval(item_s * 40.0, 0.01, "s", blocks)),
        total_s_joint: Some(interval(item_s * 40.0, 0.02, "s", blocks)),
        idle_share: Some(interval(0.02 * f64::from(*jobs - 1), 0.1, "share", blocks)),
        computed: computed(*jobs, item_s * 40.0, blocks),
    };
    let step = |pair: &[(&str, u32, f64)]| Step {
        from: pair[0].1,
        to: pair[1].1,
        speed: Some(speed(pair[0].2 / pair[1].2, blocks)),
    };
    Series {
        label: placement.to_owned(),
        placement: placement.to_owned(),
        points: points.iter().map(point).collect(),
        steps: points.windows(2).map(step).collect(),
    }
}

fn computed(jobs: u32, total_s: f64, blocks: u32) -> Vec<Computed> {
    let longer = |share: f64| 1.0 + share * f64::from(jobs - 1);
    let schedules = [("queue, as given", longer(0.011)), ("fixed parts, as given", longer(0.08))];
    let computed = schedules.map(|(schedule, ratio)| Computed {
        schedule: schedule.to_owned(),
        total_s: interval(total_s * ratio, 0.01, "s", blocks),
        ratio: interval(ratio, 0.006, "ratio", blocks),
    });
    computed.into()
}

fn shown(blocks: u32) -> Worklist {
    let pair = |(top, below): (&(&'static str, u32, f64), &(&str, u32, f64))| Pair {
        kind: PairKind::Placement,
        treatment: top.0.to_owned(),
        baseline: below.0.to_owned(),
        jobs: top.1,
        speed: speed(below.2 / top.2, blocks),
    };
    let (all, one) = (of_placement("all"), of_placement("no-smt"));
    let compared = TREATMENTS.iter().filter(|(name, ..)| !name.ends_with('\''));
    Worklist {
        recipe: "firebird".to_owned(),
        items: Some(40),
        series: vec![series("no-smt", blocks), series("all", blocks)],
        pairs: all.iter().zip(&one).map(pair).collect(),
        timelines: compared.map(|(name, _, jobs, _)| timeline(name, *jobs)).collect(),
    }
}

/// A queue of 40 files, the largest first, done by this many jobs.
fn timeline(treatment: &str, jobs: u32) -> Timeline {
    let mut draws = Draws(3);
    let mut sizes: Vec<f64> = (0..40).map(|_| (2.2 * draws.next() + 1.2 * draws.next()).exp()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let mut free: Vec<f64> = vec![0.0; jobs as usize];
    let bar = |(at, elapsed_s): (usize, f64)| {
        let job = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
        let start_s = free[job];
        free[job] += elapsed_s;
        let name = NAMES.get(at).map_or_else(|| format!("shop-{at}.fdb"), |name| (*name).to_owned());
        Bar { name, job: job as u32, start_s, elapsed_s }
    };
    Timeline {
        treatment: treatment.to_owned(),
        block: 3,
        bars: sizes.into_iter().enumerate().map(bar).collect(),
    }
}

/// Every text that comes from outside is hostile.
pub fn hostile() -> Fixture {
    let mut evil = fixture(8);
    let list = evil.analysis.worklist.as_mut().unwrap();
    list.recipe = HOSTILE.to_owned();
    list.series[1].label = "a label that is too long for any column".to_owned();
    list.series.iter_mut().for_each(|series| series.label.push_str(HOSTILE));
    list.timelines
        .iter_mut()
        .flat_map(|timeline| &mut timeline.bars)
        .for_each(|bar| bar.name.push_str(HOSTILE));
    evil
}
