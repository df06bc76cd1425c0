//! How much memory is free.

use std::fs;

/// Memory that may be had without swapping (`proc_meminfo(5)`).
pub(crate) fn free_bytes() -> u64 {
    let kib = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
    });
    kib.map_or(4 << 30, |kib| kib << 10)
}
