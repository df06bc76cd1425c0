//! Items of work lists, and what commands said, run by run: for the exports.

use threadwise_study::{Run, command, worklist};

/// The metrics of a run by name, of what its output said.
pub fn said(run: &Run) -> impl Iterator<Item = (&str, Option<f64>)> {
    let readings = run.readings.iter().filter(|reading| reading.sampler == command::SAMPLER);
    readings.map(|reading| (reading.metric.as_str(), reading.value))
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
