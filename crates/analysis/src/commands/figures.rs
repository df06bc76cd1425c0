//! The numbers of single runs, and those of each treatment over blocks.

use super::types::{BUSY_CPUS, CPU, CPU_PER_UNIT, CPU_TOTAL, ELAPSED, FixedTime, MEMORY, Quantity, SAID};
use crate::Interval;
use crate::estimate::{Observed, ObservedBlock, THROUGHPUT};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::{Prose, prose};
use threadwise_statistics::{MeanEstimate, arithmetic, geometric, mean, mean_of_known, median};
use threadwise_study::command::{self, Better, MetricSpec, PIN_SERVER};
use threadwise_study::{OptionValue, Run, Slice, Study, Treatment, Workload};

/// Numbers of one run by metric name.
pub type Figures = BTreeMap<String, f64>;

/// The usable runs of a study.
pub struct Table<'a> {
    study: &'a Study,
    /// Each block's number, and each treatment's numbers in it if its run counts.
    pub blocks: Vec<(u32, Vec<Option<Figures>>)>,
}

impl<'a> Table<'a> {
    /// Reads the usable runs.
    pub fn new(study: &'a Study, observed: &Observed, runs: &[Run], rate: Option<&Rate>) -> Self {
        let of_block = |block: &ObservedBlock| {
            let cell = |(at, treatment): (usize, &Treatment)| {
                observed.usable(block, at)?;
                Some(figures(runs.get(block.sources[at]?)?, has_server(treatment), rate))
            };
            (block.number, study.treatments.iter().enumerate().map(cell).collect())
        };
        Self { study, blocks: observed.blocks.iter().map(of_block).collect() }
    }

    /// Means over blocks by metric name, for several treatments their mean in each block.
    ///
    /// They are geometric with intervals on logarithms, as the ratios are, or arithmetic if any run of the study has 0
    /// or less of it: so all treatments of a study have the same kind of mean.
    pub fn summary(&self, treatments: &[usize], alpha: f64) -> BTreeMap<String, Interval> {
        let known = self.blocks.iter().map(|(_, row)| treatments.iter().filter_map(|at| row[*at].as_ref()));
        let rows: Vec<Vec<&Figures>> = known.map(Iterator::collect).collect();
        let metrics: BTreeSet<&String> = rows.iter().flatten().flat_map(|figures| figures.keys()).collect();
        let interval = |metric: &String| {
            let all = self.blocks.iter().flat_map(|(_, row)| row).flatten();
            let least = all.filter_map(|run| run.get(metric).copied()).filter(|value| *value <= 0.0);
            let least = least.reduce(f64::min);
            let scaled = |value: &f64| if least.is_none() { value.ln() } else { *value };
            let of_block =
                |row: &Vec<&Figures>| mean_of_known(row.iter().map(|run| run.get(metric).map(scaled)));
            let values: Vec<f64> = rows.iter().filter_map(of_block).collect();
            let unit = self.unit(metric);
            match least {
                None => geometric(&values, 1.0, &unit, alpha),
                Some(least) if least >= 0.0 => arithmetic(&values, &unit, alpha),
                Some(_) => Some(Interval { unit, ..MeanEstimate::of(&values)?.as_interval(alpha) }),
            }
        };
        metrics.into_iter().filter_map(|metric| Some((metric.clone(), interval(metric)?))).collect()
    }

    /// The largest geometric mean of a number over the smallest, in the group whose treatments differ most. `None` if
    /// no treatment has it.
    pub fn spread(&self, number: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        let mean_log = |at: usize| {
            let runs = self.blocks.iter().filter_map(|(_, row)| row[at].as_ref());
            mean(runs.filter_map(&number).filter(|number| *number > 0.0).map(f64::ln))
        };
        let of_group = |group: &str| {
            let all = self.study.treatments.iter().enumerate().filter(|(_, one)| one.group == group);
            let means: Vec<f64> = all.filter_map(|(at, _)| mean_log(at)).collect();
            let [least, most] = [f64::min, f64::max].map(|end| means.iter().copied().reduce(end));
            Some((most? - least?).exp())
        };
        self.study.groups().into_iter().filter_map(of_group).reduce(f64::max)
    }

    fn unit(&self, metric: &str) -> String {
        let unit = match metric {
            ELAPSED | CPU | CPU_PER_UNIT | CPU_TOTAL => "ns",
            MEMORY => "bytes",
            THROUGHPUT => "1/s",
            _ => "1",
        };
        let Some(name) = metric.strip_prefix(SAID) else { return unit.to_owned() };
        specs(self.study).find(|spec| spec.name == name).map(|spec| spec.unit).unwrap_or_default()
    }
}

/// One run's numbers. What was not reported is left out.
fn figures(run: &Run, has_server: bool, rate: Option<&Rate>) -> Figures {
    let mut figures = Figures::new();
    let slices = run.slices.len() as f64;
    let sum = |value: fn(&Slice) -> f64| run.slices.iter().map(value).sum::<f64>();
    let (elapsed, rows) = (sum(elapsed_ns), sum(|slice| slice.rows() as f64));
    let cpu: Option<f64> = run.slices.iter().map(|slice| cpu_ns(slice, has_server)).sum();
    let mut put = |name: &str, value: Option<f64>| {
        figures.extend(value.filter(|value| value.is_finite()).map(|value| (name.to_owned(), value)));
    };
    put(ELAPSED, (elapsed > 0.0).then(|| elapsed / slices));
    put(THROUGHPUT, (elapsed > 0.0).then(|| rows * 1e9 / elapsed));
    put(CPU, cpu.filter(|_| rows > 0.0).map(|cpu| cpu / rows));
    put(CPU_TOTAL, cpu.filter(|_| slices > 0.0).map(|cpu| cpu / slices));
    let busy = cpu.filter(|_| elapsed > 0.0).map(|cpu| cpu / elapsed);
    put(BUSY_CPUS, busy);
    let tells = |slice: &&Slice| {
        let sessions = slice.sessions.iter().map(|session| &session.counters);
        sessions.chain([&slice.counters]).any(|counters| counters.contains_key(MEMORY))
    };
    let peaks = run.slices.iter().filter(tells).map(|slice| slice.counter(MEMORY));
    put(MEMORY, peaks.max().map(|bytes| bytes as f64));
    for reading in run.readings.iter().filter(|reading| reading.sampler == command::SAMPLER) {
        put(&format!("{SAID}{}", reading.metric), reading.value);
    }
    let per_unit = rate.zip(busy).and_then(|(rate, busy)| {
        let per_s = figures.get(&rate.metric)? / rate.seconds;
        (per_s > 0.0).then(|| busy * 1e9 / per_s)
    });
    figures.extend(per_unit.map(|cpu_ns| (CPU_PER_UNIT.to_owned(), cpu_ns)));
    figures
}

/// CPU time of a slice, including that of the server that was bound with it; `None` if unknown.
pub fn cpu_ns(slice: &Slice, has_server: bool) -> Option<f64> {
    let server_ns = slice.counters.get(command::SERVER_CPU_NS).copied();
    Some(slice.cpu_ns() as f64 + if has_server { server_ns? } else { 0 } as f64)
}

/// Elapsed time of a slice of commands in nanoseconds: from the common start to the end of the longest process, or the
/// window if no end is known.
pub fn elapsed_ns(slice: &Slice) -> f64 {
    let ends = slice.sessions.iter().filter_map(|session| session.finished_ns);
    ends.max().unwrap_or(slice.window_ns) as f64
}

/// A rate in the output: work done over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Metric name among the figures.
    pub metric: String,
    /// A unit of the work, in words: `tx`, `query`, `unit of score`.
    pub unit: String,
    /// Seconds that the rate is over.
    pub seconds: f64,
}

/// Whether a treatment has a server bound with it, whose CPU time then counts with the command's.
pub fn has_server(treatment: &Treatment) -> bool {
    treatment.options.contains_key(PIN_SERVER)
}

/// Name of the metric that the user asked for as headline; empty if the user did not.
pub fn headline(study: &Study) -> String {
    let asked = study.treatments.iter().find_map(|treatment| treatment.options.get("headline"));
    let asked = asked.map(OptionValue::to_string).unwrap_or_default();
    asked.strip_prefix(SAID).map_or_else(|| asked.clone(), str::to_owned)
}

/// The rate of a run's work: the headline, if it is one, else the first that there is.
pub fn rate(study: &Study) -> Option<Rate> {
    let asked = format!("{SAID}{}", headline(study));
    let rates: Vec<Rate> = specs(study).filter_map(|spec| of_metric(&spec)).collect();
    rates.iter().find(|rate| rate.metric == asked).or(rates.first()).cloned()
}

/// Metrics of all treatments, which are mostly the same.
pub fn specs(study: &Study) -> impl Iterator<Item = MetricSpec> {
    study.treatments.iter().flat_map(|treatment| command::metrics(&treatment.options))
}

fn of_metric(spec: &MetricSpec) -> Option<Rate> {
    let times = [("/s", 1.0), ("/min", 60.0)];
    let (what, seconds) =
        times.iter().find_map(|(end, seconds)| Some((spec.unit.strip_suffix(end)?, *seconds)))?;
    let unit = match what {
        "" | "1" => format!("unit of {}", spec.name),
        what => singular(what),
    };
    let metric = format!("{SAID}{}", spec.name);
    (spec.better == Better::Higher).then_some(Rate { metric, unit, seconds })
}

/// `queries` is a plural in a unit; `tx` or `MB` is not.
fn singular(unit: &str) -> String {
    match (unit.strip_suffix("ies"), unit.strip_suffix('s')) {
        (Some(stem), _) if !stem.is_empty() => format!("{stem}y"),
        (None, Some(stem)) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => unit.to_owned(),
    }
}

/// Treatments whose mean times differ by no more than this factor may have run for a fixed time.
const ABOUT_AS_LONG: f64 = 1.1;

/// The quantity of CPU time that can be compared between the treatments of a study.
pub fn quantity(study: &Study, table: &Table<'_>, rate: Option<&Rate>) -> Quantity {
    let server = if study.treatments.iter().any(has_server) { ", server included" } else { "" };
    let of_run = || Quantity::own(CPU, format!("CPU per run{server}"), "ns", Better::Lower);
    let Some(time) = table.spread(|figures| figures.get(ELAPSED).copied()) else { return of_run() };
    if study.workload == Workload::WorkList || study.comparisons.is_empty() {
        return of_run();
    }
    let done = |rate: &Rate| table.spread(|figures| Some(figures.get(&rate.metric)? * figures.get(ELAPSED)?));
    match rate.and_then(|rate| Some((rate, done(rate)?))) {
        Some((rate, done)) if done > time => {
            let name = format!("CPU per {}{server}", rate.unit);
            Quantity::own(CPU_PER_UNIT, name, "ns", Better::Lower)
        }
        None if time <= ABOUT_AS_LONG => {
            Quantity::own(BUSY_CPUS, format!("busy CPUs{server}"), "1", Better::None)
        }
        _ => of_run(),
    }
}

/// Treatments whose median durations differ by no more than this share take the same time.
const ALIKE_SHARE: f64 = 0.001;

/// Why there is no ratio of durations, in a few words.
pub const WHY: &str = "the same in every treatment";

/// Whether a study would be judged by durations that are the same in every treatment; `None` if its user asked for
/// them, or for something else.
pub fn fixed_time(study: &Study, table: &Table<'_>, headline: Option<&Quantity>) -> Option<FixedTime> {
    let is_asked = study.treatments.iter().any(|treatment| treatment.options.contains_key("headline"));
    let is_by_duration = headline.is_some_and(|headline| headline.metric == ELAPSED);
    if study.workload != Workload::Command || !is_by_duration || is_asked || study.comparisons.is_empty() {
        return None;
    }
    let median_of = |at: usize| {
        median(table.blocks.iter().filter_map(|(_, row)| row[at].as_ref()?.get(ELAPSED).copied()))
    };
    let medians: Vec<f64> = (0..study.treatments.len()).filter_map(median_of).collect();
    let [least, most] = [f64::min, f64::max].map(|end| medians.iter().copied().reduce(end));
    let spread_share = most? / least? - 1.0;
    let elapsed_ns = median(medians.iter().copied())?;
    (medians.len() > 1 && spread_share <= ALIKE_SHARE).then_some(FixedTime { elapsed_ns, spread_share })
}

/// What to do about a command that always takes the same time.
pub fn instead() -> Prose {
    prose!(
        "name what it does in that time (`--metric NAME='UNIT BETTER KIND:PATTERN'` or `--parse TOOL`), or have it do a fixed \
         amount of work; `--headline elapsed` compares durations all the same"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_name_what_they_are_of() {
        let found = |name: &str, text: &str| {
            of_metric(&MetricSpec::parse(name, text).unwrap()).map(|rate| (rate.unit, rate.seconds))
        };
        assert_eq!(found("tps", "tx/s higher regex:x"), Some(("tx".into(), 1.0)));
        assert_eq!(found("nopm", "orders/min higher regex:x"), Some(("order".into(), 60.0)));
        assert_eq!(found("qps", "queries/s higher regex:x"), Some(("query".into(), 1.0)));
        assert_eq!(found("score", "1/s higher regex:x"), Some(("unit of score".into(), 1.0)));
        assert_eq!(found("gas", "gas/s higher regex:x"), Some(("gas".into(), 1.0)));
        assert_eq!(found("late", "ms lower regex:x"), None);
        assert_eq!(found("db_cpu", "s/s none regex:x"), None);
        assert_eq!(found("misses", "misses/s lower regex:x"), None);
    }
}
