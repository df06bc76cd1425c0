//! The numbers of single runs, and those of each treatment over blocks.

use super::types::{BUSY_CPUS, CPU, CPU_PER_UNIT, CPU_TOTAL, ELAPSED, FixedTime, MEMORY, Quantity, SAID};
use crate::Interval;
use crate::estimate::{Observed, THROUGHPUT};
use std::collections::BTreeMap;
use threadwise_document::{Prose, prose};
use threadwise_statistics::{MeanEstimate, median};
use threadwise_study::command::{self, Better, MetricSpec, PIN_SERVER};
use threadwise_study::{OptionValue, Role, Run, Slice, Study, Treatment, worklist};

/// Numbers of one run by metric name.
pub type Figures = BTreeMap<String, f64>;

/// The usable runs of a study.
pub struct Table<'a> {
    study: &'a Study,
    group_of: &'a [usize],
    /// Each block's number, and each treatment's numbers in it if its run counts.
    pub blocks: Vec<(u32, Vec<Option<Figures>>)>,
    cpus: Vec<Option<u32>>,
    /// The least number of each metric that is 0 or less in any run.
    least: BTreeMap<String, f64>,
}

impl<'a> Table<'a> {
    /// Reads the usable runs.
    pub fn new(study: &'a Study, observed: &'a Observed, runs: &[Run], rate: Option<&Rate>) -> Self {
        let mut cpus = vec![None; study.treatments.len()];
        let mut blocks = Vec::new();
        let mut least: BTreeMap<String, f64> = BTreeMap::new();
        for block in &observed.blocks {
            let mut row = vec![None; study.treatments.len()];
            for (at, cell) in row.iter_mut().enumerate() {
                let usable = observed.usable(block, at).is_some();
                let run = block.sources[at].filter(|_| usable).and_then(|source| runs.get(source));
                if let Some(run) = run {
                    let figures = figures(run, has_server(&study.treatments[at]), rate);
                    for (metric, value) in figures.iter().filter(|(_, value)| **value <= 0.0) {
                        let known = least.entry(metric.clone()).or_insert(*value);
                        *known = known.min(*value);
                    }
                    *cell = Some(figures);
                    cpus[at] = cpus[at].or(Some(run.cpus.len() as u32));
                }
            }
            blocks.push((block.number, row));
        }
        Self { study, group_of: &observed.group_of, blocks, cpus, least }
    }

    /// Group of a treatment, as an index.
    pub fn group(&self, treatment: usize) -> usize {
        self.group_of[treatment]
    }

    /// How many logical CPUs a treatment has.
    pub fn cpus(&self, treatment: usize) -> Option<u32> {
        self.cpus[treatment]
    }

    /// The baseline of a group, and its twin.
    pub fn baselines(&self, group: usize) -> Vec<usize> {
        let with_role = |role: Role| {
            let all = self.study.treatments.iter().enumerate();
            all.filter(move |(at, treatment)| treatment.role == role && self.group_of[*at] == group)
                .map(|(at, _)| at)
        };
        with_role(Role::Baseline).take(1).chain(with_role(Role::BaselineTwin).take(1)).collect()
    }

    /// Means over blocks by metric name, for several treatments their mean in each block.
    ///
    /// They are geometric with intervals on logarithms, as the ratios are, or arithmetic if any run of the study has 0
    /// or less of it: so all treatments of a study have the same kind of mean.
    pub fn summary(&self, treatments: &[usize], alpha: f64) -> BTreeMap<String, Interval> {
        let mut by_metric: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (_, row) in &self.blocks {
            let known: Vec<&Figures> = treatments.iter().filter_map(|at| row[*at].as_ref()).collect();
            let Some((first, rest)) = known.split_first() else { continue };
            for (metric, value) in *first {
                let geometric = self.is_positive(metric);
                let scaled = |value: f64| if geometric { value.ln() } else { value };
                let values: Option<Vec<f64>> =
                    rest.iter().map(|figures| figures.get(metric).copied()).collect();
                let Some(values) = values else { continue };
                let sum: f64 = values.iter().copied().chain([*value]).map(scaled).sum();
                by_metric.entry(metric).or_default().push(sum / known.len() as f64);
            }
        }
        let numbers = by_metric.into_iter().filter_map(|(metric, values)| {
            let estimate = MeanEstimate::of(&values)?;
            let (low, high) = estimate.interval(alpha);
            let back = |end: f64| match self.least.get(metric) {
                None => end.exp(),
                Some(least) if *least >= 0.0 => end.max(0.0),
                Some(_) => end,
            };
            let [mean, low, high] = [estimate.mean, low, high].map(back);
            Some((metric.to_owned(), Interval { mean, low, high, unit: self.unit(metric) }))
        });
        numbers.collect()
    }

    /// The largest geometric mean of a number over the smallest, in the group whose treatments differ most. `None` if
    /// no treatment has it.
    pub fn spread(&self, number: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        let mean = |at: usize| {
            let runs = self.blocks.iter().filter_map(|(_, row)| row[at].as_ref());
            let logs: Vec<f64> =
                runs.filter_map(&number).filter(|number| *number > 0.0).map(f64::ln).collect();
            (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
        };
        let of_group = |group: usize| {
            let all = (0..self.group_of.len()).filter(|at| self.group_of[*at] == group);
            let means: Vec<f64> = all.filter_map(mean).collect();
            let most = means.iter().copied().reduce(f64::max)?;
            Some((most - means.iter().copied().reduce(f64::min)?).exp())
        };
        let groups = self.group_of.iter().copied().max()?;
        (0..=groups).filter_map(of_group).reduce(f64::max)
    }

    fn is_positive(&self, metric: &str) -> bool {
        !self.least.contains_key(metric)
    }

    fn unit(&self, metric: &str) -> String {
        let Some(name) = metric.strip_prefix(SAID) else {
            return match metric {
                ELAPSED | CPU | CPU_PER_UNIT | CPU_TOTAL => "ns",
                MEMORY => "bytes",
                THROUGHPUT => "1/s",
                _ => "1",
            }
            .to_owned();
        };
        let mut specs =
            self.study.treatments.iter().flat_map(|treatment| command::metrics(&treatment.options));
        specs.find(|spec| spec.name == name).map(|spec| spec.unit).unwrap_or_default()
    }
}

/// One run's numbers. What was not reported is left out.
fn figures(run: &Run, has_server: bool, rate: Option<&Rate>) -> Figures {
    let mut figures = Figures::new();
    let slices = run.slices.len() as f64;
    let sum = |value: fn(&Slice) -> f64| run.slices.iter().map(value).sum::<f64>();
    let (elapsed, rows) = (sum(elapsed_ns), sum(rows));
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
    let peaks = run.slices.iter().filter(|slice| tells(slice, MEMORY)).map(|slice| slice.counter(MEMORY));
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
fn cpu_ns(slice: &Slice, has_server: bool) -> Option<f64> {
    let server_ns = match has_server {
        true => slice.counters.get(command::SERVER_CPU_NS).copied()?,
        false => 0,
    };
    Some(slice.cpu_ns() as f64 + server_ns as f64)
}

/// Elapsed time of a slice of commands in nanoseconds: from the common start to the end of the longest process, or the
/// window if no end is known.
pub fn elapsed_ns(slice: &Slice) -> f64 {
    let ends = slice.sessions.iter().filter_map(|session| session.finished_ns);
    ends.max().unwrap_or(slice.window_ns) as f64
}

fn rows(slice: &Slice) -> f64 {
    slice.rows() as f64
}

fn tells(slice: &Slice, counter: &str) -> bool {
    let sessions = slice.sessions.iter().map(|session| &session.counters);
    sessions.chain([&slice.counters]).any(|counters| counters.contains_key(counter))
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

/// The rate of a run's work: the headline, if it is one, else the first that there is.
pub fn rate(study: &Study) -> Option<Rate> {
    let asked = study.treatments.iter().find_map(|treatment| treatment.options.get("headline"));
    let asked = asked.map(OptionValue::to_string).unwrap_or_default();
    let asked = asked.strip_prefix(SAID).unwrap_or(&asked);
    let rates: Vec<(MetricSpec, Rate)> =
        specs(study).filter_map(|spec| of_metric(&spec).map(|rate| (spec, rate))).collect();
    let at = rates.iter().position(|(spec, _)| spec.name == asked).unwrap_or(0);
    rates.into_iter().nth(at).map(|(_, rate)| rate)
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
    let quantity = |metric: &str, name: String, unit: &str, better: Better| Quantity {
        metric: metric.to_owned(),
        name: format!("{name}{server}"),
        unit: unit.to_owned(),
        better,
        is_said: false,
    };
    let of_run = || quantity(CPU, "CPU per run".to_owned(), "ns", Better::Lower);
    let Some(time) = table.spread(|figures| figures.get(ELAPSED).copied()) else { return of_run() };
    if study.workload == worklist::WORKLOAD || study.comparisons.is_empty() {
        return of_run();
    }
    let done = rate.and_then(|rate| {
        table
            .spread(|figures| Some(figures.get(&rate.metric)? * figures.get(ELAPSED)?))
            .map(|done| (rate, done))
    });
    match done {
        Some((rate, done)) if done > time => {
            quantity(CPU_PER_UNIT, format!("CPU per {}", rate.unit), "ns", Better::Lower)
        }
        Some(_) => of_run(),
        None if time <= ABOUT_AS_LONG => quantity(BUSY_CPUS, "busy CPUs".to_owned(), "1", Better::None),
        None => of_run(),
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
    if study.workload != command::WORKLOAD || !is_by_duration || is_asked || study.comparisons.is_empty() {
        return None;
    }
    let median_of = |at: usize| {
        let runs = table.blocks.iter().filter_map(|(_, row)| row[at].as_ref()?.get(ELAPSED).copied());
        median(runs)
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
