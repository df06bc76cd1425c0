//! DOP n against the next lower one: the gain of each step, per query and for all together.
//!
//! A step compares treatments that differ in their DOP alone. It is better than linear if its distance to the ratio of
//! the DOPs is an effect; "poor, then good" is typical of an engine whose query runs serially below some DOP, or pays
//! for going parallel before it gains.

use super::executions::{Executions, Pair, Quantity};
use super::found::{
    Choice, Found, NamedRatio, PLAN_SIGN, bare, by_query, end, ends, judged, or_none, with_sign,
};
use super::plans::Plans;
use super::ratios::{self, Whole, members, query_members, together};
use super::types::{Change, DopStep, StepMark};
use super::words::{grouped, query_name, some_of};
use crate::estimate::{Judgeable, Rule, judge, judge_many};
use crate::words::finding;
use crate::{Direction, Finding, Ratio};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use threadwise_document::chart::{DopChart, DopLine, StepChart};
use threadwise_document::numbers::counted;
use threadwise_document::{Block, Cell, Chart, Figure, Prose, Section, prose};
use threadwise_study::Role;

/// A doubling that gains less than this is poor, one that gains more than [`GOOD`] is good.
const POOR: f64 = 1.25;

/// See [`POOR`].
const GOOD: f64 = 1.5;

/// Most steps in a finding, those to the highest DOPs.
const MAX_STEPS: usize = 3;

/// Most steps of single queries in a finding without others.
const MAX_MARKED: usize = 2;

/// A step with its comparisons to values other than 1, each judged with the other steps of its family.
struct Judged {
    /// Its ladder: treatments that differ in their DOP alone.
    ladder: usize,
    step: DopStep,
    beside: Beside,
}

/// Steps of all queries, and of all together, with a common name.
type Row<'a> = Vec<&'a DopStep>;

#[derive(Debug, Clone, Copy)]
struct Beside {
    /// Better than the ratio of the DOPs, by more than the margin or by an open amount.
    is_super: bool,
    /// Less than [`POOR`].
    is_poor: bool,
    /// More than [`GOOD`].
    is_good: bool,
}

/// Every step of every query, and of all together.
pub fn steps(table: &Executions<'_>, plans: &Plans) -> Vec<DopStep> {
    let ladders = table.ladders();
    let pairs =
        ladders.iter().enumerate().flat_map(|(at, ladder)| ladder.windows(2).map(move |two| (at, two)));
    let (places, pairs): (Vec<_>, Vec<Pair>) =
        pairs.map(|(at, two)| ((at, two[0], two[1]), table.pair(two[1].1, two[0].1))).unzip();
    let log = |at: usize| {
        let (_, (from, _), (to, _)) = places[at];
        (f64::from(to) / f64::from(from)).ln()
    };
    let wholes = members(table, &pairs, Whole::Geometric);
    let family = wholes.iter().enumerate().filter_map(|(at, member)| Some(((*member)?, log(at))));
    let mut of_wholes = beside(table, &family.collect::<Vec<_>>(), judge).into_iter();
    let mut all: Vec<Judged> = Vec::new();
    for (at, (pair, whole)) in pairs.iter().zip(together(table, &pairs)).enumerate() {
        let (ladder, (from_dop, from), (to_dop, to)) = places[at];
        let step = |query: Option<u8>, speed: Ratio, cpu: Option<Ratio>, plan_change: Change| DopStep {
            placement: table.study.treatments[to].placement.clone(),
            streams: table.study.treatments[to].sessions,
            from: table.study.treatments[from].name.clone(),
            to: table.study.treatments[to].name.clone(),
            from_dop,
            to_dop,
            query,
            speed,
            cpu,
            mark: StepMark::None,
            plan_change,
        };
        if let Some((speed, beside)) = whole.geometric.and_then(|speed| Some((speed, of_wholes.next()?))) {
            // For all queries together the largest change.
            let changes = table.asked.iter().map(|query| plans.between(pair, *query));
            let step = step(None, speed, whole.cpu, changes.max().unwrap_or(Change::Unknown));
            all.push(Judged { ladder, step, beside });
        }
        // The queries of a step are a family.
        let family: Vec<(Judgeable, f64)> =
            query_members(table, pair, Quantity::Elapsed).into_values().map(|one| (one, log(at))).collect();
        let besides = beside(table, &family, judge_many);
        all.extend(ratios::queries(table, plans, pair).into_iter().zip(besides).map(|(one, beside)| {
            let step = step(Some(one.query), one.speed, one.cpu, one.plan_change);
            Judged { ladder, step, beside }
        }));
    }
    all.sort_by_key(|one| (one.ladder, one.step.query));
    let mark = |one: &Judged| {
        let is_next = |next: &&Judged| {
            (next.ladder, next.step.query, &next.step.from) == (one.ladder, one.step.query, &one.step.to)
        };
        match one.beside {
            Beside { is_super: true, .. } => StepMark::SuperScaling,
            Beside { is_poor: true, .. }
                if all.iter().find(is_next).is_some_and(|next| next.beside.is_good) =>
            {
                StepMark::PoorThenGood
            }
            _ => StepMark::None,
        }
    };
    let marks: Vec<StepMark> = all.iter().map(mark).collect();
    all.into_iter().zip(marks).map(|(one, mark)| DopStep { mark, ..one.step }).collect()
}

/// Judges a family, each member with the logarithm of its ratio of DOPs, against linear, and against poor and good.
fn beside(
    table: &Executions<'_>,
    family: &[(Judgeable, f64)],
    judge: fn(&[Judgeable], Rule) -> Vec<Ratio>,
) -> Vec<Beside> {
    // The equivalent of a doubling's factor for each step.
    let against = |doubling: f64| {
        let shifted =
            family.iter().map(|((mean, floor), log)| (mean.shifted(-log * doubling.log2()), *floor));
        judge(&shifted.collect::<Vec<Judgeable>>(), table.rule(Direction::HigherIsBetter))
    };
    let [linear, poor, good] = [2.0, POOR, GOOD].map(against);
    let beside = |at: usize| Beside {
        is_super: linear[at].is_higher(),
        is_poor: poor[at].is_different() && poor[at].value < 1.0,
        is_good: good[at].is_different() && good[at].value > 1.0,
    };
    (0..family.len()).map(beside).collect()
}

/// Steps of all queries together that the totals do not report, and queries whose steps are unusual. `None` for
/// streams, where the plateau shows the gain of a higher DOP.
pub fn finding_of(found: Found<'_>, choice: &Choice<'_>) -> Option<Finding> {
    if found.queries.is_throughput {
        return None;
    }
    let steps = &found.queries.steps;
    let all: Vec<&DopStep> =
        steps.iter().filter(|step| step.query.is_none() && !is_reported(found, choice, step)).collect();
    let mut sentences: Vec<Prose> = together_words(&all).into_iter().collect();
    let most = MAX_MARKED - sentences.len().min(1);
    for (mark, words) in [
        (StepMark::SuperScaling, "Better than linear"),
        (StepMark::PoorThenGood, "Little gain at first and much at the next step"),
    ] {
        let marked = steps.iter().filter(|step| step.query.is_some() && step.mark == mark).collect();
        sentences.extend(listed(marked, most).map(|steps| prose!("{}: {}.", words, steps)));
    }
    let mut names: Vec<&str> = steps.iter().map(|step| step.to.as_str()).collect();
    names.dedup();
    (!sentences.is_empty()).then(|| finding("dop-step", Prose::join(sentences, " "), &names))
}

/// Whether the totals report a step: from the baseline to a treatment that they name.
fn is_reported(found: Found<'_>, choice: &Choice<'_>, step: &DopStep) -> bool {
    let from = found.facts.study.treatment(&step.from);
    from.is_some_and(|(_, treatment)| treatment.role == Role::Baseline)
        && step.mark == StepMark::None
        && choice
            .named
            .iter()
            .any(|measured| measured.treatment == step.to && measured.total.ratios.speed.is_some())
}

/// `Speed by DOP, geometric mean: 8 over 4 on all 1.38x [1.35, 1.41]`.
fn together_words(all: &[&DopStep]) -> Option<Prose> {
    let mut by_dop: Vec<usize> = (0..all.len()).collect();
    by_dop.sort_by_key(|at| Reverse(all[*at].to_dop));
    by_dop.truncate(MAX_STEPS);
    by_dop.sort_unstable();
    let tell = |at: usize| {
        let linear = if all[at].mark == StepMark::SuperScaling { "better than linear" } else { "" };
        NamedRatio::of(&name(all[at]), &all[at].speed, linear)
    };
    let clauses = judged(by_dop.into_iter().map(tell))?;
    let more = match all.len().saturating_sub(MAX_STEPS) {
        0 => String::new(),
        more => format!("; {} to lower DOPs not listed here", counted(more, "step")),
    };
    Some(prose!("Speed by DOP, geometric mean: {}{}.", clauses, more))
}

/// `4 over 2 on all`.
fn name(step: &DopStep) -> String {
    format!("{} over {} on {}", step.to_dop, step.from_dop, step.placement.trim())
}

/// `Q2 (2 over 1 on all)`; the largest first. By rank alone: intervals of the largest of many steps and queries would
/// not account for the choice, and the table has all of them.
fn listed(mut steps: Vec<&DopStep>, most: usize) -> Option<String> {
    steps.sort_by(|a, b| b.speed.value.total_cmp(&a.speed.value));
    let name = |step: &DopStep| format!("{} ({})", query_name(step.query.unwrap_or_default()), name(step));
    (!steps.is_empty()).then(|| some_of(steps.into_iter().map(name).collect(), most))
}

/// The section; `None` without steps.
pub fn section(found: Found<'_>) -> Option<Section> {
    let is_apart = |step: &DopStep| found.queries.steps.iter().any(|other| other.streams != step.streams);
    let rows = by_name(found, |step, words| {
        let streams = if is_apart(step) { found.streams_words(step.streams) } else { String::new() };
        format!("{}{streams}, DOP {} to {} {words}", step.placement, step.from_dop, step.to_dop)
    });
    let find = |steps: &Row<'_>, query: Option<u8>| steps.iter().position(|step| step.query == query);
    let queries = |together: &str| {
        let each = found.queries.numbers.iter().map(|query| (query_name(*query), Some(*query)));
        each.chain([(together.to_owned(), None)]).collect::<Vec<(String, Option<u8>)>>()
    };
    let speed = |step: &DopStep| {
        let cell = with_sign(bare(Some(&step.speed)), step.plan_change);
        match mark(step.mark) {
            (_, "") => cell,
            (_, words) => Cell::Both(Box::new(cell), Box::new(Cell::text(words))),
        }
    };
    let cpu = |step: &DopStep| Some(with_sign(bare(Some(step.cpu.as_ref()?)), step.plan_change));
    let figure = Block::Figure(Box::new(Figure {
        chart: Chart::Steps(chart(found, &rows)),
        wide: true,
        title: found.facts.titled("Speed-up by step of DOP", ""),
        description: format!(
            "Speed-up of each query from one DOP to the next under the same placement. Darker is closer to the ratio \
             of the DOPs; orange is slower than before. ▲ super-scaling: better than the ratio of the DOPs, adjusted \
             for the queries of the step. ◆ poor, then good: this step gained little and the next one much. \
             {PLAN_SIGN}: the plan changed with the step."
        ),
        table: by_query(
            prose!("Speed-up by step; {}: the plan changed", PLAN_SIGN),
            &rows,
            queries("all (geometric mean)"),
            |steps, query| find(steps, query).map_or_else(Cell::none, |at| speed(steps[at])),
        ),
    }));
    let mut blocks = vec![figure];
    blocks.extend(curves(found));
    if found.queries.steps.iter().any(|step| step.cpu.is_some()) {
        blocks.push(Block::Table(by_query(
            prose!("CPU time by step, above 1 is more; {}: the plan changed", PLAN_SIGN),
            &rows,
            queries("all (totals)"),
            |steps, query| or_none(find(steps, query).and_then(|at| cpu(steps[at]))),
        )));
    }
    (!rows.is_empty()).then(|| Section::new("steps", "Steps of parallelism", blocks))
}

/// Number of a mark in a chart, and its words in a table.
fn mark(mark: StepMark) -> (u8, &'static str) {
    match mark {
        StepMark::None => (0, ""),
        StepMark::SuperScaling => (1, "super-scaling"),
        StepMark::PoorThenGood => (2, "poor, then good"),
    }
}

/// Steps by a name, which may end in the words of their group, in order of first appearance.
fn by_name<'a>(found: Found<'a>, name: impl Fn(&DopStep, String) -> String) -> Vec<(String, Row<'a>)> {
    grouped(&found.queries.steps, |step| {
        let name = name(step, found.facts.group_words(found.facts.group_of(&step.to)));
        name.trim_end().to_owned()
    })
}

/// Speed-ups by step and query.
fn chart(found: Found<'_>, rows: &[(String, Row<'_>)]) -> StepChart {
    let mut chart = StepChart { queries: found.queries.numbers.clone(), ..StepChart::default() };
    chart.queries.push(0);
    for (at, (name, steps)) in rows.iter().enumerate() {
        let first = steps.first();
        let linear = first.map_or(1.0, |step| f64::from(step.to_dop) / f64::from(step.from_dop.max(1)));
        chart.rows.push((name.clone(), linear));
        chart.cells.extend(steps.iter().filter_map(|step| {
            let (low, high) = ends(step.speed.low, step.speed.high);
            let changed = u8::from(step.plan_change == Change::Different);
            Some((at, step.query.unwrap_or(0), end(step.speed.value)?, low, high, mark(step.mark).0, changed))
        }));
    }
    chart
}

/// Speed over DOP, one line per query, as the published article drew them: one chart for the steps of each placement
/// and number of streams that has two or more steps.
fn curves(found: Found<'_>) -> impl Iterator<Item = Block> {
    let ladders = by_name(found, |step, words| {
        format!("{}{} {words}", step.placement, found.streams_words(step.streams))
    });
    ladders.into_iter().filter_map(move |(group, steps)| {
        let lines = found.queries.numbers.iter().filter_map(|query| curve(found, *query, &steps));
        let lines: Vec<DopLine> = lines.collect();
        let dops: BTreeSet<u32> = lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
        let columns: Vec<(String, u32)> = dops.into_iter().map(|dop| (format!("DOP {dop}"), dop)).collect();
        let table = by_query("", &columns, lines.iter().map(|line| (line.name.clone(), line)), |dop, line| {
            let point = line.points.iter().find(|point| point.0 == *dop);
            point.map_or_else(Cell::none, |point| Cell::Value { value: point.1, unit: "ratio" })
        });
        lines.iter().any(|line| line.points.len() > 2).then(|| {
            Block::Figure(Box::new(Figure {
                wide: false,
                title: found.facts.titled(&format!("Speed of each query over DOP, {group}"), ""),
                description: "One line per query: its steps multiplied up from the lowest DOP. Queries with a mark \
                 have a colour: ▲ a step better than the ratio of the DOPs, ◆ a step that gained little before one \
                 that gained much."
                    .to_owned(),
                table,
                chart: Chart::Dops(DopChart { group, unit: "speed over the lowest DOP", lines }),
            }))
        })
    })
}

/// A query's steps multiplied up; `None` if one is missing between others, or has no value.
fn curve(found: Found<'_>, query: u8, steps: &[&DopStep]) -> Option<DopLine> {
    let mut steps: Vec<&DopStep> = steps.iter().filter(|step| step.query == Some(query)).copied().collect();
    steps.sort_by_key(|step| step.to_dop);
    let first = steps.first()?;
    let mut points = vec![(first.from_dop, 1.0, None, None, found.label(&first.from))];
    let mut speed = 1.0;
    for step in &steps {
        if points.last().is_none_or(|last| last.0 != step.from_dop) {
            return None;
        }
        speed *= step.speed.value;
        points.push((step.to_dop, end(speed)?, None, None, found.label(&step.to)));
    }
    let signs = [(StepMark::SuperScaling, " ▲"), (StepMark::PoorThenGood, " ◆")].into_iter();
    let signs = signs.filter(|(mark, _)| steps.iter().any(|step| step.mark == *mark)).map(|(_, sign)| sign);
    Some(DopLine { name: query_name(query) + &signs.collect::<String>(), points })
}
