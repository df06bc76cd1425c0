//! What the CPU time of a command is over: a run, a unit of what it says that it did, or a second. Pure.
//!
//! More CPU time in a run is worse only where every run does the same. A tool that runs for a fixed time
//! does more on more logical CPUs and uses more CPU time for it: then it is CPU time over work that counts,
//! which is busy CPUs over the rate that the tool says. Whether time or work is what a run holds fixed is
//! seen in the runs: it is the one of both that varies less between treatments. Where nothing says how much
//! was done and all runs take about as long, neither is known to be fixed, and only busy CPUs are compared,
//! as something that is neither better nor worse.

use super::figures::Table;
use super::{BUSY_CPUS, CPU, CPU_PER_UNIT, ELAPSED, Quantity, SAID, specs};
use threadwise_study::command::{Better, MetricSpec, PIN_SERVER};
use threadwise_study::{OptionValue, Study, Treatment, worklist};

/// Treatments whose mean times differ by no more than this factor may have run for a fixed time.
const ABOUT_AS_LONG: f64 = 1.1;

/// A rate that the output tells: work done over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Metric name among the figures.
    pub metric: String,
    /// A unit of the work, for people: `tx`, `query`, `unit of score`.
    pub unit: String,
    /// Seconds that the rate is over.
    pub seconds: f64,
}

/// Whether a treatment has a server bound with it, whose CPU time then counts with the command's.
pub fn has_server(treatment: &Treatment) -> bool {
    treatment.options.contains_key(PIN_SERVER)
}

/// The rate that says how much a run did: the headline, if it is one, else the first that there is.
pub fn rate(study: &Study) -> Option<Rate> {
    let asked = study.treatments.iter().find_map(|treatment| treatment.options.get("headline"));
    let asked = asked.map(OptionValue::to_string).unwrap_or_default();
    let asked = asked.strip_prefix(SAID).unwrap_or(&asked);
    let rates: Vec<(MetricSpec, Rate)> =
        specs(study).filter_map(|spec| of_metric(&spec).map(|rate| (spec, rate))).collect();
    let at = rates.iter().position(|(spec, _)| spec.name == asked).unwrap_or(0);
    rates.into_iter().nth(at).map(|(_, rate)| rate)
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

/// `queries` is a plural in a unit, and `tx` or `MB` is not.
fn singular(unit: &str) -> String {
    match (unit.strip_suffix("ies"), unit.strip_suffix('s')) {
        (Some(stem), _) if !stem.is_empty() => format!("{stem}y"),
        (None, Some(stem)) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => unit.to_owned(),
    }
}

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
