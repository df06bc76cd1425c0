//! Lines of points, the steps along them, and the pairs between them.

use super::items::Runs;
use super::types::{ITEM_S, Pair, Point, Series, Step};
use crate::commands::{Commands, ELAPSED, IDLE_SHARE};
use crate::estimate::Observed;
use crate::setting::Setting;
use crate::{Analysis, Direction, Estimate, Interval, Ratio};
use threadwise_statistics::t_quantile;
use threadwise_study::{Comparison, Role, Run, Study, Treatment};

/// Factors that are a schedule.
const SCHEDULE: [&str; 2] = ["feed", "order"];

/// Everything that differs in the number of jobs alone, in the order of the study.
pub fn series(
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
        Series { label: label(study, first), placement: first.placement.trim().to_owned(), points, steps }
    };
    lines.into_iter().map(line).filter(|line| !line.points.is_empty()).collect()
}

/// Whether two treatments differ in their number of jobs alone.
fn is_beside(one: &Treatment, other: &Treatment) -> bool {
    one.placement.trim() == other.placement.trim() && one.factors == other.factors
}

/// What tells a line from others: its placement, where that differs or nothing does, and its levels of
/// factors that differ.
fn label(study: &Study, treatment: &Treatment) -> String {
    let others = || study.treatments.iter();
    let level = |(factor, level): (&String, &String)| {
        let differs = others().any(|other| other.factors.get(factor) != Some(level));
        differs.then(|| level_words(factor, level))
    };
    let levels: Vec<String> = treatment.factors.iter().filter_map(level).collect();
    let placement = treatment.placement.trim();
    let is_placed = levels.is_empty() || others().any(|other| other.placement.trim() != placement);
    let placement = is_placed.then(|| placement.to_owned());
    placement.into_iter().chain(levels).collect::<Vec<String>>().join(", ")
}

/// A level as people say it: those of a schedule need no name of their factor.
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

/// The interval of a geometric mean over so many blocks at level 1 − `alpha` made one at level 1 − `alpha` / m, which holds
/// for m of them together (Dunn, J. American Statistical Association 56, 1961).
pub(crate) fn joint(interval: &Interval, blocks: u32, (alpha, family): (f64, usize)) -> Interval {
    let quantile = |alpha: f64| t_quantile(1.0 - alpha / 2.0, f64::from(blocks.saturating_sub(1)));
    let wider =
        quantile(alpha / family.max(1) as f64).zip(quantile(alpha)).map(|(joint, single)| joint / single);
    let end = |end: f64| wider.map_or(end, |wider| interval.mean * (end / interval.mean).powf(wider));
    Interval { low: end(interval.low), high: end(interval.high), ..interval.clone() }
}

/// A treatment, and of the baseline its twin as well.
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

/// Comparisons of two treatments with the same number of jobs, which differ in their placement or in their
/// schedule. Of `all` and `no-smt` the former is on top.
pub fn pairs(study: &Study, estimates: &[Estimate]) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    for comparison in &study.comparisons {
        let sides = study
            .treatment(&comparison.treatment)
            .zip(comparison.baseline.first().and_then(|name| study.treatment(name)));
        let Some(((_, top), (_, under))) = sides else { continue };
        let Some(kind) = kind(top, under).filter(|_| top.sessions == under.sessions) else { continue };
        let is_turned = top.placement.trim() == "no-smt" && under.placement.trim() == "all";
        let (top, under) = if is_turned { (under, top) } else { (top, under) };
        let Some(speed) = speed(study, estimates, top, under) else { continue };
        let pair = Pair {
            kind: kind.to_owned(),
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

/// What two treatments differ in, where it is one thing.
fn kind(one: &Treatment, other: &Treatment) -> Option<&'static str> {
    let same_place = one.placement.trim() == other.placement.trim();
    let mut others =
        one.factors.keys().chain(other.factors.keys()).filter(|key| {
            !SCHEDULE.contains(&key.as_str()) && one.factors.get(*key) != other.factors.get(*key)
        });
    match (same_place, one.factors == other.factors) {
        (false, true) => Some("placement"),
        (true, false) if others.next().is_none() => Some("schedule"),
        _ => None,
    }
}
