//! DOP n against the next lower one: the gain of each step, per query and for all together.
//!
//! A step compares treatments that differ in their DOP alone. It is better than linear if its distance to the ratio of
//! the DOPs is an effect; "poor, then good" is typical of an engine whose query runs serially below some DOP, or pays
//! for going parallel before it gains.

use super::executions::{Executions, Pair, Quantity};
use super::plans::Plans;
use super::query_study::{
    Choice, DOP, NamedRatio, PLAN_SIGN, QueryStudy, bare, by_query, end, ends, judged, or_none, with_sign,
};
use super::ratios::{Whole, contrasts, members, query_members};
use super::types::{Change, DopStep, StepMark, TreatmentQueries};
use super::words::{query_name, some_of};
use crate::estimate::{Judgeable, Rule, judge, judge_many};
use crate::groups::grouped_by;
use crate::words::finding;
use crate::{Direction, Finding, FindingKind, Ratio};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use threadwise_document::chart::{Line, LineChart, StepChart};
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

/// Steps of all queries, and of all together, with a common name.
type Row<'a> = Vec<&'a DopStep>;

/// Every step of every query, and of all together.
pub fn steps(table: &Executions<'_>, plans: &Plans) -> Vec<DopStep> {
    let ladders = table.ladders();
    let places = ladders.iter().enumerate();
    let places: Vec<_> =
        places.flat_map(|(at, ladder)| ladder.windows(2).map(move |two| (at, two[0], two[1]))).collect();
    let pairs: Vec<Pair> = places.iter().map(|(_, from, to)| table.pair(to.1, from.1)).collect();
    let log = |at: usize| (f64::from(places[at].2.0) / f64::from(places[at].1.0)).ln();
    let wholes = members(table, &pairs, Whole::Geometric);
    let family = wholes.iter().enumerate().filter_map(|(at, member)| Some(((*member)?, log(at))));
    let mut of_wholes = marks(table, &family.collect::<Vec<_>>(), judge).into_iter();
    // Each with its ladder, and whether it is good.
    let mut all: Vec<(usize, DopStep, bool)> = Vec::new();
    for (at, (pair, (whole, queries))) in pairs.iter().zip(contrasts(table, plans, &pairs)).enumerate() {
        let (ladder, (from_dop, from), (to_dop, to)) = places[at];
        let [from, to] = [from, to].map(|at| &table.study.treatments[at]);
        let mut add = |query: Option<u8>, speed: Ratio, cpu, plan_change, (mark, is_good)| {
            let step = DopStep {
                placement: to.placement.to_string(),
                streams: to.sessions,
                from: from.name.clone(),
                to: to.name.clone(),
                from_dop,
                to_dop,
                query,
                speed,
                cpu,
                mark,
                plan_change,
            };
            all.push((ladder, step, is_good));
        };
        if let Some((speed, mark)) = whole.geometric.and_then(|speed| Some((speed, of_wholes.next()?))) {
            // For all queries together the largest change.
            let changes = table.asked.iter().map(|query| plans.between(pair, *query));
            add(None, speed, whole.cpu, changes.max().unwrap_or(Change::Unknown), mark);
        }
        // The queries of a step are a family.
        let family: Vec<(Judgeable, f64)> =
            query_members(table, pair, Quantity::Elapsed).into_values().map(|one| (one, log(at))).collect();
        for (one, mark) in queries.into_iter().zip(marks(table, &family, judge_many)) {
            add(Some(one.query), one.speed, one.cpu, one.plan_change, mark);
        }
    }
    all.sort_by_key(|(ladder, step, _)| (*ladder, step.query));
    let is_before_good = |(ladder, step, _): &(usize, DopStep, bool)| {
        let mut rest = all.iter();
        let next =
            rest.find(|(other, next, _)| (other, next.query, &next.from) == (ladder, step.query, &step.to));
        next.is_some_and(|(.., is_good)| *is_good)
    };
    let is_kept: Vec<bool> =
        all.iter().map(|one| one.1.mark != StepMark::PoorThenGood || is_before_good(one)).collect();
    let marked = all.into_iter().zip(is_kept).map(|((_, step, _), is_kept)| match is_kept {
        true => step,
        false => DopStep { mark: StepMark::None, ..step },
    });
    marked.collect()
}

/// Judges a family, each member with the logarithm of its ratio of DOPs, against linear, and against poor and good:
/// marks, [`StepMark::PoorThenGood`] for every poor one, and whether it is good.
fn marks(
    table: &Executions<'_>,
    family: &[(Judgeable, f64)],
    judge: fn(&[Judgeable], Rule) -> Vec<Ratio>,
) -> Vec<(StepMark, bool)> {
    // The equivalent of a doubling's factor for each step.
    let against = |doubling: f64| {
        let shifted =
            family.iter().map(|((mean, floor), log)| (mean.shifted(-log * doubling.log2()), *floor));
        judge(&shifted.collect::<Vec<Judgeable>>(), table.rule(Direction::HigherIsBetter))
    };
    let [linear, poor, good] = [2.0, POOR, GOOD].map(against);
    let all = linear.into_iter().zip(poor).zip(good).map(|((linear, poor), good)| {
        let is_poor = poor.is_different() && poor.value < 1.0;
        let mark = match linear.is_higher() {
            true => StepMark::SuperScaling,
            false if is_poor => StepMark::PoorThenGood,
            false => StepMark::None,
        };
        (mark, good.is_different() && good.value > 1.0)
    });
    all.collect()
}

/// Steps of all queries together that the totals do not report, and queries whose steps are unusual. `None` for
/// streams, where the plateau shows the gain of a higher DOP.
pub fn finding_of(found: QueryStudy<'_>, choice: &Choice<'_>) -> Option<Finding> {
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
    (!sentences.is_empty()).then(|| finding(FindingKind::DopStep, Prose::join(sentences, " "), &names))
}

/// Whether the totals report a step: from the baseline to a treatment that they name.
fn is_reported(found: QueryStudy<'_>, choice: &Choice<'_>, step: &DopStep) -> bool {
    let from = found.facts.study.treatment(&step.from);
    let is_told = |one: &&TreatmentQueries| one.treatment == step.to && one.total.ratios.speed.is_some();
    from.is_some_and(|(_, treatment)| treatment.role == Role::Baseline)
        && step.mark == StepMark::None
        && choice.named.iter().any(is_told)
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
    format!("{} over {} on {}", step.to_dop, step.from_dop, step.placement.as_str())
}

/// `Q2 (2 over 1 on all)`; the largest first. By rank alone: intervals of the largest of many steps and queries would
/// not account for the choice, and the table has all of them.
fn listed(mut steps: Vec<&DopStep>, most: usize) -> Option<String> {
    steps.sort_by(|a, b| b.speed.value.total_cmp(&a.speed.value));
    let name = |step: &DopStep| format!("{} ({})", query_name(step.query.unwrap_or_default()), name(step));
    (!steps.is_empty()).then(|| some_of(steps.into_iter().map(name).collect(), most))
}

/// The section; `None` without steps.
pub fn section(found: QueryStudy<'_>) -> Option<Section> {
    let is_apart = |step: &DopStep| found.queries.steps.iter().any(|other| other.streams != step.streams);
    let rows = by_name(found, |step, words| {
        let streams = if is_apart(step) { found.streams_words(step.streams) } else { String::new() };
        format!("{}{streams}, DOP {} to {} {words}", step.placement, step.from_dop, step.to_dop)
    });
    // One row per query, one column per step.
    let table = |caption: Prose, together: &str, cell: &dyn Fn(&DopStep) -> Cell| {
        let each = found.queries.numbers.iter().map(|query| (query_name(*query), Some(*query)));
        let all = each.chain([(together.to_owned(), None)]);
        by_query(caption, &rows, all, |steps, query| {
            or_none(steps.iter().find(|step| step.query == query).map(|step| cell(step)))
        })
    };
    let speed = |step: &DopStep| {
        let cell = with_sign(bare(Some(&step.speed)), step.plan_change);
        match mark(step.mark).1 {
            "" => cell,
            words => Cell::Both(Box::new(cell), Box::new(Cell::text(words))),
        }
    };
    let caption = prose!("Speed-up by step; {}: the plan changed", PLAN_SIGN);
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
        table: table(caption, "all (geometric mean)", &speed),
    }));
    let mut blocks = vec![figure];
    blocks.extend(curves(found));
    if found.queries.steps.iter().any(|step| step.cpu.is_some()) {
        let caption = prose!("CPU time by step, above 1 is more; {}: the plan changed", PLAN_SIGN);
        let cpu = |step: &DopStep| {
            let cpu = step.cpu.as_ref();
            or_none(cpu.map(|cpu| with_sign(bare(Some(cpu)), step.plan_change)))
        };
        blocks.push(Block::Table(table(caption, "all (totals)", &cpu)));
    }
    (!rows.is_empty()).then(|| Section::new("steps", "Steps of parallelism", blocks))
}

/// Number of a mark in a chart, its words in a table, and its sign after a name.
fn mark(mark: StepMark) -> (u8, &'static str, &'static str) {
    match mark {
        StepMark::None => (0, "", ""),
        StepMark::SuperScaling => (1, "super-scaling", " ▲"),
        StepMark::PoorThenGood => (2, "poor, then good", " ◆"),
    }
}

/// Steps by a name, which may end in the words of their group, in order of first appearance.
fn by_name<'a>(found: QueryStudy<'a>, name: impl Fn(&DopStep, String) -> String) -> Vec<(String, Row<'a>)> {
    grouped_by(&found.queries.steps, |step| {
        let name = name(step, found.facts.group_words(found.facts.group_of(&step.to)));
        name.trim_end().to_owned()
    })
}

/// Speed-ups by step and query.
fn chart(found: QueryStudy<'_>, rows: &[(String, Row<'_>)]) -> StepChart {
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
fn curves(found: QueryStudy<'_>) -> impl Iterator<Item = Block> {
    let ladders = by_name(found, |step, words| {
        format!("{}{} {words}", step.placement, found.streams_words(step.streams))
    });
    ladders.into_iter().filter_map(move |(group, steps)| {
        let lines = found.queries.numbers.iter().filter_map(|query| curve(found, *query, &steps));
        let lines: Vec<Line> = lines.collect();
        let dops: BTreeSet<u32> = lines.iter().flat_map(|line| &line.points).map(|point| point.0 as u32).collect();
        let columns: Vec<(String, u32)> = dops.into_iter().map(|dop| (format!("DOP {dop}"), dop)).collect();
        let table = by_query("", &columns, lines.iter().map(|line| (line.name.clone(), line)), |dop, line| {
            let point = line.points.iter().find(|point| point.0 as u32 == *dop);
            or_none(point.map(|point| Cell::Value { value: point.1, unit: "ratio" }))
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
                chart: Chart::Lines(LineChart {
                    group,
                    over: DOP,
                    unit: "speed over the lowest DOP",
                    lines,
                    ..LineChart::default()
                }),
            }))
        })
    })
}

/// A query's steps multiplied up; `None` if one is missing between others, or has no value.
fn curve(found: QueryStudy<'_>, query: u8, steps: &[&DopStep]) -> Option<Line> {
    let mut steps: Vec<&DopStep> = steps.iter().filter(|step| step.query == Some(query)).copied().collect();
    steps.sort_by_key(|step| step.to_dop);
    let first = steps.first()?;
    let mut points = vec![(f64::from(first.from_dop), 1.0, None, None, found.label(&first.from))];
    let mut speed = 1.0;
    for step in &steps {
        if points.last().is_none_or(|last| last.0 != f64::from(step.from_dop)) {
            return None;
        }
        speed *= step.speed.value;
        points.push((f64::from(step.to_dop), end(speed)?, None, None, found.label(&step.to)));
    }
    let signs = [StepMark::SuperScaling, StepMark::PoorThenGood].into_iter();
    let signs = signs.filter(|sign| steps.iter().any(|step| step.mark == *sign)).map(|sign| mark(sign).2);
    Some(Line { name: query_name(query) + &signs.collect::<String>(), points })
}
