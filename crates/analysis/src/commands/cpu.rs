//! What the CPU time of a command is over: a run, a unit of what it says that it did, or a second. Pure.
//!
//! More CPU time in a run is worse only where every run does the same. A tool that runs for a fixed time
//! does more on more logical CPUs and uses more CPU time for it: then it is CPU time over work that counts,
//! which is busy CPUs over the rate that the tool says. Whether time or work is what a run holds fixed is
//! seen in the runs: it is the one of both that varies less between treatments. Where nothing says how much
//! was done and all runs take about as long, neither is known to be fixed, and only busy CPUs are compared,
//! as something that is neither better nor worse.

use super::figures::Table;
use super::rate::{Rate, has_server};
use super::types::{BUSY_CPUS, CPU, CPU_PER_UNIT, ELAPSED, Quantity};
use threadwise_study::command::Better;
use threadwise_study::{Study, worklist};

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
