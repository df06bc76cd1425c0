//! Which quantities move with a ratio from block to block.
//!
//! Tested are the comparisons of which a difference is shown, each with every quantity that has a form free of the rate, all
//! as one family (Holm 1979, at the share of alpha that families of ratios have). Whether a difference is shown depends on
//! the mean of d, and the test on what is around it.

use super::pair::{Pair, has_difference};
use super::quantities::{Known, Scale, Test};
use super::types::{Compared, Explained, Form, Link};
use crate::estimate::member::Series;
use crate::estimate::{Digest, FAMILY_SHARE, Observed};
use crate::setting::Setting;
use threadwise_statistics::{Association, Tail, association, holm};

/// A quantity beside a ratio, a number for each block.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    /// d of the ratio of throughput.
    pub ratio: Vec<f64>,
    /// Lag-1 correlation of neighbouring blocks in it.
    pub correlation: f64,
    /// The quantity's difference of the sides, in the form or forms in which it is tested.
    pub quantity: Vec<(Form, Vec<f64>)>,
}

/// Judges links of a family; `None` of what cannot be tested, such as a quantity that never varies.
///
/// At most `alpha` of the families in which nothing is linked have one that is shown.
pub fn judge_links(tested: &[Tested], alpha: f64, seed: u64) -> Vec<Option<Link>> {
    let found: Vec<Option<(Form, Association)>> = tested.iter().map(|one| of_one(one, alpha, seed)).collect();
    let p_values: Vec<f64> = found.iter().flatten().map(|(_, found)| found.p).collect();
    let mut steps = holm(&p_values, FAMILY_SHARE * alpha).into_iter();
    let mut judge = |(form, found): (Form, Association)| {
        let adjusted_p = (steps.next()?.adjusted_p / FAMILY_SHARE).min(1.0);
        let Association { correlation, low, high, p } = found;
        Some(Link { form, correlation, low, high, p, adjusted_p, shown: adjusted_p <= alpha })
    };
    found.into_iter().map(|one| one.and_then(&mut judge)).collect()
}

/// Of one form the test of both sides; of two the better one of two one-sided tests, twice its p (Bonferroni).
fn of_one(one: &Tested, alpha: f64, seed: u64) -> Option<(Form, Association)> {
    let tests = one.quantity.iter().map(|(form, x)| {
        let tail = match form {
            Form::AsItIs => Tail::Both,
            Form::PerSecond => Tail::Below,
            Form::PerRow => Tail::Above,
        };
        Some((*form, association(x, &one.ratio, one.correlation, tail, alpha, seed)?))
    });
    // What never varies in one form goes with the rate in the other.
    let tests: Vec<(Form, Association)> = tests.collect::<Option<_>>()?;
    let count = tests.len() as f64;
    let best = tests.into_iter().min_by(|a, b| a.1.p.total_cmp(&b.1.p));
    best.map(|(form, found)| (form, Association { p: (found.p * count).min(1.0), ..found }))
}

/// Why a quantity of a comparison is not tested.
pub(super) fn why_not(pair: &Pair<'_>, one: &Known) -> &'static str {
    match one.test {
        Test::Never => "the rate is in it",
        _ if !has_difference(pair) => "no difference of throughput is shown",
        Test::WhereCpusAreBusy if !keeps_cpus_busy(pair) => "sessions do not keep a CPU each busy",
        _ => "it varies in too few blocks",
    }
}

/// Whether every session of both sides keeps a CPU busy: lost CPU time is then adjusted for.
fn keeps_cpus_busy(pair: &Pair<'_>) -> bool {
    pair.estimate.is_some_and(|estimate| estimate.adjusted.is_some())
}

/// Blocks with which a plain link is shown in four of five studies that test so many together.
pub(super) fn blocks_needed(tested: usize, alpha: f64) -> u32 {
    threadwise_statistics::blocks_needed(tested, FAMILY_SHARE * alpha)
}

/// Tests what can be tested, and says of each comparison what follows; gives the number of tests.
pub(super) fn add(
    setting: &Setting<'_>,
    observed: &Observed,
    (pairs, known): (&[Pair<'_>], &[Known]),
    comparisons: &mut [Compared],
) -> u32 {
    let mut places = Vec::new();
    let mut tested = Vec::new();
    for (at, pair) in pairs.iter().enumerate().filter(|(_, pair)| has_difference(pair)) {
        for (row, quantity) in comparisons[at].quantities.iter().enumerate() {
            let one = known.iter().find(|one| one.metric == quantity.metric);
            if let Some(one) = one.and_then(|one| of_pair(observed, pair, one)) {
                places.push((at, row));
                tested.push(one);
            }
        }
    }
    let links = judge_links(&tested, setting.alpha, setting.study.seed);
    let count = links.iter().flatten().count() as u32;
    for ((at, row), link) in places.into_iter().zip(links) {
        let quantity = &mut comparisons[at].quantities[row];
        if link.is_some() {
            quantity.not_tested = None;
        }
        quantity.link = link;
    }
    let needed = blocks_needed(count as usize, setting.alpha);
    for (at, _) in pairs.iter().enumerate().filter(|(_, pair)| has_difference(pair)) {
        comparisons[at].answer = answer(&comparisons[at], needed);
    }
    count
}

fn answer(compared: &Compared, needed: u32) -> Explained {
    let links: Vec<&Link> =
        compared.quantities.iter().filter_map(|quantity| quantity.link.as_ref()).collect();
    match () {
        () if links.is_empty() => Explained::NotTested,
        () if links.iter().any(|link| link.shown) => Explained::Moves,
        () if compared.blocks >= needed => Explained::Unexplained,
        () => Explained::TooFewBlocks,
    }
}

/// The ratio and a quantity in the forms in which it is tested, of the blocks that have both; `None` where it has no form.
fn of_pair(observed: &Observed, pair: &Pair<'_>, one: &Known) -> Option<Tested> {
    let correlation = pair.estimate?.correlation;
    let log_rate = |run: &Digest| run.work().rows_per_s().map(f64::ln);
    // A value of 0 has no logarithm; ranks are the same in another scale that rises with it.
    let is_above_0 = |value: &dyn Fn(&Digest) -> Option<f64>| {
        let sides = || pair.below.iter().chain([&pair.top]);
        let runs =
            observed.blocks.iter().flat_map(|block| sides().filter_map(|at| observed.usable(block, *at)));
        runs.filter_map(value).all(|value| value > 0.0)
    };
    let series = |value: &dyn Fn(&Digest) -> Option<f64>, is_share: bool| {
        let is_ratio = !is_share && is_above_0(value);
        let form = |run: &Digest| value(run).map(|value| if is_ratio { value.ln() } else { value });
        observed.differences(pair.top, &pair.below, &form)
    };
    let is_share = one.scale == Scale::Points;
    let forms = match &one.test {
        Test::Never => return None,
        Test::WhereCpusAreBusy if !keeps_cpus_busy(pair) => return None,
        Test::AsItIs | Test::WhereCpusAreBusy => vec![(Form::AsItIs, series(&one.value, is_share))],
        Test::Amount(per_s) => {
            let per_row = |run: &Digest| Some(per_s(run)? / run.work().rows_per_s()?);
            vec![(Form::PerSecond, series(per_s, is_share)), (Form::PerRow, series(&per_row, is_share))]
        }
    };
    let ratio = observed.differences(pair.top, &pair.below, &log_rate);
    let blocks: Vec<u32> =
        forms[0].1.blocks.iter().copied().filter(|block| ratio.blocks.contains(block)).collect();
    let in_both = |series: &Series| -> Vec<f64> {
        let all = series.blocks.iter().zip(&series.d);
        all.filter(|(block, _)| blocks.contains(block)).map(|(_, d)| *d).collect()
    };
    let quantity = forms.iter().map(|(form, series)| (*form, in_both(series))).collect();
    Some(Tested { ratio: in_both(&ratio), correlation, quantity })
}
