//! The study of the made-up queries: what was asked, the runs, the estimates of the whole, the plans.

use super::fixture::{CHANGED, Point};
use crate::support::Draws;
use threadwise_analysis::Estimate;
use threadwise_analysis::queries::{Change, Estimated, Plan, PlanChange, Queries};
use threadwise_machine::Pin;
use threadwise_study::engine::Properties;
use threadwise_study::{
    Comparison, CpuTimes, Design, OptionValue, Options, QueryExecution, Role, Run, RunStatus, SessionSlice,
    Slice, Stopping, Study, Treatment,
};

/// What is too small to matter.
pub const MARGIN: f64 = 0.03;

pub fn study(points: &[Point], throughput: bool) -> Study {
    let test = if throughput { "throughput" } else { "power" };
    let treatments = points.iter().enumerate().map(|(at, (name, placement, dop, streams))| Treatment {
        name: name.clone(),
        group: String::new(),
        role: [Role::Baseline, Role::BaselineTwin].get(at).copied().unwrap_or(Role::Compared),
        placement: placement.parse().unwrap(),
        sessions: *streams,
        pin: Pin::Set,
        memory: Default::default(),
        service: None,
        arm: Default::default(),
        instance: Default::default(),
        options: Options::from([
            ("dop".to_owned(), OptionValue::Integer(i64::from(*dop))),
            ("scale".to_owned(), OptionValue::Integer(1)),
            ("test".to_owned(), OptionValue::Text(test.to_owned())),
        ]),
        factors: Default::default(),
    });
    let baseline = vec!["serial".to_owned(), "serial'".to_owned()];
    let compared = points[2..].iter().map(|(name, ..)| Comparison {
        name: format!("{name} : serial"),
        treatment: name.clone(),
        baseline: baseline.clone(),
        kind: "baseline".into(),
    });
    Study {
        name: "tpch".to_owned(),
        title: "22 queries, degrees of parallelism and siblings".to_owned(),
        seed: 42,
        engine: "duckdb".to_owned(),
        engine_properties: Some(Properties { reads_files: true, ..Properties::default() }),
        engine_options: Options::new(),
        workload: "tpch".into(),
        comparisons: compared.collect(),
        treatments: treatments.collect(),
        design: Design {
            rounds: if throughput { 1 } else { 22 },
            slice_ns: 3_600_000_000_000,
            rewarm_ns: Some(0),
            stopping: Stopping::Blocks { blocks: 8 },
            level: 0.95,
            margin: MARGIN,
            long_windows: None,
        },
        quota: None,
        external: None,
        left_out: vec![],
    }
}

pub fn runs(points: &[Point], queries: &Queries) -> Vec<Run> {
    let mut draws = Draws(11);
    let mut runs = Vec::new();
    let mut now_ns = 0;
    for block in 0..8 {
        for measured in &queries.treatments {
            let slices = measured.queries.iter().map(|(query, estimates)| {
                let elapsed_ns = (estimates.elapsed_ms.mean * 1e6 * (0.96 + 0.08 * draws.next())) as u64;
                now_ns += elapsed_ns;
                let session = SessionSlice {
                    steps: 1,
                    rows: 1,
                    cpu_ns: elapsed_ns,
                    finished_ns: Some(elapsed_ns),
                    queries: vec![QueryExecution {
                        query: *query,
                        elapsed_ns,
                        planning_ns: Some(800_000),
                        cpu_ns: Some(elapsed_ns * u64::from(measured.dop.unwrap().min(7))),
                        dop: measured.dop,
                        rows: 10,
                        plan: estimates.plan.map(|at| queries.plans[at].text.clone()),
                        ..QueryExecution::default()
                    }],
                    ..SessionSlice::default()
                };
                let busy = |cpu: u32| CpuTimes {
                    cpu,
                    busy_ns: if cpu < measured.dop.unwrap() { elapsed_ns } else { 0 },
                    steal_ns: 0,
                    total_ns: elapsed_ns,
                };
                Slice {
                    sequence: now_ns,
                    round: u32::from(*query) - 1,
                    start_ns: now_ns,
                    window_ns: elapsed_ns,
                    sessions: vec![session],
                    counters: Default::default(),
                    cpu_times: (0..14).map(busy).collect(),
                    other_cpus: Default::default(),
                    looks: Vec::new(),
                }
            });
            runs.push(Run {
                id: runs.len() as u64 + 1,
                block,
                attempt: 0,
                treatment: measured.treatment.clone(),
                slices: slices.collect(),
                cpus: (0..7).collect(),
                status: RunStatus::Valid,
                started_s: 0.0,
                prepare_ns: 1,
                other_cpu_times: Vec::new(),
                readings: vec![],
            });
        }
    }
    assert_eq!(points.len() * 8, runs.len());
    runs
}

pub fn estimates(study: &Study, queries: &Queries) -> Vec<Estimate> {
    let estimate = |comparison: &Comparison| {
        let measured =
            queries.treatments.iter().find(|measured| measured.treatment == comparison.treatment)?;
        let mean = measured.total.ratios.geometric.as_ref()?;
        Some(Estimate {
            name: comparison.name.clone(),
            kind: comparison.kind.clone(),
            treatment: comparison.treatment.clone(),
            baseline: comparison.baseline.join(" and "),
            metric: "rows_per_s".to_owned(),
            ratio: mean.clone(),
            method: "t over 8 blocks".to_owned(),
            p_sign_flip: Some(0.008),
            unflagged: None,
            adjusted: None,
        })
    };
    study.comparisons.iter().filter_map(estimate).collect()
}

const SERIAL: [&str; 5] = [
    "TOP_N 10 revenue DESC",
    "  HASH_GROUP_BY l_orderkey o_orderdate",
    "    NESTED_LOOP_JOIN inner l_orderkey = o_orderkey build orders",
    "      SEQ_SCAN lineitem l_shipdate > 1995-03-15",
    "      SEQ_SCAN orders",
];

fn line(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Both plans of a change, aligned.
fn lines(change: Change) -> Vec<(Option<String>, Option<String>)> {
    let same = |text: &str| (line(text), line(text));
    let mut lines = vec![same(SERIAL[0]), (None, line("  ~ Gather"))];
    lines.push(same(SERIAL[1]));
    match change {
        Change::Different => {
            lines.push((line(SERIAL[2]), None));
            lines.push((None, line("    HASH_JOIN inner l_orderkey = o_orderkey build orders")));
        }
        _ => lines.push(same(SERIAL[2])),
    }
    lines.extend([same(SERIAL[3]), same(SERIAL[4])]);
    lines
}

pub fn plans() -> (Vec<Plan>, Vec<PlanChange>) {
    let text = |kind: usize| match kind {
        0 => SERIAL.join("\n"),
        _ => {
            let change = if kind == 1 { Change::ParallelOnly } else { Change::Different };
            lines(change).into_iter().filter_map(|(_, other)| other).collect::<Vec<_>>().join("\n")
        }
    };
    let plans = (0..66).map(|at| Plan {
        name: format!("{:08x}", 0x1b2c_3d00 + at),
        query: (at / 3 + 1) as u8,
        text: text(at as usize % 3),
        estimates: vec![Estimated { rows: Some(1234.4), cost: Some(5678.9) }],
    });
    let change = |query: u8, kind: usize, treatments: &[&str], change: Change| PlanChange {
        query,
        baseline: usize::from(query - 1) * 3,
        other: usize::from(query - 1) * 3 + kind,
        treatments: treatments.iter().map(|name| (*name).to_owned()).collect(),
        change,
        lines: lines(change),
    };
    let mut changes: Vec<PlanChange> =
        (1..=22).map(|query| change(query, 1, &["no-smt d2"], Change::ParallelOnly)).collect();
    changes.extend(CHANGED.map(|query| change(query, 2, &["no-smt d4", "no-smt d7"], Change::Different)));
    (plans.collect(), changes)
}
