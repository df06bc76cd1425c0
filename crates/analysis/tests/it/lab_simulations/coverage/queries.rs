//! Tables of 22 queries: how often one that does not differ is said to, how many that do are found, and whether the
//! intervals of those that are named hold.
//!
//! Beside each figure stands that of the rule before: plain t and Holm's procedure at half of alpha.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN};
use threadwise_analysis::estimate::{Rule, judge, judge_many};
use threadwise_analysis::{Direction, Ratio};
use threadwise_statistics::{MeanEstimate, correlation, moderated};

const STUDIES: u64 = 1000;
const QUERIES: usize = 22;

/// Noise of the queries' d over blocks.
#[derive(Clone, Copy)]
struct Noise {
    queries: usize,
    blocks: usize,
    /// Student's t with 3 degrees of freedom and not normal.
    heavy: bool,
    /// How many times the others' the noise of the first query is.
    first: f64,
    /// By which factor standard deviations scatter.
    spread: f64,
    /// Part of the variance that all queries of a block share.
    shared: f64,
    /// Correlation of neighbouring blocks.
    ar1: f64,
}

const PLAIN: Noise =
    Noise { queries: QUERIES, blocks: 8, heavy: false, first: 1.0, spread: 2.0, shared: 0.0, ar1: 0.0 };

/// With variance 1.
pub fn drawn(heavy: bool, random: &mut Normal) -> f64 {
    if !heavy {
        return random.draw();
    }
    let squares: f64 = (0..3).map(|_| random.draw().powi(2)).sum();
    random.draw() / squares.sqrt()
}

/// d by query and block. Standard deviations lie around 3%, and scatter by a factor of 2 (that of a standard deviation).
fn study(noise: Noise, effects: &[f64], random: &mut Normal) -> Vec<Vec<f64>> {
    let drift: Vec<f64> = (0..noise.blocks).map(|_| drawn(noise.heavy, random)).collect();
    let query = |at: usize, random: &mut Normal| -> Vec<f64> {
        let sd = 0.03 * noise.spread.powf(random.draw()) * if at == 0 { noise.first } else { 1.0 };
        let mut last = drawn(noise.heavy, random);
        let d = drift.iter().map(|shared| {
            let now = last;
            last = noise.ar1 * last + (1.0 - noise.ar1 * noise.ar1).sqrt() * drawn(noise.heavy, random);
            let both = noise.shared.sqrt() * shared + (1.0 - noise.shared).sqrt() * now;
            effects.get(at).copied().unwrap_or(0.0) + sd * both
        });
        d.collect()
    };
    (0..noise.queries).map(|at| query(at, random)).collect()
}

/// Estimates as the analysis makes them, and the ratios of both rules.
fn judged(d: &[Vec<f64>]) -> (Vec<Ratio>, Vec<Ratio>) {
    let all: Vec<&[f64]> = d.iter().map(Vec::as_slice).collect();
    let common = correlation::common(&all);
    let means: Vec<MeanEstimate> =
        all.iter().map(|d| MeanEstimate::correlated(d, correlation::of_one(d, common)).unwrap()).collect();
    let before: Vec<_> = all.iter().map(|d| (MeanEstimate::of(d).unwrap(), None)).collect();
    let now: Vec<_> = moderated(&means).into_iter().map(|mean| (mean, None)).collect();
    let rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter };
    (judge_many(&now, rule), judge(&before, rule))
}

/// Means over studies of what one rule says.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    /// Share of studies in which some query of nothing is said to differ.
    any_false: f64,
    /// Share of false ones among those that are said to differ, 0 where none is.
    false_share: f64,
    /// Share of those that differ which are found.
    found: f64,
    /// Share of missing intervals among the shown ones of those that are said to differ, 0 where none is.
    missed: f64,
    /// Share of all shown intervals that cover.
    covered: f64,
}

impl Said {
    fn of(ratios: &[Ratio], effects: &[f64]) -> Self {
        let truth = |at: usize| effects.get(at).copied().unwrap_or(0.0);
        let covers = |at: usize| ratios[at].low.ln() <= truth(at) && truth(at) <= ratios[at].high.ln();
        let named: Vec<usize> = (0..ratios.len()).filter(|at| ratios[*at].is_different()).collect();
        let share = |count: usize, all: usize| count as f64 / all.max(1) as f64;
        let wrong = named.iter().filter(|at| truth(**at) == 0.0).count();
        Self {
            any_false: f64::from(u8::from(wrong > 0)),
            false_share: share(wrong, named.len()),
            found: share(named.len() - wrong, effects.iter().filter(|effect| **effect != 0.0).count()),
            missed: share(named.iter().filter(|at| !covers(**at)).count(), named.len()),
            covered: share((0..ratios.len()).filter(|at| covers(*at)).count(), ratios.len()),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            any_false: self.any_false + other.any_false,
            false_share: self.false_share + other.false_share,
            found: self.found + other.found,
            missed: self.missed + other.missed,
            covered: self.covered + other.covered,
        }
    }

    /// In percent of so many studies.
    fn percent(self) -> [f64; 5] {
        [self.any_false, self.false_share, self.found, self.missed, self.covered]
            .map(|sum| 100.0 * sum / STUDIES as f64)
    }
}

/// What both rules say, this one first, on two threads.
fn said(noise: Noise, effects: &[f64]) -> [[f64; 5]; 2] {
    let some = |seeds: std::ops::Range<u64>| {
        seeds.fold([Said::default(); 2], |sum, seed| {
            let (now, before) = judged(&study(noise, effects, &mut Normal::new(seed)));
            [sum[0].plus(Said::of(&now, effects)), sum[1].plus(Said::of(&before, effects))]
        })
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| some(0..STUDIES / 2));
        let (second, first) = (some(STUDIES / 2..STUDIES), first.join().unwrap());
        [0, 1].map(|rule| first[rule].plus(second[rule]).percent())
    })
}

const LINES: [(&str, Noise); 9] = [
    ("8 blocks", PLAIN),
    ("10 blocks", Noise { blocks: 10, ..PLAIN }),
    ("8 blocks, tails of t3", Noise { heavy: true, ..PLAIN }),
    ("8 blocks, half of the noise shared", Noise { shared: 0.5, ..PLAIN }),
    ("8 blocks, one query scatters ten times as much", Noise { first: 10.0, ..PLAIN }),
    ("8 blocks, all of one sd", Noise { spread: 1.0, ..PLAIN }),
    ("8 blocks, all of one sd, 90% of the noise shared", Noise { spread: 1.0, shared: 0.9, ..PLAIN }),
    ("3 blocks, half of the noise shared", Noise { blocks: 3, shared: 0.5, ..PLAIN }),
    ("8 blocks, AR(1) 0.3", Noise { ar1: 0.3, ..PLAIN }),
];

#[test]
#[ignore = "laboratory: simulations"]
fn queries_of_nothing() {
    // As few as variances are shrunk for.
    let few = [("8 blocks, 5 queries", Noise { queries: 5, ..PLAIN })];
    for (name, noise) in LINES.into_iter().chain(few) {
        let [now, before] = said(noise, &[]);
        println!(
            "queries of nothing, {name}: one said to differ in {:.1}% of studies ({:.1}% before); {:.1}% of intervals cover \
             ({:.1}%)",
            now[0], before[0], now[4], before[4]
        );
        assert!(now[0] <= if noise.ar1 > 0.0 { 9.0 } else { 6.5 }, "{name}: {now:?}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn five_queries_of_twenty_two_differ_by_ten_percent() {
    // The query that scatters most is one of nothing.
    let effects: Vec<f64> =
        (0..QUERIES).map(|at| if at >= QUERIES - 5 { 0.1f64.ln_1p() } else { 0.0 }).collect();
    for (name, noise) in LINES {
        let [now, before] = said(noise, &effects);
        println!(
            "5 of 22 queries +10%, {name}: found {:.1}% ({:.1}% before), of those named {:.1}% false ({:.1}%), {:.1}% of named \
             intervals miss ({:.1}%)",
            now[2], before[2], now[1], before[1], now[3], before[3]
        );
        assert!(now[1] <= if noise.ar1 > 0.0 { 8.0 } else { 6.0 }, "{name}: {now:?}");
        assert!(now[3] <= if noise.ar1 > 0.0 { 9.0 } else { 6.0 }, "{name}: {now:?}");
        let least = if noise.blocks < 8 { 0.0 } else { 85.0 };
        assert!(now[2] >= least, "{name}: {now:?}, {before:?}");
    }
}
