//! Long windows: how often they are said to disagree with slices where they do not, and where stalls of half a second or a
//! falling clock make them.

use crate::lab_simulations::coverage::noise::{Machine, Normal, QUIET};
use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN, means, series};
use threadwise_analysis::estimate::{Rule, Work};
use threadwise_analysis::long_windows::differences;
use threadwise_analysis::{Direction, Ratio};
use threadwise_statistics::MeanEstimate;

const STUDIES: u64 = 2000;
/// Length of slices, of long windows and of stalls, seconds.
const SLICE_S: f64 = 0.05;
const WINDOW_S: f64 = 10.0;
const STALL_S: f64 = 0.5;
/// Noise of a long window of A and A′ that its block does not have; of compared treatments three times as much.
const WINDOW_SD: f64 = 0.01;

/// What a study has beside the machine's noise.
#[derive(Clone, Copy)]
struct Case {
    blocks: usize,
    long_blocks: usize,
    /// Noise of long windows, in place of the usual.
    window_sd: f64,
    /// Stalls per second of work, of A, A′ and all compared treatments but the first, and of that one.
    stalls: (f64, f64),
    /// Logarithm of what the first compared treatment does in long windows alone.
    fall: f64,
}

const NOTHING: Case = Case { blocks: 8, long_blocks: 3, window_sd: WINDOW_SD, stalls: (0.0, 0.0), fall: 0.0 };

/// A number of events by the product of uniform numbers (Knuth, *The Art of Computer Programming*, vol. 2, 3.4.1).
fn poisson(mean: f64, random: &mut Normal) -> u32 {
    let (mut product, mut count) = (random.uniform(), 0);
    while product > (-mean).exp() {
        product *= random.uniform();
        count += 1;
    }
    count
}

/// The work of a treatment in a block, with its stalls: by slice, or as one long window.
fn worked(rounds: &[Work], rate: f64, long_sd: Option<f64>, random: &mut Normal) -> Vec<Work> {
    let Some(sd) = long_sd else {
        let slice = |done: &Work, random: &mut Normal| {
            // A stall takes the rest of its slice; what is left of it passes while others have their turn.
            let left = if random.uniform() < rate * SLICE_S { random.uniform() } else { 1.0 };
            Work { rows: done.rows * left, ..*done }
        };
        return rounds.iter().map(|done| slice(done, random)).collect();
    };
    let sum = rounds.iter().fold(Work::default(), |sum, done| sum.and(done));
    let lost = f64::from(poisson(rate * WINDOW_S, random)) * STALL_S / WINDOW_S;
    vec![Work { rows: sum.rows * (1.0 - lost).max(0.01) * (sd * random.draw()).exp(), ..sum }]
}

/// The differences of one study. Long blocks lie spread among the others, and have part in what lasts.
fn study(machine: &Machine, case: Case, seed: u64) -> Vec<Ratio> {
    let mut random = Normal::new(1_000_000 + seed);
    let (mut slices, mut long) = (Vec::new(), Vec::new());
    for block in machine.study(case.blocks + case.long_blocks, seed) {
        let is_long = case.blocks * (long.len() + 1) <= slices.len() * case.long_blocks
            && long.len() < case.long_blocks;
        let of_treatment = |(at, rounds): (usize, &Vec<Work>), random: &mut Normal| {
            let rate = if at == 2 { case.stalls.1 } else { case.stalls.0 };
            let sd = if at < 2 { case.window_sd } else { 3.0 * case.window_sd };
            let mut all = worked(rounds, rate, is_long.then_some(sd), random);
            if is_long && at == 2 {
                all[0].rows *= case.fall.exp();
            }
            all
        };
        let worked: Vec<Vec<Work>> =
            block.iter().enumerate().map(|treatment| of_treatment(treatment, &mut random)).collect();
        if is_long { long.push(worked) } else { slices.push(worked) }
    }
    assert_eq!((slices.len(), long.len()), (case.blocks, case.long_blocks));
    let by_slices = means(&series(&slices));
    let by_long = series(&long);
    let pairs = by_long[1..].iter().map(|d| MeanEstimate::of(d).unwrap()).zip(by_slices[1..].iter().copied());
    let rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter };
    differences(&pairs.collect::<Vec<_>>(), rule)
}

/// Share of studies in which a difference is shown of any treatment, in which one is a finding, and the share of
/// intervals at 95% that hold what is true of treatments without one.
fn shares(machine: &Machine, case: Case) -> [f64; 3] {
    let half = |seeds: std::ops::Range<u64>| -> Vec<[f64; 3]> {
        let each = |seed| {
            let all = study(machine, case, seed);
            let is_finding = |ratio: &Ratio| ratio.is_different() && !ratio.is_same();
            let covers = |ratio: &Ratio| f64::from(u8::from(ratio.low <= 1.0 && ratio.high >= 1.0));
            [
                f64::from(u8::from(all.iter().any(Ratio::is_different))),
                f64::from(u8::from(all.iter().any(is_finding))),
                all.iter().map(covers).sum::<f64>() / all.len() as f64,
            ]
        };
        seeds.map(each).collect()
    };
    let all = std::thread::scope(|scope| {
        let first = scope.spawn(|| half(0..STUDIES / 2));
        let second = half(STUDIES / 2..STUDIES);
        [first.join().unwrap(), second].concat()
    });
    std::array::from_fn(|at| all.iter().map(|one| one[at]).sum::<f64>() / STUDIES as f64)
}

#[test]
#[ignore = "laboratory: simulations"]
fn long_windows_that_agree_are_not_said_to_disagree() {
    let quiet = Machine { block_sd: (0.014, 0.04), ..QUIET };
    for (name, machine, case) in [
        ("nothing", quiet.clone(), NOTHING),
        ("AR(1) 0.6", Machine { ar1: 0.6, ..quiet.clone() }, NOTHING),
        ("10% of blocks 12% slower", Machine { disturbed: (0.1, 0.12), ..quiet.clone() }, NOTHING),
        (
            "a neighbour takes 40% for 20% of the time",
            Machine { neighbour: (40.0, 0.2, 0.4), ..quiet.clone() },
            NOTHING,
        ),
        ("long windows scatter by 10 and 30%", quiet.clone(), Case { window_sd: 0.1, ..NOTHING }),
        ("a stall of 500 ms in 10 s in all alike", quiet.clone(), Case { stalls: (0.1, 0.1), ..NOTHING }),
        ("slices scatter more than long windows", Machine { slice_sd: 0.3, ..quiet.clone() }, NOTHING),
    ] {
        for (treatments, blocks, long_blocks) in [(1, 8, 3), (3, 8, 3), (7, 8, 3), (3, 32, 3), (3, 64, 12)] {
            let machine = Machine { effects: vec![0.3; treatments], ..machine.clone() };
            let [different, finding, covered] = shares(&machine, Case { blocks, long_blocks, ..case });
            println!(
                "{name}, {treatments} compared, {blocks} blocks and {long_blocks} long windows: different {:.1}%, a finding \
                 {:.1}%; {:.1}% covered",
                100.0 * different,
                100.0 * finding,
                100.0 * covered
            );
            assert!(different <= 0.05 && covered >= 0.93, "{name}: {different} {covered}");
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_slices_miss_is_found_where_it_is_much_or_where_windows_are_many() {
    let machine = Machine { effects: vec![0.0; 3], block_sd: (0.005, 0.005), ..QUIET };
    for (name, case, least) in [
        ("a stall of 500 ms in 10 s", Case { stalls: (0.0, 0.1), ..NOTHING }, [0.0, 0.0, 0.7]),
        ("a stall of 500 ms a second", Case { stalls: (0.0, 1.0), ..NOTHING }, [0.0, 0.9, 0.9]),
        ("long windows 10% slower", Case { fall: 0.9f64.ln(), ..NOTHING }, [0.0, 0.8, 0.9]),
        ("long windows 30% slower", Case { fall: 0.7f64.ln(), ..NOTHING }, [0.3, 0.9, 0.9]),
    ] {
        for (at, (blocks, long_blocks)) in [(8, 3), (32, 12), (64, 30)].into_iter().enumerate() {
            let [_, finding, _] = shares(&machine, Case { blocks, long_blocks, ..case });
            println!(
                "{name} in one of three, {blocks} blocks and {long_blocks} long windows: a finding in {:.1}%",
                100.0 * finding
            );
            assert!(finding >= least[at], "{name} {long_blocks}: {finding}");
        }
    }
}
