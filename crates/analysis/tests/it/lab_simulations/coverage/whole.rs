//! The whole analysis of full runs gives the same numbers as the functions that the simulations call.

use crate::lab_simulations::coverage::noise::{Machine, QUIET, ROUNDS};
use crate::lab_simulations::coverage::rules::{answers, means, series};
use std::collections::BTreeMap;
use threadwise_analysis::analyse;
use threadwise_analysis::estimate::Work;
use threadwise_machine::Pin;
use threadwise_study::engine::Properties;
use threadwise_study::{
    Comparison, Design, Role, Run, RunStatus, SessionSlice, Slice, Stopping, Study, Treatment,
};

const BLOCKS: usize = 8;
pub const NAMES: [&str; 4] = ["A", "A'", "T", "U"];

/// A baseline, its twin and two treatments of one session.
pub fn study() -> Study {
    let treatment = |name: &str, role| Treatment {
        name: name.to_owned(),
        group: String::new(),
        role,
        placement: "one-cpu".parse().unwrap(),
        sessions: 1,
        pin: Pin::Each,
        memory: Default::default(),
        service: None,
        arm: Default::default(),
        instance: Default::default(),
        options: BTreeMap::new(),
        factors: BTreeMap::new(),
    };
    let comparison = |name: &str| Comparison {
        name: format!("{name} : A"),
        treatment: name.to_owned(),
        baseline: vec!["A".to_owned(), "A'".to_owned()],
        kind: "baseline".into(),
    };
    Study {
        name: "coverage".to_owned(),
        title: "coverage".to_owned(),
        seed: 1,
        engine: "simulated".to_owned(),
        engine_properties: Some(Properties { simulated: true, ..Properties::default() }),
        engine_options: BTreeMap::new(),
        workload: "logical-io".into(),
        treatments: NAMES
            .into_iter()
            .zip([Role::Baseline, Role::BaselineTwin, Role::Compared, Role::Compared])
            .map(|(name, role)| treatment(name, role))
            .collect(),
        comparisons: vec![comparison("T"), comparison("U")],
        design: Design {
            rounds: ROUNDS as u32,
            slice_ns: 50_000_000,
            rewarm_ns: Some(0),
            stopping: Stopping::Blocks { blocks: BLOCKS as u32 },
            level: 0.95,
            margin: 0.03,
            long_windows: None,
        },
        quota: None,
        external: None,
        left_out: Vec::new(),
    }
}

fn runs(study: &[Vec<Vec<Work>>]) -> Vec<Run> {
    let slice = |(round, done): (usize, &Work)| Slice {
        sequence: round as u64,
        round: round as u32,
        start_ns: round as u64 * 1_000_000_000,
        window_ns: done.window_ns as u64,
        sessions: vec![SessionSlice { rows: done.rows as u64, ..SessionSlice::default() }],
        counters: Default::default(),
        cpu_times: Vec::new(),
        other_cpus: Default::default(),
        looks: Vec::new(),
    };
    let run = |block: usize, at: usize, rounds: &[Work]| Run {
        id: 0,
        block: block as u32,
        attempt: 0,
        treatment: NAMES[at].to_owned(),
        cpus: vec![0],
        status: RunStatus::Valid,
        slices: rounds.iter().enumerate().map(slice).collect(),
        started_s: 0.0,
        prepare_ns: 0,
        other_cpu_times: Vec::new(),
        readings: Vec::new(),
    };
    let blocks = study.iter().enumerate();
    blocks
        .flat_map(|(block, sides)| {
            sides.iter().enumerate().map(move |(at, rounds)| run(block, at, rounds)).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
#[ignore = "laboratory: simulations"]
fn the_whole_analysis_gives_the_same_numbers() {
    let machine = Machine { effects: vec![0.3, 0.0], ar1: 0.5, ..QUIET };
    for seed in 0..20 {
        let mut made = machine.study(BLOCKS, seed);
        made.iter_mut().flatten().flatten().for_each(|done| done.rows = done.rows.round());
        let expected = answers(&means(&series(&made)));
        let analysis = analyse(&study(), &runs(&made), 1.0);
        assert!(analysis.simulated);
        for (got, expected) in analysis.estimates.iter().zip(&expected) {
            assert_eq!(got.metric, "rows_per_s");
            for (got, expected) in [
                (got.ratio.value, expected.value),
                (got.ratio.low, expected.low),
                (got.ratio.high, expected.high),
                (got.ratio.adjusted_low, expected.adjusted_low),
            ] {
                assert!((got / expected - 1.0).abs() < 1e-9, "study {seed}: {got} against {expected}");
            }
            assert_eq!((got.ratio.answer, got.ratio.blocks), (expected.answer, BLOCKS as u32));
        }
    }
}
