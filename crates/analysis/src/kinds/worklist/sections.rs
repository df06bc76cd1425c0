//! Seconds per item by number of jobs, the table of jobs, runs item by item, and what other schedules would have taken.

use crate::commands::Commands;
use crate::worklist::jobs::points;
use crate::worklist::{Bar, Pair, Point, Series, Step, Timeline, Worklist};
use crate::{Facts, Ratio};
use threadwise_document::chart::{JobChart, JobLine, JobPoint, JobStep, TimelineChart};
use threadwise_document::numbers::{self, counted, seconds, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Prose, Row, Says, Section, Shown, Table, prose,
};

/// Most runs that are drawn item by item.
const MAX_TIMELINES: usize = 6;

/// The speed over the number of jobs before a point.
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

/// The first paragraph of the headline's section speaks of the list.
pub fn about_lists(sections: &mut [Section], runs: &Commands) {
    let Some(outcome) = sections.first_mut() else { return };
    outcome.blocks.retain(|block| !matches!(block, Block::Text(_, Shown::Page)));
    let others = if runs.differs { " (the first of several, which differ by treatment)" } else { "" };
    let command =
        (!runs.command.is_empty()).then(|| prose!("The command for each item{}: {}", others, &runs.command));
    let ratios = prose!(
        "A run is the whole list. A ratio is a treatment over its baseline, which runs twice in every block; one of \
         seconds per item is the inverse of a speed. Better and worse say which side of 1 is meant."
    );
    let texts = command.into_iter().chain([ratios]).map(|text| Block::Text(text, Shown::Page));
    outcome.blocks.splice(0..0, texts);
}

/// The section of jobs; none where nothing was measured.
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
            "A step is the speed over the next smaller number of jobs, the inverse of the ratio of seconds per item, with an \
             interval that is adjusted for all comparisons. "
        }
        false => "",
    };
    vec![
        prose!(
            "{}Recipe: {}. A job does one item at a time, and takes the next when it is done; a run is the whole list.",
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

/// Times by schedules that were not run; with one job there is but one.
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
    let caption = "The whole list by other schedules: computed from the same runs' items, not run";
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
            "With {level} intervals, on logarithmic scales, so that a slope is a gain wherever it stands. At each segment \
             the step of speed, heavy where it is an effect. The thin line is perfect scaling."
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

/// The runs that are drawn, with their numbers of jobs, in the order of the study: those with most jobs. One job is
/// never idle before the end, so it is drawn only where nothing else is.
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
        true => " Runs of one job are left out, and of many treatments those with few.",
        false => "",
    };
    Figure {
        chart: Chart::Timelines(drawn.iter().map(|(jobs, timeline)| chart(facts, *jobs, timeline)).collect()),
        wide: true,
        title: facts.titled("One run, item by item", ""),
        description: format!(
            "Of each treatment the run of median time: a row is a job, a bar an item. Shaded is the time in which a job \
             had nothing left to do.{which} `threadwise export --what items` writes every item of every run."
        ),
        table: by_job(facts, drawn).shown(Shown::Page),
    }
}

/// When the last item of a run ended.
fn end_s(timeline: &Timeline) -> f64 {
    timeline.bars.iter().map(|bar| bar.start_s + bar.elapsed_s).fold(0.0, f64::max)
}

/// When each job ended its last item; 0 where it had none.
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

/// What each job of the drawn runs did.
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
