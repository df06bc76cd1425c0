//! Work lists: commands for each item of a list, by N jobs. Seconds per item are compared; everything else is as for
//! commands.

use super::command::{self, best, command_words, cost, gaps, metrics, others, whole};
use crate::commands::{Commands, ELAPSED, IDLE_SHARE};
use crate::estimate::Guess;
use crate::findings::{smt, trust};
use crate::kind::Kind;
use crate::words::{answered, finding, judged_decisive, likely};
use crate::worklist::{
    Bar, Computed, ITEM_S, Pair, PairKind, Point, Series, Step, Timeline, Worklist, between, joint, points,
};
use crate::{Estimate, Facts, Finding, FindingKind, Ratio};
use threadwise_document::chart::{ChartWords, JobChart, JobLine, JobPoint, JobStep, TimelineChart};
use threadwise_document::numbers::{self, counted, seconds, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Prose, Row, Says, Section, Shown, Table, prose,
};
use threadwise_machine::words::bytes;
use threadwise_study::worklist::{Feed, MAX_SPANS, Order, WorklistOptions};
use threadwise_study::{ComparisonKind, Study};

/// The kind.
pub struct Worklists;

impl Kind for Worklists {
    fn metric_name(&self, study: &Study, metric: &str) -> String {
        command::Commands.metric_name(study, metric)
    }

    fn turn(&self, _facts: &Facts<'_>) -> String {
        "does the whole list once".to_owned()
    }

    fn method(&self, _facts: &Facts<'_>) -> Vec<Prose> {
        vec![command::method("list")]
    }

    fn scope(&self, study: &Study) -> Option<String> {
        scope_of(study)
    }

    fn comparable(&self) -> &'static str {
        command::Commands.comparable()
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some((runs, lists)) = command::measured(facts).zip(facts.analysis.worklist.as_ref()) else {
            return trust::nothing_found(facts, self);
        };
        trust::with_trust(facts, self, worklist(facts, runs, lists))
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        let mut sections = command::Commands.answers(facts);
        if let Some((runs, lists)) = facts.analysis.commands.as_ref().zip(facts.analysis.worklist.as_ref()) {
            about_lists(&mut sections, runs);
            sections.splice(0..0, jobs(facts, lists));
        }
        sections
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        command::Commands.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        command::Commands.chart_words(facts)
    }
}

/// Kinds of comparisons with sentences of their own.
const REPORTED_KINDS: [ComparisonKind; 3] =
    [ComparisonKind::Baseline, ComparisonKind::JobsStep, ComparisonKind::SmtWhole];

/// All findings.
pub fn worklist(facts: &Facts<'_>, commands: &Commands, list: &Worklist) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(item_s(facts, commands, list));
    findings.extend(steps(facts, list));
    findings.extend(placements(facts, list));
    findings.extend(idle(list));
    findings.extend(schedules(facts, list));
    if let Some(headline) = commands.headline() {
        // Treatments that differ in jobs and placement at once are neither steps nor pairs.
        let is_reported = !list.pairs.is_empty() || list.series.iter().any(|series| !series.steps.is_empty());
        findings.extend(match headline.metric == ITEM_S && is_reported {
            true => others(facts, headline, &REPORTED_KINDS),
            false => whole(facts, commands, headline, FindingKind::Command),
        });
        findings.extend(metrics(facts, commands, &[ITEM_S, IDLE_SHARE, ELAPSED, &headline.metric]));
    }
    findings.extend(cost(facts, commands));
    findings.extend(gaps(commands));
    findings
}

/// The last point with a gain.
fn knee(series: &Series) -> usize {
    series.steps.iter().rposition(|step| step.speed.as_ref().is_some_and(gains)).map_or(0, |step| step + 1)
}

/// ` on all`; for a series that differs from others in its schedule alone, `, one queue, as given`.
fn place(series: &Series) -> String {
    match series.label.starts_with(&series.placement) {
        true => format!(" on {}", series.label),
        false => format!(", {}", series.label),
    }
}

fn gains(speed: &Ratio) -> bool {
    speed.is_higher()
}

/// Seconds per item with the fewest jobs and with the useful number.
fn item_s(facts: &Facts<'_>, commands: &Commands, list: &Worklist) -> Option<Finding> {
    let with = |point: &Point| prose!("{} with {}", &point.item_s_joint, jobs_words(point.jobs));
    let sentence = |series: &Series| {
        let (first, last) = (series.points.first()?, series.points.get(knee(series))?);
        let total = |point: &Point| {
            let total = point.total_s_joint.as_ref().map(|total| prose!(" (the list {})", total));
            total.unwrap_or_default()
        };
        let start = prose!("{}{}", with(first), place(series));
        Some(match last.jobs == first.jobs {
            true => prose!("{}{}", start, total(first)),
            false => prose!("{}, {}{}", start, with(last), total(last)),
        })
    };
    let all = Prose::join(list.series.iter().filter_map(sentence), "; ");
    let items = list.items.map(|items| format!(", {}", numbers::counted(items as usize, "item")));
    let names: Vec<&str> =
        list.series.iter().flat_map(|series| &series.points).map(|point| point.treatment.as_str()).collect();
    (!all.is_empty()).then(|| {
        let items = items.unwrap_or_default();
        let mut text = prose!("Seconds per item (recipe {}{}): {}.", &list.recipe, items, all);
        let quantity = commands.headline().filter(|headline| headline.metric == ITEM_S);
        for group in facts.study.groups() {
            let best = quantity.and_then(|quantity| best(facts, commands, quantity, group));
            text.push(best.map_or_else(Prose::default, |best| prose!(" {}", best)));
        }
        finding(FindingKind::Worklist, text, &names)
    })
}

/// From each number of jobs to the next, and where more stops helping.
fn steps(facts: &Facts<'_>, list: &Worklist) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut sentences = Vec::new();
    for series in list.series.iter().filter(|series| !series.steps.is_empty()) {
        let clauses = series.steps.iter().filter_map(|step| {
            Some(prose!("from {} to {} {}", step.from, step.to, judged_decisive(step.speed.as_ref()?)))
        });
        let clauses = Prose::join(clauses, "; ");
        if clauses.is_empty() {
            continue;
        }
        let end = end(facts, series);
        sentences.push(prose!("Speed by number of jobs{}: {}. {}", place(series), clauses, end));
        let points = series.points.windows(2);
        evidence.extend(points.filter_map(|pair| name(facts, &pair[1].treatment, &pair[0].treatment)));
    }
    let is_any = !sentences.is_empty();
    sentences.push("Intervals of steps are adjusted for all comparisons.".into());
    is_any.then(|| finding(FindingKind::JobsStep, Prose::join(sentences, " "), &evidence))
}

/// Result of the first step after the knee.
fn end(facts: &Facts<'_>, series: &Series) -> String {
    let Some(Step { from, to, speed }) = series.steps.get(knee(series)) else {
        let most = series.points.last().map_or(0, |point| point.jobs);
        return format!("Speed still grows at {}, the largest number tested.", jobs_words(most));
    };
    match speed {
        Some(speed) if speed.is_lower() => format!("{} are slower than {from}.", jobs_words(*to)),
        Some(speed) if speed.is_same() => {
            let margin = numbers::set_percent(facts.study.design.margin);
            format!("{} are no faster than {from} (within {margin}).", jobs_words(*to))
        }
        _ => match speed.as_ref().and_then(|speed| Some((Guess::of(speed)?, speed.margin))) {
            Some((guess, margin)) => {
                let best = if guess.is_above { to } else { from };
                let likely = likely(guess, &jobs_words(*to), margin);
                format!(
                    "Whether {} are faster than {from} is not decided; best guess {best} ({likely}).",
                    jobs_words(*to)
                )
            }
            None => format!("Whether {} are faster than {from} is not decided.", jobs_words(*to)),
        },
    }
}

/// Both threads of every core against one, and other pairs of placements; without SMT, that there is none to compare.
fn placements(facts: &Facts<'_>, list: &Worklist) -> Vec<Finding> {
    let mut sides: Vec<(&str, &str)> = Vec::new();
    let pairs = || list.pairs.iter().filter(|pair| pair.kind == PairKind::Placement);
    for pair in pairs() {
        let side = (label_in(list, &pair.treatment), label_in(list, &pair.baseline));
        if !sides.contains(&side) {
            sides.push(side);
        }
    }
    let sentence = |(top, under): (&str, &str)| {
        let of_sides = pairs()
            .filter(|pair| (label_in(list, &pair.treatment), label_in(list, &pair.baseline)) == (top, under));
        let (mut clauses, mut evidence) = (Vec::new(), Vec::new());
        for pair in of_sides {
            clauses.push(prose!("with {} {}", jobs_words(pair.jobs), judged(&pair.speed)));
            evidence.extend(name(facts, &pair.treatment, &pair.baseline));
        }
        let (kind, what) = match (top, under) {
            ("all", "no-smt") => {
                (FindingKind::SmtWhole, "Both threads of every core against one of each".to_owned())
            }
            _ => (FindingKind::Asked, format!("Speed of {top} over {under}")),
        };
        finding(kind, prose!("{}: {}.", what, Prose::join(clauses, "; ")), &evidence)
    };
    let mut found: Vec<Finding> = sides.into_iter().map(sentence).collect();
    let is_without = |line: &String| line.starts_with("no-smt: ") || line.starts_with("all: ");
    if !found.iter().any(|finding| finding.kind == FindingKind::SmtWhole)
        && facts.study.left_out.iter().any(is_without)
    {
        found.push(smt::not_measured(facts));
    }
    found
}

/// Idle time of jobs at the end.
fn idle(list: &Worklist) -> Option<Finding> {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for series in &list.series {
        let mut clauses = Vec::new();
        for point in series.points.iter().filter(|point| point.jobs > 1) {
            let Some(share) = &point.idle_share else { continue };
            clauses.push(prose!("{} with {}", share, jobs_words(point.jobs)));
            names.push(point.treatment.as_str());
        }
        all.extend((!clauses.is_empty()).then(|| prose!("{}{}", Prose::list(clauses), place(series))));
    }
    (!all.is_empty()).then(|| {
        let text = prose!(
            "Share of time in which jobs had nothing left to do at the end: {}.",
            Prose::join(all, "; ")
        );
        finding(FindingKind::IdleTail, text, &names)
    })
}

/// Other schedules: those that were run, and those that are computed.
fn schedules(facts: &Facts<'_>, list: &Worklist) -> Vec<Finding> {
    let pairs = || list.pairs.iter().filter(|pair| pair.kind == PairKind::Schedule);
    let mut sides: Vec<(&str, u32)> = Vec::new();
    for pair in pairs() {
        let side = (label_in(list, &pair.baseline), pair.jobs);
        if !sides.contains(&side) {
            sides.push(side);
        }
    }
    let sentence = |side: &(&str, u32)| {
        let same = pairs().filter(|pair| (label_in(list, &pair.baseline), pair.jobs) == *side);
        let clauses = same.map(|pair| prose!("{} {}", label_in(list, &pair.treatment), judged(&pair.speed)));
        let clauses = Prose::join(clauses, "; ");
        prose!("Speed of schedules over {}, with {}: {}.", side.0, jobs_words(side.1), clauses)
    };
    let text = Prose::join(sides.iter().map(sentence), " ");
    let evidence: Vec<&str> =
        pairs().filter_map(|pair| name(facts, &pair.treatment, &pair.baseline)).collect();
    let measured = (!text.is_empty()).then(|| finding(FindingKind::Schedule, text, &evidence));
    let computed = if measured.is_some() { None } else { of_computed(facts, list) };
    measured.into_iter().chain(computed).collect()
}

fn of_computed(facts: &Facts<'_>, list: &Worklist) -> Option<Finding> {
    let several = |series: &&Series| series.points.iter().any(|point| point.jobs > 1);
    let mut names = Vec::new();
    let mut clauses = Vec::new();
    for series in list.series.iter().filter(several) {
        // The useful number of jobs; if that is one, the fewest of which there is a schedule.
        let points = || series.points.iter().filter(|point| !point.computed.is_empty());
        let best = series.points.get(knee(series)).filter(|point| !point.computed.is_empty());
        let Some(point) = best.or_else(|| points().next()) else { continue };
        // The point is chosen by its figures, so the interval holds for all points together.
        let blocks = facts.summary(&point.treatment).map_or(0, |summary| summary.runs);
        let family = (1.0 - facts.level(), series.points.len());
        let schedule = |computed: &Computed| {
            let ratio = joint(&computed.ratio, blocks, family).scaled(1.0, "ratio");
            prose!("{} ({})", &ratio, &computed.schedule)
        };
        let each = Prose::list(point.computed.iter().map(schedule).collect());
        clauses.push(prose!("with {}{} {}", jobs_words(point.jobs), place(series), each));
        names.push(point.treatment.as_str());
    }
    if !clauses.is_empty() {
        let text = prose!(
            "Time of other schedules over the one that was run, computed from each item's time and not run: {}.",
            Prose::join(clauses, "; ")
        );
        return Some(finding(FindingKind::Schedule, text, &names));
    }
    list.series.iter().find(several)?;
    let why = match list.items {
        Some(items) if (items as usize) < MAX_SPANS => "no run reported the times of its items".to_owned(),
        _ => format!("the times of single items are not all kept for lists of {MAX_SPANS} items or more"),
    };
    let text = format!("The time of other schedules is not computed: {why}.");
    Some(finding(FindingKind::NotMeasurable, text, &[]))
}

/// `1 job`, `8 jobs`.
fn jobs_words(jobs: u32) -> String {
    numbers::counted(jobs as usize, "job")
}

/// The series of a treatment.
fn label_in<'a>(list: &'a Worklist, treatment: &'a str) -> &'a str {
    let has = |series: &&Series| series.points.iter().any(|point| point.treatment == treatment);
    list.series.iter().find(has).map_or(treatment, |series| &series.label)
}

/// Name of the estimate of a speed.
fn name<'a>(facts: &Facts<'a>, top: &str, under: &str) -> Option<&'a str> {
    let ((_, top), (_, under)) = facts.study.treatment(top).zip(facts.study.treatment(under))?;
    let (comparison, _) = between(facts.study, top, under)?;
    let is_own = |estimate: &&Estimate| estimate.metric == ITEM_S && estimate.name == comparison.name;
    facts.analysis.estimates.iter().find(is_own).map(|estimate| estimate.name.as_str())
}

/// `1.83x [1.80, 1.86]`; if no difference is shown, that, and why if the interval alone would show one.
fn judged(speed: &Ratio) -> Prose {
    prose!("{}{}", speed, answered(speed))
}

/// What is done for which items, and how, if it is the same for all treatments.
fn scope_of(study: &Study) -> Option<String> {
    let all: Vec<WorklistOptions> = study
        .treatments
        .iter()
        .filter_map(|treatment| WorklistOptions::read(&treatment.options).ok())
        .collect();
    let first = all.first()?;
    let alike =
        |is: fn(&WorklistOptions, &WorklistOptions) -> bool| all.iter().all(|options| is(options, first));
    let recipe = match first.command() {
        Some(_) => format!("for each item: {}", command_words(study)),
        None => format!("recipe {}", first.recipe),
    };
    let list = match &first.list {
        Some(_) => "the user's list".to_owned(),
        None if first.recipe == "noop" => format!("{} numbers", first.files),
        // More may have been made: an engine's smallest database has a size.
        None => format!("{} made items ({} requested)", first.files, bytes(first.total_bytes)),
    };
    let order = alike(|options, first| options.order == first.order).then_some(match first.order {
        Order::Given => "in the order of the list",
        Order::Largest => "the largest first",
        Order::Shuffled => "in a random order for each block",
    });
    let feed = alike(|options, first| options.feed == first.feed).then_some(match first.feed {
        Feed::Queue => "one queue",
        Feed::Split => "fixed parts",
    });
    let cold = alike(|options, first| options.cold == first.cold).then_some(match first.cold {
        true => "evicted from the page cache before each run",
        false => "as the run before left the page cache",
    });
    let how = [order, feed, cold].into_iter().flatten().map(str::to_owned);
    Some([recipe, list].into_iter().chain(how).collect::<Vec<String>>().join(", "))
}

/// Most runs that are drawn item by item.
const MAX_TIMELINES: usize = 6;

/// The speed relative to the number of jobs before a point.
fn step<'a>(series: &'a Series, point: &Point) -> Option<&'a Ratio> {
    series.steps.iter().find(|step| step.to == point.jobs)?.speed.as_ref()
}

/// Whether any series has two numbers of jobs, so that there is a line to draw.
fn is_sweep(lists: &Worklist) -> bool {
    lists.series.iter().any(|series| series.points.len() > 1)
}

/// The series of a treatment, else its own name. A baseline and its twin are joined by ` and `.
fn series_of<'a>(lists: &'a Worklist, treatment: &'a str) -> &'a str {
    let first = treatment.split(" and ").next().unwrap_or(treatment);
    let has =
        |name: &str| lists.series.iter().find(|series| series.points.iter().any(|p| p.treatment == name));
    has(treatment).or_else(|| has(first)).map_or(treatment, |series| &series.label)
}

/// The first paragraphs of the headline's section, about the list.
pub fn about_lists(sections: &mut [Section], runs: &Commands) {
    let Some(outcome) = sections.first_mut() else { return };
    outcome.blocks.retain(|block| !matches!(block, Block::Text(_, Shown::Page)));
    let others = if runs.differs { " (the first of several; treatments differ in it)" } else { "" };
    let command =
        (!runs.command.is_empty()).then(|| prose!("The command for each item{}: {}", others, &runs.command));
    let ratios = prose!(
        "A run is the whole list. A ratio is a treatment over its baseline, which runs twice in every block; a ratio \
         of seconds per item is the inverse of a speed. Better and worse say which side of 1 it is on."
    );
    let texts = command.into_iter().chain([ratios]).map(|text| Block::Text(text, Shown::Page));
    outcome.blocks.splice(0..0, texts);
}

/// The section of jobs; none if nothing was measured.
pub fn jobs(facts: &Facts<'_>, lists: &Worklist) -> Option<Section> {
    points(lists).next()?;
    let items = lists.items.map(|items| counted(items as usize, "item"));
    let list = items.as_ref().map_or_else(String::new, |items| format!(", {items}"));
    let mut blocks = vec![Block::Text(prose!("work list: {}{}", &lists.recipe, list), Shown::Terminal)];
    blocks.extend(about(lists, items).into_iter().map(|text| Block::Text(text, Shown::Page)));
    let table = every_row(lists);
    let legend = [
        "list: time of the whole list",
        "idle: share of the jobs' time in which nothing was left to do",
        "step: speed over the row above",
    ];
    let legend =
        legend[..if is_sweep(lists) { 3 } else { 2 }].iter().map(|text| Prose::from(*text)).collect();
    match is_sweep(lists) {
        true => blocks.push(Block::Figure(Box::new(sweep(facts, lists, table)))),
        false => blocks.push(Block::Table(table)),
    }
    blocks.extend(pairs(lists).map(Block::Table));
    let drawn = drawn(facts, lists);
    if !drawn.is_empty() {
        blocks.push(Block::Figure(Box::new(timelines(facts, lists, &drawn))));
    }
    blocks.extend(computed(lists).map(Block::Table));
    blocks.push(Block::Legend(legend, Shown::Terminal));
    Some(Section::new("worklist", "Jobs", blocks))
}

fn about(lists: &Worklist, items: Option<String>) -> Vec<Prose> {
    let items = items.map(|items| format!("{items} in the list. ")).unwrap_or_default();
    let step = match is_sweep(lists) {
        true => {
            "A step is the speed over the next smaller number of jobs, the inverse of the ratio of seconds per item, \
             with an interval adjusted for all comparisons. "
        }
        false => "",
    };
    vec![
        prose!(
            "{}Recipe: {}. A job does one item at a time, and takes the next when done; a run is the whole list.",
            items,
            &lists.recipe
        ),
        prose!("{}Idle is the share of the jobs' time in which nothing was left to do.", step),
    ]
}

/// Every figure of every number of jobs, series below their names.
fn every_row(lists: &Worklist) -> Table {
    let mut columns = vec![
        Column::text("jobs"),
        Column::text("treatment").shown(Shown::Page),
        Column::figure("s/item").shorten_at(1),
        Column::figure("list").shorten_at(1),
        Column::figure("idle").shorten_at(1),
    ];
    columns.extend(is_sweep(lists).then(|| Column::text("step").shorten_at(2)));
    let mut table = Table::new("Seconds per item by number of jobs", columns, []);
    for series in &lists.series {
        table.rows.push(Row::Group(series.label.clone()));
        for point in &series.points {
            let mut cells = vec![
                Cell::Count(point.jobs.into()),
                Cell::text(&point.treatment),
                Cell::Interval(point.item_s.clone()),
                Cell::interval(point.total_s.as_ref()),
                Cell::interval(point.idle_share.as_ref()),
            ];
            cells.extend(
                is_sweep(lists)
                    .then(|| Cell::ratio(step(series, point).map(Ratio::decisive).as_ref(), Says::Faster)),
            );
            table.rows.push(Row::Cells(cells));
        }
    }
    table
}

/// Ratios of two series at the same number of jobs.
fn pairs(lists: &Worklist) -> Option<Table> {
    let columns = vec![Column::text("compared"), Column::figure("jobs"), Column::text("speed").shorten_at(1)];
    let row = |pair: &Pair| {
        let (top, bottom) = (series_of(lists, &pair.treatment), series_of(lists, &pair.baseline));
        let speed = Cell::Ratio(pair.speed.clone(), Says::Faster);
        vec![Cell::text(format!("{top} over {bottom}")), Cell::Count(pair.jobs.into()), speed]
    };
    let table = Table::new("Speed at the same number of jobs", columns, lists.pairs.iter().map(row));
    (!table.rows.is_empty()).then_some(table)
}

/// Times by schedules that were not run; with one job there is only one.
fn computed(lists: &Worklist) -> Option<Table> {
    let several = points(lists).filter(|(_, point)| point.jobs > 1);
    let rows = several.flat_map(|(series, point)| {
        point.computed.iter().map(move |computed| {
            vec![
                Cell::text(format!("{}, {}", series.label, counted(point.jobs as usize, "job"))),
                Cell::text(&computed.schedule),
                Cell::Interval(computed.total_s.clone()),
                Cell::Interval(computed.ratio.scaled(1.0, "ratio")),
            ]
        })
    });
    let columns = vec![
        Column::text("jobs"),
        Column::text("schedule"),
        Column::figure("list").shorten_at(1),
        Column::figure("time over the run's").shorten_at(1),
    ];
    let caption = "The whole list by other schedules, computed from the items of the same runs";
    let table = Table::new(caption, columns, rows);
    (!table.rows.is_empty()).then_some(table)
}

fn sweep(facts: &Facts<'_>, lists: &Worklist, table: Table) -> Figure {
    let level = set_percent(facts.level());
    let best = points(lists).map(|(_, point)| 1.0 / point.item_s.mean).fold(0.0, f64::max);
    let (unit, scale) = rate_unit(best);
    let first = lists.series.iter().find_map(|series| series.points.first());
    Figure {
        chart: Chart::Jobs(JobChart {
            unit,
            lines: lists.series.iter().map(|series| job_line(series, scale)).collect(),
            perfect: first.map(|point| (point.jobs, scale / point.item_s.mean)),
        }),
        wide: true,
        title: facts.titled("Items by number of jobs", ""),
        description: format!(
            "With {level} intervals, on logarithmic scales, so that a slope is a gain at any point. At each segment \
             the step of speed, bold if it is an effect. The thin line is perfect scaling."
        ),
        table,
    }
}

/// A unit in which rates are above 1: a backup of large files takes minutes.
fn rate_unit(per_s: f64) -> (&'static str, f64) {
    match per_s {
        rate if rate >= 1.0 => ("items/s", 1.0),
        rate if rate >= 1.0 / 60.0 => ("items/min", 60.0),
        _ => ("items/h", 3600.0),
    }
}

fn job_line(series: &Series, scale: f64) -> JobLine {
    let point = |point: &Point| -> JobPoint {
        let interval = &point.item_s;
        let ends = (interval.low > 0.0 && interval.has_ends())
            .then_some((scale / interval.high, scale / interval.low));
        let figures = format!("{} s/item", Prose::from(interval));
        (point.jobs, scale / interval.mean, ends.map(|ends| ends.0), ends.map(|ends| ends.1), figures)
    };
    let step = |step: &Step| -> Option<JobStep> {
        let speed = step.speed.as_ref()?;
        let figures = format!("{}, {}", Prose::from(speed), speed.words(Says::Faster));
        Some((
            step.from,
            step.to,
            format!("{}x", numbers::ratio(speed.value)),
            speed.is_different() && !speed.is_same(),
            figures,
        ))
    };
    JobLine {
        name: series.label.clone(),
        points: series.points.iter().map(point).collect(),
        steps: series.steps.iter().filter_map(step).collect(),
    }
}

/// The runs that are drawn, with their numbers of jobs, in study order: those with the most jobs. One job is never idle
/// before the end, so it is drawn only if there is nothing else.
fn drawn<'a>(facts: &Facts<'_>, lists: &'a Worklist) -> Vec<(u32, &'a Timeline)> {
    let jobs = |timeline: &Timeline| {
        let most = timeline.bars.iter().map(|bar| bar.job + 1).max().unwrap_or(0);
        facts.study.treatment(&timeline.treatment).map_or(most, |(_, treatment)| treatment.sessions.max(most))
    };
    let known = lists.timelines.iter().filter(|timeline| !timeline.bars.is_empty());
    let mut all: Vec<(usize, u32, &Timeline)> =
        known.enumerate().map(|(at, timeline)| (at, jobs(timeline), timeline)).collect();
    if all.iter().any(|(_, jobs, _)| *jobs > 1) {
        all.retain(|(_, jobs, _)| *jobs > 1);
    }
    all.sort_by_key(|(at, jobs, _)| (std::cmp::Reverse(*jobs), *at));
    all.truncate(MAX_TIMELINES);
    all.sort_by_key(|(at, ..)| *at);
    all.into_iter().map(|(_, jobs, timeline)| (jobs, timeline)).collect()
}

fn timelines(facts: &Facts<'_>, lists: &Worklist, drawn: &[(u32, &Timeline)]) -> Figure {
    let which = match lists.timelines.len() > drawn.len() {
        true => " Runs of one job are left out, as are those with few jobs if there are many treatments.",
        false => "",
    };
    Figure {
        chart: Chart::Timelines(drawn.iter().map(|(jobs, timeline)| chart(facts, *jobs, timeline)).collect()),
        wide: true,
        title: facts.titled("One run, item by item", ""),
        description: format!(
            "The run of median time of each treatment: a row is a job, a bar an item. Shaded is the time in which a \
             job had nothing left to do.{which} `threadwise export --what items` writes every item of every run."
        ),
        table: by_job(facts, drawn).shown(Shown::Page),
    }
}

/// When the last item of a run ended.
fn end_s(timeline: &Timeline) -> f64 {
    timeline.bars.iter().map(|bar| bar.start_s + bar.elapsed_s).fold(0.0, f64::max)
}

/// End of each job's last item; 0 if it had none.
fn ends(jobs: u32, timeline: &Timeline) -> Vec<f64> {
    let mut ends = vec![0.0; jobs as usize];
    for bar in &timeline.bars {
        if let Some(end) = ends.get_mut(bar.job as usize) {
            *end = f64::max(*end, bar.start_s + bar.elapsed_s);
        }
    }
    ends
}

fn label<'a>(facts: &Facts<'a>, treatment: &'a str) -> &'a str {
    facts.label(treatment, facts.group_of(treatment))
}

fn chart(facts: &Facts<'_>, jobs: u32, timeline: &Timeline) -> TimelineChart {
    // A hundredth of a millisecond is finer than any chart.
    let rounded = |value: f64| (value * 1e5).round() / 1e5;
    let bar = |bar: &Bar| (bar.job, rounded(bar.start_s), rounded(bar.elapsed_s), bar.name.clone());
    let items = counted(timeline.bars.len(), "item");
    TimelineChart {
        name: label(facts, &timeline.treatment).to_owned(),
        about: format!("{items} of block {}: {}", timeline.block, seconds(end_s(timeline))),
        end_s: rounded(end_s(timeline)),
        ends: ends(jobs, timeline).into_iter().map(rounded).collect(),
        bars: timeline.bars.iter().map(bar).collect(),
    }
}

/// Work of each job of the drawn runs.
fn by_job(facts: &Facts<'_>, drawn: &[(u32, &Timeline)]) -> Table {
    let mut rows = Vec::new();
    for (jobs, timeline) in drawn {
        let (total, ends) = (end_s(timeline), ends(*jobs, timeline));
        for (job, end) in (0..).zip(&ends) {
            let done = || timeline.bars.iter().filter(|bar| bar.job == job);
            let s = |value: f64| Cell::Value { value, unit: "s" };
            rows.push(vec![
                Cell::text(label(facts, &timeline.treatment)),
                Cell::Count(job.into()),
                Cell::Count(done().count() as u64),
                s(done().map(|bar| bar.elapsed_s).sum()),
                s(*end),
                s(total - end),
            ]);
        }
    }
    let columns = ["job", "items", "at work", "done after", "idle then"].map(Column::figure);
    Table::new("Jobs of one run", std::iter::once(Column::text("treatment")).chain(columns).collect(), rows)
}
