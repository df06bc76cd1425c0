//! Restoring a thread's mask from its line.

use super::entry::{Entry, Thread};
use crate::masks::{self, MaskError};
use crate::{proc, users};
use std::fs;
use threadwise_machine::CpuSet;

/// Result of [`super::restore()`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// Threads that have their first mask again.
    pub put_back: usize,
    /// Threads that have ended.
    pub gone: usize,
    /// One sentence for each line that could not be acted on.
    pub failed: Vec<String>,
}

/// `false` if the thread has ended.
pub(super) fn put_back(entry: &Entry) -> Result<bool, String> {
    let Thread { pid, tid, start } = entry.thread;
    if proc::start_time(pid, tid) != Some(start) {
        return Ok(false);
    }
    let uid = rustix::process::geteuid().as_raw();
    if !users::is_root() && proc::owner(pid).is_some_and(|owner| owner.uid != uid) {
        return Err(format!("process {pid} belongs to another user; restore it as that user or as root"));
    }
    match masks::set_and_read(tid, &entry.mask) {
        Ok(actual) if agrees(&entry.mask, &actual, online().as_ref()) => Ok(true),
        Ok(actual) => Err(MaskError::Differs { tid, wanted: entry.mask.clone(), actual }.to_string()),
        Err(MaskError::Ended { .. }) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// A mask that was never set also names logical CPUs that do not exist, which the kernel leaves out
/// when it is set.
pub(super) fn agrees(wanted: &CpuSet, actual: &CpuSet, online: Option<&CpuSet>) -> bool {
    wanted == actual
        || online.is_some_and(|online| {
            actual.is_subset(wanted) && wanted.intersection(online) == actual.intersection(online)
        })
}

pub(super) fn online() -> Option<CpuSet> {
    CpuSet::parse_list(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_are_not_there_do_not_count() {
        let set = |list| CpuSet::parse_list(list).unwrap();
        let online = set("0-3");
        assert!(agrees(&set("0-1"), &set("0-1"), None));
        assert!(!agrees(&set("0-7"), &set("0-3"), None));
        assert!(agrees(&set("0-7"), &set("0-3"), Some(&online)));
        assert!(!agrees(&set("0-7"), &set("0-2"), Some(&online)), "3 is online and missing");
        assert!(!agrees(&set("0-1"), &set("0-1,9"), Some(&online)), "9 was not wanted");
    }
}
