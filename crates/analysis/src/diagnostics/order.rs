//! Carry-over: whether a slice changes the speed of the next one, and how that affects ratios.
//!
//! The order of slices is balanced over a study (`threadwise_study::plan::order`), so that carry-over affects all
//! treatments alike. It is tested here (Jones and Kenward, *Design and Analysis of Cross-Over Trials*): in each block
//! logarithms of rates are fitted by round, treatment and predecessor, and one contrast for each predecessor is judged
//! over blocks by Student's t and Holm's procedure (docs/METHODOLOGY.md, "Order of slices").

mod least_squares;

#[cfg(test)]
mod tests;

pub use least_squares::{OrderedSlice, contrasts};

use super::answer::QuestionAnswer;
use crate::estimate::sides::Sides;
use crate::estimate::{Observed, ObservedBlock, Rule, largest, together};
use crate::question::{Case, Question};
use crate::words::{changed, faster_or_slower, finding, share};
use crate::{Estimate, Facts, Finding, FindingKind, Ratio};
use std::collections::BTreeMap;
use threadwise_document::{Prose, numbers, prose};
use threadwise_statistics::MeanEstimate;
use threadwise_study::{Run, Slice, Study, Workload};

pub(crate) const CARRY_OVER: Question = Question {
    ask,
    findings: |facts| facts.of_question("order", carry_over).into_iter().collect(),
    method: |facts| facts.of_question("order", paragraph),
    ..Question::new("order")
};

/// Most treatments whose predecessors are tested: the work grows by their third power.
const MOST_TREATMENTS: usize = 100;

/// A shift of ratios below 0.1% is reported as this bound.
const LEAST_SHIFT: f64 = 0.001;

/// Rates of slices after a treatment over those after the others, adjusted for round and treatment; `None` if runs are
/// whole commands or lists, which have no slices.
fn ask(case: &Case<'_>) -> Option<QuestionAnswer> {
    let study = case.study();
    if study.runs_whole() || study.is_at_a_rate() {
        return None;
    }
    let blocks = case.observed.blocks.iter().map(|block| in_order(case.observed, block, case.runs));
    let blocks: Vec<BlockOrder> = blocks.collect();
    let (mut ran, mut counted) = (Neighbours::new(study), Neighbours::new(study));
    for block in &blocks {
        let before = std::iter::once(None).chain(block.ran.iter().copied().map(Some));
        block.ran.iter().zip(before).for_each(|(treatment, before)| ran.add(before, *treatment));
        block.counted.iter().for_each(|slice| counted.add(slice.predecessor, slice.treatment));
    }
    let gap = gap(study);
    let after = match gap {
        Some(_) => Vec::new(),
        None => {
            let of_block = |block: &BlockOrder| contrasts(&block.counted, study.treatments.len());
            judged(&blocks.iter().map(of_block).collect::<Vec<_>>(), study.treatments.len(), case.rule())
        }
    };
    let shift = study
        .comparisons
        .iter()
        .filter_map(|comparison| Some(counted.shift_bound(&Sides::of(study, comparison)?, &after)?.exp_m1()));
    let shift = shift.max_by(f64::total_cmp).filter(|bound| bound.is_finite());
    let numbers = ran.pairs().into_iter().chain(shift.map(|share| ("largest_shift_share", share)));
    let estimate = |(at, after): (usize, Option<Ratio>)| {
        let name = &study.treatments[at].name;
        Some(Estimate::of(CARRY_OVER.name, name, name, "", after?.exp()))
    };
    let numbers = numbers.collect();
    let estimates: Vec<Estimate> = after.into_iter().enumerate().filter_map(estimate).collect();
    let gap = gap.or_else(|| estimates.is_empty().then(|| NOT_TOLD_APART.to_owned()));
    Some(QuestionAnswer { estimates, numbers, gap, ..QuestionAnswer::default() })
}

/// Reason: no block's fit has a solution, or there is no block.
const NOT_TOLD_APART: &str = "no block can tell predecessors from rounds and treatments";

/// Why predecessors are not tested.
fn gap(study: &Study) -> Option<String> {
    if study.design.rounds < 2 {
        return Some("a block has one round".to_owned());
    }
    if study.workload == Workload::Tpch {
        // Queries suit treatments differently, which the fit would take for noise.
        return Some("its rounds are of different queries".to_owned());
    }
    (study.treatments.len() > MOST_TREATMENTS).then(|| format!("more than {MOST_TREATMENTS} treatments"))
}

/// The effect of each treatment on the slices after it, in logarithms: one family, that of a study's treatments, at all
/// of `alpha`. `by_block` has the contrasts of each block.
pub fn judged(by_block: &[Vec<Option<f64>>], treatments: usize, rule: Rule) -> Vec<Option<Ratio>> {
    let mean =
        |at: usize| MeanEstimate::of(&by_block.iter().filter_map(|block| block[at]).collect::<Vec<f64>>());
    together(&(0..treatments).map(mean).collect::<Vec<_>>(), 1.0, rule)
}

/// A block's slices, in the order of execution.
struct BlockOrder {
    /// Treatments of all slices that were taken.
    ran: Vec<usize>,
    /// Treatments of the slices that count.
    counted: Vec<OrderedSlice>,
}

/// Puts the slices of a block's latest attempt in order. Those of usable runs with a rate count.
fn in_order(observed: &Observed, block: &ObservedBlock, runs: &[Run]) -> BlockOrder {
    let mut all: Vec<(usize, &Slice)> = Vec::new();
    for (treatment, source) in block.sources.iter().enumerate() {
        let run = source.and_then(|source| runs.get(source));
        all.extend(run.iter().flat_map(|run| &run.slices).map(|slice| (treatment, slice)));
    }
    all.sort_by_key(|(_, slice)| slice.sequence);
    let ran: Vec<usize> = all.iter().map(|(treatment, _)| *treatment).collect();
    let before = std::iter::once(None).chain(ran.iter().copied().map(Some));
    let counted = all.iter().zip(before).filter_map(|((treatment, slice), predecessor)| {
        let digest = observed.usable(block, *treatment)?;
        let log_rate = digest.rounds.get(slice.round as usize)?.rows_per_s()?.ln();
        Some(OrderedSlice { round: slice.round, treatment: *treatment, predecessor, log_rate })
    });
    let counted = counted.collect();
    BlockOrder { ran, counted }
}

/// How often each treatment came after each, by their indexes in the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// Counts by predecessor (first) and treatment (second).
    counts: Vec<Vec<u32>>,
    /// Slices of each treatment, including those without a predecessor.
    slices: Vec<u32>,
}

impl Neighbours {
    fn new(study: &Study) -> Self {
        Self::of_treatments(study.treatments.len())
    }

    /// No slices.
    pub fn of_treatments(count: usize) -> Self {
        Self { counts: vec![vec![0; count]; count], slices: vec![0; count] }
    }

    /// Adds a slice.
    pub fn add(&mut self, predecessor: Option<usize>, treatment: usize) {
        self.slices[treatment] += 1;
        if let Some(predecessor) = predecessor {
            self.counts[predecessor][treatment] += 1;
        }
    }

    /// Ordered pairs of treatments with slices, including each with itself, and how often the rarest and the commonest
    /// occurred.
    fn pairs(&self) -> BTreeMap<&'static str, f64> {
        let known: Vec<usize> = (0..self.slices.len()).filter(|&at| self.slices[at] > 0).collect();
        let counts = known.iter().flat_map(|&one| known.iter().map(move |&next| self.counts[one][next]));
        let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        let pairs = (known.len() * known.len()) as f64;
        [("pairs", pairs), ("least", least.into()), ("most", most.into())].into()
    }

    /// Share of a treatment's slices that came after another; 0 without slices.
    fn share(&self, predecessor: usize, treatment: usize) -> f64 {
        match self.slices[treatment] {
            0 => 0.0,
            all => f64::from(self.counts[predecessor][treatment]) / f64::from(all),
        }
    }

    /// Largest possible shift, in logarithms, of a treatment's ratio to its baselines by carry-over: for each
    /// predecessor the difference between the shares of both sides' slices after it, times the end of its interval that
    /// is further from 0, all with one sign. `None` if a predecessor with different shares is not known, or a side has
    /// no slices.
    ///
    /// It leaves out the first slices of blocks, which have no predecessor.
    pub fn shift_bound(&self, Sides { top, below }: &Sides, found: &[Option<Ratio>]) -> Option<f64> {
        if std::iter::once(top).chain(below).any(|at| self.slices[*at] == 0) {
            return None;
        }
        let known = found.iter().flatten().count() as f64;
        let mut bound = 0.0;
        for predecessor in 0..self.slices.len() {
            let shares =
                below.iter().map(|at| self.share(predecessor, *at)).sum::<f64>() / below.len() as f64;
            let difference = (self.share(predecessor, *top) - shares).abs();
            if difference > 0.0 {
                let after = found.get(predecessor)?.as_ref()?;
                // From a distance to the mean of the others to one to the mean of all, which is in both sides.
                let size = after.low.abs().max(after.high.abs()) * (known - 1.0) / known;
                bound += difference * size;
            }
        }
        Some(bound)
    }
}

/// The treatment after which slices differ most, among those for which a difference is shown if there are any.
fn furthest(found: &QuestionAnswer) -> Option<&Estimate> {
    largest(&found.estimates, |one| &one.ratio, Ratio::is_different)
}

fn paragraph(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Prose> {
    let number = |name: &str| found.numbers[name] as usize;
    let times = match number("least") == number("most") {
        true => numbers::counted(number("most"), "time"),
        false => format!("{} to {} times", number("least"), number("most")),
    };
    let mut text = prose!(
        "Each treatment came right after each, itself included, {} ({}). ",
        times,
        numbers::counted(number("pairs"), "ordered pair")
    );
    let Some(largest) = furthest(found) else {
        let gap = found.gap.as_deref().unwrap_or("no contrast is known");
        text.push(prose!("Whether a slice changes the speed of the next one was not tested: {}.", gap));
        return (number("pairs") > 0).then_some(text);
    };
    let is_shown = match found.shown().count() {
        0 => "no carry-over is shown".to_owned(),
        1 => "carry-over is shown for it alone".to_owned(),
        more => format!("carry-over is shown for {more}"),
    };
    text.push(prose!(
        "Carry-over: the rate of slices after {}, over that of slices after the others and adjusted for round and \
         treatment, is {}, the largest change of {}; by Holm's method {}.",
        facts.name(&largest.treatment),
        changed(&largest.ratio),
        found.estimates.len(),
        is_shown
    ));
    if let Some(shift) = found.numbers.get("largest_shift_share") {
        text.push(prose!(
            " Within such intervals it shifts no throughput ratio by more than {}.",
            share(shift.max(LEAST_SHIFT))
        ));
    }
    Some(text)
}

fn carry_over(facts: &Facts<'_>, found: &QuestionAnswer) -> Option<Finding> {
    let largest = furthest(found).filter(|largest| largest.ratio.is_different())?;
    let mut text = prose!(
        "Carry-over: after slices of {}, slices were {} than after others",
        facts.name(&largest.treatment),
        faster_or_slower(&largest.ratio)
    );
    if let more @ 1.. = found.shown().count() - 1 {
        text.push(prose!(" (shown for {} more)", more));
    }
    let consequence = match found.numbers.get("largest_shift_share") {
        None => "How far that shifts ratios is not known".into(),
        Some(most) if *most <= LEAST_SHIFT => prose!(
            "Each treatment came after each about equally often, so that no ratio is shifted by more than {}",
            share(LEAST_SHIFT)
        ),
        Some(most) => prose!(
            "Given how often each treatment came after each, ratios may be shifted by up to {}",
            share(*most)
        ),
    };
    text.push(prose!(". {}; rates contain it.", consequence));
    Some(finding(FindingKind::CarryOver, text, &[&largest.treatment]))
}
