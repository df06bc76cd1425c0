//! Single runs, item by item: what other schedules would have taken, and which run is drawn.

use super::schedule;
use super::types::{Bar, Computed, Timeline};
use crate::commands::elapsed_ns;
use crate::estimate::Observed;
use threadwise_statistics::{arithmetic, geometric, mean};
use threadwise_study::worklist::{MAX_SPANS, SAMPLER, WorklistOptions};
use threadwise_study::{Reading, Run, Study};

/// One item of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item<'a> {
    /// Its place in the list, from 0.
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
    let (index, job) = (index.parse().ok()?, reading.value? as u32);
    Some(Item { index, name, job, start_ns: reading.start_ns, end_ns: reading.end_ns })
}

/// The items of a run of which each is reported; of as many as are kept at most there may be more.
fn whole(run: &Run) -> Option<Vec<Item<'_>>> {
    let items = items(run);
    (!items.is_empty() && items.len() < MAX_SPANS).then_some(items)
}

/// How long items of so many seconds take with so many jobs.
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

    /// How many items the list has, as far as a run tells all of them.
    pub fn items(&self) -> Option<u32> {
        let counts = self.blocks.iter().flatten().filter_map(|run| Some(whole(run)?.len() as u32));
        counts.max()
    }

    /// Other schedules with so many jobs: seconds and, over what the run took from its first item's start to
    /// its last one's end, ratios. Nothing with one job, which any schedule keeps as busy.
    pub fn computed(&self, jobs: u32, alpha: f64) -> Vec<Computed> {
        const SCHEDULES: [(&str, Schedule); 3] = [
            ("queue, largest first", schedule::queue_largest_first),
            ("queue, as given", schedule::queue),
            ("fixed parts, as given", schedule::parts),
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

    /// The run that is neither quick nor slow: the median by elapsed time, of two the quicker one.
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

/// Items that the study's options ask for, of a list that is made.
pub fn asked(study: &Study) -> Option<u32> {
    let options = &study.treatments.first()?.options;
    let read = WorklistOptions::read(options).ok()?;
    read.list.is_none().then_some(u32::try_from(read.files).ok()?)
}
