//! Studies of queries with a known truth.

mod chance;
mod cores;
mod damaged;
mod heat;
mod outliers;
mod pairs;
mod plans;
mod published;
mod ratios;
mod sections;
mod selection;
mod short;
mod steps;
mod verdict;

use super::*;
use crate::fixtures::{machine, study};
use crate::{Analysis, Interval, Ratio, analyse_on};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use threadwise_machine::{Pin, Topology};
use threadwise_study::engine::Properties;
use threadwise_study::{CpuTimes, OptionValue, QueryExecution, Run, RunStatus, SessionSlice, Slice, Study};

/// A study of queries: treatments as `NAME PLACEMENT STREAMS DOP`, the baseline `A` and its twin on
/// `no-smt` with DOP 1.
pub(crate) fn study_of(queries: &str, treatments: &[&str]) -> Study {
    let lines: Vec<String> =
        treatments.iter().map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut study = study(&[""], &lines);
    study.workload = "tpch".into();
    study.engine = "duckdb".to_owned();
    study.engine_properties = Some(Properties { reads_files: true, ..Properties::default() });
    study.design.rounds = 22;
    for (at, treatment) in study.treatments.iter_mut().enumerate() {
        treatment.pin = Pin::Set;
        if at < 2 {
            treatment.placement = "no-smt".parse().unwrap();
        }
        let dop = at
            .checked_sub(2)
            .map_or(1, |at| treatments[at].split_whitespace().nth(3).unwrap().parse().unwrap());
        treatment.options.insert("dop".to_owned(), OptionValue::Integer(dop));
        treatment.options.insert("queries".to_owned(), OptionValue::Text(queries.to_owned()));
    }
    study
}

/// The same as a test of throughput.
pub(crate) fn as_throughput(study: &mut Study) {
    study.design.rounds = 1;
    for treatment in &mut study.treatments {
        treatment.options.insert("test".to_owned(), OptionValue::Text("throughput".to_owned()));
    }
}

/// An execution of so many milliseconds with twice as much CPU time and a plan of its own.
pub(crate) fn took(query: u8, ms: f64) -> QueryExecution {
    QueryExecution {
        query,
        elapsed_ns: (ms * 1e6).round() as u64,
        planning_ns: Some(1_000_000),
        cpu_ns: Some((2.0 * ms * 1e6).round() as u64),
        dop: Some(1),
        rows: 1,
        plan: Some(format!("AGGREGATE q{query}\n  SCAN lineitem")),
        ..QueryExecution::default()
    }
}

/// A factor near 1 that is the same whenever it is asked for: e to a sum of uniform noise with this
/// standard deviation.
pub(crate) fn noise(block: u32, treatment: &str, query: u8, sd: f64) -> f64 {
    let salt = treatment.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut random = ChaCha8Rng::seed_from_u64(salt ^ u64::from(block) << 32 ^ u64::from(query) << 50);
    let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    (sd * sum).exp()
}

/// A slice of one execution.
pub(crate) fn slice_of(round: u32, streams: Vec<Vec<QueryExecution>>) -> Slice {
    let of_stream = |queries: &Vec<QueryExecution>| queries.iter().map(|one| one.elapsed_ns).sum::<u64>();
    let window_ns = streams.iter().map(of_stream).max().unwrap_or(0);
    let sessions = streams.into_iter().map(|queries| SessionSlice {
        steps: queries.len() as u64,
        rows: queries.len() as u64,
        answers_checked: queries.len() as u64,
        cpu_ns: queries.iter().map(|one| one.cpu_ns.unwrap_or(0)).sum(),
        finished_ns: Some(of_stream(&queries)),
        queries,
        ..SessionSlice::default()
    });
    let sessions = sessions.collect();
    Slice {
        sequence: 0,
        round,
        start_ns: 0,
        window_ns,
        sessions,
        counters: Default::default(),
        cpu_times: Vec::new(),
        other_cpus: Default::default(),
        looks: Vec::new(),
    }
}

/// A run from its slices, on these logical CPUs.
pub(crate) fn run_of(block: u32, treatment: &str, cpus: &[u32], slices: Vec<Slice>) -> Run {
    Run {
        id: 0,
        block,
        attempt: 0,
        treatment: treatment.to_owned(),
        cpus: cpus.to_vec(),
        status: RunStatus::Valid,
        slices,
        started_s: 0.0,
        prepare_ns: 0,
        other_cpu_times: Vec::new(),
        readings: Vec::new(),
    }
}

/// Runs of a power test: every treatment executes every query once a block, one a round.
pub(crate) fn power(
    study: &Study,
    blocks: u32,
    execution: impl Fn(&str, u8, u32) -> QueryExecution,
) -> Vec<Run> {
    let queries = threadwise_study::tpch::queries(&study.treatments[0].options);
    let mut runs = Vec::new();
    for block in 0..blocks {
        for treatment in &study.treatments {
            let slices = queries.iter().enumerate().map(|(round, query)| {
                slice_of(round as u32, vec![vec![execution(&treatment.name, *query, block)]])
            });
            runs.push(run_of(block, &treatment.name, &[0, 1], slices.collect()));
        }
    }
    runs
}

/// Times of logical CPUs of a slice: milliseconds busy, stolen and all.
pub(crate) fn times(ms: &[(u32, f64, f64, f64)]) -> Vec<CpuTimes> {
    let ns = |ms: f64| (ms * 1e6).round() as u64;
    let one = |(cpu, busy, steal, total): &(u32, f64, f64, f64)| CpuTimes {
        cpu: *cpu,
        busy_ns: ns(*busy),
        steal_ns: ns(*steal),
        total_ns: ns(*total),
    };
    ms.iter().map(one).collect()
}

pub(crate) fn look(study: &Study, topology: Option<&Topology>, runs: &[Run]) -> Analysis {
    analyse_on(study, topology, runs, 1.0)
}

/// What is said of the queries of a study that has some.
pub(crate) fn queries_of(study: &Study, runs: &[Run]) -> Queries {
    look(study, Some(&machine(1, 4, 1)), runs).queries.expect("a study of queries")
}

pub(crate) fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-6 * expected.abs().max(1e-9), "{got}, expected {expected}");
}
