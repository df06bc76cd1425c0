//! Halves of slices: how often a warm-up is called too short where it is and where it is not, and what it does to the
//! ratio.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{RULE, count};
use threadwise_analysis::diagnostics::halves::half_difference;
use threadwise_analysis::estimate::{Halves, Work, block_difference, paired};
use threadwise_statistics::mean;

/// Studies a line, where nothing else is asked for.
const IN_CI: u64 = 500;
const BLOCKS: usize = 8;
const ROUNDS: usize = 20;
/// A, A′, and what is compared; the first of those warms slowly.
const TREATMENTS: usize = 5;
const SLOW: usize = 2;
/// A slice and its half, milliseconds.
const HALF_MS: f64 = 25.0;
/// Standard deviations over blocks and of a slice, whose halves are independent.
const BLOCK_SD: f64 = 0.02;
const SLICE_SD: f64 = 0.03;

/// A warm-up that is too short by so many milliseconds, in which the treatment has this share of its rate, and a share
/// of halves in which something stops any treatment, to 0.3.
#[derive(Clone, Copy)]
struct Case {
    late_ms: f64,
    share: f64,
    stopped: f64,
}

impl Case {
    /// Rate of the slow treatment's first halves.
    fn first(self) -> f64 {
        1.0 - self.late_ms / HALF_MS * (1.0 - self.share)
    }
}

/// What one study shows.
#[derive(Clone, Copy)]
struct Seen {
    /// Whether any warm-up is called too short.
    said: bool,
    /// Whether that of the slow treatment is.
    said_of_slow: bool,
    /// ln of the shift of its halves.
    shift: f64,
    /// ln of its ratio, which is 0 in truth.
    ratio: f64,
}

/// First halves, second halves and whole slices of each treatment in a block.
fn block(case: Case, random: &mut Normal) -> Vec<[Vec<Work>; 3]> {
    let of_treatment = |at: usize, random: &mut Normal| {
        let level = BLOCK_SD * random.draw();
        let mut sides = [(); 3].map(|()| Vec::with_capacity(ROUNDS));
        for _ in 0..ROUNDS {
            let mut half = |mean: f64| {
                let log = level + std::f64::consts::SQRT_2 * SLICE_SD * random.draw();
                let stop = if random.uniform() < case.stopped { 0.3 } else { 1.0 };
                let rows = 1e6 * mean * stop * log.exp();
                Work { slices: 1, rows, window_ns: 1e6 * HALF_MS, ..Work::default() }
            };
            let first = half(if at == SLOW { case.first() } else { 1.0 });
            let second = half(1.0);
            let whole = Work { slices: 1, ..first.and(&second) };
            for (side, done) in sides.iter_mut().zip([first, second, whole]) {
                side.push(done);
            }
        }
        sides
    };
    (0..TREATMENTS).map(|at| of_treatment(at, random)).collect()
}

fn study(case: Case, seed: u64) -> Seen {
    let mut random = Normal::new(seed);
    let blocks: Vec<_> = (0..BLOCKS).map(|_| block(case, &mut random)).collect();
    let d = |top: usize, below: &[usize]| -> Vec<f64> {
        let of_block = |block: &Vec<[Vec<Work>; 3]>| {
            let halves = |at: usize| Halves { first: block[at][0].clone(), second: block[at][1].clone() };
            let below: Vec<Halves> = below.iter().map(|at| halves(*at)).collect();
            half_difference(&halves(top), &below.iter().collect::<Vec<_>>()).unwrap()
        };
        blocks.iter().map(of_block).collect()
    };
    let series: Vec<Vec<f64>> = (SLOW..TREATMENTS).map(|top| d(top, &[0, 1])).collect();
    let found = paired(&series, &[d(1, &[0])], RULE);
    let is_said: Vec<bool> = found.iter().map(|one| one.as_ref().unwrap().is_beyond()).collect();
    let ratios = blocks.iter().map(|block| {
        block_difference(&block[SLOW][2], &[&block[0][2], &block[1][2]], Work::rows_per_s).unwrap()
    });
    Seen {
        said: is_said.contains(&true),
        said_of_slow: is_said[0],
        shift: found[0].as_ref().unwrap().value,
        ratio: mean(ratios).unwrap(),
    }
}

/// Shares of studies in which it is said of any and of the slow treatment; means of its shift and of its ratio.
fn studies(case: Case) -> [f64; 4] {
    let half = |seeds: std::ops::Range<u64>| seeds.map(|seed| study(case, seed)).collect::<Vec<_>>();
    let all = std::thread::scope(|scope| {
        let first = scope.spawn(|| half(0..count(IN_CI) / 2));
        let second = half(count(IN_CI) / 2..count(IN_CI));
        [first.join().unwrap(), second].concat()
    });
    let share = |is_so: fn(&Seen) -> bool| mean(all.iter().map(|one| f64::from(u8::from(is_so(one)))));
    let (shift, ratio) = (mean(all.iter().map(|one| one.shift)), mean(all.iter().map(|one| one.ratio)));
    [share(|one| one.said), share(|one| one.said_of_slow), shift, ratio].map(Option::unwrap)
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_warm_up_that_is_too_short_is_said_to_be() {
    let none = Case { late_ms: 0.0, share: 1.0, stopped: 0.0 };
    for (name, case) in [
        ("none", none),
        ("none, 1% of halves are stopped", Case { stopped: 0.01, ..none }),
        ("2 ms at 70%", Case { late_ms: 2.0, share: 0.7, ..none }),
        ("5 ms at 70%", Case { late_ms: 5.0, share: 0.7, ..none }),
        ("10 ms at 70%", Case { late_ms: 10.0, share: 0.7, ..none }),
        ("10 ms at 70%, 1% of halves are stopped", Case { late_ms: 10.0, share: 0.7, stopped: 0.01 }),
    ] {
        let [said, of_slow, shift, ratio] = studies(case);
        println!(
            "too short by {name}: said in {:.1}%, of the slow treatment in {:.1}%; its halves differ by {:+.1}%, its ratio \
             is biased by {:+.1}%",
            100.0 * said,
            100.0 * of_slow,
            100.0 * shift.exp_m1(),
            100.0 * ratio.exp_m1()
        );
        if case.late_ms == 0.0 {
            assert!(said <= 0.05, "{name}: {said}");
        }
        if case.late_ms == 10.0 {
            assert!(of_slow >= 0.8, "{name}: {of_slow}");
        }
        // The bias is about half of the shift.
        assert!((ratio + shift / 2.0).abs() < 0.01, "{name}: {ratio} {shift}");
    }
}
