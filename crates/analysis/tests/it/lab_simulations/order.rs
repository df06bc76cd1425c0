//! Carry-over in simulated studies whose truth is known: how often it is reported where there is none, how often
//! where a slice slows the next one, and how far it shifts ratios, by the balanced order and by plain permutations.
//!
//! Logarithms of rates are drawn slice by slice in the order of the plan; the analysis's own functions fit and judge
//! them; `src/diagnostics/order/tests.rs` has whole analyses. The printed figures stand
//! in docs/METHODOLOGY.md, "Order of slices": `cargo test -p threadwise-analysis --test it lab_simulations::order -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use threadwise_analysis::diagnostics::order::{Neighbours, OrderedSlice, contrasts, judged};
use threadwise_analysis::estimate::{Rule, Sides, Work, block_difference, together};
use threadwise_analysis::{Direction, Ratio};
use threadwise_statistics::MeanEstimate;
use threadwise_study::plan::order::rounds;

const STUDIES: u64 = 2000;
const ROUNDS: u32 = 20;
const ALPHA: f64 = 0.05;
const RULE: Rule = Rule { margin: 0.03, alpha: ALPHA, direction: Direction::Neither };
/// What a slice does to the next one: 2% slower.
const CARRIED: f64 = -0.02;
/// The treatment whose slices do it; 0 and 1 are the baseline and its twin.
const HEAVY: usize = 2;

/// For each block its rounds.
type Blocks = Vec<Vec<Vec<usize>>>;

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Balanced,
    /// Every round drawn by itself.
    Plain,
}

fn blocks_of(order: Order, treatments: usize, blocks: u32, seed: u64) -> Blocks {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut plain = || {
        let mut round: Vec<usize> = (0..treatments).collect();
        round.shuffle(&mut random);
        round
    };
    let block = |number| match order {
        Order::Balanced => rounds(seed, treatments, ROUNDS, number),
        Order::Plain => (0..ROUNDS).map(|_| plain()).collect(),
    };
    (0..blocks).map(block).collect()
}

/// Noise in ln(rate).
#[derive(Clone, Copy)]
struct Noise {
    /// Of each slice by itself.
    slice_sd: f64,
    /// Of a treatment in a block.
    block_sd: f64,
    /// AR(1) between slices that follow each other: correlation and standard deviation.
    between: (f64, f64),
    /// The noisiest treatment's standard deviation over the quietest's; 1 where all are alike.
    unequal: f64,
    /// Slices by Student's t with 3 degrees of freedom, and 1% of them at 0.3 of their rate.
    is_heavy_tailed: bool,
}

const WHITE: Noise =
    Noise { slice_sd: 0.03, block_sd: 0.02, between: (0.0, 0.0), unequal: 1.0, is_heavy_tailed: false };
const ROUGH: Noise = Noise { between: (0.9, 0.05), unequal: 4.0, is_heavy_tailed: true, ..WHITE };

struct Normal {
    random: ChaCha8Rng,
    kept: Option<f64>,
}

impl Normal {
    fn new(seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), kept: None }
    }

    /// In (0, 1].
    fn uniform(&mut self) -> f64 {
        (f64::from(self.random.next_u32()) + 1.0) / 4_294_967_296.0
    }

    /// Box, Muller, Ann. Math. Stat. 29, 1958.
    fn draw(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.kept = Some(radius * sin);
        radius * cos
    }

    /// Student's t with 3 degrees of freedom, of standard deviation 1, and outliers.
    fn heavy_tailed(&mut self, sd: f64) -> f64 {
        let squares: f64 = (0..3).map(|_| self.draw().powi(2)).sum();
        let outlier = if self.uniform() <= 0.01 { 0.3f64.ln() } else { 0.0 };
        sd * self.draw() / squares.sqrt() + outlier
    }
}

/// A block's slices: noise, and what slices after the heavy treatment carry over.
fn slices(order: &[Vec<usize>], noise: Noise, carried: f64, normal: &mut Normal) -> Vec<OrderedSlice> {
    let treatments = order[0].len();
    let level: Vec<f64> = (0..treatments).map(|_| noise.block_sd * normal.draw()).collect();
    // Geometric from 1/√unequal to √unequal, the heavy treatment in the middle or beyond.
    let sd = |treatment: usize| {
        noise.slice_sd * noise.unequal.powf(treatment as f64 / (treatments - 1) as f64 - 0.5)
    };
    let (correlation, between_sd) = noise.between;
    let mut between = if between_sd > 0.0 { between_sd * normal.draw() } else { 0.0 };
    let mut predecessor = None;
    let mut all = Vec::with_capacity(order.len() * treatments);
    for (round, order) in (0..).zip(order) {
        for &treatment in order {
            if between_sd > 0.0 {
                let change = between_sd * (1.0f64 - correlation * correlation).sqrt();
                between = correlation * between + change * normal.draw();
            }
            let white = match noise.is_heavy_tailed {
                true => normal.heavy_tailed(sd(treatment)),
                false => sd(treatment) * normal.draw(),
            };
            let after = if predecessor == Some(HEAVY) { carried } else { 0.0 };
            let log_rate = level[treatment] + between + white + after;
            all.push(OrderedSlice { round, treatment, predecessor, log_rate });
            predecessor = Some(treatment);
        }
    }
    all
}

/// What became of many studies.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Share in which carry-over of any treatment was reported.
    reported: f64,
    /// Share in which that of the heavy one was.
    heavy: f64,
    /// Share of intervals of the heavy one's contrast that cover what was put in.
    covered: f64,
}

/// Studies of so many treatments and blocks; `orders` different orders take turns.
fn studies(
    (order, orders): (Order, u64),
    (treatments, blocks): (usize, u32),
    noise: Noise,
    carried: f64,
) -> Found {
    let orders: Vec<Blocks> = (0..orders).map(|seed| blocks_of(order, treatments, blocks, seed)).collect();
    let [mut reported, mut heavy, mut covered] = [0.0; 3];
    for seed in 0..STUDIES {
        let mut normal = Normal::new(seed + 77_000);
        let blocks = &orders[(seed % orders.len() as u64) as usize];
        let by_block: Vec<Vec<Option<f64>>> = blocks
            .iter()
            .map(|order| contrasts(&slices(order, noise, carried, &mut normal), treatments))
            .collect();
        let found: Vec<Ratio> = judged(&by_block, treatments, RULE).into_iter().flatten().collect();
        assert_eq!(found.len(), treatments);
        reported += f64::from(u8::from(found.iter().any(Ratio::is_different)));
        heavy += f64::from(u8::from(found[HEAVY].is_different() && found[HEAVY].value < 0.0));
        covered += f64::from(u8::from((found[HEAVY].low..=found[HEAVY].high).contains(&carried)));
    }
    let share = |count: f64| count / STUDIES as f64;
    Found { reported: share(reported), heavy: share(heavy), covered: share(covered) }
}

fn print(name: &str, found: Found) {
    let Found { reported, heavy, covered } = found;
    let [reported, heavy, covered] = [reported, heavy, covered].map(|share| 100.0 * share);
    println!(
        "{name}: reported {reported:.2}%, of the heavy one {heavy:.2}%, intervals that cover {covered:.1}%"
    );
}

#[test]
#[ignore = "laboratory: simulations"]
fn without_carry_over_none_is_reported() {
    let loud = Noise { slice_sd: 0.1, ..WHITE };
    let ar1 = Noise { between: (0.9, 0.05), ..WHITE };
    let cases = [
        ("3 treatments, 8 blocks, white 3%", Order::Balanced, (3, 8), WHITE),
        ("9 treatments, 8 blocks, white 3%", Order::Balanced, (9, 8), WHITE),
        ("9 treatments, 8 blocks, AR(1) 0.9 of 5% between slices", Order::Balanced, (9, 8), ar1),
        ("6 treatments, 8 blocks, AR(1), unequal, heavy tails", Order::Balanced, (6, 8), ROUGH),
        ("9 treatments, 8 blocks, the same by plain permutations", Order::Plain, (9, 8), ROUGH),
        ("3 treatments, 64 blocks, white 10%", Order::Balanced, (3, 64), loud),
    ];
    let mut reported = 0.0;
    for (name, order, size, noise) in cases {
        let found = studies((order, 200), size, noise, 0.0);
        print(&format!("no carry-over, {name}"), found);
        reported += found.reported / cases.len() as f64;
        // A share of 5% has a standard deviation of 0.5 points.
        assert!(found.reported <= 0.065, "{name}: {found:?}");
        assert!((0.93..=0.985).contains(&found.covered), "{name}: {found:?}");
    }
    println!("no carry-over, all of them: reported {:.2}%", 100.0 * reported);
    assert!(reported <= 0.05, "{reported}");
}

#[test]
#[ignore = "laboratory: simulations"]
fn carry_over_of_two_percent_is_reported() {
    let loud = Noise { slice_sd: 0.1, ..WHITE };
    let cases = [
        ("3 treatments, 8 blocks, white 3%", (3, 8), WHITE),
        ("9 treatments, 8 blocks, white 3%", (9, 8), WHITE),
        ("9 treatments, 8 blocks, AR(1), unequal, heavy tails", (9, 8), ROUGH),
        ("3 treatments, 64 blocks, white 10%", (3, 64), loud),
        ("9 treatments, 64 blocks, white 10%", (9, 64), loud),
    ];
    for (name, size, noise) in cases {
        let found = studies((Order::Balanced, 50), size, noise, CARRIED);
        print(&format!("carry-over of 2%, {name}"), found);
        if !noise.is_heavy_tailed {
            assert!(found.heavy >= 0.9, "{name}: {found:?}");
        }
        assert!((0.93..=0.985).contains(&found.covered), "{name}: {found:?}");
    }
}

/// d of a block from logarithms of rates by treatment and round.
fn difference(logs: &[Vec<f64>], top: usize) -> f64 {
    let done = |log: &f64| Work { slices: 1, rows: 1e6 * log.exp(), window_ns: 1e9, ..Work::default() };
    let sides: Vec<Vec<Work>> = logs.iter().map(|side| side.iter().map(done).collect()).collect();
    block_difference(&sides[top], &[&sides[0], &sides[1]], Work::rows_per_s).unwrap()
}

/// ln of the factor by which carry-over of `heavy` alone shifts each treatment's ratio to the baseline and its twin, as
/// the analysis takes it: means over rounds, and over blocks.
fn shifts(blocks: &Blocks, treatments: usize, heavy: usize) -> Vec<f64> {
    let mut sums = vec![0.0; treatments];
    for order in blocks {
        let mut carried = vec![Vec::new(); treatments];
        let mut before = None;
        for &treatment in order.iter().flatten() {
            carried[treatment].push(if before == Some(heavy) { CARRIED } else { 0.0 });
            before = Some(treatment);
        }
        sums.iter_mut().enumerate().skip(2).for_each(|(top, sum)| *sum += difference(&carried, top));
    }
    sums[2..].iter().map(|sum| sum / blocks.len() as f64).collect()
}

/// The bound that a report has, where all intervals end at the truth: that of the heavy one, and 0.
fn bound(blocks: &Blocks, treatments: usize, heavy: usize) -> f64 {
    let mut neighbours = Neighbours::of_treatments(treatments);
    for order in blocks.iter().map(|order| order.concat()) {
        let before = std::iter::once(None).chain(order.iter().copied().map(Some));
        order.iter().zip(before).for_each(|(treatment, before)| neighbours.add(before, *treatment));
    }
    let others = -CARRIED / (treatments - 1) as f64;
    let exact = |at: usize| {
        let mean = if at == heavy { CARRIED } else { others };
        let known = MeanEstimate { n: 8, mean, standard_error: 0.0, correlation: 0.0, degrees: 7.0 };
        let estimate = together(&[Some(known)], 1.0, RULE).remove(0)?;
        Some(Ratio { low: mean.min(0.0), high: mean.max(0.0), ..estimate })
    };
    let found: Vec<Option<Ratio>> = (0..treatments).map(exact).collect();
    let shift = |top| neighbours.shift_bound(&Sides { top, below: vec![0, 1] }, &found).unwrap();
    (2..treatments).map(shift).fold(0.0, f64::max)
}

#[test]
#[ignore = "laboratory: simulations"]
fn carry_over_shifts_no_ratio() {
    for (treatments, blocks, studies) in
        [(3, 8, STUDIES), (6, 8, STUDIES), (9, 8, STUDIES), (3, 64, 200), (9, 64, 100)]
    {
        for order in [Order::Balanced, Order::Plain] {
            let (mut most, mut sum, mut most_bound) = (0.0f64, 0.0, 0.0f64);
            for seed in 0..studies {
                let blocks = blocks_of(order, treatments, blocks, seed);
                for heavy in [0, HEAVY] {
                    let shifted = shifts(&blocks, treatments, heavy);
                    let largest = shifted.iter().fold(0.0f64, |most, shift| most.max(shift.abs()));
                    let bound = bound(&blocks, treatments, heavy);
                    assert!(largest <= bound + 3e-4, "{largest} beyond the bound {bound}");
                    most = most.max(largest);
                    most_bound = most_bound.max(bound);
                    sum += if heavy == HEAVY { shifted[0] } else { 0.0 };
                }
            }
            let name = if order == Order::Balanced { "balanced" } else { "plain permutations" };
            println!(
                "{treatments} treatments, {blocks} blocks, {name}: the heavy one's ratio is shifted by {:+.3}% on average, \
                 any ratio in any of {studies} studies by at most {:.3}%, the bound is at most {:.3}%",
                100.0 * sum / studies as f64,
                100.0 * most,
                100.0 * most_bound
            );
            if order == Order::Balanced {
                assert!(
                    most <= 0.001 && most_bound <= 0.0015,
                    "{treatments}, {blocks}: {most}, {most_bound}"
                );
            } else {
                assert!(sum / studies as f64 > 0.001, "what the balance is for: {sum}");
            }
        }
    }
}

/// Share of studies whose 95% interval of the heavy one's ratio covers 1, and the mean half-width.
fn ratio_of_nothing(order: Order, treatments: usize, noise: Noise) -> (f64, f64) {
    let orders: Vec<Blocks> = (0..200).map(|seed| blocks_of(order, treatments, 8, seed)).collect();
    let (mut covered, mut widths) = (0.0, 0.0);
    for seed in 0..STUDIES {
        let mut normal = Normal::new(seed + 500_000);
        let d: Vec<f64> = orders[(seed % 200) as usize]
            .iter()
            .map(|order| {
                let mut rates = vec![Vec::new(); treatments];
                for slice in slices(order, noise, 0.0, &mut normal) {
                    rates[slice.treatment].push(slice.log_rate);
                }
                difference(&rates, HEAVY)
            })
            .collect();
        let estimate = MeanEstimate::of(&d).unwrap();
        let (low, high) = estimate.interval(ALPHA);
        covered += f64::from(u8::from((low..=high).contains(&0.0)));
        widths += estimate.half_width(ALPHA).exp_m1();
    }
    (covered / STUDIES as f64, widths / STUDIES as f64)
}

#[test]
#[ignore = "laboratory: simulations"]
fn ratios_are_as_precise_as_with_plain_permutations() {
    let drift = Noise { slice_sd: 0.04, block_sd: 0.0, between: (0.947, 0.142), ..WHITE };
    for (name, treatments, noise) in [
        ("3 treatments, drift of the measured guest", 3, drift),
        ("9 treatments, drift of the measured guest", 9, drift),
        ("9 treatments, AR(1), unequal, heavy tails", 9, ROUGH),
    ] {
        let [balanced, plain] =
            [Order::Balanced, Order::Plain].map(|order| ratio_of_nothing(order, treatments, noise));
        println!(
            "ratio, {name}: {:.1}% of intervals cover, half-width ±{:.2}%; plain permutations {:.1}%, ±{:.2}%",
            100.0 * balanced.0,
            100.0 * balanced.1,
            100.0 * plain.0,
            100.0 * plain.1
        );
        assert!((0.935..=0.97).contains(&balanced.0), "{name}: {balanced:?}");
        assert!(balanced.1 < 1.1 * plain.1, "{name}: {balanced:?}, {plain:?}");
    }
}
