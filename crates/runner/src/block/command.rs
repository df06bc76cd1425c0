//! Treatments that take turns with whole runs, and the output of commands, which is kept as readings.
//!
//! Other workers of a block exist at once, parked. Not so the commands around a run (`setup` may start
//! a server on a port that only one can have), nor sessions of a server that is bound as a whole before
//! they are opened; so each treatment's worker is started before its run and ended after it.

use std::time::Duration;
use threadwise_engine::protocol::WireLoad;
use threadwise_process::marked;
use threadwise_study::{OptionValue, Reading, Slice, Study, command, worklist};

use crate::guard::{BlockUse, ThreadTimes};
use crate::places::Folders;

/// How long killed processes may take to end.
const END: Duration = Duration::from_secs(10);

/// Whether the workers of a block exist one after the other.
pub(super) fn one_by_one(study: &Study) -> bool {
    study.takes_turns()
}

/// A worker's data, with the block's number for the placeholder.
pub(super) fn load_of_block(study: &Study, load: &WireLoad, block: u32) -> WireLoad {
    let mut load = load.clone();
    if study.runs_whole() {
        load.options.insert(command::BLOCK.to_owned(), OptionValue::Integer(i64::from(block)));
    }
    load
}

/// The output of a run's commands, as readings over its window.
pub(super) fn readings(study: &Study, treatment: &str, slice: &Slice) -> Vec<Reading> {
    let Some((_, treatment)) = study.treatment(treatment).filter(|_| study.runs_whole()) else {
        return Vec::new();
    };
    let metrics = command::combined(&command::metrics(&treatment.options), &slice.sessions);
    let reading = |(metric, value)| Reading {
        sampler: command::SAMPLER.to_owned(),
        metric,
        cpu: None,
        start_ns: slice.start_ns,
        end_ns: slice.start_ns.saturating_add(slice.window_ns),
        value: Some(value),
        gap: None,
    };
    metrics.into_iter().map(reading).chain(items(slice)).collect()
}

/// The outcome of each item of a work list, in the order of the list.
fn items(slice: &Slice) -> impl Iterator<Item = Reading> {
    let all = slice.sessions.iter().flat_map(|session| &session.items);
    all.take(worklist::MAX_SPANS).map(|item| Reading {
        sampler: worklist::SAMPLER.to_owned(),
        metric: format!("{:05} {}", item.index, item.name),
        cpu: None,
        start_ns: slice.start_ns.saturating_add(item.started_ns),
        end_ns: slice.start_ns.saturating_add(item.started_ns).saturating_add(item.elapsed_ns),
        value: Some(f64::from(item.job)),
        gap: None,
    })
}

/// A killed worker could not end what its command had started; the next treatment
/// must not run beside it. What cannot be ended here is reported when the study's folder is removed.
pub(super) fn clear_up(is_valid: bool, folders: Folders<'_>) {
    if !is_valid {
        let _ = marked::end(folders.data, END);
    }
}

/// What others used and waited for during a block of commands. The kernel does not keep the waits of ended
/// processes, so others' waits cannot be separated from theirs; their CPU time can.
pub(super) fn without_waits(study: &Study, used: BlockUse) -> BlockUse {
    match one_by_one(study) {
        true => BlockUse { some_ns: None, ..used },
        false => used,
    }
}

/// Subtracts what the user's server used in runs that bound it from what others used.
pub(super) fn with_server<'a>(used: BlockUse, slices: impl Iterator<Item = &'a Slice>) -> BlockUse {
    let server_ns: u64 = slices.map(|slice| slice.counter(command::SERVER_CPU_NS)).sum();
    let ours = ThreadTimes { cpu_ns: used.ours.cpu_ns.saturating_add(server_ns), ..used.ours };
    BlockUse { ours, ..used }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_bound_server_used_is_not_that_of_others() {
        let slice = |counters: &[(&str, u64)]| Slice {
            sequence: 0,
            round: 0,
            start_ns: 0,
            window_ns: 1,
            sessions: Vec::new(),
            counters: counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            cpu_times: Vec::new(),
            other_cpus: Default::default(),
            looks: Vec::new(),
        };
        let slices = [slice(&[(command::SERVER_CPU_NS, 300)]), slice(&[("read_bytes", 9)])];
        let used = BlockUse { ours: ThreadTimes { cpu_ns: 50, wait_ns: 7 }, ..BlockUse::default() };
        let ours = with_server(used, slices.iter()).ours;
        assert_eq!((ours.cpu_ns, ours.wait_ns), (350, 7));
    }
}
