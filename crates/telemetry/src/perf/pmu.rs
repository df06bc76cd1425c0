//! The names of a PMU (a unit that counts) and its events, from sysfs.
//!
//! Source: kernel `Documentation/ABI/testing/sysfs-bus-event_source-devices-format` and `-events`,
//! `drivers/perf/arm_pmu.c` and `arch/x86/events/core.c` (the file `cpus` of hybrid machines).

use std::fs;
use std::path::{Path, PathBuf};
use threadwise_machine::CpuSet;

const DEVICES: &str = "sys/bus/event_source/devices";

/// An event, in the terms of `struct perf_event_attr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Name, for messages.
    pub name: String,
    /// `type`: number of the PMU.
    pub kind: u32,
    /// `config`, `config1` and `config2`.
    pub config: [u64; 3],
}

/// A PMU of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pmu {
    /// Its folder's name.
    pub name: String,
    /// Its number.
    pub kind: u32,
    /// Logical CPUs that it counts on; `None` means all.
    pub cpus: Option<CpuSet>,
    folder: PathBuf,
}

impl Pmu {
    /// Reads a PMU below `root`; `None` if the kernel has none of this name.
    pub fn read(root: &Path, name: &str) -> Option<Self> {
        let folder = root.join(DEVICES).join(name);
        let kind = fs::read_to_string(folder.join("type")).ok()?.trim().parse().ok()?;
        let cpus = fs::read_to_string(folder.join("cpus")).ok();
        let cpus = cpus.and_then(|text| CpuSet::parse_list(text.trim()).ok());
        Some(Self { name: name.to_owned(), kind, cpus, folder })
    }

    /// The PMUs of the CPUs' own counters, sorted by name: `cpu`, or one per kind of core, which has a
    /// file `cpus` (`cpu_core`, `armv8_pmuv3_0`). Uncore PMUs have `cpumask` instead.
    pub fn of_cores(root: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(root.join(DEVICES)) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let pmus = names.filter_map(|name| Self::read(root, &name));
        let mut pmus: Vec<_> = pmus.filter(|pmu| pmu.name == "cpu" || pmu.cpus.is_some()).collect();
        pmus.sort_by(|a, b| a.name.cmp(&b.name));
        pmus
    }

    /// Whether it counts on a logical CPU.
    pub fn counts_on(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu))
    }

    /// An event that the PMU publishes; `None` if it has none of this name, or one that
    /// cannot be parsed.
    pub fn event(&self, name: &str) -> Option<Event> {
        let text = fs::read_to_string(self.folder.join("events").join(name)).ok()?;
        let config =
            encode(text.trim(), |term| fs::read_to_string(self.folder.join("format").join(term)).ok())?;
        Some(Event { name: format!("{}/{name}/", self.name), kind: self.kind, config })
    }
}

/// Turns `event=0x3c,umask=0x1,any` into the words of the attribute; `format` gives the place of a term.
fn encode(text: &str, format: impl Fn(&str) -> Option<String>) -> Option<[u64; 3]> {
    let mut config = [0_u64; 3];
    for term in text.split(',') {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        // The kernel accepts these three as terms without a file.
        let known = matches!(name, "config" | "config1" | "config2").then(|| format!("{name}:0-63"));
        let place = known.or_else(|| format(name.trim()))?;
        put(place.trim(), value, &mut config)?;
    }
    Some(config)
}

/// Spreads a value over the bits that a format names, lowest first: `config:0-7,32-35`.
fn put(place: &str, mut value: u64, config: &mut [u64; 3]) -> Option<()> {
    let (word, ranges) = place.split_once(':')?;
    let word = match word {
        "config" => 0,
        "config1" => 1,
        "config2" => 2,
        _ => return None,
    };
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high) = (low.parse::<u32>().ok()?, high.parse::<u32>().ok()?);
        if high > 63 || low > high {
            return None;
        }
        let width = high - low + 1;
        let mask = u64::MAX >> (64 - width);
        config[word] |= (value & mask) << low;
        value = value.checked_shr(width).unwrap_or(0);
    }
    // Bits that do not fit would count another event.
    (value == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::testing::write;

    fn encoded(text: &str) -> Option<[u64; 3]> {
        encode(text, |term| {
            let place = match term {
                "event" => "config:0-7,32-35",
                "umask" => "config:8-15",
                "any" => "config:21",
                "ldlat" => "config1:0-15",
                "whole" => "config2:0-63",
                _ => return None,
            };
            Some(format!("{place}\n"))
        })
    }

    #[test]
    fn terms_go_where_the_format_says() {
        assert_eq!(encoded("event=0x3c"), Some([0x3c, 0, 0]));
        assert_eq!(encoded("event=0x00,umask=0x80"), Some([0x8000, 0, 0]));
        assert_eq!(encoded("event=0x1c2,umask=3,any"), Some([0x1_0020_03c2, 0, 0]));
        assert_eq!(encoded("event=0xcd,ldlat=7"), Some([0xcd, 7, 0]));
        assert_eq!(encoded("whole=0xffffffffffffffff"), Some([0, 0, u64::MAX]));
        assert_eq!(encoded("config1=0x10"), Some([0, 0x10, 0]));
    }

    #[test]
    fn what_is_not_understood_is_no_event() {
        for text in ["", "nonsense=1", "event=x", "event=0x1000", "event=-1", "umask=0x100", "event"] {
            let expected = (text == "event").then_some([1, 0, 0]);
            assert_eq!(encoded(text), expected, "{text}");
        }
        for place in ["config:0-64", "config:5-1", "config", "config9:0", "config:x"] {
            assert_eq!(put(place, 1, &mut [0; 3]), None, "{place}");
        }
    }

    #[test]
    fn pmus_of_cores_are_distinguished_from_the_others() {
        let root = tempfile::tempdir().unwrap();
        for (name, kind) in [("cpu_core", 4), ("cpu_atom", 10), ("uncore_imc_0", 20), ("msr", 9)] {
            write(root.path(), &format!("{DEVICES}/{name}/type"), &format!("{kind}\n"));
        }
        write(root.path(), &format!("{DEVICES}/cpu_core/cpus"), "0-3\n");
        write(root.path(), &format!("{DEVICES}/cpu_atom/cpus"), "4-7\n");
        write(root.path(), &format!("{DEVICES}/uncore_imc_0/cpumask"), "0\n");
        let pmus = Pmu::of_cores(root.path());
        assert_eq!(
            pmus.iter().map(|pmu| (pmu.name.as_str(), pmu.kind)).collect::<Vec<_>>(),
            [("cpu_atom", 10), ("cpu_core", 4)]
        );
        assert!(pmus[1].counts_on(3) && !pmus[1].counts_on(4));
    }

    #[test]
    fn an_event_is_read_with_its_format() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Pmu::read(root.path(), "msr"), None);
        write(root.path(), &format!("{DEVICES}/msr/type"), "9\n");
        write(root.path(), &format!("{DEVICES}/msr/format/event"), "config:0-63\n");
        write(root.path(), &format!("{DEVICES}/msr/events/aperf"), "event=0x01\n");
        write(root.path(), &format!("{DEVICES}/msr/events/odd"), "event=\u{0}\n");
        let msr = Pmu::read(root.path(), "msr").unwrap();
        let aperf = Event { name: "msr/aperf/".to_owned(), kind: 9, config: [1, 0, 0] };
        assert_eq!(msr.event("aperf"), Some(aperf));
        assert_eq!(msr.event("mperf"), None);
        assert_eq!(msr.event("odd"), None);
    }
}
