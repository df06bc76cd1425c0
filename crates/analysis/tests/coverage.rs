//! Does a 95% interval cover the truth in 95% of studies, and does noise pass for an effect?
//!
//! Thousands of studies of the simulated engine's model, whose truth is known, with fixed seeds.
//! The printed figures stand in docs/METHODOLOGY.md; `cargo test -p threadwise-analysis --test
//! coverage -- --nocapture` prints them again. Every study draws its slices one by one from the
//! model; the inner functions of the analysis are called on them, and one test shows that the whole
//! analysis of full runs gives the same numbers.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use threadwise_analysis::analyse;
use threadwise_analysis::estimate::{block_difference, judge};
use threadwise_analysis::statistics::MeanEstimate;
use threadwise_engine::engines::simulated::Model;
use threadwise_machine::Pin;
use threadwise_study::engine::Properties;
use threadwise_study::{
    Comparison, Design, OptionValue, Role, Run, RunStatus, SessionSlice, Slice, Stopping, Study, Treatment,
};

const STUDIES: u64 = 2000;
const BLOCKS: u32 = 8;
const ROUNDS: usize = 20;
const ALPHA: f64 = 0.05;
/// The truth of treatment T against A.
const TRUTH: f64 = 1.3;

/// Drift and noise that give the standard deviations of ln(ratio) of two slices of 50 ms measured
/// on a 2-CPU guest: 0.077 at 50 ms apart, 0.175 at 1 s, 0.21 at 5 s.
const MEASURED_GUEST: [(&str, f64); 3] = [("drift_sd", 0.142), ("drift_slices", 18.2), ("noise_sd", 0.0424)];

fn model(options: &[(&str, f64)], seed: u64) -> Model {
    let given = options.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value)));
    let truth = [("ratio.T".to_owned(), OptionValue::Number(TRUTH))];
    Model::new(&given.chain(truth).collect()).unwrap().with_seed(seed)
}

/// How a block's slices are spread over time.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Each round has one slice of every treatment, shuffled.
    Rounds,
    /// Each treatment has all its slices at once, the treatments shuffled.
    WholeRuns,
}

/// The sequence numbers of a block: for each treatment one for each round.
fn sequences(order: Order, treatments: usize, block: u32, seed: u64) -> Vec<Vec<u64>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ u64::from(block) << 32);
    let first = u64::from(block) * (treatments * ROUNDS) as u64;
    let mut all = vec![Vec::with_capacity(ROUNDS); treatments];
    let mut shuffled: Vec<usize> = (0..treatments).collect();
    for round in 0..ROUNDS {
        if order == Order::Rounds || round == 0 {
            for last in (1..treatments).rev() {
                shuffled.swap(last, random.next_u32() as usize % (last + 1));
            }
        }
        for (position, treatment) in shuffled.iter().enumerate() {
            let offset = match order {
                Order::Rounds => round * treatments + position,
                Order::WholeRuns => position * ROUNDS + round,
            };
            all[*treatment].push(first + offset as u64);
        }
    }
    all
}

/// ln(rows/s) of a block by treatment and round.
fn block_rates(model: &Model, order: Order, names: &[&str], block: u32, seed: u64) -> Vec<Vec<f64>> {
    let times = sequences(order, names.len(), block, seed);
    let rate = |name: &str, at: &u64| model.rate(name, u64::from(block), *at).ln();
    names.iter().zip(times).map(|(name, times)| times.iter().map(|at| rate(name, at)).collect()).collect()
}

/// d of T against A and A' in each of the blocks.
fn differences(model: &Model, order: Order, blocks: std::ops::Range<u32>, seed: u64) -> Vec<f64> {
    blocks
        .map(|block| {
            let rates = block_rates(model, order, &["A", "A'", "T"], block, seed);
            block_difference(&rates[2], &[&rates[0], &rates[1]]).unwrap()
        })
        .collect()
}

fn covers((low, high): (f64, f64)) -> bool {
    (low..=high).contains(&TRUTH.ln())
}

/// Share of studies of `n` blocks whose interval covers the truth, and the mean half-width.
fn coverage(options: &[(&str, f64)], n: u32) -> (f64, f64) {
    let (mut covered, mut widths) = (0u32, 0.0);
    for seed in 0..STUDIES {
        let d = differences(&model(options, seed), Order::Rounds, 0..n, seed);
        let estimate = MeanEstimate::of(&d).unwrap();
        covered += u32::from(covers(estimate.interval(ALPHA)));
        widths += estimate.half_width(ALPHA).exp_m1();
    }
    (f64::from(covered) / STUDIES as f64, widths / STUDIES as f64)
}

fn print_coverage(name: &str, (share, width): (f64, f64)) {
    println!(
        "{name}: {:.1}% of {STUDIES} studies covered, mean half-width ±{:.2}%",
        100.0 * share,
        100.0 * width
    );
}

#[test]
fn fixed_n_covers_the_truth_as_often_as_it_says() {
    let got = coverage(&[("noise_sd", 0.05), ("block_sd", 0.02)], BLOCKS);
    print_coverage("white noise and block noise, n = 8", got);
    assert!((0.94..=0.97).contains(&got.0), "{got:?}");
}

#[test]
fn twice_the_blocks_cover_too() {
    // From 16 blocks on the interval is widened where neighbours correlate, here by chance alone.
    let got = coverage(&[("noise_sd", 0.05), ("block_sd", 0.02)], 16);
    print_coverage("white noise and block noise, n = 16", got);
    assert!((0.94..=0.985).contains(&got.0), "{got:?}");
}

#[test]
fn looks_cover_at_least_as_often() {
    let options = [("noise_sd", 0.05), ("block_sd", 0.03)];
    let looks = [8u32, 16, 32, 64];
    let mut ended = [0u32; 4];
    let mut covered = 0u32;
    for seed in 0..STUDIES {
        let model = model(&options, seed);
        let mut d = Vec::new();
        for (look, blocks) in looks.into_iter().enumerate() {
            d.extend(differences(&model, Order::Rounds, d.len() as u32..blocks, seed));
            let estimate = MeanEstimate::of(&d).unwrap();
            // Five looks share alpha; the fifth, at the end of the budget, is not taken here.
            if estimate.half_width(ALPHA / 5.0).exp_m1() <= 0.02 || look + 1 == looks.len() {
                covered += u32::from(covers(estimate.interval(ALPHA / 5.0)));
                ended[look] += 1;
                break;
            }
        }
    }
    let share = f64::from(covered) / STUDIES as f64;
    println!("looks until ±2%: {:.1}% covered; ended at 8, 16, 32, 64 blocks: {ended:?}", 100.0 * share);
    assert!((0.94..=0.995).contains(&share), "{share}");
    assert!(ended.iter().filter(|count| **count > 0).count() >= 2, "more than one look was used: {ended:?}");
}

#[test]
fn coverage_under_drift_ar1_outliers_and_steal() {
    let slow = [("drift_sd", 0.2), ("drift_slices", 5000.0), ("noise_sd", 0.05), ("block_sd", 0.02)];
    let ar1 = [("ar1", 0.9), ("ar1_sd", 0.1), ("noise_sd", 0.05), ("block_sd", 0.02)];
    let outliers = [("outlier_rate", 0.02), ("noise_sd", 0.05), ("block_sd", 0.02)];
    let steal = [("steal", 0.05), ("noise_sd", 0.05), ("block_sd", 0.02)];
    let cases: [(&str, &[(&str, f64)]); 5] = [
        ("slow drift (sd 0.2, 5,000 slices), n = 8", &slow),
        ("drift of the measured guest, n = 8", &MEASURED_GUEST),
        ("AR(1) 0.9 between slices (sd 0.1), n = 8", &ar1),
        ("2% outliers at 0.3 of the rate, n = 8", &outliers),
        ("5% steal, n = 8", &steal),
    ];
    std::thread::scope(|scope| {
        for (name, options) in cases {
            scope.spawn(move || {
                let got = coverage(options, BLOCKS);
                print_coverage(name, got);
                // Interleaving leaves little of what is common to neighbours, and t is robust to
                // the rest; far below or above would mean that a disturbance gets into d.
                assert!((0.92..=0.98).contains(&got.0), "{name}: {got:?}");
            });
        }
    });
}

#[test]
fn noise_is_not_called_an_effect() {
    const NAMES: [&str; 7] = ["A", "A'", "b", "c", "d", "e", "f"];
    let (mut effects, mut without_floor) = (0u32, 0u32);
    for seed in 0..STUDIES {
        let model = model(&[("noise_sd", 0.05), ("block_sd", 0.02)], seed + 10_000);
        let blocks: Vec<_> =
            (0..BLOCKS).map(|block| block_rates(&model, Order::Rounds, &NAMES, block, seed)).collect();
        let series = |top: usize, below: &[usize]| {
            let of_block = |rates: &Vec<Vec<f64>>| {
                let sides: Vec<&[f64]> = below.iter().map(|at| rates[*at].as_slice()).collect();
                block_difference(&rates[top], &sides).unwrap()
            };
            MeanEstimate::of(&blocks.iter().map(of_block).collect::<Vec<_>>()).unwrap()
        };
        let (low, high) = series(1, &[0]).interval(ALPHA);
        let floor = low.abs().max(high.abs());
        let any = |floor: f64| {
            let family: Vec<_> = (2..NAMES.len()).map(|top| (series(top, &[0, 1]), floor)).collect();
            judge(&family, ALPHA).iter().any(|judgement| judgement.effect)
        };
        effects += u32::from(any(floor));
        without_floor += u32::from(any(0.0));
    }
    let share = |count: u32| f64::from(count) / STUDIES as f64;
    println!(
        "A/A studies of five comparisons: {:.2}% report an effect; by Holm alone {:.2}%",
        100.0 * share(effects),
        100.0 * share(without_floor)
    );
    assert!(share(effects) <= 0.05, "{effects}");
    assert!((0.02..=0.06).contains(&share(without_floor)), "Holm alone must sit near 5%: {without_floor}");
}

#[test]
fn rounds_shorten_the_interval_at_equal_time() {
    let slow = [("drift_sd", 0.142), ("drift_slices", 200.0), ("noise_sd", 0.0424)];
    let cases: [(&str, &[(&str, f64)]); 2] =
        [("drift of the measured guest", &MEASURED_GUEST), ("the same ten times slower", &slow)];
    for (name, options) in cases {
        let mut ratios: Vec<f64> = (0..500)
            .map(|seed| {
                let model = model(options, seed);
                let half = |order| MeanEstimate::of(&differences(&model, order, 0..BLOCKS, seed)).unwrap();
                half(Order::Rounds).half_width(ALPHA) / half(Order::WholeRuns).half_width(ALPHA)
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        println!("rounds against whole runs at equal time, {name}: median ratio of half-widths {median:.2}");
        assert!(median < 1.0, "{name}: {median}");
    }
}

/// The study of the model: A, A' and T.
fn full_study() -> Study {
    let treatment = |name: &str, role, sessions| Treatment {
        name: name.to_owned(),
        group: String::new(),
        role,
        placement: "one-cpu".to_owned(),
        sessions,
        pin: Pin::Each,
        memory: Default::default(),
        service: None,
        options: BTreeMap::new(),
        factors: BTreeMap::new(),
    };
    Study {
        name: "coverage".to_owned(),
        title: "coverage".to_owned(),
        seed: 1,
        engine: "simulated".to_owned(),
        engine_properties: Some(Properties { simulated: true, ..Properties::default() }),
        engine_options: BTreeMap::new(),
        workload: "logical-io".to_owned(),
        treatments: vec![
            treatment("A", Role::Baseline, 1),
            treatment("A'", Role::BaselineTwin, 1),
            treatment("T", Role::Compared, 2),
        ],
        comparisons: vec![Comparison {
            name: "T : A".to_owned(),
            treatment: "T".to_owned(),
            baseline: vec!["A".to_owned(), "A'".to_owned()],
            kind: "baseline".to_owned(),
        }],
        design: Design {
            rounds: ROUNDS as u32,
            slice_ns: 1_000_000_000,
            rewarm_ns: 0,
            stopping: Stopping::Blocks { blocks: BLOCKS },
            level: 1.0 - ALPHA,
            target_half_width: 0.05,
        },
        left_out: Vec::new(),
    }
}

/// Full runs of one study, with rows enough that rounding to whole ones does not matter.
fn full_runs(model: &Model, seed: u64) -> Vec<Run> {
    let names = ["A", "A'", "T"];
    let mut runs = Vec::new();
    for block in 0..BLOCKS {
        for (name, times) in names.iter().zip(sequences(Order::Rounds, names.len(), block, seed)) {
            let slice = |(round, sequence): (usize, u64)| Slice {
                sequence,
                round: round as u32,
                start_ns: sequence * 1_000_000_000,
                window_ns: 1_000_000_000,
                sessions: vec![SessionSlice {
                    rows: model.rate(name, u64::from(block), sequence).round() as u64,
                    ..SessionSlice::default()
                }],
                counters: Default::default(),
                cpu_times: Vec::new(),
                other_cpus: Default::default(),
                looks: Vec::new(),
            };
            runs.push(Run {
                id: 0,
                block,
                attempt: 0,
                treatment: (*name).to_owned(),
                cpus: vec![0],
                status: RunStatus::Valid,
                slices: times.into_iter().enumerate().map(slice).collect(),
                started_s: 0.0,
                prepare_ns: 0,
                other_cpu_times: Vec::new(),
                readings: Vec::new(),
            });
        }
    }
    runs
}

#[test]
fn the_whole_analysis_gives_the_same_numbers() {
    let options = [("base_rows_per_s", 1e11), ("noise_sd", 0.05), ("block_sd", 0.02), ("drift_sd", 0.1)];
    let study = full_study();
    for seed in 0..20 {
        let model = model(&options, seed);
        let expected = MeanEstimate::of(&differences(&model, Order::Rounds, 0..BLOCKS, seed)).unwrap();
        let analysis = analyse(&study, &full_runs(&model, seed), 1.0);
        let got = &analysis.estimates[0];
        let (low, high) = expected.interval(ALPHA);
        for (got, expected) in
            [(got.ratio.value, expected.mean), (got.ratio.low, low), (got.ratio.high, high)]
        {
            assert!((got.ln() - expected).abs() < 1e-8, "study {seed}: {got} against {}", expected.exp());
        }
        assert_eq!((got.ratio.blocks, got.metric.as_str(), analysis.simulated), (BLOCKS, "rows_per_s", true));
    }
}
