//! Lookups and inserts in one index, by the kind of lock around it: whether second threads, or more cores, gain more
//! under one lock than under another.
//!
//! A gain is a ratio of throughput that the study compares under every lock, such as both threads of a core against
//! one. In each block the logarithm of the gain under one lock is subtracted from that under another, with the same
//! other levels, so that slowdowns of the block cancel. Student's t over blocks, all pairs of a study one family, as
//! for every paired change (`estimate::judge`; docs/METHODOLOGY.md, "Gains by kind of lock").

#[cfg(test)]
mod tests;

use super::rate;
use crate::diagnostics::Found;
use crate::diagnostics::row::{Case, Diagnostic};
use crate::estimate::comparisons::throughput;
use crate::estimate::member::Series;
use crate::estimate::paired;
use crate::estimate::sides::Sides;
use crate::findings::{activity, smt, trust};
use crate::groups::{bare, distinct};
use crate::kind::Kind;
use crate::parts::Parts;
use crate::words::{finding, limited, names};
use crate::workload::Nouns;
use crate::{Estimate, Facts, Finding, Interval, Ratio};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::chart::ChartWords;
use threadwise_document::numbers::set_percent;
use threadwise_document::{Block, Cell, Column, Mark, Prose, Says, Section, Shown, Table, prose};
use threadwise_machine::placement::{self, Resolved};
use threadwise_machine::{Draw, Placement};
use threadwise_study::{Comparison, Study, index};

/// Gains under one lock over those under another.
pub(crate) const LOCK_GAINS: Diagnostic = Diagnostic::new("lock-gains", ask);

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
            one.kind == "baseline"
                && study.comparisons.iter().filter(|other| other.treatment == one.treatment).count() > 1
        };
        let gain = |one: &'a Comparison| {
            Self::of(study, &one.name, &one.treatment, one.baseline.first().map_or("", String::as_str))
        };
        study.comparisons.iter().filter(|one| !is_product(one)).filter_map(gain).collect()
    }

    /// Its other levels and its ratio: `random, search; 2-threads : alone`.
    fn place(&self) -> String {
        let levels: Vec<&str> = self.levels.values().map(String::as_str).collect();
        let all = [levels.join(", "), self.of.clone()];
        all.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("; ")
    }
}

/// Levels of the factor in the study's order.
fn locks(study: &Study) -> Vec<&str> {
    distinct(study.treatments.iter().filter_map(|one| one.factors.get(FACTOR)).map(String::as_str))
}

/// All pairs of gains that differ in their lock alone, the lock that the study has later on top; `None` if locks are
/// not a factor of it.
fn ask(case: &Case<'_>) -> Option<Found> {
    let study = case.study();
    let locks = locks(study);
    if study.workload != index::WORKLOAD || locks.len() < 2 {
        return None;
    }
    let place = |gain: &Gain<'_>| locks.iter().position(|lock| *lock == gain.lock);
    let alike = |gains: Vec<(Gain<'_>, Series)>| -> Vec<(String, String, String, Vec<f64>)> {
        let mut pairs = Vec::new();
        for (below, of_below) in &gains {
            let is_same = |top: &Gain<'_>| top.of == below.of && top.levels == below.levels;
            let later = gains.iter().filter(|(top, _)| is_same(top) && place(top) > place(below));
            pairs.extend(later.map(|(top, of_top)| {
                let name = format!("{} : {} ({})", top.lock, below.lock, top.place());
                let of_block = |(block, d): (&u32, &f64)| {
                    let at = of_below.blocks.iter().position(|other| other == block)?;
                    Some(d - of_below.d[at])
                };
                let d = of_top.blocks.iter().zip(&of_top.d).filter_map(of_block).collect();
                (name, top.comparison.to_owned(), below.comparison.to_owned(), d)
            }));
        }
        pairs
    };
    let series = |comparison: &Comparison| throughput(study, case.observed, comparison);
    // A′ against A under two locks, which do not differ, shows how blocks are correlated.
    let of_twin = |twins: &Sides| {
        let [top, below] = [twins.top, twins.below[0]].map(|at| study.treatments[at].name.as_str());
        let comparison = Comparison {
            name: String::new(),
            treatment: top.to_owned(),
            baseline: vec![below.to_owned()],
            kind: String::new(),
        };
        Some((Gain::of(study, below, top, below)?, series(&comparison)?))
    };
    let mut gains = Vec::new();
    for gain in Gain::all(study) {
        let comparison = study.comparisons.iter().find(|one| one.name == gain.comparison);
        gains.extend(comparison.and_then(series).map(|series| (gain, series)));
    }
    let pairs = alike(gains);
    let twins = alike(Sides::all_twins(study).iter().filter_map(of_twin).collect());
    // Against the first lock alone: differences of two others follow from it.
    let is_first = |name: &str| {
        study
            .treatment(name)
            .and_then(|(_, one)| one.factors.get(FACTOR))
            .is_some_and(|lock| lock == locks[0])
    };
    let twins: Vec<Vec<f64>> = twins
        .into_iter()
        .filter(|(.., below, d)| is_first(below) && !d.is_empty())
        .map(|(.., d)| d)
        .collect();
    let by_block: Vec<Vec<f64>> = pairs.iter().map(|(.., d)| d.clone()).collect();
    let judged = paired(&by_block, &twins, case.rule());
    let estimate = |((name, top, below, _), judged): (&(String, String, String, _), Option<Ratio>)| {
        Some(Estimate::of(LOCK_GAINS.name, name, top, below, judged?.exp()))
    };
    let estimates: Vec<Estimate> = pairs.iter().zip(judged).filter_map(estimate).collect();
    (!estimates.is_empty()).then(|| Found { estimates, ..Found::default() })
}

/// The kind.
pub struct Indexes;

impl Kind for Indexes {
    fn is(&self, study: &Study) -> bool {
        study.workload == index::WORKLOAD
    }

    fn nouns(&self, _study: &Study) -> Nouns {
        Nouns { noun: "operations", noun_one: "operation", ..rate::NOUNS }
    }

    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        metric.to_owned()
    }

    fn scope(&self, _study: &Study) -> Option<String> {
        Some("one lookup or insert is a row, without a transaction or a log".to_owned())
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        let Some(pairs) = facts.analysis.found(LOCK_GAINS.name) else { return rate::Rates.findings(facts) };
        let threads = said(facts, pairs, From::Threads);
        let mut found: Vec<Finding> = match &threads {
            Some(_) => Vec::new(),
            None => vec![smt::not_measured(facts)],
        };
        let lead = if threads.is_some() { "lock-threads" } else { "lock-cores" };
        found.extend(threads);
        found.extend(said(facts, pairs, From::Cores));
        found.extend(activity::activity(facts));
        Parts {
            validity: trust::validity(facts).into_iter().collect(),
            found,
            lead: Some(lead),
            limits: vec![trust::trust(facts), trust::scope(facts, self, &[])],
            ..Parts::default()
        }
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        let Some(pairs) = facts.analysis.found(LOCK_GAINS.name) else { return rate::Rates.answers(facts) };
        let about = prose!(
            "Each gain is a ratio of rows per second; A : B is the throughput of A over that of B under the same lock."
        );
        let mut legend = vec![prose!("[low, high]: {} interval over blocks.", set_percent(facts.level()))];
        legend.extend(Mark::ALL.map(Prose::sign));
        let blocks = vec![
            Block::Text(about, Shown::Everywhere),
            Block::Table(by_lock(facts)),
            Block::Table(against(facts, pairs)),
            Block::Legend(legend, Shown::Terminal),
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
    let parsed: Placement = treatment.placement.parse().ok()?;
    let draw = Draw::identity(facts.topology);
    let found: Resolved =
        placement::resolve(&parsed, facts.topology, &draw, treatment.sessions, treatment.pin).ok()?;
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
fn said(facts: &Facts<'_>, pairs: &Found, from: From) -> Option<Finding> {
    let is_of_it = |pair: &&Estimate| from_what(facts, &pair.treatment) == Some(from);
    let all: Vec<&Estimate> = pairs.estimates.iter().filter(is_of_it).collect();
    let mut shown: Vec<&Estimate> = all.iter().copied().filter(|pair| pair.ratio.is_different()).collect();
    shown.sort_by(|one, other| other.ratio.size().total_cmp(&one.ratio.size()));
    let (kind, what) = match from {
        From::Threads => ("lock-threads", "Gains from second threads by lock"),
        From::Cores => ("lock-cores", "Gains from more cores by lock"),
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
    let Interval { mean, low, high, unit } = pair.ratio.decisive().interval();
    let (more, less, times) = match mean >= 1.0 {
        true => (&pair.treatment, &pair.baseline, Interval { mean, low, high, unit }),
        false => {
            let times = Interval { mean: 1.0 / mean, low: 1.0 / high, high: 1.0 / low, unit };
            (&pair.baseline, &pair.treatment, times)
        }
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
    let mut columns: Vec<Column> =
        levels.iter().take(1).flat_map(|first| first.keys()).map(Column::text).collect();
    columns.push(Column::text("lock"));
    columns.extend(ratios.iter().map(|name| Column::figure(*name).shorten_at(1)));
    let cell = |levels: &BTreeMap<String, String>, lock: &str, name: &str| {
        let mut all = gains.iter().filter(|gain| gain.levels == *levels && gain.lock == lock);
        let found = all.find(|gain| gain.of == name).and_then(|found| gain(facts, found.comparison));
        Cell::ratio(found.map(|(_, estimate)| &estimate.ratio), Says::Higher)
    };
    let row = |levels: &BTreeMap<String, String>, lock: &str| -> Vec<Cell> {
        let words = levels.values().map(Cell::text).chain([Cell::text(lock)]);
        words.chain(ratios.iter().map(|name| cell(levels, lock, name))).collect()
    };
    let rows =
        levels.iter().flat_map(|levels| locks.iter().map(|lock| row(levels, lock)).collect::<Vec<_>>());
    Table::new("Gains", columns, rows)
}

/// Every pair, with the interval that decides; only on the page, since the verdict has the shown differences.
fn against(facts: &Facts<'_>, pairs: &Found) -> Table {
    let row = |pair: &Estimate| -> Option<Vec<Cell>> {
        let ((top, _), (below, _)) = (gain(facts, &pair.treatment)?, gain(facts, &pair.baseline)?);
        let ratio = pair.ratio.decisive().interval();
        let says = match pair.ratio.is_different() {
            true if ratio.mean > 1.0 => format!("{} gains more", top.lock),
            true => format!("{} gains more", below.lock),
            false => "no difference is shown".to_owned(),
        };
        let levels: Vec<&str> = top.levels.values().map(String::as_str).collect();
        let words = [top.of.clone(), levels.join(", "), format!("{} : {}", top.lock, below.lock)];
        let cells = words.into_iter().map(Cell::text);
        Some(cells.chain([Cell::Interval(ratio), Cell::text(says)]).collect())
    };
    let columns = vec![
        Column::text("gain"),
        Column::text("with"),
        Column::text("locks"),
        Column::figure("gain over gain"),
        Column::text(""),
    ];
    let caption =
        "One lock against another: the ratio of two gains, paired by block; intervals hold for all together";
    Table::new(caption, columns, pairs.estimates.iter().filter_map(row)).shown(Shown::Page)
}
