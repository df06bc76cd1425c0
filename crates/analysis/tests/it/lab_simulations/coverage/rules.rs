//! The analysis' rule for a study's ratios, and the rule that it had before margins.

use crate::lab_simulations::coverage::noise::Machine;
use threadwise_analysis::estimate::{Rule, Work, block_difference, judge};
use threadwise_analysis::{Direction, Ratio};
use threadwise_statistics::{MeanEstimate, correlation, summary, t_quantile, t_two_sided_p};

pub const ALPHA: f64 = 0.05;
pub const MARGIN: f64 = 0.03;
/// What a study's ratios have in common.
pub const RULE: Rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter };
/// The same for changes, of which none is too small to be reported.
pub const CHANGES: Rule = Rule { margin: 0.0, ..RULE };

/// d by block: of A′ over A first, then of each compared treatment over both.
pub fn series(study: &[Vec<Vec<Work>>]) -> Vec<Vec<f64>> {
    let treatments = study[0].len();
    let d = |block: &Vec<Vec<Work>>, top: usize, below: &[usize]| {
        let sides: Vec<&[Work]> = below.iter().map(|at| block[*at].as_slice()).collect();
        block_difference(&block[top], &sides, Work::rows_per_s).unwrap()
    };
    let twins = study.iter().map(|block| d(block, 1, &[0])).collect();
    let compared = (2..treatments).map(|top| study.iter().map(|block| d(block, top, &[0, 1])).collect());
    std::iter::once(twins).chain(compared).collect()
}

/// So many studies in CI, or with `THREADWISE_TEST_STUDIES` set, which is for runs by hand, as many as it says.
pub fn count(in_ci: u64) -> u64 {
    std::env::var("THREADWISE_TEST_STUDIES").ok().and_then(|count| count.parse().ok()).unwrap_or(in_ci)
}

/// Estimates of all series as the analysis makes them.
pub fn means(series: &[Vec<f64>]) -> Vec<MeanEstimate> {
    let all: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
    let common = correlation::common(&all);
    all.iter().map(|d| MeanEstimate::correlated(d, correlation::of_one(d, common)).unwrap()).collect()
}

/// The analysis' answers to what is compared.
pub fn answers(means: &[MeanEstimate]) -> Vec<Ratio> {
    let family: Vec<(MeanEstimate, Option<f64>)> = means[1..].iter().map(|mean| (*mean, None)).collect();
    judge(&family, RULE)
}

/// An estimate as it was before: correlation by the sample's own coefficient, from 16 blocks on.
pub fn before(d: &[f64]) -> MeanEstimate {
    let all = summary(d).unwrap();
    let around: Vec<f64> = d.iter().map(|value| value - all.mean).collect();
    let squares: f64 = around.iter().map(|x| x * x).sum();
    let lag1 = around.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    let inflation = if d.len() >= 16 && lag1 > 0.0 { (1.0 + lag1) / (1.0 - lag1) } else { 1.0 };
    MeanEstimate {
        n: all.n,
        mean: all.mean,
        standard_error: all.sd / (all.n as f64).sqrt() * f64::sqrt(inflation),
        correlation: 0.0,
        degrees: (all.n - 1) as f64,
    }
}

/// What was said before of a compared treatment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// "An effect": left out 1 after Holm's adjustment, and was further from it than the noise floor.
    pub effect: bool,
    /// "Adds nothing": no effect, and a half-width within 5%.
    pub adds_nothing: bool,
}

/// What was said before of all that is compared; Holm's procedure worked out here.
pub fn before_answers(series: &[Vec<f64>]) -> Vec<Before> {
    let (low, high) = before(&series[0]).interval(ALPHA);
    let floor = low.abs().max(high.abs());
    let means: Vec<MeanEstimate> = series[1..].iter().map(|d| before(d)).collect();
    let p =
        |mean: &MeanEstimate| t_two_sided_p(mean.mean / mean.standard_error, (mean.n - 1) as f64).unwrap();
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|a, b| p(&means[*a]).total_cmp(&p(&means[*b])));
    let mut is_rejected = vec![false; means.len()];
    for (rank, at) in order.iter().enumerate() {
        if p(&means[*at]) > ALPHA / (means.len() - rank) as f64 {
            break;
        }
        is_rejected[*at] = true;
    }
    let said = means.iter().zip(is_rejected).map(|(mean, is_rejected)| {
        let effect = is_rejected && mean.mean.abs() > floor;
        Before { effect, adds_nothing: !effect && mean.half_width(ALPHA).exp_m1() <= 0.05 }
    });
    said.collect()
}

/// Half-width of Student's t with no regard to correlation.
pub fn plain_half_width(d: &[f64]) -> f64 {
    let all = summary(d).unwrap();
    t_quantile(1.0 - ALPHA / 2.0, (all.n - 1) as f64).unwrap() * all.sd / (all.n as f64).sqrt()
}

/// What some studies of a machine gave, on two threads.
pub fn studies<T: Send>(
    machine: &Machine,
    blocks: usize,
    count: u64,
    each: impl Fn(&Machine, &[Vec<f64>]) -> T + Sync,
) -> Vec<T> {
    let half = |seeds: std::ops::Range<u64>| -> Vec<T> {
        seeds.map(|seed| each(machine, &series(&machine.study(blocks, seed)))).collect()
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| half(0..count / 2));
        let second = half(count / 2..count);
        first.join().unwrap().into_iter().chain(second).collect()
    })
}
