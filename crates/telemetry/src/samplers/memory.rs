//! Memory of the whole machine: what was available, major faults, swapping.
//!
//! Source: `proc_meminfo(5)` (`MemAvailable`, in kB), `proc_vmstat(5)` (`pgmajfault`, `pswpin`,
//! `pswpout`: events and pages since boot).

use super::{Counter, Span, growths, number_of, numbers_of, opened, reading, status_of};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_study::Reading;

const REMEDY: &str = "run where /proc is not hidden from this user";
const WORDS: [&str; 3] = ["pgmajfault", "pswpin", "pswpout"];
const METRICS: [&str; 3] = ["major_faults", "swapped_in_pages", "swapped_out_pages"];

/// The sampler. `available_min_bytes_ns` is the smallest MemAvailable at any reading (start, tick,
/// finish) times the window; divided by `window_ns` it is the mean of the windows' minima.
#[derive(Debug)]
pub struct Memory {
    meminfo: Result<Counter, Status>,
    vmstat: Result<Counter, Status>,
    start_ns: u64,
    least_bytes: Result<u64, String>,
    before: Result<[u64; 3], String>,
}

impl Memory {
    /// Reads `proc/meminfo` and `proc/vmstat` below `root`.
    pub fn new(root: &Path) -> Self {
        let open = |name: &str| {
            let path = root.join(name);
            Counter::open(&path).map_err(|error| status_of(&path, &error, REMEDY))
        };
        Self {
            meminfo: open("proc/meminfo"),
            vmstat: open("proc/vmstat"),
            start_ns: 0,
            least_bytes: Err("not started".to_owned()),
            before: Err("not started".to_owned()),
        }
    }

    fn available_bytes(&mut self) -> Result<u64, String> {
        let text = opened(&mut self.meminfo)?.read().map_err(|error| format!("proc/meminfo: {error}"))?;
        number_of(text, "MemAvailable")
            .and_then(|kib| kib.checked_mul(1024))
            .ok_or_else(|| "proc/meminfo has no readable line MemAvailable".to_owned())
    }

    fn events(&mut self) -> Result<[u64; 3], String> {
        let text = opened(&mut self.vmstat)?.read().map_err(|error| format!("proc/vmstat: {error}"))?;
        let mut events = [0; 3];
        for ((event, number), word) in events.iter_mut().zip(numbers_of(text, WORDS)).zip(WORDS) {
            *event = number.ok_or_else(|| format!("proc/vmstat has no readable line {word}"))?;
        }
        Ok(events)
    }

    fn look(&mut self) {
        let now = self.available_bytes();
        self.least_bytes = match (self.least_bytes.clone(), now) {
            (Ok(least), Ok(now)) => Ok(least.min(now)),
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
    }
}

impl Sampler for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn status(&self) -> Status {
        match (&self.meminfo, &self.vmstat) {
            (Err(status), Err(_)) => status.clone(),
            _ => Status::Ready,
        }
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.least_bytes = self.available_bytes();
        self.before = self.events();
    }

    fn tick(&mut self, _at: &Moment<'_>) {
        self.look();
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        self.look();
        let after = self.events();
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let least = self.least_bytes.clone().map(|bytes| bytes as f64 * span.length_ns());
        readings.push(reading(self.name(), "available_min_bytes_ns", None, span, least));
        growths(self.name(), METRICS, span, (&self.before, &after), readings);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, found, write};
    use super::*;

    fn available(root: &Path, kib: u64) {
        write(root, "proc/meminfo", &format!("MemTotal: 9999 kB\nMemFree: 1 kB\nMemAvailable:   {kib} kB\n"));
    }

    fn events(root: &Path, faults: u64, swapped_in: u64) {
        let text = format!("pgfault 9\npgmajfault {faults}\npswpin {swapped_in}\npswpout 5\n");
        write(root, "proc/vmstat", &text);
    }

    #[test]
    fn the_least_of_all_looks_counts_and_events_grow() {
        let root = tempfile::tempdir().unwrap();
        available(root.path(), 400);
        events(root.path(), 10, 0);
        let mut sampler = Memory::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(100));
        available(root.path(), 50);
        sampler.tick(&at(102));
        available(root.path(), 300);
        events(root.path(), 13, 4);
        let mut readings = Vec::new();
        sampler.finish(&at(110), &mut readings);
        assert_eq!(found(&readings, "available_min_bytes_ns").value, Some(50.0 * 1024.0 * 10.0));
        assert_eq!(found(&readings, "major_faults").value, Some(3.0));
        assert_eq!(found(&readings, "swapped_in_pages").value, Some(4.0));
        assert_eq!(found(&readings, "swapped_out_pages").value, Some(0.0));
    }

    #[test]
    fn what_vanishes_or_runs_backwards_is_a_gap_and_the_rest_is_not() {
        let root = tempfile::tempdir().unwrap();
        available(root.path(), 400);
        events(root.path(), 10, 0);
        let mut sampler = Memory::new(root.path());
        sampler.start(&at(0));
        write(root.path(), "proc/meminfo", "");
        sampler.tick(&at(1));
        available(root.path(), 400);
        events(root.path(), 9, 1);
        let mut readings = Vec::new();
        sampler.finish(&at(2), &mut readings);
        let gap = |metric: &str| found(&readings, metric).gap.clone().unwrap();
        assert!(gap("available_min_bytes_ns").contains("MemAvailable"));
        assert!(gap("major_faults").contains("backwards, from 10 to 9"));
        assert_eq!(found(&readings, "swapped_in_pages").value, Some(1.0));
    }
}
