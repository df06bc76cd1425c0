//! The sections of a study of work lists: items per second by number of jobs, the table of jobs, runs
//! item by item, and what other schedules would have taken.

use super::data::{Charts, Figure, Section, TableView};
use super::page::titled;
use super::tables::view;
use super::{commands, data};
use crate::Document;
use crate::text::{counted, plain, set_share, share};
use crate::worklist::{
    Over, Row, bounds, distinct, duration, is_sweep, item_words, jobs_words, levels, mark_words, overs,
    ratio_words, row, rows, seconds,
};
use data::{JobLine, JobPoint, JobStep, TimelineChart, WorklistCharts};
use threadwise_analysis::Interval;
use threadwise_analysis::commands::Commands;
use threadwise_analysis::worklist::{Bar, Point, Series, Speed, Step, Timeline, Worklist};

/// Most runs that are drawn item by item.
const MAX_TIMELINES: usize = 6;

/// All charts of a study of work lists.
pub fn charts(document: &Document, own: &Worklist) -> WorklistCharts {
    let best = rows(own).iter().map(|row| 1.0 / row.point.item_s.mean).fold(0.0, f64::max);
    let (unit, scale) = rate_unit(best);
    let first = own.series.iter().find_map(|series| series.points.first());
    WorklistCharts {
        unit,
        lines: own.series.iter().map(|series| job_line(document, series, scale)).collect(),
        perfect: first.map(|point| (point.jobs, scale / point.item_s.mean)),
        timelines: drawn(document, own)
            .into_iter()
            .map(|(jobs, own)| timeline(document, jobs, own))
            .collect(),
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

fn job_line(document: &Document, series: &Series, scale: f64) -> JobLine {
    let point = |point: &Point| -> JobPoint {
        let own = &point.item_s;
        let known = own.low > 0.0 && own.high.is_finite();
        let ends = known.then_some((scale / own.high, scale / own.low));
        let figures = format!("{} s/item", item_words(own, false));
        (point.jobs, scale / own.mean, ends.map(|ends| ends.0), ends.map(|ends| ends.1), figures)
    };
    let step = |step: &Step| -> Option<JobStep> {
        let speed = step.speed.as_ref()?;
        let figures = format!("{}, {}", ratio_words(&speed.ratio), mark_words(document, speed));
        let short = format!("{}x", crate::text::ratio(speed.ratio.mean));
        Some((step.from, step.to, short, speed.effect, figures))
    };
    JobLine {
        name: plain(&series.label, true),
        points: series.points.iter().map(point).collect(),
        steps: series.steps.iter().filter_map(step).collect(),
    }
}

/// The runs that are drawn, with their numbers of jobs, in the order of the study: those with most jobs.
/// One job is never idle before the end, so it is drawn only where nothing else is.
fn drawn<'a>(document: &Document, own: &'a Worklist) -> Vec<(u32, &'a Timeline)> {
    let jobs = |timeline: &Timeline| {
        let most = timeline.bars.iter().map(|bar| bar.job + 1).max().unwrap_or(0);
        document.study.treatment(&timeline.treatment).map_or(most, |(_, own)| own.sessions.max(most))
    };
    let known = own.timelines.iter().filter(|timeline| !timeline.bars.is_empty());
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

/// When the last item of a run ended.
fn end_s(own: &Timeline) -> f64 {
    own.bars.iter().map(|bar| bar.start_s + bar.elapsed_s).fold(0.0, f64::max)
}

/// When each job ended its last item; 0 where it had none.
fn ends(jobs: u32, own: &Timeline) -> Vec<f64> {
    let mut ends = vec![0.0; jobs as usize];
    for bar in &own.bars {
        if let Some(end) = ends.get_mut(bar.job as usize) {
            *end = f64::max(*end, bar.start_s + bar.elapsed_s);
        }
    }
    ends
}

fn timeline(document: &Document, jobs: u32, own: &Timeline) -> TimelineChart {
    // A hundredth of a millisecond is finer than any chart.
    let rounded = |value: f64| (value * 1e5).round() / 1e5;
    let bar = |bar: &Bar| (bar.job, rounded(bar.start_s), rounded(bar.elapsed_s), plain(&bar.name, true));
    TimelineChart {
        name: plain(label(document, &own.treatment), true),
        about: format!(
            "{} of block {}: {}",
            counted(own.bars.len(), "item"),
            own.block,
            duration(end_s(own))
        ),
        end_s: rounded(end_s(own)),
        ends: ends(jobs, own).into_iter().map(rounded).collect(),
        bars: own.bars.iter().map(bar).collect(),
    }
}

fn label<'a>(document: &Document<'a>, treatment: &'a str) -> &'a str {
    let group = document.study.treatment(treatment).map_or("", |(_, own)| own.group.as_str());
    document.label(treatment, group)
}

/// The section of jobs, then those that every command has.
pub fn sections(document: &Document, own: &Worklist, runs: &Commands, charts: &Charts) -> Vec<Section> {
    let mut sections = commands::sections(document, runs, charts);
    if let Some(outcome) = sections.first_mut() {
        outcome.paragraphs = outcome_words(runs);
    }
    if rows(own).is_empty() {
        return sections;
    }
    let mut tables = match is_sweep(own) {
        true => vec![by_jobs(document, own)],
        false => vec![every_row(document, own)],
    };
    tables.extend(pairs(document, own).filter(|_| !is_sweep(own)));
    tables.extend(computed(own));
    let jobs = Section {
        id: "worklist",
        title: "Jobs",
        paragraphs: about(own),
        figures: figures(document, own),
        tables,
        ..Section::default()
    };
    sections.insert(0, jobs);
    sections
}

/// What stands above the headline's figures.
fn outcome_words(runs: &Commands) -> Vec<String> {
    let others = if runs.differs { " (the first of several, which differ by treatment)" } else { "" };
    let command =
        (!runs.command.is_empty()).then(|| format!("The command for each item{others}: {}", runs.command));
    let ratios = "A run is the whole list. A ratio is a treatment over its baseline, which runs twice in every \
                  block; one of seconds per item is the inverse of a speed. Better and worse say which side of 1 \
                  is meant.";
    command.into_iter().chain([ratios.to_owned()]).collect()
}

fn about(own: &Worklist) -> Vec<String> {
    let items = own.items.map(|items| format!("{} in the list. ", counted(items as usize, "item")));
    let step = "A step is the speed over the next smaller number of jobs, the inverse of the ratio of seconds per item. ";
    vec![
        format!(
            "{}Recipe: {}. A job does one item at a time, and takes the next when it is done; a run is the whole list.",
            items.unwrap_or_default(),
            own.recipe
        ),
        format!(
            "{}Idle is the share of the jobs' time in which nothing was left to do.",
            if is_sweep(own) { step } else { "" }
        ),
    ]
}

fn figures(document: &Document, own: &Worklist) -> Vec<Figure> {
    let level = set_share(document.level());
    let jobs = is_sweep(own).then(|| Figure {
        chart: "jobs",
        index: 0,
        wide: true,
        title: titled(document, "Items by number of jobs", ""),
        description: format!(
            "With {level} intervals, on logarithmic scales, so that a slope is a gain wherever it stands. At each \
             segment the step of speed, heavy where it is an effect. The thin line is perfect scaling."
        ),
        table: every_row(document, own),
    });
    let runs = drawn(document, own);
    let which = match own.timelines.len() > runs.len() {
        true => " Runs of one job are left out, and of many treatments those with few.",
        false => "",
    };
    let timelines = (!runs.is_empty()).then(|| Figure {
        chart: "timelines",
        index: 0,
        wide: true,
        title: titled(document, "One run, item by item", ""),
        description: format!(
            "Of each treatment the run of median time: a row is a job, a bar an item. Shaded is the time in which a \
             job had nothing left to do.{which} `threadwise export --what items` writes every item of every run."
        ),
        table: by_job(document, &runs),
    });
    jobs.into_iter().chain(timelines).collect()
}

/// Rows are numbers of jobs, series stand side by side: the form of the published table.
fn by_jobs(document: &Document, own: &Worklist) -> TableView {
    let overs = overs(own);
    let names: Vec<String> = overs.iter().map(over_name).collect();
    let names = distinct(names.iter().map(String::as_str));
    let mut headers = vec!["jobs".to_owned()];
    for series in &own.series {
        headers.extend([format!("{}: s/item", series.label), "step".to_owned()]);
    }
    headers.extend(names.iter().map(|name| (*name).to_owned()));
    let cells = levels(own).into_iter().map(|jobs| {
        let mut cells = vec![jobs.to_string()];
        for series in &own.series {
            let point = series.points.iter().find(|point| point.jobs == jobs);
            cells.push(point.map_or_else(none, |point| item_words(&point.item_s, false)));
            cells.push(
                point.and_then(|point| row(series, point).step).map_or_else(none, |own| speed(document, own)),
            );
        }
        for name in &names {
            let over = overs.iter().find(|over| over.pair.jobs == jobs && over_name(over) == *name);
            cells.push(over.map_or_else(none, |over| speed(document, &over.pair.speed)));
        }
        cells
    });
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    view("Seconds per item by number of jobs", &headers, 1, cells.collect())
}

/// Ratios of two series at the same number of jobs.
fn pairs(document: &Document, own: &Worklist) -> Option<TableView> {
    let cells: Vec<Vec<String>> = overs(own)
        .iter()
        .map(|over| vec![over_name(over), over.pair.jobs.to_string(), speed(document, &over.pair.speed)])
        .collect();
    (!cells.is_empty())
        .then(|| view("Speed at the same number of jobs", &["compared", "jobs", "speed"], 1, cells))
}

fn none() -> String {
    "-".to_owned()
}

fn over_name(over: &Over<'_>) -> String {
    format!("{} over {}", over.top, over.bottom)
}

fn speed(document: &Document, own: &Speed) -> String {
    format!("{} {}", ratio_words(&own.ratio), mark_words(document, own))
}

/// Every figure of every row.
fn every_row(document: &Document, own: &Worklist) -> TableView {
    let pair = |own: Option<&Interval>, words: fn(f64) -> String| match own {
        Some(own) => [words(own.mean), bounds(own, words)],
        None => [none(), none()],
    };
    let with_steps = is_sweep(own);
    let cells = rows(own).into_iter().map(|row: Row<'_>| {
        let point = row.point;
        let mut cells = vec![row.series.label.clone(), point.treatment.clone(), point.jobs.to_string()];
        cells.extend(pair(Some(&point.item_s), seconds));
        cells.extend(pair(point.total_s.as_ref(), duration));
        cells.extend(pair(point.idle_share.as_ref(), share));
        cells.extend(with_steps.then(|| row.step.map_or_else(none, |own| speed(document, own))));
        cells
    });
    let mut headers =
        vec!["series", "treatment", "jobs", "s/item", "interval", "list", "interval", "idle", "interval"];
    headers.extend(with_steps.then_some("step"));
    view("Jobs", &headers, 2, cells.collect())
}

/// What each job of the drawn runs did.
fn by_job(document: &Document, runs: &[(u32, &Timeline)]) -> TableView {
    let mut cells = Vec::new();
    for (jobs, own) in runs {
        let (total, ends) = (end_s(own), ends(*jobs, own));
        for (job, end) in (0..).zip(&ends) {
            let done = || own.bars.iter().filter(|bar| bar.job == job);
            cells.push(vec![
                label(document, &own.treatment).to_owned(),
                job.to_string(),
                done().count().to_string(),
                duration(done().map(|bar| bar.elapsed_s).sum()),
                duration(*end),
                duration(total - end),
            ]);
        }
    }
    let headers = ["treatment", "job", "items", "at work", "done after", "idle then"];
    view("Jobs of one run", &headers, 2, cells)
}

/// Times by schedules that were not run; with one job there is but one.
fn computed(own: &Worklist) -> Option<TableView> {
    let all = rows(own).into_iter().filter(|row| row.point.jobs > 1);
    let cells: Vec<Vec<String>> = all
        .flat_map(|row| row.point.computed.iter().map(move |own| (row.series, row.point, own)))
        .map(|(series, point, own)| {
            vec![
                format!("{}, {}", series.label, jobs_words(point.jobs)),
                own.schedule.clone(),
                duration(own.total_s.mean),
                bounds(&own.total_s, duration),
                ratio_words(&own.ratio),
            ]
        })
        .collect();
    let caption = "The whole list by other schedules: computed from the same runs' items, not run";
    let headers = ["jobs", "schedule", "list", "interval", "time over the run's"];
    (!cells.is_empty()).then(|| view(caption, &headers, 2, cells))
}
