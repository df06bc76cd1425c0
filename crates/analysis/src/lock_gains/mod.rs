//! Whether an index under one kind of lock gains more from second threads, or from more cores, than under another.
//!
//! A gain is a ratio of throughput that the study compares under every lock, such as both threads of a core against one.
//! Of each block the logarithm of the gain under one lock is taken from that under another, with the same other levels:
//! what slows a block slows both. Student's t over blocks, all pairs of a study one family, as for every paired change
//! (`estimate::change`; docs/METHODOLOGY.md, "Gains by kind of lock").

mod types;

#[cfg(test)]
pub(crate) mod tests;

pub use types::{Gain, LockGain, LockGains};

use crate::estimate::comparisons::throughput;
use crate::estimate::member::Series;
use crate::estimate::{Change, Observed, paired};
use crate::groups::distinct;
use crate::setting::Setting;
use threadwise_study::{Comparison, Role, Study, Treatment, index};

/// The factor whose levels are compared.
const FACTOR: &str = "lock";

/// Gains of a study, and what they are under one lock against another; `None` where locks are no factor of it.
pub(crate) fn lock_gains(setting: &Setting<'_>, observed: &Observed) -> Option<LockGains> {
    let study = setting.study;
    let locks = locks(study);
    if study.workload != index::WORKLOAD || locks.len() < 2 {
        return None;
    }
    let gains = gains(study);
    let series: Vec<Option<Series>> =
        gains.iter().map(|(_, comparison)| throughput(study, observed, comparison)).collect();
    let (mut pairs, mut differences): (Vec<(usize, usize)>, Vec<Vec<f64>>) = Default::default();
    for (below, top) in alike(&gains, &locks) {
        if let (Some(of_top), Some(of_below)) = (&series[top], &series[below]) {
            pairs.push((below, top));
            differences.push(difference(of_top, of_below));
        }
    }
    let judged = paired(&differences, &twins(study, observed, &locks), setting.alpha);
    let pair = |((below, top), judged): ((usize, usize), Option<Change>)| LockGain {
        top: gains[top].0.comparison.clone(),
        below: gains[below].0.comparison.clone(),
        ratio: judged.map(Change::ratio),
    };
    let pairs = pairs.into_iter().zip(judged).map(pair).collect();
    Some(LockGains { gains: gains.into_iter().map(|(gain, _)| gain).collect(), pairs })
}

/// Levels of the factor in the study's order.
fn locks(study: &Study) -> Vec<&str> {
    let levels = study.treatments.iter().filter_map(|treatment| treatment.factors.get(FACTOR));
    distinct(levels.map(String::as_str))
}

/// The ratios that say what is gained: all that a study compares, but for those to the baseline of treatments that it
/// also compares with another one.
fn gains(study: &Study) -> Vec<(Gain, &Comparison)> {
    let is_product = |comparison: &Comparison| {
        let same = |other: &&Comparison| other.treatment == comparison.treatment;
        comparison.kind == "baseline" && study.comparisons.iter().filter(same).count() > 1
    };
    let gain = |comparison| Some((Gain::of(study, comparison, FACTOR)?, comparison));
    study.comparisons.iter().filter(|comparison| !is_product(comparison)).filter_map(gain).collect()
}

/// Pairs of gains, by their places, that are the same but for their lock; the lock that the study has first is below.
fn alike(gains: &[(Gain, &Comparison)], locks: &[&str]) -> Vec<(usize, usize)> {
    let place = |gain: &Gain| locks.iter().position(|lock| *lock == gain.lock);
    let mut pairs = Vec::new();
    for (below, (one, _)) in gains.iter().enumerate() {
        let later = gains.iter().enumerate().filter(|(_, (other, _))| {
            other.of == one.of && other.levels == one.levels && place(other) > place(one)
        });
        pairs.extend(later.map(|(top, _)| (below, top)));
    }
    pairs
}

/// d of the blocks that both have.
fn difference(top: &Series, below: &Series) -> Vec<f64> {
    let of_block = |(block, d): (&u32, &f64)| {
        let at = below.blocks.iter().position(|other| other == block)?;
        Some(d - below.d[at])
    };
    top.blocks.iter().zip(&top.d).filter_map(of_block).collect()
}

/// The same of A′ against A under two locks, in which nothing differs: they tell how blocks are correlated.
fn twins(study: &Study, observed: &Observed, locks: &[&str]) -> Vec<Vec<f64>> {
    let twin = |twin: &Treatment| {
        let base = study.treatments.iter().find(|t| t.group == twin.group && t.role == Role::Baseline)?;
        let comparison = Comparison {
            name: String::new(),
            treatment: twin.name.clone(),
            baseline: vec![base.name.clone()],
            kind: String::new(),
        };
        let gain = Gain::of(study, &comparison, FACTOR)?;
        Some((gain, throughput(study, observed, &comparison)?))
    };
    let all = study.treatments.iter().filter(|treatment| treatment.role == Role::BaselineTwin);
    let all: Vec<(Gain, Series)> = all.filter_map(twin).collect();
    let of_first = |gain: &Gain| locks.first() == Some(&gain.lock.as_str());
    let firsts = all.iter().filter(|(gain, _)| of_first(gain));
    let against = |(first, below): &(Gain, Series)| {
        let others = all.iter().filter(|(gain, _)| gain.levels == first.levels && !of_first(gain));
        others.map(|(_, top)| difference(top, below)).collect::<Vec<_>>()
    };
    firsts.flat_map(against).filter(|d| !d.is_empty()).collect()
}
