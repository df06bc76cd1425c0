//! Parallel scans: the rates of treatments, and what the processes of their queries did: rows of each, speed with a
//! busy sibling and without one, and the cost of a straggler.
//!
//! For every slice the engine reports what each process did (`threadwise_study::parallel`). A block gives one number of
//! each kind, and intervals are Student's over blocks; all treatments of a study are one family (docs/METHODOLOGY.md,
//! "Parallel workers").

#[cfg(test)]
mod tests;

use super::rate;
use crate::estimate::{Observed, ObservedBlock, Rule, judge_known, means};
use crate::kind::Kind;
use crate::setting::Setting;
use crate::words::{MAX_LISTED, answered, finding, limited};
use crate::{Facts, Finding, FindingKind, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_document::chart::ChartWords;
use threadwise_document::numbers::{counted, percent, set_percent};
use threadwise_document::{
    self as document, Cell, Column, Direction, Interval, Mark, Prose, Says, Section, Shown, Table, numbers,
    prose,
};
use threadwise_statistics::{arithmetic, geometric, mean, per};
use threadwise_study::{OptionValue, Run, Treatment, Workload, parallel};

/// All treatments of a study; `None` for another workload, or if nothing was counted.
pub(crate) fn parallel(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Option<Parallel> {
    if setting.study.workload != Workload::ParallelScan {
        return None;
    }
    let treatments = &setting.study.treatments;
    let blocks = |at: usize| -> Vec<Block> {
        let of_block = |block: &ObservedBlock| {
            observed.usable(block, at)?;
            Block::of(runs.get(block.sources[at]?)?, setting)
        };
        observed.blocks.iter().filter_map(of_block).collect()
    };
    let all: Vec<Vec<Block>> = (0..treatments.len()).map(blocks).collect();
    let series: Vec<Vec<f64>> = all.iter().map(|blocks| logs(blocks)).collect();
    let rule = Rule {
        margin: setting.study.design.margin,
        alpha: setting.alpha,
        direction: Direction::HigherIsBetter,
    };
    let ratios = ratios(&series, rule);
    let is_known = all.iter().flatten().next().is_some();
    let each = treatments.iter().zip(&all).zip(ratios);
    let each = each.map(|((one, blocks), ratio)| summary(one, blocks, ratio, setting.alpha));
    is_known.then(|| Parallel { treatments: each.collect() })
}

/// The ratios of a family, each from ln(b / a) of its blocks; `None` for one without a block.
pub fn ratios(series: &[Vec<f64>], rule: Rule) -> Vec<Option<Ratio>> {
    let family: Vec<_> = means(series, &[]).into_iter().map(|mean| Some((mean?, None))).collect();
    judge_known(&family, rule)
}

/// One block of a treatment.
struct Block {
    parts: Vec<parallel::Parts>,
    ratio: Result<f64, Gap>,
}

impl Block {
    /// `None` if the run's slices have no data of processes.
    fn of(run: &Run, setting: &Setting<'_>) -> Option<Self> {
        let parts: Vec<parallel::Parts> =
            run.slices.iter().filter_map(|slice| parallel::Parts::read(&slice.counters)).collect();
        let slices: Vec<ProcessSlice> = parts.iter().flat_map(process_slices).collect();
        // Differences too small for any larger table come first.
        let ratio = match parts.iter().any(|part| part.scans > 0) {
            _ if !has_siblings(run, setting) => Err(Gap::NoSiblings),
            false => Err(Gap::Unsampled),
            true if parts.iter().all(|part| part.processes <= part.scans) => Err(Gap::OneProcess),
            true => log_ratio(&slices),
        };
        (!parts.is_empty()).then_some(Self { parts, ratio })
    }

    fn sum(&self, amount: fn(&parallel::Parts) -> u64) -> f64 {
        self.parts.iter().map(amount).sum::<u64>() as f64
    }
}

fn process_slices(parts: &parallel::Parts) -> impl Iterator<Item = ProcessSlice> {
    parts.by_process.iter().filter(|one| one.running_ns > 0).map(|one| ProcessSlice {
        rows: one.rows as f64,
        alone_s: one.running_ns.saturating_sub(one.sibling_busy_ns) as f64 / 1e9,
        shared_s: one.sibling_busy_ns.min(one.running_ns) as f64 / 1e9,
    })
}

/// Whether two of a run's logical CPUs share a core, or it is unknown.
fn has_siblings(run: &Run, setting: &Setting<'_>) -> bool {
    let Some(topology) = setting.topology else { return true };
    let core = |cpu: u32| topology.cpu(cpu).map(|known| &known.siblings);
    let shares = |cpu: &u32| {
        run.cpus.iter().any(|other| other != cpu && core(*cpu).is_some_and(|core| core.contains(*other)))
    };
    run.cpus.iter().any(shares)
}

/// One number per block; none at all if a block's scatter gives no rate, since leaving it out would choose blocks by their
/// result.
fn logs(blocks: &[Block]) -> Vec<f64> {
    if blocks.iter().any(|block| block.ratio == Err(Gap::Scatter)) {
        return Vec::new();
    }
    blocks.iter().filter_map(|block| block.ratio.ok()).collect()
}

fn summary(treatment: &Treatment, blocks: &[Block], ratio: Option<Ratio>, alpha: f64) -> TreatmentParallel {
    let sum = |amount: fn(&parallel::Parts) -> u64| blocks.iter().map(|block| block.sum(amount)).sum::<f64>();
    let share = |part: fn(&parallel::Parts) -> u64, whole: fn(&parallel::Parts) -> u64| -> Option<Interval> {
        let by_block = blocks.iter().filter_map(|block| per(block.sum(part), block.sum(whole)));
        arithmetic(&by_block.collect::<Vec<f64>>(), "share", alpha)
    };
    let dop = treatment.options.get("dop").and_then(OptionValue::whole);
    let dop = dop.and_then(|dop| u32::try_from(dop).ok());
    TreatmentParallel {
        treatment: treatment.name.clone(),
        dop,
        processes: per(sum(|part| part.processes), sum(|part| part.scans)),
        blocks: blocks.len() as u32,
        scans: sum(|part| part.scans) as u64,
        unsampled_scans: sum(|part| part.unsampled_scans) as u64,
        row_shares: row_shares(blocks),
        sibling_busy: share(
            |part| part.by_process.iter().map(|one| one.sibling_busy_ns).sum(),
            |part| part.by_process.iter().map(|one| one.running_ns).sum(),
        ),
        ratio_blocks: logs(blocks).len() as u32,
        gap: if ratio.is_some() { None } else { Some(commonest_gap(blocks)) },
        ratio,
        equal_loss: equal_loss(blocks, alpha),
        idle_tail: share(|part| part.tail_ns, |part| part.process_span_ns),
        looking: share(|part| part.looking_ns, |part| part.span_ns),
    }
}

/// How much longer equal parts would have taken than parts by rate: for each block the logarithm.
fn equal_loss(blocks: &[Block], alpha: f64) -> Option<Interval> {
    let of_block = |block: &Block| per(block.sum(|part| part.equal_ns), block.sum(|part| part.by_rate_ns));
    let logs = blocks.iter().filter_map(of_block).map(f64::ln);
    let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    let Interval { mean, low, high, .. } = geometric(&logs, 1.0, "share", alpha)?;
    // Parts by rate are never slower.
    Some(Interval { mean: mean - 1.0, low: (low - 1.0).max(0.0), high: high - 1.0, unit: "share".to_owned() })
}

/// The gap that most blocks have, except the one that leaves all of them without a ratio.
fn commonest_gap(blocks: &[Block]) -> Gap {
    let mut counts: BTreeMap<Gap, usize> = BTreeMap::new();
    for gap in blocks.iter().filter_map(|block| block.ratio.err()) {
        if gap == Gap::Scatter {
            return gap;
        }
        *counts.entry(gap).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or(Gap::Unsampled, |(gap, _)| gap)
}

/// Shares of the rows of a slice by process, the largest first, averaged over all slices. Which process is fast differs
/// from slice to slice, so shares by the process's number would be equal.
fn row_shares(blocks: &[Block]) -> Vec<f64> {
    let mut by_rank: Vec<Vec<f64>> = Vec::new();
    for parts in blocks.iter().flat_map(|block| &block.parts) {
        let rows: f64 = parts.by_process.iter().map(|one| one.rows as f64).sum();
        let mut shares: Vec<f64> =
            parts.by_process.iter().filter_map(|one| per(one.rows as f64, rows)).collect();
        shares.sort_by(|one, other| other.total_cmp(one));
        by_rank.resize(by_rank.len().max(shares.len()), Vec::new());
        by_rank.iter_mut().zip(shares).for_each(|(rank, share)| rank.push(share));
    }
    by_rank.into_iter().filter_map(|shares| mean(shares.into_iter())).collect()
}

/// Processes of a study's queries, by treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Parallel {
    /// In study order.
    pub treatments: Vec<TreatmentParallel>,
}

/// Processes of one treatment. Intervals are over blocks.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct TreatmentParallel {
    /// Its name.
    pub treatment: String,
    /// Requested degree of parallelism; `None` if it is the placement's number of logical CPUs.
    pub dop: Option<u32>,
    /// Processes that took part in a scan, on average.
    pub processes: Option<f64>,
    /// Blocks in which its processes were counted.
    pub blocks: u32,
    /// Scans with enough looks, and those without.
    pub scans: u64,
    /// See `scans`.
    pub unsampled_scans: u64,
    /// Share of the rows of each process, the largest first: averaged over slices.
    pub row_shares: Vec<f64>,
    /// Share of the processes' running time in which a sibling was busy with the same query.
    pub sibling_busy: Option<Interval>,
    /// Rows per second with a busy sibling over those of a process alone.
    pub ratio: Option<Ratio>,
    /// Blocks of the ratio.
    pub ratio_blocks: u32,
    /// Why there is no ratio.
    pub gap: Option<Gap>,
    /// How much longer equal parts would have taken than parts by rate, at the processes' rates, as a share.
    pub equal_loss: Option<Interval>,
    /// Share of the processes' time in which they had ended and others had not.
    pub idle_tail: Option<Interval>,
    /// CPU time of the looks, as a share of the scans' time.
    pub looking: Option<Interval>,
}

/// Work of one process in one slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessSlice {
    /// Rows.
    pub rows: f64,
    /// Seconds in which it ran and no other process of its query ran on a sibling.
    pub alone_s: f64,
    /// Seconds in which it ran and one did.
    pub shared_s: f64,
}

/// Why a block has no ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gap {
    /// Nothing was counted, or there were too few looks.
    Unsampled,
    /// No two logical CPUs of the run are known to share a core.
    NoSiblings,
    /// There is only one process.
    OneProcess,
    /// No sibling was busy, or hardly ever.
    NeverBusy,
    /// A sibling was busy nearly all the time.
    AlwaysBusy,
    /// The two rates cannot be separated: all processes shared their core for about the same part of their time.
    Alike,
    /// Rows scatter so much that a rate came out below 0.
    Scatter,
}

impl Gap {
    /// In words, to follow a colon.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unsampled => "too few looks at its processes: make a scan longer (rows)",
            Self::NoSiblings => "no core has two threads here",
            Self::OneProcess => "one process scans alone",
            Self::NeverBusy => "no worker's sibling was busy",
            Self::AlwaysBusy => "every worker's sibling was always busy",
            Self::Alike => "all workers shared their cores for the same part of their time",
            Self::Scatter => "rows scatter too much to separate the two rates",
        }
    }
}

/// Least share of the processes' time in each of the two states.
const LEAST_SHARE: f64 = 0.02;

/// Least share of the spread of times that is not common to both columns of the fit, 1 − r² of the weighted columns:
/// below it a rate would come from differences that the looks themselves make.
const LEAST_APART: f64 = 0.02;

/// ln(b / a) of a block.
///
/// # Errors
/// Why there is none.
pub fn log_ratio(slices: &[ProcessSlice]) -> Result<f64, Gap> {
    let (alone, shared) = (|one: &ProcessSlice| one.alone_s, |one: &ProcessSlice| one.shared_s);
    let shared_s = slices.iter().map(shared).sum::<f64>();
    let whole_s = slices.iter().map(alone).sum::<f64>() + shared_s;
    if whole_s.is_nan() || whole_s <= 0.0 {
        return Err(Gap::Unsampled);
    }
    match shared_s / whole_s {
        share if share < LEAST_SHARE => return Err(Gap::NeverBusy),
        share if share > 1.0 - LEAST_SHARE => return Err(Gap::AlwaysBusy),
        _ => {}
    }
    // Weighted sums of products.
    let sum = |one: fn(&ProcessSlice) -> f64, other: fn(&ProcessSlice) -> f64| {
        let at_work = slices.iter().filter(|one| one.alone_s + one.shared_s > 0.0);
        at_work.map(|at| 1.0 / (at.alone_s + at.shared_s) * one(at) * other(at)).sum::<f64>()
    };
    let (aa, ab, bb) = (sum(alone, alone), sum(alone, shared), sum(shared, shared));
    let (ra, rb) = (sum(|one| one.rows, alone), sum(|one| one.rows, shared));
    let determinant = aa * bb - ab * ab;
    if determinant.is_nan() || determinant <= LEAST_APART * aa * bb {
        return Err(Gap::Alike);
    }
    let (alone, shared) = ((ra * bb - rb * ab) / determinant, (rb * aa - ra * ab) / determinant);
    if alone > 0.0 && shared > 0.0 { Ok((shared / alone).ln()) } else { Err(Gap::Scatter) }
}

/// The kind.
pub struct Scans;

impl Kind for Scans {
    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let rates = rate::Rates.findings(facts);
        too_few(facts).into_iter().chain(rates).chain(slower_workers(facts)).collect()
    }

    fn lead(&self, facts: &Facts<'_>) -> Option<FindingKind> {
        rate::Rates.lead(facts).or(Some(FindingKind::ParallelWorkers))
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        workers_section(facts).into_iter().chain(rate::Rates.answers(facts)).collect()
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        rate::Rates.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        rate::Rates.chart_words(facts)
    }
}

/// A shortfall of one worker in a hundred scans is ignored.
const HARDLY: f64 = 0.01;

/// One line: for the treatment with the most processes among those with a shown difference, by the interval that holds
/// for all treatments together; or why none has a ratio. `None` if there are ratios and none shows a difference.
fn slower_workers(facts: &Facts<'_>) -> Option<Finding> {
    let all = &facts.analysis.get::<Parallel>()?.treatments;
    let known = all.iter().filter_map(|one| Some((one, one.ratio.as_ref()?)));
    let shown: Vec<_> = known.filter(|(_, ratio)| ratio.is_different()).collect();
    // The first of those with as many processes, in the study's order: never by result.
    let most = shown.iter().rev().max_by(|(one, _), (other, _)| processes(one).total_cmp(&processes(other)));
    match most {
        Some((one, ratio)) => Some(finding(
            FindingKind::ParallelWorkers,
            said(facts, one, ratio, shown.len() - 1),
            &[&one.treatment],
        )),
        None if all.iter().all(|one| one.ratio.is_none()) => unknown(all),
        None => None,
    }
}

fn processes(one: &TreatmentParallel) -> f64 {
    one.processes.unwrap_or(0.0)
}

fn said(facts: &Facts<'_>, one: &TreatmentParallel, ratio: &Ratio, more: usize) -> Prose {
    let mut text = prose!(
        "A worker whose sibling was busy did {} of the rows per second of one alone{} ({}).",
        &ratio.decisive(),
        answered(ratio),
        label(facts, one)
    );
    if let Some(loss) = &one.equal_loss {
        text.push(prose!(
            " Equal parts of the rows would have taken its processes {} longer than parts in proportion to their rates",
            loss
        ));
        text.push(one.idle_tail.as_ref().map_or_else(
            || ".".into(),
            |tail| prose!("; the engine's own division left them idle for {} of the time.", tail),
        ));
    }
    if more > 0 {
        text.push(prose!(" {} more in the table.", more));
    }
    text
}

/// Why there is no ratio, for the treatments with several processes.
fn unknown(all: &[TreatmentParallel]) -> Option<Finding> {
    let gaps = || all.iter().filter_map(|one| one.gap);
    let gap = gaps().find(|gap| *gap != Gap::OneProcess).or_else(|| gaps().next())?;
    let text = format!("The cost of a busy sibling for a worker is unknown: {}.", gap.words());
    Some(finding(FindingKind::NotMeasurable, text, &[]))
}

/// Treatments whose scans had fewer processes than requested: results for a degree are then for fewer.
fn too_few(facts: &Facts<'_>) -> Option<Finding> {
    let all = &facts.analysis.get::<Parallel>()?.treatments;
    let lacks = |one: &&TreatmentParallel| {
        one.dop.zip(one.processes).is_some_and(|(dop, seen)| seen < f64::from(dop) - HARDLY)
    };
    let few: Vec<&TreatmentParallel> = all.iter().filter(lacks).collect();
    let clause = |one: &&TreatmentParallel| {
        let seen = Prose::figure(numbers::value(processes(one), "1"));
        prose!("{} had {} of {}", label(facts, one), seen, one.dop.unwrap_or(0))
    };
    let names: Vec<&str> = few.iter().map(|one| one.treatment.as_str()).collect();
    let clauses = limited(few.iter().map(clause), MAX_LISTED)?;
    Some(finding(
        FindingKind::Trust,
        prose!("Trust: fewer processes took part in a scan than requested: {}.", clauses),
        &names,
    ))
}

/// Most processes whose shares are listed one by one.
const MOST_SHARES: usize = 4;

/// The section; `None` without data of processes.
fn workers_section(facts: &Facts<'_>) -> Option<Section> {
    let all = &facts.analysis.get::<Parallel>()?.treatments;
    let about = prose!(
        "Rows and times of each process are from the scans' own answers. The logical CPUs of processes are from looks \
         while they ran, some milliseconds apart: a sibling counts as busy if another process of the same scan was \
         found on the other thread of its core. Equal parts: how much longer the scans would have taken with rows \
         divided equally than with rows divided by rate, at the rates that the processes had. Idle: the part of the \
         processes' time in which they had ended and others had not, with the engine's own division."
    );
    let blocks = vec![
        document::Block::Text(about, Shown::Page),
        document::Block::Table(table(facts, all)),
        legend(facts),
    ];
    Some(Section::new("parallel-workers", "Parallel workers", blocks))
}

/// The meaning of intervals and of the signs before ratios.
pub(super) fn legend(facts: &Facts<'_>) -> document::Block {
    let level = prose!("[low, high]: {} interval over blocks.", set_percent(facts.level()));
    let parts = std::iter::once(level).chain(Mark::ALL.map(Prose::sign));
    document::Block::Legend(parts.collect(), Shown::Terminal)
}

fn table(facts: &Facts<'_>, all: &[TreatmentParallel]) -> Table {
    let row = |one: &TreatmentParallel| {
        let or_none = |cell: Option<Cell>| cell.unwrap_or_else(Cell::none);
        let share = |share: &Option<Interval>| or_none(share.clone().map(Cell::Share));
        let ratio = match (&one.ratio, one.gap) {
            (Some(ratio), _) => Cell::Ratio(ratio.clone(), Says::Faster),
            (None, gap) => or_none(gap.map(|gap| Cell::Gap(gap.words().to_owned()))),
        };
        let few = match one.unsampled_scans {
            0 => String::new(),
            unsampled => format!(", {unsampled} with too few looks"),
        };
        let scans = format!("{} in {}{few}", one.scans, counted(one.blocks as usize, "block"));
        let dop = or_none(one.dop.map(|dop| Cell::Count(dop.into())));
        let processes = or_none(one.processes.map(|value| Cell::Value { value, unit: "1" }));
        vec![
            (Column::text("treatment").shorten_at(4), Cell::text(label(facts, one))),
            (Column::figure("DOP").drop_at(2), dop),
            (Column::figure("processes"), processes),
            (Column::text("rows by process").drop_at(1), Cell::text(shares(&one.row_shares))),
            (Column::figure("sibling busy").drop_at(3), share(&one.sibling_busy)),
            (Column::text("with a busy sibling").shorten_at(5), ratio),
            (Column::figure("equal parts"), share(&one.equal_loss)),
            (Column::figure("idle"), share(&one.idle_tail)),
            (Column::figure("looking").shown(Shown::Page), share(&one.looking)),
            (Column::figure("scans").shown(Shown::Page), Cell::text(scans)),
        ]
    };
    Table::headed("", all.iter().map(row))
}

fn label<'a>(facts: &Facts<'a>, one: &'a TreatmentParallel) -> &'a str {
    facts.label(&one.treatment, facts.group_of(&one.treatment))
}

/// `27%, 26%, 24%, 23%`, or for more processes the most and the fewest.
fn shares(shares: &[f64]) -> String {
    let words = |shares: &[f64]| shares.iter().map(|share| percent(*share)).collect::<Vec<_>>().join(", ");
    match shares {
        [most, .., fewest] if shares.len() > MOST_SHARES => {
            format!("{} to {}", percent(*fewest), percent(*most))
        }
        all => words(all),
    }
}
