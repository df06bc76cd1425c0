//! /proc/cpuinfo: `key : value` lines, a record for each logical CPU (`proc_cpuinfo(5)`).
//!
//! Its keys differ from one architecture to the next, so it serves for names, for the one
//! processor family whose sibling masks need it, and where sysfs has no `topology` folder.

use super::TopologyError;
use super::tree::{LARGE_BYTES, Tree};
use std::collections::BTreeMap;

/// No kernel can be built for more (`CONFIG_NR_CPUS`); a longer list is damage and would only
/// cost time.
pub(super) const MOST_CPUS: usize = 8192;

/// Enough for the first records; some kernels take long to make the whole text.
const HEAD_BYTES: usize = 64 * 1024;

/// One record's keys and values.
pub(super) type Record = BTreeMap<String, String>;

/// The first record, and what stands before it where an architecture has such lines.
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

/// `physical id` and `core id` of each logical CPU that has both; records of numbers that no kernel has
/// are left out.
pub(super) fn core_ids(tree: &Tree) -> Result<BTreeMap<u32, (i64, i64)>, TopologyError> {
    let text = match tree.dir("proc") {
        Some(proc) => proc.text_within("cpuinfo", LARGE_BYTES)?.unwrap_or_default(),
        None => String::new(),
    };
    let mut found = BTreeMap::new();
    let (mut cpu, mut package) = (None, None);
    for (key, value) in text.lines().filter_map(pair) {
        match key {
            "processor" => {
                let number = value.parse().ok().filter(|&number: &u32| (number as usize) < MOST_CPUS);
                (cpu, package) = (number, None);
            }
            "physical id" => package = value.parse().ok(),
            "core id" => {
                if let (Some(cpu), Some(package), Ok(core)) = (cpu, package, value.parse()) {
                    found.insert(cpu, (package, core));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The key and the value of a line.
pub(super) fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}
