//! What a study of work lists shows beside its commands' quantities: the rows, pairs and words that
//! terminal and page share, and the items of runs for the exports.

use crate::text::{nanoseconds, ratio, ratio_interval, share, significant};
use crate::{Document, Mark};
use threadwise_analysis::commands::{ELAPSED, Quantity};
use threadwise_analysis::worklist::{ITEM_S, Pair, Point, Series, Speed, Worklist};
use threadwise_analysis::{Analysis, Estimate, Interval};
use threadwise_study::{Run, worklist};

/// One number of jobs of one series.
pub struct Row<'a> {
    /// Its series.
    pub series: &'a Series,
    /// What was measured.
    pub point: &'a Point,
    /// Speed over the number of jobs before it.
    pub step: Option<&'a Speed>,
}

/// A pair by the names of its two series.
pub struct Over<'a> {
    /// Series on top.
    pub top: &'a str,
    /// Series below.
    pub bottom: &'a str,
    /// The figures.
    pub pair: &'a Pair,
}

/// All rows, series by series.
pub fn rows(own: &Worklist) -> Vec<Row<'_>> {
    own.series.iter().flat_map(|series| series.points.iter().map(|point| row(series, point))).collect()
}

/// A point with the step that leads to it.
pub fn row<'a>(series: &'a Series, point: &'a Point) -> Row<'a> {
    let step = series.steps.iter().find(|step| step.to == point.jobs);
    Row { series, point, step: step.and_then(|step| step.speed.as_ref()) }
}

/// All pairs by the names of their series.
pub fn overs<'a>(own: &'a Worklist) -> Vec<Over<'a>> {
    let over = |pair: &'a Pair| Over {
        top: series_of(own, &pair.treatment),
        bottom: series_of(own, &pair.baseline),
        pair,
    };
    own.pairs.iter().map(over).collect()
}

/// The series of a treatment, else its own name. A baseline and its twin are joined by ` and `.
fn series_of<'a>(own: &'a Worklist, treatment: &'a str) -> &'a str {
    let first = treatment.split(" and ").next().unwrap_or(treatment);
    let has = |name: &str| own.series.iter().find(|series| series.points.iter().any(|p| p.treatment == name));
    has(treatment).or_else(|| has(first)).map_or(treatment, |series| &series.label)
}

/// Different names, in order of first appearance.
pub fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

/// Numbers of jobs that any series has, ascending.
pub fn levels(own: &Worklist) -> Vec<u32> {
    let mut levels: Vec<u32> = rows(own).iter().map(|row| row.point.jobs).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// Whether any series has two numbers of jobs, so that there is a line to draw.
pub fn is_sweep(own: &Worklist) -> bool {
    own.series.iter().any(|series| series.points.len() > 1)
}

/// Whether an estimate stands in the table of jobs, as a step or a pair.
pub fn is_shown(analysis: &Analysis, estimate: &Estimate) -> bool {
    let Some(own) = analysis.worklist.as_ref().filter(|_| estimate.metric == ITEM_S) else { return false };
    let is = |a: &str, b: &str| estimate.treatment == a && estimate.baseline == b;
    let is_pair = |pair: &Pair| is(&pair.treatment, &pair.baseline) || is(&pair.baseline, &pair.treatment);
    estimate.kind == "jobs-step" || own.pairs.iter().any(is_pair)
}

/// Whether the headline's values stand in the table of jobs.
pub fn tells_headline(analysis: &Analysis) -> bool {
    analysis.headline() == ITEM_S && analysis.worklist.as_ref().is_some_and(|own| !rows(own).is_empty())
}

/// Whether the table of jobs and the headline tell all of a quantity: elapsed time is seconds per item times
/// items.
pub fn is_reported(analysis: &Analysis, quantity: &Quantity) -> bool {
    quantity.metric == ELAPSED && tells_headline(analysis)
}

/// The list in a few words: `sqlite, 40 items`.
pub fn list_words(own: &Worklist) -> String {
    let items = own.items.map(|items| format!(", {}", crate::text::counted(items as usize, "item")));
    format!("{}{}", own.recipe, items.unwrap_or_default())
}

/// `1 job`, `4 jobs`.
pub fn jobs_words(jobs: u32) -> String {
    crate::text::counted(jobs as usize, "job")
}

/// Seconds of an item: `22.41`.
pub fn seconds(value: f64) -> String {
    significant(value, 4)
}

/// Time of a list: `8.32 s`, `18:03`, `1:02:09`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "n/a".to_owned();
    }
    if seconds > 0.0 && seconds < 1e-3 {
        return nanoseconds(seconds * 1e9);
    }
    if seconds < 99.95 {
        return format!("{} s", significant(seconds, 3));
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

/// `[low, high]` in these words; empty of one block, which has no interval.
pub fn bounds(own: &Interval, words: fn(f64) -> String) -> String {
    match own.low.is_finite() && own.high.is_finite() {
        true => format!("[{}, {}]", words(own.low), words(own.high)),
        false => String::new(),
    }
}

/// `22.41 [22.30, 22.52]`, or with `short` `22.41 ±0.5%`.
pub fn item_words(own: &Interval, short: bool) -> String {
    let interval = match short {
        true => half(own),
        false => bounds(own, seconds),
    };
    format!("{} {interval}", seconds(own.mean)).trim_end().to_owned()
}

/// The longer side of an interval as a share of its centre.
fn half(own: &Interval) -> String {
    let side = (own.high - own.mean).max(own.mean - own.low);
    if own.mean > 0.0 && side.is_finite() { format!("±{}", share(side / own.mean)) } else { String::new() }
}

/// `1.83x [1.80, 1.86]`; of one block without the interval.
pub fn ratio_words(own: &Interval) -> String {
    match own.low.is_finite() && own.high.is_finite() {
        true => ratio_interval(own.mean, own.low, own.high),
        false => format!("{}x", ratio(own.mean)),
    }
}

/// What one can say of a ratio of speeds at a glance, as of an [`Estimate`].
pub fn mark(document: &Document, speed: &Speed) -> Mark {
    let half = (speed.ratio.high / speed.ratio.low).sqrt() - 1.0;
    match (speed.effect, half <= document.study.design.target_half_width) {
        (true, _) if speed.ratio.mean > 1.0 => Mark::Higher,
        (true, _) => Mark::Lower,
        (false, true) => Mark::NoEffect,
        (false, false) => Mark::Inconclusive,
    }
}

/// The mark in words: `faster`, `slower`, `no effect shown`, `inconclusive`.
pub fn mark_words(document: &Document, speed: &Speed) -> &'static str {
    match mark(document, speed) {
        Mark::Higher => "faster",
        Mark::Lower => "slower",
        other => other.words(),
    }
}

/// An item of a run as it was stored.
pub struct Item<'a> {
    /// Its place in the list, from 0; `None` where the stored name does not begin with one.
    pub index: Option<u32>,
    /// Its name.
    pub name: &'a str,
    /// Its job, from 0.
    pub job: Option<u32>,
    /// Start since the start of the run's window.
    pub started_ns: u64,
    /// Duration.
    pub elapsed_ns: u64,
}

/// The items of a run, in the order of storing.
pub fn items(run: &Run) -> impl Iterator<Item = Item<'_>> {
    let window_ns = run.slices.first().map_or(0, |slice| slice.start_ns);
    let own = run.readings.iter().filter(|reading| reading.sampler == worklist::SAMPLER);
    own.map(move |reading| {
        let (index, name) = reading.metric.split_once(' ').unwrap_or(("", &reading.metric));
        Item {
            index: index.parse().ok(),
            name,
            job: reading.value.filter(|job| *job >= 0.0).map(|job| job as u32),
            started_ns: reading.start_ns.saturating_sub(window_ns),
            elapsed_ns: reading.end_ns.saturating_sub(reading.start_ns),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_list_read_as_people_write_them() {
        assert_eq!(
            [0.0, 9.16e-5, 0.0123, 8.32, 99.94, 99.96, 1083.0, 3729.4, f64::INFINITY].map(duration),
            ["0 s", "91.6 µs", "0.0123 s", "8.32 s", "99.9 s", "1:40", "18:03", "1:02:09", "n/a"]
        );
    }

    #[test]
    fn one_block_has_no_interval() {
        let own = |low, high| Interval { mean: 10.77, low, high, unit: "s/item".to_owned() };
        assert_eq!(item_words(&own(10.7, 10.84), false), "10.77 [10.70, 10.84]");
        assert_eq!(item_words(&own(10.7, 10.84), true), "10.77 ±0.6%");
        let one = own(f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!([item_words(&one, false), item_words(&one, true)], ["10.77", "10.77"]);
        assert_eq!(ratio_words(&own(0.0, f64::INFINITY)), "10.77x");
    }
}
