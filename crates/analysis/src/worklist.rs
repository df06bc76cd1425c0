//! Results of a study of work lists besides its commands' quantities: seconds per item by number of jobs, the ratios of
//! one number of jobs to the next, of both threads to one, and the cost of the end of the list. Pure.
//!
//! Ratios are ratios of speed: the inverse of those of seconds per item, whose logarithms they share, so that 1.83x is
//! what the published table of a backup and restore calls the step from 1 to 2.

#[cfg(test)]
mod tests;
mod types;

pub use types::{Bar, Computed, ITEM_S, Pair, PairKind, Point, Series, Step, Timeline, Worklist};

use crate::commands::{Commands, ELAPSED, IDLE_SHARE, Quantity, elapsed_ns};
use crate::estimate::Observed;
use crate::setting::Setting;
use crate::{Analysis, Direction, Estimate, Interval, Ratio};
use threadwise_statistics::{arithmetic, geometric, mean, t_quantile};
use threadwise_study::worklist::{MAX_JOBS, MAX_SPANS, SAMPLER, WorklistOptions};
use threadwise_study::{Comparison, ComparisonKind, Reading, Role, Run, Study, Treatment, Workload};

/// Adds results of work lists to an analysis that has those of commands.
pub(crate) fn add(analysis: &mut Analysis, setting: &Setting<'_>, observed: &Observed, runs: &[Run]) {
    let study = setting.study;
    let Some(commands) = analysis.commands.as_ref().filter(|_| study.workload == Workload::WorkList) else {
        return;
    };
    let mut series = series(analysis, commands, setting, observed, runs);
    let pairs = pairs(study, &analysis.estimates);
    if pairs.iter().any(|pair| pair.kind == PairKind::Schedule) {
        // A schedule that was run needs no computation.
        series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.computed.clear());
    }
    let all: Vec<usize> = (0..study.treatments.len()).collect();
    let recorded = Runs::of(observed, runs, &all).items();
    let timelines = all
        .into_iter()
        .filter(|at| study.treatments[*at].role != Role::BaselineTwin)
        .filter_map(|at| Runs::of(observed, runs, &[at]).timeline())
        .collect();
    let items = recorded.or_else(|| asked(study));
    analysis.worklist = Some(Worklist { recipe: recipe(study), items, series, pairs, timelines });
}

/// The recipe of all treatments, which is the same for all.
fn recipe(study: &Study) -> String {
    let read = study.treatments.first().map(|first| WorklistOptions::read(&first.options));
    read.and_then(Result::ok).map_or_else(String::new, |read| read.recipe)
}

/// Factors of a schedule.
const SCHEDULE: [&str; 2] = ["feed", "order"];

/// Series of treatments that differ in the number of jobs alone, in the order of the study.
fn series(
    analysis: &Analysis,
    commands: &Commands,
    setting: &Setting<'_>,
    observed: &Observed,
    runs: &[Run],
) -> Vec<Series> {
    let study = setting.study;
    let mut lines: Vec<Vec<usize>> = Vec::new();
    for (at, treatment) in
        study.treatments.iter().enumerate().filter(|(_, treatment)| treatment.role != Role::BaselineTwin)
    {
        match lines.iter_mut().find(|line| is_beside(&study.treatments[line[0]], treatment)) {
            Some(line) => line.push(at),
            None => lines.push(vec![at]),
        }
    }
    let line = |mut line: Vec<usize>| {
        line.sort_by_key(|at| study.treatments[*at].sessions);
        let (first, points) = (&study.treatments[line[0]], line.len());
        let steps_and_points: Vec<(usize, Point)> = line
            .into_iter()
            .filter_map(|at| Some((at, point(analysis, commands, setting, (at, points), (observed, runs))?)))
            .collect();
        let step = |pair: &[(usize, Point)]| {
            let (from, to) = (&study.treatments[pair[0].0], &study.treatments[pair[1].0]);
            let speed = speed(study, &analysis.estimates, to, from);
            Step { from: from.sessions, to: to.sessions, speed }
        };
        let steps = steps_and_points.windows(2).map(step).collect();
        let points = steps_and_points.into_iter().map(|(_, point)| point).collect();
        Series { label: label(study, first), placement: first.placement.text.clone(), points, steps }
    };
    lines.into_iter().map(line).filter(|line| !line.points.is_empty()).collect()
}

/// Whether two treatments differ in their number of jobs alone.
fn is_beside(one: &Treatment, other: &Treatment) -> bool {
    one.placement == other.placement && one.factors == other.factors
}

/// Label of a line: its placement, if that differs or nothing does, and its levels of factors that differ.
fn label(study: &Study, treatment: &Treatment) -> String {
    let others = || study.treatments.iter();
    let level = |(factor, level): (&String, &String)| {
        let differs = others().any(|other| other.factors.get(factor) != Some(level));
        differs.then(|| level_words(factor, level))
    };
    let levels: Vec<String> = treatment.factors.iter().filter_map(level).collect();
    let is_placed = levels.is_empty() || others().any(|other| other.placement != treatment.placement);
    let placement = is_placed.then(|| treatment.placement.to_string());
    placement.into_iter().chain(levels).collect::<Vec<String>>().join(", ")
}

/// A level in words: those of a schedule need no name of their factor.
fn level_words(factor: &str, level: &str) -> String {
    let words = match (factor, level) {
        ("feed", "queue") => "one queue",
        ("feed", "split") => "fixed parts",
        ("order", "largest") => "largest first",
        ("order", "given") => "as given",
        ("order", "shuffled") => "shuffled",
        _ => return format!("{factor}={level}"),
    };
    words.to_owned()
}

fn point(
    analysis: &Analysis,
    commands: &Commands,
    setting: &Setting<'_>,
    (at, points): (usize, usize),
    (observed, runs): (&Observed, &[Run]),
) -> Option<Point> {
    let study = setting.study;
    let treatment = &study.treatments[at];
    let figure = |metric: &str| match treatment.role {
        Role::Compared => analysis.treatments.get(at)?.metrics.get(metric),
        _ => commands.baseline(&treatment.group, metric),
    };
    let joint = |interval: &Interval| {
        joint(
            interval,
            analysis.treatments.get(at).map_or(0, |summary| summary.runs),
            (setting.alpha, points),
        )
    };
    let (item_s, total_s) = (figure(ITEM_S)?.clone(), figure(ELAPSED).map(|ns| ns.scaled(1e-9, "s")));
    Some(Point {
        treatment: treatment.name.clone(),
        jobs: treatment.sessions,
        item_s_joint: joint(&item_s),
        item_s,
        total_s_joint: total_s.as_ref().map(joint),
        total_s,
        idle_share: figure(IDLE_SHARE).map(|share| share.scaled(1.0, "share")),
        computed: Runs::of(observed, runs, &alike(study, at)).computed(treatment.sessions, setting.alpha),
    })
}

/// Converts the interval of a geometric mean over this many blocks at level 1 − `alpha` to level 1 − `alpha` / m, which
/// holds for m of them together (Dunn, J. American Statistical Association 56, 1961).
pub(crate) fn joint(interval: &Interval, blocks: u32, (alpha, family): (f64, usize)) -> Interval {
    let quantile = |alpha: f64| t_quantile(1.0 - alpha / 2.0, f64::from(blocks.saturating_sub(1)));
    let wider =
        quantile(alpha / family.max(1) as f64).zip(quantile(alpha)).map(|(joint, single)| joint / single);
    let end = |end: f64| wider.map_or(end, |wider| interval.mean * (end / interval.mean).powf(wider));
    Interval { low: end(interval.low), high: end(interval.high), ..interval.clone() }
}

/// A treatment, and for the baseline its twin as well.
pub fn alike(study: &Study, at: usize) -> Vec<usize> {
    let treatment = &study.treatments[at];
    let twin = |other: &&(usize, &Treatment)| {
        treatment.role == Role::Baseline
            && other.1.role == Role::BaselineTwin
            && other.1.group == treatment.group
    };
    let all: Vec<(usize, &Treatment)> = study.treatments.iter().enumerate().collect();
    [at].into_iter().chain(all.iter().find(twin).map(|(at, _)| *at)).collect()
}

/// The comparison of two treatments, and whether `top` is its upper side.
pub(crate) fn between<'a>(
    study: &'a Study,
    top: &Treatment,
    under: &Treatment,
) -> Option<(&'a Comparison, bool)> {
    let is = |comparison: &&Comparison, top: &Treatment, under: &Treatment| {
        comparison.treatment == top.name && is_below(study, comparison, under)
    };
    let upper = study.comparisons.iter().find(|comparison| is(comparison, top, under));
    let lower = || study.comparisons.iter().find(|comparison| is(comparison, under, top));
    upper.map(|found| (found, true)).or_else(|| Some((lower()?, false)))
}

/// Whether a comparison's lower side is this treatment, or it and its twin.
fn is_below(study: &Study, comparison: &Comparison, under: &Treatment) -> bool {
    comparison.baseline.first() == Some(&under.name)
        && comparison.baseline[1..]
            .iter()
            .all(|name| study.treatment(name).is_some_and(|(_, twin)| twin.role == Role::BaselineTwin))
}

/// Speed of one treatment over another.
fn speed(study: &Study, estimates: &[Estimate], top: &Treatment, under: &Treatment) -> Option<Ratio> {
    let (comparison, is_upper) = between(study, top, under)?;
    let estimate =
        estimates.iter().find(|estimate| estimate.metric == ITEM_S && estimate.name == comparison.name)?;
    // Seconds per item of the upper side over the lower: the speed of the lower over the upper.
    let speed = Ratio { direction: Direction::HigherIsBetter, ..estimate.ratio.clone() };
    Some(match is_upper {
        true => Ratio { direction: Direction::HigherIsBetter, ..estimate.ratio.inverse() },
        false => speed,
    })
}

/// Comparisons of two treatments with the same number of jobs, which differ in their placement or in their schedule. Of
/// `all` and `no-smt` the former is on top.
fn pairs(study: &Study, estimates: &[Estimate]) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    for comparison in &study.comparisons {
        let sides = study
            .treatment(&comparison.treatment)
            .zip(comparison.baseline.first().and_then(|name| study.treatment(name)));
        let Some(((_, top), (_, under))) = sides else { continue };
        let Some(kind) = kind(top, under).filter(|_| top.sessions == under.sessions) else { continue };
        let is_turned = top.placement.text == "no-smt" && under.placement.text == "all";
        let (top, under) = if is_turned { (under, top) } else { (top, under) };
        let Some(speed) = speed(study, estimates, top, under) else { continue };
        let pair = Pair {
            kind,
            treatment: top.name.clone(),
            baseline: under.name.clone(),
            jobs: top.sessions,
            speed,
        };
        if !found.iter().any(|step| step.treatment == pair.treatment && step.baseline == pair.baseline) {
            found.push(pair);
        }
    }
    found.sort_by(|one, other| one.kind.cmp(&other.kind).then(one.jobs.cmp(&other.jobs)));
    found
}

/// What two treatments differ in, if it is one thing.
fn kind(one: &Treatment, other: &Treatment) -> Option<PairKind> {
    let same_place = one.placement == other.placement;
    let mut others =
        one.factors.keys().chain(other.factors.keys()).filter(|key| {
            !SCHEDULE.contains(&key.as_str()) && one.factors.get(*key) != other.factors.get(*key)
        });
    match (same_place, one.factors == other.factors) {
        (false, true) => Some(PairKind::Placement),
        (true, false) if others.next().is_none() => Some(PairKind::Schedule),
        _ => None,
    }
}

/// One item of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item<'a> {
    /// Its index in the list, from 0.
    pub index: u32,
    /// Its name.
    pub name: &'a str,
    /// Its job, from 0.
    pub job: u32,
    /// Start, nanoseconds since the study's start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
}

impl Item<'_> {
    fn elapsed_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// The items of a run, in the order of the list, as far as they were reported.
pub fn items(run: &Run) -> Vec<Item<'_>> {
    let recorded = run.readings.iter().filter(|reading| reading.sampler == SAMPLER);
    let mut items: Vec<Item<'_>> = recorded.filter_map(item).collect();
    items.sort_by_key(|item| item.index);
    items
}

/// One item, of a reading such as `00012 name`.
fn item(reading: &Reading) -> Option<Item<'_>> {
    let (index, name) = reading.metric.split_once(' ')?;
    let job = reading.value.filter(|job| (0.0..f64::from(MAX_JOBS)).contains(job))? as u32;
    Some(Item { index: index.parse().ok()?, name, job, start_ns: reading.start_ns, end_ns: reading.end_ns })
}

/// The items of a run if every one is reported; a run with the maximum number of reports may have more.
fn whole(run: &Run) -> Option<Vec<Item<'_>>> {
    let items = items(run);
    (!items.is_empty() && items.len() < MAX_SPANS).then_some(items)
}

/// Time of items of these seconds with this many jobs.
type Schedule = fn(&[f64], u32) -> f64;

/// The usable runs of some treatments, block by block, and those of a block together.
pub struct Runs<'a> {
    blocks: Vec<Vec<&'a Run>>,
}

impl<'a> Runs<'a> {
    /// Of these treatments, by index.
    pub fn of(observed: &Observed, runs: &'a [Run], treatments: &[usize]) -> Self {
        let of_block = |block| {
            let usable = |at: &&usize| observed.usable(block, **at).is_some();
            let source = |at: &usize| block.sources[*at].and_then(|source| runs.get(source));
            treatments.iter().filter(usable).filter_map(source).collect()
        };
        Self {
            blocks: observed.blocks.iter().map(of_block).filter(|items: &Vec<_>| !items.is_empty()).collect(),
        }
    }

    /// How many items the list has, if a run reports all of them.
    pub fn items(&self) -> Option<u32> {
        let counts = self.blocks.iter().flatten().filter_map(|run| Some(whole(run)?.len() as u32));
        counts.max()
    }

    /// Other schedules with this many jobs: seconds and, over the time from the run's first start to its last end,
    /// ratios. Empty with one job, which any schedule keeps as busy.
    pub fn computed(&self, jobs: u32, alpha: f64) -> Vec<Computed> {
        const SCHEDULES: [(&str, Schedule); 3] = [
            ("queue, largest first", queue_largest_first),
            ("queue, as given", queue),
            ("fixed parts, as given", contiguous_parts),
        ];
        if jobs < 2 {
            return Vec::new();
        }
        let computed = |(name, schedule): (&str, Schedule)| {
            let of_run = |run: &&Run| {
                let items = whole(run)?;
                let durations: Vec<f64> = items.iter().map(Item::elapsed_s).collect();
                let (seconds, actual) = (schedule(&durations, jobs), span_s(&items));
                (seconds > 0.0 && actual > 0.0).then(|| (seconds, (seconds / actual).ln()))
            };
            let of_block = |block: &Vec<&Run>| {
                let recorded: Option<Vec<(f64, f64)>> = block.iter().map(of_run).collect();
                let (seconds, logs): (Vec<f64>, Vec<f64>) = recorded?.into_iter().unzip();
                Some((mean(seconds.into_iter())?, mean(logs.into_iter())?))
            };
            let (seconds, logs): (Vec<f64>, Vec<f64>) = self.blocks.iter().filter_map(of_block).unzip();
            let total_s = arithmetic(&seconds, "s", alpha)?;
            let ratio = geometric(&logs, 1.0, "1", alpha)?;
            Some(Computed { schedule: name.to_owned(), total_s, ratio })
        };
        SCHEDULES.into_iter().filter_map(computed).collect()
    }

    /// The median run by elapsed time; of two the quicker one.
    pub fn timeline(&self) -> Option<Timeline> {
        let of_run = |run: &&'a Run| Some((elapsed(run), *run, whole(run)?));
        let mut all: Vec<_> = self.blocks.iter().flatten().filter_map(of_run).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let at = all.len().checked_sub(1)? / 2;
        let (_, run, items) = all.swap_remove(at);
        let first = items.iter().map(|item| item.start_ns).min()?;
        let bar = |item: &Item<'_>| Bar {
            name: item.name.to_owned(),
            job: item.job,
            start_s: (item.start_ns - first) as f64 / 1e9,
            elapsed_s: item.elapsed_s(),
        };
        let bars = items.iter().map(bar).collect();
        Some(Timeline { treatment: run.treatment.clone(), block: run.block, bars })
    }
}

fn elapsed(run: &Run) -> f64 {
    run.slices.iter().map(elapsed_ns).sum()
}

/// From the start of the first item to the end of the last, seconds.
fn span_s(items: &[Item<'_>]) -> f64 {
    let start = items.iter().map(|item| item.start_ns).min().unwrap_or(0);
    let end = items.iter().map(|item| item.end_ns).max().unwrap_or(0);
    end.saturating_sub(start) as f64 / 1e9
}

/// Items that the study's options request, for a generated list.
pub fn asked(study: &Study) -> Option<u32> {
    let options = &study.treatments.first()?.options;
    let read = WorklistOptions::read(options).ok()?;
    read.list.is_none().then_some(u32::try_from(read.files).ok()?)
}

/// One queue: the first free job takes the next item. 0 without items.
pub fn queue(durations: &[f64], jobs: u32) -> f64 {
    let mut free_at = vec![0.0_f64; jobs.max(1) as usize];
    for duration in durations {
        let next = free_at.iter_mut().min_by(|one, other| one.total_cmp(other));
        next.into_iter().for_each(|time| *time += duration);
    }
    longest(free_at.into_iter())
}

/// One queue with the longest item first.
pub fn queue_largest_first(durations: &[f64], jobs: u32) -> f64 {
    let mut sorted = durations.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    queue(&sorted, jobs)
}

/// Contiguous parts of equal numbers of items, one per job; if the division leaves a rest, the first have one more.
pub fn contiguous_parts(durations: &[f64], jobs: u32) -> f64 {
    let jobs = jobs.max(1) as usize;
    let (each, longer) = (durations.len() / jobs, durations.len() % jobs);
    let start = |part: usize| part * each + part.min(longer);
    longest((0..jobs).map(|part| durations[start(part)..start(part + 1)].iter().sum()))
}

fn longest(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(0.0, f64::max)
}

/// Whether the table of jobs has an estimate, as a step or a pair.
pub fn is_shown(analysis: &Analysis, estimate: &Estimate) -> bool {
    let Some(lists) = analysis.worklist.as_ref().filter(|_| estimate.metric == ITEM_S) else { return false };
    let is = |a: &str, b: &str| estimate.treatment == a && estimate.baseline == b;
    let is_pair = |pair: &Pair| is(&pair.treatment, &pair.baseline) || is(&pair.baseline, &pair.treatment);
    estimate.kind == ComparisonKind::JobsStep || lists.pairs.iter().any(is_pair)
}

/// Whether the table of jobs has the headline's values.
pub fn says_headline(analysis: &Analysis) -> bool {
    analysis.headline() == ITEM_S
        && analysis.worklist.as_ref().is_some_and(|lists| points(lists).next().is_some())
}

/// Whether the table of jobs and the headline cover a quantity: elapsed time is seconds per item times items.
pub fn says_all_of(analysis: &Analysis, quantity: &Quantity) -> bool {
    quantity.metric == ELAPSED && says_headline(analysis)
}

/// All points with their series.
pub fn points(lists: &Worklist) -> impl Iterator<Item = (&Series, &Point)> {
    lists.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)))
}
