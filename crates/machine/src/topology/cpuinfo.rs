//! /proc/cpuinfo: `key : value` lines, one record for each logical CPU (`proc_cpuinfo(5)`).
//!
//! Its keys differ between architectures, so it is used for names, for the one processor family whose sibling
//! masks need it, and if sysfs has no `topology` folder.

use super::TopologyError;
use super::tree::{LARGE_BYTES, Tree};
use std::collections::BTreeMap;

/// More than any kernel can be built for (`CONFIG_NR_CPUS`); a longer list is damage and would only cost time.
pub(super) const MOST_CPUS: usize = 8192;

/// Enough for the first records; some kernels take long to write the whole text.
const HEAD_BYTES: usize = 64 * 1024;

/// One record's keys and values.
pub(super) type Record = BTreeMap<String, String>;

/// The first record, and any lines before it, which some architectures have.
pub(super) fn first_record(tree: &Tree) -> Result<Record, TopologyError> {
    let head = match tree.dir("proc") {
        Some(proc) => proc.head("cpuinfo", HEAD_BYTES)?,
        None => None,
    };
    let mut record = Record::new();
    for (key, value) in head.as_deref().unwrap_or("").lines().filter_map(pair) {
        // A second `processor` line opens the second record.
        if key == "processor" && record.contains_key(key) {
            break;
        }
        record.entry(key.to_owned()).or_insert_with(|| value.to_owned());
    }
    Ok(record)
}

/// Numbers of a logical CPU's core and package, by its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CoreIds {
    pub(super) package: i64,
    /// The core's number within the package, or within a die of it.
    pub(super) core: i64,
    /// `siblings` (logical CPUs of the package) over `cpu cores`, if the record has both.
    pub(super) threads_per_core: Option<usize>,
}

impl CoreIds {
    /// The number of its core, if others may have the same one because they share it.
    pub(super) fn shared_core(&self) -> Option<i64> {
        Some(self.core).filter(|_| self.threads_per_core != Some(1))
    }
}

/// Of all logical CPUs whose records have `physical id` and `core id`, except numbers that no kernel has.
pub(super) fn core_ids(tree: &Tree) -> Result<BTreeMap<u32, CoreIds>, TopologyError> {
    let text = match tree.dir("proc") {
        Some(proc) => proc.text_within("cpuinfo", LARGE_BYTES)?.unwrap_or_default(),
        None => String::new(),
    };
    let mut found = BTreeMap::new();
    let mut record: Option<u32> = None;
    let mut numbers: BTreeMap<&str, i64> = BTreeMap::new();
    let mut end = |record: Option<u32>, numbers: &mut BTreeMap<&str, i64>| {
        let number = |key: &str| numbers.get(key).copied();
        if let (Some(cpu), Some(package), Some(core)) = (record, number("physical id"), number("core id")) {
            let counts = number("siblings").zip(number("cpu cores")).filter(|(_, cores)| *cores > 0);
            let threads = counts.and_then(|(siblings, cores)| usize::try_from(siblings / cores).ok());
            found.insert(
                cpu,
                CoreIds { package, core, threads_per_core: threads.filter(|threads| *threads > 0) },
            );
        }
        numbers.clear();
    };
    for (key, value) in text.lines().filter_map(pair) {
        if key == "processor" {
            end(record, &mut numbers);
            record = value.parse().ok().filter(|&number: &u32| (number as usize) < MOST_CPUS);
        } else if let Ok(number) = value.parse() {
            numbers.insert(key, number);
        }
    }
    end(record, &mut numbers);
    Ok(found)
}

/// The key and the value of a line.
pub(super) fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}
