//! Long windows in addition to slices: ratios by both, whether they differ, stalls, and whether rates fall within a
//! window.
//!
//! A slice loses at most its own length to a stall, and ends before a turbo clock's limit begins. In each block of long
//! windows the ratio of a treatment to its baseline is one number; Student's t over such blocks. The difference to the
//! ratio by slices is between different blocks: the variances of both are added, with the degrees of freedom of the
//! smaller sample (docs/METHODOLOGY.md, "Long windows"; Scheffé, "Practical solutions of the Behrens-Fisher problem",
//! J. American Statistical Association 65, 1970).

#[cfg(test)]
mod tests;

use crate::estimate::sides::Sides;
use crate::estimate::{
    Rule, THROUGHPUT, family_alpha, judge, latest_attempts, paired, paired_difference, standard_error,
};
use crate::words::{finding, share};
use crate::{Analysis, Direction, Estimate, Facts, Finding, FindingKind, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::{Block, Cell, Column, Prose, Says, Section, Table, numbers, prose};
use threadwise_statistics::{MeanEstimate, MergedLatency, t_quantile};
use threadwise_study::plan::long::{FIRST_BLOCK, PIECES};
use threadwise_study::{ComparisonKind, Role, Run, RunStatus, Slice, Study};

/// Power at which a difference is called detectable.
const POWER: f64 = 0.8;

/// Pieces at the end of a window whose mean is compared with the first one.
const LAST: usize = 3;

/// Long windows of a study.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct LongWindows {
    /// Length of a window.
    pub window_ns: u64,
    /// Planned windows of each treatment.
    pub planned: u32,
    /// Blocks of long windows in which the baseline of at least one group was usable.
    pub blocks: u32,
    /// In study order.
    pub treatments: Vec<LongTreatment>,
    /// Windows that were left out and why, one per line.
    pub left_out: Vec<String>,
}

impl LongWindows {
    /// Treatments whose long windows are shown to differ from slices by more than the margin or by an open amount; the
    /// largest difference first.
    pub fn different(&self) -> Vec<(&LongTreatment, &RatioBy)> {
        let all = self.treatments.iter().filter_map(|one| Some((one, one.compared.as_ref()?)));
        let mut found: Vec<_> =
            all.filter(|(_, by)| by.difference.is_different() && !by.difference.is_same()).collect();
        found.sort_by(|(_, one), (_, other)| other.difference.size().total_cmp(&one.difference.size()));
        found
    }
}

/// The long windows of one treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct LongTreatment {
    /// The treatment.
    pub treatment: String,
    /// Windows that are usable.
    pub windows: u32,
    /// Its ratio to the baseline by long windows and by slices; `None` for a baseline, or if one of them is unknown.
    #[serde(flatten)]
    pub compared: Option<RatioBy>,
    /// Steps longer than a slice; `None` if the engine has no latencies of steps.
    pub stalls: Option<Stalls>,
    /// The rate of the last three tenths of a window over that of its first tenth, with windows as units, all
    /// treatments judged together; `None` if rows were not counted by piece.
    pub fall: Option<Ratio>,
}

/// A ratio to the baseline by long windows and by slices.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct RatioBy {
    /// By long windows; an estimate without a family, with its own answer.
    pub by_long_windows: Ratio,
    /// By slices.
    pub by_slices: Ratio,
    /// The first over the second. All treatments are judged together.
    pub difference: Ratio,
    /// Change from slices to long windows, as a fraction, that four in five such studies would find; `None` with fewer
    /// than two long windows.
    pub detectable: Option<f64>,
}

/// Steps of a treatment's long windows that took longer than a slice.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Stalls {
    /// How many.
    pub steps: u64,
    /// Share of the time of its sessions spent in them.
    pub share: f64,
    /// The longest of all steps.
    pub longest_ns: u64,
    /// 99th percentile of all steps.
    pub p99_ns: u64,
    /// Time of all windows together, nanoseconds.
    pub windows_ns: u64,
}

/// Results of long windows, in addition to an analysis of the slices of the same study; `None` in a study without.
///
/// `alpha_share` is as in [`crate::analyse`].
pub fn long_windows(
    study: &Study,
    analysis: &Analysis,
    long_runs: &[Run],
    alpha_share: f64,
) -> Option<LongWindows> {
    let design = study.design.long_windows?;
    let alpha = (1.0 - study.design.level) * alpha_share;
    let windows = Windows::new(study, long_runs);
    let rule = Rule { margin: study.design.margin, alpha, direction: Direction::HigherIsBetter };
    let mut compared = compared(study, analysis, &windows, rule);
    let falls: Vec<Vec<f64>> =
        (0..study.treatments.len()).map(|at| windows.of(at).filter_map(fall).collect()).collect();
    let falls = paired(&falls, &[], rule).into_iter().enumerate();
    let treatments = falls.map(|(at, fall)| LongTreatment {
        treatment: study.treatments[at].name.clone(),
        windows: windows.of(at).count() as u32,
        compared: compared[at].take(),
        stalls: stalls(windows.of(at), study.design.slice_ns),
        fall: fall.map(Ratio::exp),
    });
    Some(LongWindows {
        window_ns: design.window_ns,
        planned: design.blocks,
        blocks: windows.usable_blocks(study),
        treatments: treatments.collect(),
        left_out: windows.left_out,
    })
}

/// The usable windows of a study.
struct Windows<'a> {
    /// By block, for each treatment.
    blocks: Vec<Vec<Option<&'a Slice>>>,
    /// What was left out and why.
    left_out: Vec<String>,
}

impl<'a> Windows<'a> {
    /// Sorts runs of long windows.
    fn new(study: &Study, runs: &'a [Run]) -> Self {
        let mut all = Self { blocks: Vec::new(), left_out: Vec::new() };
        for (block, latest) in latest_attempts(runs) {
            let mut windows = vec![None; study.treatments.len()];
            for run in latest.into_iter().map(|at| &runs[at]) {
                let Some((at, _)) = study.treatment(&run.treatment) else { continue };
                match (run.status.is_valid(), run.slices.as_slice()) {
                    (true, [window]) => windows[at] = Some(window),
                    _ => all.left_out.push(left_out(block, run)),
                }
            }
            all.blocks.push(windows);
        }
        all
    }

    /// The windows of a treatment.
    fn of(&self, treatment: usize) -> impl Iterator<Item = &'a Slice> {
        self.blocks.iter().filter_map(move |block| block[treatment])
    }

    /// Blocks in which the baseline of at least one group is usable.
    fn usable_blocks(&self, study: &Study) -> u32 {
        let has = |block: &[Option<&Slice>], group: &str| {
            let mut all = study.treatments.iter().zip(block);
            all.all(|(one, window)| one.group != group || one.role == Role::Compared || window.is_some())
        };
        let groups = study.groups();
        self.blocks.iter().filter(|block| groups.iter().any(|group| has(block, group))).count() as u32
    }

    /// d of each block in which all sides have a window with rows.
    fn ratios(&self, Sides { top, below }: &Sides) -> Vec<f64> {
        let log = |block: &[Option<&Slice>], at: usize| {
            let rate = block[at]?.rows_per_s();
            (rate > 0.0 && rate.is_finite()).then(|| rate.ln())
        };
        let ratio = |block: &Vec<Option<&Slice>>| {
            let below: Option<Vec<f64>> = below.iter().map(|at| log(block, *at)).collect();
            paired_difference(log(block, *top)?, &below?)
        };
        self.blocks.iter().filter_map(ratio).collect()
    }
}

fn left_out(block: u32, run: &Run) -> String {
    let why = match &run.status {
        RunStatus::Failed { kind, message } | RunStatus::Invalid { kind, message } => {
            format!("{kind}: {message}")
        }
        RunStatus::Valid | RunStatus::Superseded => "it is not one window".to_owned(),
    };
    format!("long window {} of {}: {why}", block.saturating_sub(FIRST_BLOCK) + 1, run.treatment)
}

/// The mean of long windows less that of slices, in logarithms. They are from different blocks and taken as
/// independent: what they share makes the true variance smaller.
///
/// It has the degrees of freedom of the smaller sample, with which a test keeps its error rate. Welch's larger number
/// is itself estimated: with three long windows it reports a difference in 5.7% of studies without one.
///
/// Degenerate cases: fewer than two blocks of either have an infinite standard error.
pub fn difference(long: &MeanEstimate, slices: &MeanEstimate) -> MeanEstimate {
    let is_known = long.n >= 2 && slices.n >= 2;
    let standard_error = long.standard_error.hypot(slices.standard_error);
    MeanEstimate {
        n: if is_known { long.n.min(slices.n) } else { 1 },
        mean: long.mean - slices.mean,
        standard_error: if is_known { standard_error } else { f64::INFINITY },
        correlation: 0.0,
        degrees: long.degrees.min(slices.degrees),
    }
}

/// Judges the differences of all treatments together: any is called different from 0 in at most `alpha` of the studies
/// without a difference.
pub fn differences(means: &[(MeanEstimate, MeanEstimate)], rule: Rule) -> Vec<Ratio> {
    let family: Vec<_> = means.iter().map(|(long, slices)| (difference(long, slices), None)).collect();
    judge(&family, rule)
}

/// Differences by treatment, in study order; `None` for baselines and if one of both is unknown.
fn compared(study: &Study, analysis: &Analysis, windows: &Windows<'_>, rule: Rule) -> Vec<Option<RatioBy>> {
    let mut known: Vec<(usize, (MeanEstimate, MeanEstimate))> = Vec::new();
    for sides in study.groups().into_iter().flat_map(|group| Sides::of_group(study, group)) {
        let long = MeanEstimate::of(&windows.ratios(&sides));
        let slices = by_slices(analysis, &study.treatments[sides.top].name);
        known.extend(long.zip(slices).map(|both| (sides.top, both)));
    }
    known.sort_by_key(|(at, _)| *at);
    let means: Vec<(MeanEstimate, MeanEstimate)> = known.iter().map(|(_, both)| *both).collect();
    let alone = |mean: &MeanEstimate| judge(&[(*mean, None)], rule).pop();
    let mut found: Vec<Option<RatioBy>> = vec![None; study.treatments.len()];
    for ((at, (long, slices)), judged) in known.iter().zip(differences(&means, rule)) {
        let both = alone(long).zip(alone(slices));
        found[*at] = both.map(|(by_long_windows, by_slices)| RatioBy {
            by_long_windows,
            by_slices,
            difference: judged,
            detectable: detectable(&difference(long, slices), family_alpha(rule.alpha, known.len())),
        });
    }
    found
}

/// The change that a test at `alpha` finds in four of five studies with this standard error, as a fraction.
fn detectable(difference: &MeanEstimate, alpha: f64) -> Option<f64> {
    if difference.n < 2 {
        return None;
    }
    let quantiles =
        t_quantile(1.0 - alpha / 2.0, difference.degrees)? + t_quantile(POWER, difference.degrees)?;
    Some((quantiles * difference.standard_error).exp_m1()).filter(|change| change.is_finite())
}

/// The ratio of each treatment to its baseline by slices, as a mean of logarithms.
fn by_slices(analysis: &Analysis, treatment: &str) -> Option<MeanEstimate> {
    let is_it = |estimate: &&Estimate| {
        estimate.kind == ComparisonKind::Baseline
            && estimate.treatment == treatment
            && estimate.metric == THROUGHPUT
    };
    let ratio = &analysis.estimates.iter().find(is_it)?.ratio;
    Some(MeanEstimate {
        n: ratio.blocks as usize,
        mean: ratio.value.ln(),
        standard_error: standard_error(ratio)?,
        correlation: 0.0,
        degrees: f64::from(ratio.blocks) - 1.0,
    })
}

/// Change of a window's rate from its first tenth to its last three, in logarithms; `None` without pieces.
fn fall(window: &Slice) -> Option<f64> {
    let pieces = PIECES as usize;
    let is_counted = |rows: &Vec<u64>| rows.len() == pieces;
    if window.sessions.is_empty() || !window.sessions.iter().all(|one| is_counted(&one.rows_by_piece)) {
        return None;
    }
    let rows = |piece: usize| window.sessions.iter().map(|one| one.rows_by_piece[piece] as f64).sum::<f64>();
    let last = (pieces - LAST..pieces).map(rows).sum::<f64>() / LAST as f64;
    Some((last / rows(0)).ln()).filter(|change| change.is_finite())
}

/// Long steps of a treatment's windows; `None` if no step has a latency, or histograms cannot be read.
fn stalls<'a>(windows: impl Iterator<Item = &'a Slice>, slice_ns: u64) -> Option<Stalls> {
    let mut merged = MergedLatency::new();
    let (mut windows_ns, mut session_ns) = (0_u64, 0.0);
    for window in windows {
        windows_ns = windows_ns.saturating_add(window.window_ns);
        session_ns += window.window_ns as f64 * window.sessions.len() as f64;
        window.sessions.iter().try_for_each(|session| merged.add(&session.latency)).ok()?;
    }
    let (steps, in_steps_ns) = merged.above(slice_ns)?;
    let (longest_ns, p99_ns) = (merged.quantile(1.0)?, merged.quantile(0.99)?);
    // A step that began before the window's start may end inside it.
    let share = (in_steps_ns / session_ns).min(1.0);
    Some(Stalls { steps, share, longest_ns, p99_ns, windows_ns })
}

/// Disagreement and stalls, if any.
pub(crate) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(long) = facts.analysis.get::<LongWindows>() else { return Vec::new() };
    [disagreement(facts, long), met(facts, long)].into_iter().flatten().collect()
}

/// A ratio by long windows that is shown to differ from that by slices.
fn disagreement(facts: &Facts<'_>, long: &LongWindows) -> Option<Finding> {
    let different = long.different();
    let (largest, by) = different.first()?;
    let mut text = prose!(
        "Long windows disagree with slices: of {}, windows of {} give a ratio to the baseline of {} of that by \
         slices, {} against {}",
        facts.name(&largest.treatment),
        time(long.window_ns),
        &by.difference.decisive(),
        &by.by_long_windows,
        &by.by_slices
    );
    if let more @ 1.. = different.len() - 1 {
        text.push(prose!(" (and for {} more)", numbers::counted(more, "treatment")));
    }
    text.push("; events longer than a slice are in the long windows alone.");
    Some(finding(FindingKind::LongWindows, text, &[&largest.treatment]))
}

/// Long steps of the treatment whose sessions spent most of their time in steps longer than a slice, if that is more
/// than the margin. It is a count, not a claim about other windows.
fn met(facts: &Facts<'_>, long: &LongWindows) -> Option<Finding> {
    let is_met = |stalls: &Stalls| stalls.steps > 0 && stalls.share > facts.study.design.margin;
    let known = long.treatments.iter().filter_map(|one| Some((one, one.stalls.filter(is_met)?)));
    let met: Vec<(&LongTreatment, Stalls)> = known.collect();
    let (most, stalls) = met.iter().max_by(|(_, one), (_, other)| one.share.total_cmp(&other.share))?;
    let mut text = prose!(
        "Stalls: in {} of long windows, {} of {} took longer than a slice ({}), the longest {}; its sessions spent {} of \
         their time in them",
        time(stalls.windows_ns),
        numbers::counted(stalls.steps as usize, "step"),
        facts.name(&most.treatment),
        time(facts.study.design.slice_ns),
        time(stalls.longest_ns),
        share(stalls.share)
    );
    if let more @ 1.. = met.len() - 1 {
        text.push(prose!(" (and so did those of {} more)", more));
    }
    text.push(".");
    Some(finding(FindingKind::Stalls, text, &[&most.treatment]))
}

fn time(ns: u64) -> Prose {
    Prose::figure(numbers::nanoseconds(ns as f64))
}

/// The section; `None` in a study without long windows.
pub(crate) fn section(facts: &Facts<'_>) -> Option<Section> {
    let long = facts.analysis.get::<LongWindows>()?;
    let mut blocks = vec![Block::text(about(facts, long))];
    blocks.extend(ratios(facts, long).filled().map(Block::Table));
    blocks.extend([Block::Table(steps(facts, long)), Block::text(within(facts, long))]);
    if !long.left_out.is_empty() {
        blocks.push(Block::on_page(prose!("Left out: {}.", long.left_out.join("; "))));
    }
    Some(Section::new("long-windows", "Long windows", blocks))
}

/// What long windows are, and what they could show.
fn about(facts: &Facts<'_>, long: &LongWindows) -> Prose {
    let count = match long.blocks == long.planned {
        true => numbers::counted(long.blocks as usize, "long window"),
        false => format!("{} of {}", long.blocks, numbers::counted(long.planned as usize, "long window")),
    };
    let mut text = prose!(
        "In addition to slices of {}, {} of {} of each treatment, in random order, for what slices miss: stalls, \
         limits of turbo clocks, background work. Other figures do not include them.",
        time(facts.study.design.slice_ns),
        count,
        time(long.window_ns)
    );
    let detectable = long.treatments.iter().filter_map(|one| one.compared.as_ref()?.detectable);
    if let Some(least) = detectable.max_by(f64::total_cmp) {
        text.push(prose!(
            " Four of five such studies would find a ratio that differs from that by slices by {} or more in every \
             treatment; smaller differences may be missed.",
            Prose::figure(detectable_words(least))
        ));
    }
    text
}

/// `±21%`; a factor from 2, where the same distance downwards is another percentage.
fn detectable_words(change: f64) -> String {
    match change < 1.0 {
        true => format!("±{}", numbers::percent(change)),
        false => format!("a factor of {}", numbers::ratio(1.0 + change)),
    }
}

/// A treatment's name inside its group.
fn label<'a>(facts: &Facts<'a>, one: &'a LongTreatment) -> Cell {
    Cell::text(facts.label(&one.treatment, facts.group_of(&one.treatment)))
}

fn ratios(facts: &Facts<'_>, long: &LongWindows) -> Table {
    let compared: Vec<(&LongTreatment, &RatioBy)> =
        long.treatments.iter().filter_map(|one| Some((one, one.compared.as_ref()?))).collect();
    facts.table_by_group(
        format!("Ratio to {} by long windows and by slices", facts.common_baseline()),
        &compared,
        |(one, _)| &one.treatment,
        &[
            (Column::text("treatment"), &|(one, _)| label(facts, one)),
            (Column::figure("long windows"), &|(_, by)| Cell::BareRatio(by.by_long_windows.clone())),
            (Column::figure("slices").drop_at(1), &|(_, by)| Cell::BareRatio(by.by_slices.clone())),
            (Column::figure("long over slices"), &|(_, by)| Cell::Ratio(by.difference.clone(), Says::Higher)),
            (Column::figure("detectable").drop_at(2), &|(_, by)| {
                by.detectable.map_or_else(Cell::none, |change| Cell::Text(detectable_words(change)))
            }),
        ],
    )
}

fn steps(facts: &Facts<'_>, long: &LongWindows) -> Table {
    let slice = numbers::nanoseconds(facts.study.design.slice_ns as f64);
    let tenth = numbers::nanoseconds(long.window_ns as f64 / 10.0);
    let of_stalls = |one: &LongTreatment, cell: fn(&Stalls) -> Cell| {
        one.stalls.as_ref().map_or_else(|| Cell::Gap("no latencies of steps".to_owned()), cell)
    };
    let fall = |one: &LongTreatment| match &one.fall {
        Some(fall) => Cell::Interval(fall.interval()),
        None => Cell::Gap("rows were not counted by piece".to_owned()),
    };
    facts.table_by_group(
        format!(
            "In long windows: steps longer than a slice of {slice}, and the rate of the end over the first {tenth}"
        ),
        &long.treatments,
        |one| &one.treatment,
        &[
            (Column::text("treatment"), &|one| label(facts, one)),
            (Column::figure("windows").drop_at(2), &|one| Cell::count(one.windows)),
            (Column::figure("long steps"), &|one| of_stalls(one, |stalls| Cell::count(stalls.steps))),
            (Column::figure("of the time"), &|one| {
                of_stalls(one, |stalls| Cell::value(stalls.share, "share"))
            }),
            (Column::figure("longest step"), &|one| {
                of_stalls(one, |stalls| Cell::value(stalls.longest_ns as f64, "ns"))
            }),
            (Column::figure("p99").drop_at(1), &|one| {
                of_stalls(one, |stalls| Cell::value(stalls.p99_ns as f64, "ns"))
            }),
            (Column::figure("p99 in slices").drop_at(1), &|one| {
                let summary = facts.summary(&one.treatment);
                Cell::mean(summary.and_then(|summary| summary.metrics.get("latency_ns_p99")))
            }),
            (Column::figure("end over start"), &fall),
        ],
    )
}

/// Whether rates change within windows, and what is unknown.
fn within(facts: &Facts<'_>, long: &LongWindows) -> Prose {
    let known: Vec<(&LongTreatment, &Ratio)> =
        long.treatments.iter().filter_map(|one| Some((one, one.fall.as_ref()?))).collect();
    let shown = known.iter().filter(|(_, fall)| fall.is_beyond()).map(|(one, fall)| {
        let label = facts.label(&one.treatment, facts.group_of(&one.treatment));
        format!("{label} ({})", numbers::change(fall.value))
    });
    let shown: Vec<String> = shown.collect();
    let mut text = match (known.is_empty(), shown.is_empty()) {
        (true, _) => prose!(
            "Whether rates fall within a window is unknown: the engine does not count rows by piece of a window."
        ),
        (false, true) => prose!(
            "No rate is shown to change by more than the margin from the first tenth of a window to its last three."
        ),
        (false, false) => prose!(
            "From the first tenth of a window to its last three the rate changes by more than the margin: {}.",
            shown.join(", ")
        ),
    };
    if long.treatments.iter().all(|one| one.stalls.is_none()) {
        text.push(" Stalls are not counted: the engine has no latencies of steps.");
    }
    text
}
