//! Bytes that the machine's disks read and wrote, and their busy time.
//!
//! Source: kernel `Documentation/admin-guide/iostats.rst` (/proc/diskstats: sectors are 512 bytes;
//! field 10 is milliseconds with I/O in flight, 32 bits wide, so that it wraps).
//!
//! Each byte counts once: /proc/diskstats also lists partitions, loops, RAM disks and the devices that
//! device-mapper and md build on others. A disk is what has a folder of its own in /sys/block
//! (partitions have none) with a link `device` to the hardware or its bus (devices that the kernel makes in
//! memory or from other block devices have none).

use super::{Counter, Span, growths, opened, status_of};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_study::Reading;

const METRICS: [&str; 3] = ["read_bytes", "written_bytes", "io_ns"];
const SECTOR_BYTES: u64 = 512;
const MS_NS: u64 = 1_000_000;

/// The sampler: sums over all disks; `io_ns` of two busy disks is twice the time.
#[derive(Debug)]
pub struct Disk {
    source: Result<Disks, Status>,
    start_ns: u64,
    before: Result<Vec<[u64; 3]>, String>,
}

#[derive(Debug)]
struct Disks {
    names: Vec<String>,
    stats: Counter,
}

fn disks(root: &Path) -> Result<Disks, Status> {
    let path = root.join("proc/diskstats");
    let remedy = "run where /proc is not hidden from this user";
    let stats = Counter::open(&path).map_err(|error| status_of(&path, &error, remedy))?;
    let folder = root.join("sys/block");
    let entries =
        std::fs::read_dir(&folder).map_err(|error| status_of(&folder, &error, "let this user read /sys"))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("device").symlink_metadata().is_ok())
        // A slash in a device's name is an exclamation mark in /sys (`cciss!c0d0`).
        .filter_map(|entry| Some(entry.file_name().to_str()?.replace('!', "/")))
        .collect();
    names.sort_unstable();
    match names.is_empty() {
        true => Err(Status::Unsupported { why: format!("{} has no disk", folder.display()) }),
        false => Ok(Disks { names, stats }),
    }
}

impl Disks {
    /// Bytes read, bytes written and nanoseconds busy of every disk.
    fn read(&mut self) -> Result<Vec<[u64; 3]>, String> {
        let text = self.stats.read().map_err(|error| format!("proc/diskstats: {error}"))?;
        let mut found = vec![None; self.names.len()];
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace().skip(2);
            let Some(at) = words.next().and_then(|name| self.names.iter().position(|known| known == name))
            else {
                continue;
            };
            found[at] = counts(words);
        }
        let named = |(counts, name): (Option<[u64; 3]>, &String)| {
            counts.ok_or_else(|| format!("proc/diskstats has no readable line for {name} any more"))
        };
        found.into_iter().zip(&self.names).map(named).collect()
    }
}

/// The columns after a name: reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, ms busy.
fn counts<'a>(words: impl Iterator<Item = &'a str>) -> Option<[u64; 3]> {
    let mut columns = [0_u64; 10];
    let mut seen = 0;
    for (column, word) in columns.iter_mut().zip(words) {
        *column = word.parse().ok()?;
        seen += 1;
    }
    let [_, _, read, _, _, _, written, _, _, busy_ms] = columns;
    let bytes = |sectors: u64| sectors.checked_mul(SECTOR_BYTES);
    (seen == columns.len()).then_some([bytes(read)?, bytes(written)?, busy_ms.checked_mul(MS_NS)?])
}

/// Growth of the sums; one disk that ran backwards invalidates them.
fn sums(before: &[[u64; 3]], after: &[[u64; 3]], names: &[String]) -> Result<[u64; 3], String> {
    let mut sums = [0_u64; 3];
    for ((before, after), name) in before.iter().zip(after).zip(names) {
        for ((sum, before), after) in sums.iter_mut().zip(before).zip(after) {
            let grown = after.checked_sub(*before).ok_or_else(|| {
                format!("a counter of {name} wrapped or ran backwards, from {before} to {after}")
            })?;
            *sum = sum.saturating_add(grown);
        }
    }
    Ok(sums)
}

impl Disk {
    /// Reads `proc/diskstats` below `root` for the disks of `sys/block`.
    pub fn new(root: &Path) -> Self {
        Self { source: disks(root), start_ns: 0, before: Err("not started".to_owned()) }
    }

    fn grown(&mut self) -> Result<[u64; 3], String> {
        let disks = opened(&mut self.source)?;
        let after = disks.read()?;
        sums(self.before.as_ref().map_err(Clone::clone)?, &after, &disks.names)
    }
}

impl Sampler for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn status(&self) -> Status {
        self.source.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.before = opened(&mut self.source).and_then(Disks::read);
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let grown = self.grown();
        growths(self.name(), METRICS, span, (&Ok([0; 3]), &grown), readings);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, found, write};
    use super::*;

    /// A disk with a partition, another disk, and what is no disk.
    fn machine(root: &Path) {
        for name in ["vda/device/vendor", "sdb/device/model", "loop0/size", "dm-0/slaves/vda", "ram0/size"] {
            write(root, &format!("sys/block/{name}"), "");
        }
        stats(root, 100, 7, 3);
    }

    fn stats(root: &Path, vda_read: u64, sdb_written: u64, busy_ms: u64) {
        let text = format!(
            " 254 0 vda 9 0 {vda_read} 5 1 0 20 1 0 {busy_ms} 8 0 0 0 0 0 0\n 254 1 vda1 9 0 {vda_read} 5 1 0 20 1 0 50 8\n \
             8 16 sdb 1 0 2 0 9 0 {sdb_written} 0 0 4 4\n 7 0 loop0 9 9 999 9 9 9 999 9 9 9 9\n 253 0 dm-0 9 9 999 9 9 9 999 9 9 9 9\n"
        );
        write(root, "proc/diskstats", &text);
    }

    fn window(root: &Path, between: impl FnOnce()) -> Vec<Reading> {
        let mut sampler = Disk::new(root);
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(0));
        between();
        let mut readings = Vec::new();
        sampler.finish(&at(5), &mut readings);
        readings
    }

    #[test]
    fn disks_count_once_and_nothing_else_counts() {
        let root = tempfile::tempdir().unwrap();
        machine(root.path());
        let readings = window(root.path(), || stats(root.path(), 110, 9, 10));
        assert_eq!(found(&readings, "read_bytes").value, Some(10.0 * 512.0));
        assert_eq!(found(&readings, "written_bytes").value, Some(2.0 * 512.0));
        assert_eq!(found(&readings, "io_ns").value, Some(7e6));
    }

    #[test]
    fn a_counter_that_wraps_and_a_disk_that_vanishes_are_gaps() {
        let root = tempfile::tempdir().unwrap();
        machine(root.path());
        let readings = window(root.path(), || stats(root.path(), 110, 9, 2));
        let gap = found(&readings, "io_ns").gap.clone().unwrap();
        assert!(gap.contains("vda wrapped or ran backwards"), "{gap}");
        let gone = "254 0 vda 9 0 100 5 1 0 20 1 0 3 8\n";
        let readings = window(root.path(), || write(root.path(), "proc/diskstats", gone));
        assert!(readings.iter().all(|reading| reading.gap.as_ref().unwrap().contains("for sdb any more")));
    }

    #[test]
    fn damaged_lines_are_no_counts() {
        for text in ["", "1 2 3", "1 2 3 4 5 6 7 8 9 x", "1 2 18446744073709551615 4 5 6 7 8 9 10"] {
            assert_eq!(counts(text.split_whitespace()), None, "{text}");
        }
    }

    #[test]
    fn a_machine_without_disks_says_so() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "proc/diskstats", "7 0 loop0 9 9 999 9 9 9 999 9 9 9 9\n");
        write(root.path(), "sys/block/loop0/size", "8");
        assert!(
            matches!(Disk::new(root.path()).status(), Status::Unsupported { why } if why.contains("disk"))
        );
    }
}
