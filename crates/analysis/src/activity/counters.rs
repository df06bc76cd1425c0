//! Engine counters and CPU time, per row and per second.

use super::locks;
use super::server::Names;
use super::sums::{Sums, over_blocks};
use super::types::{CounterRate, CpuUse};
use super::waits::is_wait;
use crate::setting::Setting;
use std::collections::BTreeSet;
use threadwise_statistics::per;
use threadwise_study::Workload;
use threadwise_study::arrivals::OF_ARRIVALS;
use threadwise_study::command::PEAK_RSS_BYTES;
use threadwise_study::observation::ROWS_FIRST_HALF;
use threadwise_study::parallel;

/// CPU time of the client, nanoseconds.
pub(crate) const CLIENT_CPU: &str = "client_cpu_ns";

/// Every counter that no other part of a report shows.
pub(super) fn counters(runs: &[&Sums], setting: &Setting<'_>, of_server: &Names) -> Vec<CounterRate> {
    let cached_reads = setting.study.workload == Workload::LogicalIo;
    let command = setting.study.runs_whole();
    let elsewhere = |name: &str| {
        is_wait(name)
            || of_server.has(name)
            || name == ROWS_FIRST_HALF
            || OF_ARRIVALS.contains(&name)
            || name.starts_with(parallel::PREFIX)
            || [CLIENT_CPU, locks::SPINS, locks::SPIN_NS, locks::COUNTED_NS, "logical_reads"].contains(&name)
            // A run of cached reads with more than a few of them is refused.
            || (cached_reads && name == "physical_reads")
            || (command && name == PEAK_RSS_BYTES)
    };
    let names: BTreeSet<&str> =
        runs.iter().flat_map(|sums| sums.counters.keys()).map(String::as_str).collect();
    names.into_iter().filter(|name| !elsewhere(name)).map(|name| rate(name, runs, setting.alpha)).collect()
}

fn rate(name: &str, runs: &[&Sums], alpha: f64) -> CounterRate {
    let unit = unit(name);
    let of_block =
        |below: fn(&Sums) -> f64| runs.iter().map(move |sums| per(sums.counter(name)?, below(sums)));
    CounterRate {
        name: name.to_owned(),
        per_row: over_blocks(of_block(|sums| sums.rows), unit, alpha),
        per_s: over_blocks(of_block(|sums| sums.window_s), &per_second(unit), alpha),
        blocks: runs.iter().filter(|sums| sums.counter(name).is_some()).count() as u32,
    }
}

/// The unit at the end of a name.
fn unit(name: &str) -> &'static str {
    match name.rsplit('_').next() {
        Some("ns") => "ns",
        Some("bytes") => "bytes",
        _ => "1",
    }
}

fn per_second(unit: &str) -> String {
    format!("{unit}/s")
}

/// CPU time of engine and client, where the client's was counted.
pub(super) fn cpu(runs: &[&Sums], alpha: f64) -> Option<CpuUse> {
    if !runs.iter().any(|sums| sums.counters.contains_key(CLIENT_CPU)) {
        return None;
    }
    // The CPU time of a remote server cannot be read and is reported as 0.
    let engine = |sums: &Sums| (sums.cpu_ns > 0.0).then_some(sums.cpu_ns);
    let client = |sums: &Sums| sums.counter(CLIENT_CPU);
    let share = |sums: &&Sums| {
        let client = client(sums)?;
        per(client, client + engine(sums)?)
    };
    Some(CpuUse {
        engine_ns_per_row: over_blocks(runs.iter().map(|sums| per(engine(sums)?, sums.rows)), "ns", alpha),
        client_ns_per_row: over_blocks(runs.iter().map(|sums| per(client(sums)?, sums.rows)), "ns", alpha),
        client_share: over_blocks(runs.iter().map(share), "share", alpha),
    })
}
