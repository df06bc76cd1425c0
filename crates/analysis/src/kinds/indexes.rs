//! Lookups and inserts in one index, by the kind of lock around it: whether second threads, or more cores, gain more
//! under one lock than under another.
//!
//! A gain is a ratio of throughput that the study compares under every lock, such as both threads of a core against
//! one. In each block the logarithm of the gain under one lock is subtracted from that under another, with the same
//! other levels, so that slowdowns of the block cancel. Student's t over blocks, all pairs of a study one family, as
//! for every paired change (`estimate::judge`; docs/METHODOLOGY.md, "Gains by kind of lock").

#[cfg(test)]
mod tests;

use super::{rate, scans};
use crate::diagnostics::QuestionAnswer;
use crate::estimate::comparisons::throughput;
use crate::estimate::member::Series;
use crate::estimate::paired;
use crate::estimate::sides::Sides;
use crate::findings::{activity, smt, trust};
use crate::groups::{bare, distinct};
use crate::kind::Kind;
use crate::question::{Case, Question};
use crate::words::{finding, limited, names};
use crate::{Estimate, Facts, Finding, FindingKind, Ratio};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::chart::ChartWords;
use threadwise_document::{Block, Cell, Column, Prose, Says, Section, Shown, Table, prose};
use threadwise_machine::{Draw, placement};
use threadwise_study::{Comparison, ComparisonKind, Study, Treatment, Workload};

/// Gains under one lock over those under another.
pub(crate) const LOCK_GAINS: Question = Question { ask, ..Question::new("lock-gains") };

/// The factor whose levels are compared.
const FACTOR: &str = "lock";

/// Most pairs in a sentence.
const MAX_PAIRS: usize = 4;

/// A ratio that is the gain under one lock.
#[derive(Debug, Clone, PartialEq)]
struct Gain<'a> {
    /// Name of the comparison.
    comparison: &'a str,
    /// What is compared, without levels: `2-threads : alone`.
    of: String,
    lock: String,
    /// The other levels by factor.
    levels: BTreeMap<String, String>,
}

impl<'a> Gain<'a> {
    /// The gain of a treatment over another; `None` if the treatment has no lock.
    fn of(study: &'a Study, comparison: &'a str, top: &str, below: &str) -> Option<Self> {
        let mut levels = study.treatment(top)?.1.factors.clone();
        let lock = levels.remove(FACTOR)?;
        Some(Self { comparison, of: format!("{} : {}", bare(top), bare(below)), lock, levels })
    }

    /// All comparisons of a study, except ratios to the baseline of treatments that are also compared with another one.
    fn all(study: &'a Study) -> Vec<Self> {
        let is_product = |one: &Comparison| {
            one.kind == ComparisonKind::Baseline
                && study.comparisons.iter().filter(|other| other.treatment == one.treatment).count() > 1
        };
        let gain = |one: &'a Comparison| {
            Self::of(study, &one.name, &one.treatment, one.baseline.first().map_or("", String::as_str))
        };
        study.comparisons.iter().filter(|one| !is_product(one)).filter_map(gain).collect()
    }

    /// Its other levels and its ratio: `random, search; 2-threads : alone`.
    fn place(&self) -> String {
        match self.levels_words() {
            levels if levels.is_empty() => self.of.clone(),
            levels => format!("{levels}; {}", self.of),
        }
    }

    fn levels_words(&self) -> String {
        self.levels.values().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// Pairs of gains that differ in their lock alone, the lock that the study has later on top, with the differences of
/// blocks that both have.
fn pairs<'g, 'a>(
    locks: &[&str],
    gains: &'g [(Gain<'a>, Series)],
) -> Vec<(&'g Gain<'a>, &'g Gain<'a>, Vec<f64>)> {
    let place = |gain: &Gain<'_>| locks.iter().position(|lock| *lock == gain.lock);
    let mut pairs = Vec::new();
    for (below, of_below) in gains {
        let is_same = |top: &Gain<'_>| top.of == below.of && top.levels == below.levels;
        let later = gains.iter().filter(|(top, _)| is_same(top) && place(top) > place(below));
        pairs.extend(later.map(|(top, of_top)| {
            let of_block = |(block, d): (&u32, &f64)| {
                let at = of_below.blocks.iter().position(|other| other == block)?;
                Some(d - of_below.d[at])
            };
            (top, below, of_top.blocks.iter().zip(&of_top.d).filter_map(of_block).collect())
        }));
    }
    pairs
}

/// All pairs of gains that differ in their lock alone, the lock that the study has later on top; `None` if locks are
/// not a factor of it.
fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    let study = case.study();
    // In the study's order.
    let locks = study.treatments.iter().filter_map(|one| one.factors.get(FACTOR));
    let locks: Vec<&str> = distinct(locks.map(String::as_str));
    if study.workload != Workload::Index || locks.len() < 2 {
        return None;
    }
    let series = |comparison: &Comparison| throughput(study, case.observed, comparison);
    // A′ against A under two locks, which do not differ, shows how blocks are correlated.
    let of_twin = |twins: &Sides| {
        let [top, below] = [twins.top, twins.below[0]].map(|at| study.treatments[at].name.as_str());
        let (name, kind) = (String::new(), ComparisonKind::default());
        let (treatment, baseline) = (top.to_owned(), vec![below.to_owned()]);
        Some((Gain::of(study, below, top, below)?, series(&Comparison { name, treatment, baseline, kind })?))
    };
    let of_gain = |gain: &Gain<'_>| series(study.comparisons.iter().find(|one| one.name == gain.comparison)?);
    let gains = Gain::all(study).into_iter().filter_map(|gain| of_gain(&gain).map(|series| (gain, series)));
    let gains: Vec<_> = gains.collect();
    let twins: Vec<_> = Sides::all_twins(study).iter().filter_map(of_twin).collect();
    let pairs_of_gains = pairs(&locks, &gains);
    // Against the first lock alone: differences of two others follow from it.
    let twins = pairs(&locks, &twins).into_iter().filter(|(_, below, _)| below.lock == locks[0]);
    let twins: Vec<Vec<f64>> = twins.map(|(.., d)| d).filter(|d| !d.is_empty()).collect();
    let by_block: Vec<Vec<f64>> = pairs_of_gains.iter().map(|(.., d)| d.clone()).collect();
    let judged = paired(&by_block, &twins, case.rule());
    let estimate = |((top, below, _), judged): (&(&Gain<'_>, &Gain<'_>, _), Option<Ratio>)| {
        let name = format!("{} : {} ({})", top.lock, below.lock, top.place());
        Some(Estimate::of(LOCK_GAINS.name, &name, top.comparison, below.comparison, judged?.exp()))
    };
    let estimates: Vec<Estimate> = pairs_of_gains.iter().zip(judged).filter_map(estimate).collect();
    (!estimates.is_empty()).then(|| QuestionAnswer { estimates, ..QuestionAnswer::default() })
}

/// The kind.
pub struct Indexes;

impl Kind for Indexes {
    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(pairs) = facts.analysis.found(LOCK_GAINS.name) else { return rate::Rates.findings(facts) };
        let threads = said(facts, pairs, From::Threads);
        let mut found = vec![threads.unwrap_or_else(|| smt::not_measured(facts))];
        found.extend(said(facts, pairs, From::Cores));
        found.extend(activity::activity(facts));
        trust::with_trust(facts, self, found)
    }

    fn lead(&self, facts: &Facts<'_>) -> Option<FindingKind> {
        match facts.analysis.found(LOCK_GAINS.name) {
            Some(pairs) if said(facts, pairs, From::Threads).is_some() => Some(FindingKind::LockThreads),
            Some(_) => Some(FindingKind::LockCores),
            None => rate::Rates.lead(facts),
        }
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        let Some(pairs) = facts.analysis.found(LOCK_GAINS.name) else { return rate::Rates.answers(facts) };
        let about = prose!(
            "Each gain is a ratio of rows per second; A : B is the throughput of A over that of B under the same lock."
        );
        let blocks = vec![
            Block::Text(about, Shown::Everywhere),
            Block::Table(by_lock(facts)),
            Block::Table(against(facts, pairs)),
            scans::legend(facts),
        ];
        vec![
            Section::new("locks", "Gains by kind of lock", blocks),
            Section::new("comparison", "Placements compared", rate::comparison(facts, self)),
        ]
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        rate::Rates.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        rate::Rates.chart_words(facts)
    }
}

/// Source of a gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// Second threads of the same cores, and third ones.
    Threads,
    /// More cores.
    Cores,
}

/// Source of a comparison's gain, by the cores that placements have: more sessions on the same number of cores, or more
/// cores. `None` for anything else, such as two sessions on one logical CPU.
fn from_what(facts: &Facts<'_>, comparison: &str) -> Option<From> {
    let comparison = facts.study.comparisons.iter().find(|one| one.name == comparison)?;
    let (top_cores, top_cpus) = occupied(facts, &comparison.treatment)?;
    let (cores, cpus) = occupied(facts, comparison.baseline.first()?)?;
    match (top_cores.cmp(&cores), top_cpus > cpus) {
        (std::cmp::Ordering::Equal, true) => Some(From::Threads),
        (std::cmp::Ordering::Greater, _) => Some(From::Cores),
        _ => None,
    }
}

/// How many cores and logical CPUs a treatment uses.
fn occupied(facts: &Facts<'_>, name: &str) -> Option<(usize, usize)> {
    let (_, treatment) = facts.study.treatment(name)?;
    let draw = Draw::identity(facts.topology);
    let Treatment { placement, sessions, pin, .. } = treatment;
    let found = placement::resolve(placement, facts.topology, &draw, *sessions, *pin).ok()?;
    let cpus = found.set();
    let core = |cpu| facts.topology.cores.iter().position(|core| core.cpus.contains(cpu));
    let cores: BTreeSet<Option<usize>> = cpus.iter().map(core).collect();
    Some((cores.len(), cpus.len()))
}

/// The gain of a comparison and the estimate of it.
fn gain<'a>(facts: &Facts<'a>, comparison: &str) -> Option<(Gain<'a>, &'a Estimate)> {
    let gain = Gain::all(facts.study).into_iter().find(|gain| gain.comparison == comparison)?;
    Some((gain, facts.throughput().find(|estimate| estimate.name == comparison)?))
}

/// Results of pairs of gains of one kind, the largest differences first; `None` without a pair.
fn said(facts: &Facts<'_>, pairs: &QuestionAnswer, from: From) -> Option<Finding> {
    let is_of_it = |pair: &&Estimate| from_what(facts, &pair.treatment) == Some(from);
    let all: Vec<&Estimate> = pairs.estimates.iter().filter(is_of_it).collect();
    let mut shown: Vec<&Estimate> = all.iter().copied().filter(|pair| pair.ratio.is_different()).collect();
    shown.sort_by(|one, other| other.ratio.size().total_cmp(&one.ratio.size()));
    let (kind, what) = match from {
        From::Threads => (FindingKind::LockThreads, "Gains from second threads by lock"),
        From::Cores => (FindingKind::LockCores, "Gains from more cores by lock"),
    };
    let clauses = shown.iter().filter_map(|pair| clause(facts, pair));
    let mut text = match limited(clauses, MAX_PAIRS) {
        Some(clauses) => prose!("{}: {}.", what, clauses),
        None => prose!("{}: no difference is shown.", what),
    };
    if all.len() > shown.len() && !shown.is_empty() {
        text.push(prose!(" Of {} pairs {} show no difference.", all.len(), all.len() - shown.len()));
    }
    let gains = all.iter().flat_map(|pair| [&pair.treatment, &pair.baseline]);
    let evidence: Vec<&Estimate> = gains.filter_map(|name| Some(gain(facts, name)?.1)).collect();
    (!all.is_empty()).then(|| finding(kind, text, &names(&evidence)))
}

/// `lock-free gains more than spin (random, search; 2-threads : alone): 1.31x [1.28, 1.34] against 0.86x [0.84, 0.88],
/// 1.52 [1.40, 1.66] times as much`, the larger one first.
fn clause(facts: &Facts<'_>, pair: &Estimate) -> Option<Prose> {
    let ratio = pair.ratio.decisive();
    let (more, less, times) = match ratio.value >= 1.0 {
        true => (&pair.treatment, &pair.baseline, ratio.interval()),
        false => (&pair.baseline, &pair.treatment, ratio.inverse().interval()),
    };
    let ((more, of_more), (less, of_less)) = (gain(facts, more)?, gain(facts, less)?);
    Some(prose!(
        "{} gains more than {} ({}): {} against {}, {} times as much",
        &more.lock,
        &less.lock,
        more.place(),
        &of_more.ratio,
        &of_less.ratio,
        &times
    ))
}

/// One row for each lock under each combination of the other levels, one column for each gain.
fn by_lock(facts: &Facts<'_>) -> Table {
    let gains = Gain::all(facts.study);
    let ratios = distinct(gains.iter().map(|gain| gain.of.as_str()));
    let levels = distinct(gains.iter().map(|gain| &gain.levels));
    let locks = distinct(gains.iter().map(|gain| gain.lock.as_str()));
    let row = |levels: &BTreeMap<String, String>, lock: &str| -> Vec<(Column, Cell)> {
        let of_ratio = |name: &str| {
            let mut all = gains.iter().filter(|gain| gain.levels == *levels && gain.lock == lock);
            let found = all.find(|gain| gain.of == name).and_then(|found| gain(facts, found.comparison));
            let cell = Cell::ratio(found.map(|(_, estimate)| &estimate.ratio), Says::Higher);
            (Column::figure(name).shorten_at(1), cell)
        };
        let words = levels.iter().map(|(factor, level)| (Column::text(factor), Cell::text(level)));
        let words = words.chain([(Column::text("lock"), Cell::text(lock))]);
        words.chain(ratios.iter().map(|name| of_ratio(name))).collect()
    };
    let rows =
        levels.iter().flat_map(|levels| locks.iter().map(|lock| row(levels, lock)).collect::<Vec<_>>());
    Table::headed("Gains", rows)
}

/// Every pair, with the interval that decides; only on the page, since the verdict has the shown differences.
fn against(facts: &Facts<'_>, pairs: &QuestionAnswer) -> Table {
    let row = |pair: &Estimate| {
        let ((top, _), (below, _)) = (gain(facts, &pair.treatment)?, gain(facts, &pair.baseline)?);
        let ratio = pair.ratio.decisive().interval();
        let says = match pair.ratio.is_different() {
            true if ratio.mean > 1.0 => format!("{} gains more", top.lock),
            true => format!("{} gains more", below.lock),
            false => "no difference is shown".to_owned(),
        };
        Some(vec![
            (Column::text("gain"), Cell::text(&top.of)),
            (Column::text("with"), Cell::text(top.levels_words())),
            (Column::text("locks"), Cell::text(format!("{} : {}", top.lock, below.lock))),
            (Column::figure("gain over gain"), Cell::Interval(ratio)),
            (Column::text(""), Cell::text(says)),
        ])
    };
    let caption =
        "One lock against another: the ratio of two gains, paired by block; intervals hold for all together";
    Table::headed(caption, pairs.estimates.iter().filter_map(row)).shown(Shown::Page)
}
