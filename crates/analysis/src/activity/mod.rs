//! What sessions did besides reading rows: waits, engine counters, CPU time, spinning. Each figure is a mean over
//! blocks with a t interval (Student 1908); the block is the unit here as everywhere. Changes against the baseline are
//! paired by block and adjusted for all that are judged together (`changes`).
//!
//! Waits are shares of samples: a sampler looked at every session at evenly spaced moments of random phase, so that a
//! share of samples estimates a share of time (Cochran, *Sampling Techniques*, ch. 8).

mod changes;
mod counters;
mod locks;
mod server;
pub(crate) mod sums;
mod types;
mod waits;

#[cfg(test)]
mod tests;

pub(crate) use counters::CLIENT_CPU;
pub use locks::{cycles_per_spin, cycles_per_spin_bound};
pub use server::MAX_SERVER_NAMES;
pub use types::{
    Activity, CounterRate, CpuUse, Locks, ServerLock, ServerLocks, ServerWait, WaitShare, Waits,
};
pub(crate) use waits::share as wait_share;
pub use waits::{MAX_WAITS, MIN_SAMPLES, OTHER, RUNNING};

use crate::setting::Setting;
use changes::Pairs;
use sums::Sums;

/// The activities of all treatments, given the run of each in each block where it is usable.
pub(crate) fn activities(setting: &Setting<'_>, by_block: &[Vec<Option<&Sums>>]) -> Vec<Activity> {
    let runs: Vec<Vec<&Sums>> =
        by_block.iter().map(|blocks| blocks.iter().flatten().copied().collect()).collect();
    let names = waits::names(&runs);
    let of_server = server::Names::of(&runs);
    let measured_spins = runs.iter().filter(|blocks| locks::measures_spins(blocks)).count();
    let each = runs.iter().zip(&setting.study.treatments);
    let unpaired = each.map(|(blocks, treatment)| Activity {
        waits: waits::waits(blocks, &names, setting.alpha),
        counters: counters::counters(blocks, setting, &of_server),
        cpu: counters::cpu(blocks, setting.alpha),
        locks: locks::locks(blocks, treatment, setting, measured_spins),
        server_locks: server::locks(blocks, treatment, setting, &of_server),
        server_waits: server::waits(blocks, &of_server, setting.alpha),
        server_loop: blocks.iter().any(|sums| sums.counters.contains_key(counters::CLIENT_CPU))
            && blocks.iter().all(|sums| !sums.has_latency),
    });
    let mut activities: Vec<Activity> = unpaired.collect();
    let pairs = Pairs { study: setting.study, by_block, alpha: setting.alpha };
    waits::add_changes(&mut activities, &pairs, &names);
    locks::add_changes(&mut activities, &pairs);
    activities
}
