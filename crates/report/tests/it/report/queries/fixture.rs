//! A made-up study of 22 queries: degrees of parallelism on two placements, plans that change, an
//! execution that stands out.

use super::made::{MARGIN, estimates, plans, runs, study};
use crate::support::{Draws, Fixture, topology};
use std::collections::BTreeMap;
use threadwise_analysis::analyse_on;
use threadwise_analysis::choices::{Axis, Candidate, Choice};
use threadwise_analysis::queries::{
    Baseline, Change, ComparedQuery, CoreSeconds, DataSize, DopStep, HeatCell, HeatMap, Outlier, Plateau,
    Queries, QueryComparison, QueryEstimates, Reason, StepMark, Together, TotalEstimates, TreatmentQueries,
};
use threadwise_analysis::{
    Analysis, Covariates, Direction, Finding, Interval, NoiseFloor, Ratio, TreatmentSummary, plain_verdict,
};
use threadwise_document::FindingKind;
use threadwise_document::{Prose, prose};

/// Queries whose plan differs above DOP 2.
pub const CHANGED: [u8; 2] = [2, 15];

/// Name, placement, DOP, streams.
pub type Point = (String, &'static str, u32, u32);

/// The baseline twice, then so many treatments on two placements.
fn points(compared: usize, throughput: bool) -> Vec<Point> {
    let base = |name: &str| (name.to_owned(), "no-smt", 1, 1);
    let mut points = vec![base("serial"), base("serial'")];
    let streams: &[u32] = if throughput { &[1, 2, 4] } else { &[1] };
    let dops = [1, 2, 4, 7, 8, 14];
    let all = ["no-smt", "all"].into_iter().flat_map(|placement| {
        dops.into_iter().flat_map(move |dop| streams.iter().map(move |streams| (placement, dop, *streams)))
    });
    let others = all.filter(|point| *point != ("no-smt", 1, 1)).take(compared);
    points.extend(others.map(|(placement, dop, streams)| {
        let suffix = if throughput { format!(" s{streams}") } else { String::new() };
        (format!("{placement} d{dop}{suffix}"), placement, dop, streams)
    }));
    points
}

fn around(value: f64, unit: &str) -> Interval {
    Interval { mean: value, low: value * 0.98, high: value * 1.02, unit: unit.to_owned() }
}

pub fn ratio(value: f64, half: f64) -> Ratio {
    let (low, high) = (value / (1.0 + half), value * (1.0 + half));
    Ratio {
        value,
        low,
        high,
        adjusted_low: low,
        adjusted_high: high,
        blocks: 8,
        level: 0.95,
        unit: threadwise_document::estimate::RATIO,
        p: 0.0004,
        adjusted_p: 0.001,
        family: 2,
        correlation: 0.12,
        floor: Some(1.02),
        margin: MARGIN,
        answer: threadwise_analysis::Answer::by_interval(low, high, MARGIN),
        direction: Direction::HigherIsBetter,
    }
}

/// Seconds of a query at DOP 1.
fn serial_s(query: u8) -> f64 {
    0.02 + 0.3 * Draws(u64::from(query) * 31).next() + if query == 9 { 1.2 } else { 0.0 }
}

/// How many times as fast a query is at a DOP.
fn speed_at(query: u8, dop: u32) -> f64 {
    let exponent = match query {
        6 => -0.35,
        11 | 13 => 1.12,
        _ => 0.25 + 0.7 * Draws(u64::from(query) * 77).next(),
    };
    let plan = if CHANGED.contains(&query) && dop > 2 { 1.7 } else { 1.0 };
    f64::from(dop.min(9)).powf(exponent) * plan
}

fn change_at(query: u8, dop: u32) -> Change {
    match dop {
        1 => Change::Same,
        _ if CHANGED.contains(&query) && dop > 2 => Change::Different,
        _ => Change::ParallelOnly,
    }
}

/// Three plans a query: serial, parallel, another one.
fn plan_at(query: u8, dop: u32) -> usize {
    let kind = match change_at(query, dop) {
        Change::Same | Change::Unknown => 0,
        Change::ParallelOnly => 1,
        Change::Different => 2,
    };
    usize::from(query - 1) * 3 + kind
}

fn query_estimates(query: u8, point: &Point, is_base: bool, noise: f64) -> QueryEstimates {
    let (_, placement, dop, _) = point;
    let smt = if *placement == "all" { 1.06 } else { 1.0 };
    let speed = speed_at(query, *dop) * smt * noise;
    let elapsed = serial_s(query) * 1e3 / speed;
    QueryEstimates {
        elapsed_ms: around(elapsed, "ms"),
        planning_ms: Some(around(0.8, "ms")),
        cpu_ms: Some(around(elapsed * f64::from(*dop) * 0.9, "ms")),
        speed: (!is_base).then(|| ratio(speed, 0.03)),
        cpu: (!is_base).then(|| ratio(f64::from(*dop) * 0.9 / speed, 0.03)),
        dop_min: Some(1),
        dop_max: Some(*dop),
        plan: Some(plan_at(query, *dop)),
        plan_change: change_at(query, *dop),
        plans_seen: 1 + u32::from(query == 20),
        counters: BTreeMap::from([
            ("read_bytes".to_owned(), 0.0),
            ("spill_bytes".to_owned(), if query == 18 { 3e8 } else { 0.0 }),
        ]),
    }
}

fn treatment_queries(at: usize, point: &Point, throughput: bool) -> TreatmentQueries {
    let mut draws = Draws(at as u64 + 5);
    let is_base = at < 2;
    let queries: BTreeMap<u8, QueryEstimates> = (1..=22)
        .map(|query| (query, query_estimates(query, point, is_base, 1.0 + 0.03 * (draws.next() - 0.5))))
        .collect();
    let (name, placement, dop, streams) = point;
    let elapsed = queries.values().map(|query| query.elapsed_ms.mean).sum::<f64>() / 1e3;
    let serial: f64 = (1..=22).map(serial_s).sum();
    let logs = queries.values().filter_map(|query| query.speed.as_ref()).map(|speed| speed.value.ln());
    let mean = (logs.sum::<f64>() / 22.0).exp();
    let (logical, kept) =
        (elapsed * f64::from((*dop).min(14)) * 0.8, elapsed * f64::from((*dop).min(7)) * 0.8);
    let compared = |value: Ratio| (!is_base).then_some(value);
    let rate = 22.0 * 3600.0 * f64::from(*streams).sqrt() / elapsed;
    TreatmentQueries {
        treatment: name.clone(),
        placement: (*placement).to_owned(),
        dop: Some(*dop),
        streams: *streams,
        blocks: 8,
        total: TotalEstimates {
            elapsed_s: Some(around(elapsed, "s")),
            cpu_s: Some(around(logical, "s")),
            ratios: Together {
                speed: compared(ratio(serial / elapsed, 0.02)),
                geometric: compared(ratio(mean, 0.02)),
                cpu: compared(ratio(logical / serial, 0.02)),
                speed_same_plans: compared(ratio(serial / elapsed * 0.95, 0.02)).filter(|_| !throughput),
                geometric_same_plans: compared(ratio(mean * 0.96, 0.02)).filter(|_| !throughput),
            },
            queries_per_h: Some(around(rate, "1/h")),
        },
        cores: Some(CoreSeconds {
            cores: 7,
            engine_cpu_s: Some(logical),
            core_low_s: if *placement == "all" { kept * 0.75 } else { kept },
            core_high_s: kept,
            logical_s: logical * 1.1,
            slice_s: elapsed * 1.05,
            straggler_low_s: 0.0,
            straggler_high_s: if *placement == "all" { elapsed * 0.1 } else { 0.0 },
            to_baseline: None,
            elapsed_s: elapsed,
        }),
        queries,
    }
}

/// Both runs of the baseline together, and the second against the first.
fn baselines(treatments: &[TreatmentQueries]) -> Vec<Baseline> {
    let [first, second, ..] = treatments else { return Vec::new() };
    let mut both = first.clone();
    let mean = |interval: &mut Interval, other: &Interval| {
        *interval = around((interval.mean * other.mean).sqrt(), &interval.unit)
    };
    let pair = |interval: &mut Option<Interval>, other: &Option<Interval>| {
        interval.iter_mut().zip(other).for_each(|(interval, other)| mean(interval, other));
    };
    pair(&mut both.total.elapsed_s, &second.total.elapsed_s);
    pair(&mut both.total.cpu_s, &second.total.cpu_s);
    pair(&mut both.total.queries_per_h, &second.total.queries_per_h);
    for (query, other) in both.queries.values_mut().zip(second.queries.values()) {
        mean(&mut query.elapsed_ms, &other.elapsed_ms);
    }
    vec![Baseline {
        group: String::new(),
        twin: Some(second.treatment.clone()),
        both,
        noise: Some(ratio(0.995, 0.01)),
        noise_geometric: Some(ratio(0.996, 0.01)),
    }]
}

fn steps(treatments: &[TreatmentQueries]) -> Vec<DopStep> {
    let mut steps = Vec::new();
    for pair in treatments[1..].windows(2) {
        let (from, to) = (&pair[0], &pair[1]);
        let dops = (from.dop.unwrap(), to.dop.unwrap());
        if from.placement != to.placement || from.streams != to.streams || dops.0 >= dops.1 {
            continue;
        }
        let step = |query: Option<u8>, speed: f64, plan_change: Change| DopStep {
            placement: to.placement.clone(),
            streams: to.streams,
            from: from.treatment.clone(),
            to: to.treatment.clone(),
            from_dop: dops.0,
            to_dop: dops.1,
            query,
            speed: ratio(speed, 0.03),
            cpu: Some(ratio(1.02, 0.01)),
            mark: match query {
                Some(11 | 13) if dops.1 <= 4 => StepMark::SuperScaling,
                Some(6) if dops.1 == 2 => StepMark::PoorThenGood,
                _ => StepMark::None,
            },
            plan_change,
        };
        for (query, estimates) in &to.queries {
            let speed = from.queries[query].elapsed_ms.mean / estimates.elapsed_ms.mean;
            let differs =
                change_at(*query, dops.0) != Change::Different && estimates.plan_change == Change::Different;
            let change = if differs { Change::Different } else { Change::ParallelOnly };
            steps.push(step(Some(*query), speed, change));
        }
        steps.push(step(None, 1.6, Change::Unknown));
    }
    steps
}

/// Both threads of every core over one, for every DOP that both placements have.
fn comparisons(treatments: &[TreatmentQueries]) -> Vec<QueryComparison> {
    let beside = |top: &TreatmentQueries| {
        let is_beside = |other: &&TreatmentQueries| {
            other.placement == "no-smt" && other.dop == top.dop && other.streams == top.streams
        };
        treatments.iter().find(is_beside).cloned()
    };
    let tops = treatments.iter().filter(|measured| measured.placement == "all");
    let compared = tops.filter_map(|top| {
        let under = beside(top)?;
        let queries = top.queries.iter().map(|(query, estimates)| {
            let speed = under.queries[query].elapsed_ms.mean / estimates.elapsed_ms.mean;
            let plan_change = if *query == 15 { Change::Different } else { Change::Same };
            ComparedQuery {
                query: *query,
                speed: ratio(speed, 0.03),
                cpu: Some(ratio(1.3, 0.02)),
                plan_change,
            }
        });
        Some(QueryComparison {
            name: format!("{} over {}", top.treatment, under.treatment),
            kind: "smt-dop".into(),
            treatment: top.treatment.clone(),
            baseline: under.treatment.clone(),
            queries: queries.collect(),
            changed: vec![15],
            ratios: Together {
                speed: Some(ratio(1.1, 0.02)),
                geometric: Some(ratio(1.08, 0.02)),
                cpu: Some(ratio(1.3, 0.02)),
                speed_same_plans: Some(ratio(1.06, 0.02)),
                geometric_same_plans: Some(ratio(1.05, 0.02)),
            },
        })
    });
    compared.collect()
}

fn heat(treatments: &[TreatmentQueries], placement: &str) -> HeatMap {
    let at_placement = || treatments[1..].iter().filter(move |measured| measured.placement == placement);
    let unique = |value: fn(&TreatmentQueries) -> u32| {
        at_placement()
            .map(value)
            .collect::<std::collections::BTreeSet<u32>>()
            .into_iter()
            .collect::<Vec<u32>>()
    };
    let streams = unique(|measured| measured.streams);
    let cells = at_placement().map(|measured| HeatCell {
        dop: measured.dop.unwrap(),
        streams: measured.streams,
        treatment: measured.treatment.clone(),
        queries_per_h: measured.total.queries_per_h.clone().unwrap(),
    });
    HeatMap {
        placement: placement.to_owned(),
        variant: String::new(),
        cores: Some(7),
        dops: unique(|measured| measured.dop.unwrap()),
        cells: cells.collect(),
        plateaus: streams
            .iter()
            .map(|&streams| Plateau {
                streams,
                best_dop: 8,
                among_best: vec![7, 8],
                dop: Some(7),
                dop_low: 4,
                percent_of_cores: Some(100.0 * f64::from(streams)),
                percent_low: Some(57.1 * f64::from(streams)),
                choice: choice(streams),
            })
            .collect(),
        streams,
    }
}

/// DOP 4, 7 and 8, of which 7 is to be used.
fn choice(streams: u32) -> Choice {
    let candidate = |number: u32, speed: Option<f64>, within_margin: bool| Candidate {
        treatment: format!("d{number}s{streams}"),
        number,
        within_margin,
        speed: speed.map(|speed| around(speed, "ratio")),
        speed_on_cpu: None,
    };
    Choice {
        axis: Axis::Dop,
        group: String::new(),
        place: String::new(),
        candidates: vec![
            candidate(4, None, false),
            candidate(7, Some(1.6), true),
            candidate(8, Some(1.61), true),
        ],
        chosen: Some(format!("d7s{streams}")),
        guess: None,
        lost: Vec::new(),
    }
}

fn queries(points: &[Point], throughput: bool) -> Queries {
    let treatments: Vec<TreatmentQueries> =
        points.iter().enumerate().map(|(at, point)| treatment_queries(at, point, throughput)).collect();
    let (plans, changes) = plans();
    let outlier = |query: u8, block: Option<u32>, times: f64, reason: Reason, text: Prose| Outlier {
        query,
        treatment: points[2].0.clone(),
        block,
        times,
        reason,
        cause: match reason {
            Reason::Neighbour => "steal",
            _ => "unexplained",
        },
        text,
    };
    Queries {
        is_throughput: throughput,
        numbers: (1..=22).collect(),
        fastest: Vec::new(),
        steps: steps(&treatments),
        comparisons: comparisons(&treatments),
        plans,
        changes,
        outliers: vec![
            outlier(
                3,
                Some(5),
                1.9,
                Reason::Neighbour,
                prose!(
                    "Q3 under no-smt d2 in block 5 took {} its usual time: steal was 12%.",
                    Prose::figure("1.90x")
                ),
            ),
            outlier(
                6,
                None,
                0.4,
                Reason::Unexplained,
                "Q6 under no-smt d2 has 0.40x [0.39, 0.42] of the baseline's speed.".into(),
            ),
        ],
        outliers_left_out: 0,
        heat: if throughput {
            ["no-smt", "all"].map(|place| heat(&treatments, place)).into()
        } else {
            vec![]
        },
        data: vec![DataSize {
            scale: 1.0,
            logical_bytes: 1e9,
            memory_bytes: Some(32 << 30),
            llc_bytes: Some(40 << 20),
        }],
        baselines: baselines(&treatments),
        treatments,
        short: Vec::new(),
        short_limits: Vec::new(),
    }
}

/// A study with so many treatments beside the baseline.
pub fn fixture(compared: usize, throughput: bool) -> Fixture {
    let points = points(compared, throughput);
    let (study, queries) = (study(&points, throughput), queries(&points, throughput));
    let summary = |measured: &TreatmentQueries| TreatmentSummary {
        name: measured.treatment.clone(),
        group: String::new(),
        placement: measured.placement.clone(),
        sessions: measured.streams,
        runs: 8,
        failed: 0,
        excluded: 0,
        metrics: [
            ("rows_per_s".to_owned(), around(0.42, "1/s")),
            ("cpu_ns_per_row".to_owned(), around(2.1e9, "ns")),
            ("elapsed_ns".to_owned(), around(2.1e9, "ns")),
            ("busy_share".to_owned(), around(0.82, "share")),
        ]
        .into(),
        activity: Default::default(),
    };
    let heat = queries.heat.iter().flat_map(|map| &map.plateaus);
    let analysis = Analysis {
        choices: heat.map(|plateau| plateau.choice.clone()).collect(),
        treatments: queries.treatments.iter().map(summary).collect(),
        estimates: estimates(&study, &queries),
        noise_floors: vec![NoiseFloor {
            group: String::new(),
            metric: "rows_per_s".to_owned(),
            ratio: Interval { mean: 1.0, low: 0.991, high: 1.008, unit: "ratio".to_owned() },
            floor: 0.009,
            p: 0.41,
            alarm: None,
        }],
        blocks: 8,
        covariates: Covariates::default(),
        queries: Some(queries.clone()),
        ..Analysis::default()
    };
    let finding = |kind: FindingKind, text: &str| Finding { kind, line: text.into(), evidence: vec![] };
    Fixture {
        runs: runs(&points, &queries),
        study,
        topology: topology(),
        analysis,
        findings: vec![
            finding(
                FindingKind::QueriesTotal,
                "DOP 7 runs the 22 queries 3.20x [3.14, 3.26] as fast as DOP 1.",
            ),
            finding(
                FindingKind::PlanChange,
                "Q2, Q15: another plan at DOP 4; without them 3.04x [2.98, 3.10].",
            ),
        ],
        notes: vec![],
        source: "tpch.threadwise".to_owned(),
        probe: None,
        hardware: None,
    }
}

/// What the analysis makes of the executions of such a study, with its own verdict.
pub fn analysed(compared: usize) -> Fixture {
    let mut fixture = fixture(compared, false);
    fixture.analysis = analyse_on(&fixture.study, Some(&fixture.topology), &fixture.runs, 1.0);
    fixture.findings = plain_verdict(&fixture.study, &fixture.topology, &fixture.analysis);
    fixture
}

/// The same with names of 40 characters.
pub fn long_names(compared: usize) -> Fixture {
    let mut fixture = fixture(compared, false);
    let long = |name: &mut String| {
        if !name.starts_with("serial") {
            let filled = format!("{name} with settings.work_mem in megabytes ");
            *name = filled.chars().chain("x".repeat(40).chars()).take(40).collect();
        }
    };
    fixture.study.treatments.iter_mut().for_each(|treatment| long(&mut treatment.name));
    fixture.study.comparisons.iter_mut().for_each(|comparison| long(&mut comparison.treatment));
    fixture.runs.iter_mut().for_each(|run| long(&mut run.treatment));
    fixture.analysis.treatments.iter_mut().for_each(|summary| long(&mut summary.name));
    fixture.analysis.estimates.iter_mut().for_each(|estimate| long(&mut estimate.treatment));
    let queries = fixture.analysis.queries.as_mut().unwrap();
    queries.treatments.iter_mut().for_each(|measured| long(&mut measured.treatment));
    queries.baselines.iter_mut().for_each(|baseline| long(&mut baseline.both.treatment));
    queries.changes.iter_mut().flat_map(|change| &mut change.treatments).for_each(long);
    queries.outliers.iter_mut().for_each(|outlier| long(&mut outlier.treatment));
    queries.steps.iter_mut().for_each(|step| [&mut step.from, &mut step.to].into_iter().for_each(long));
    fixture
}
