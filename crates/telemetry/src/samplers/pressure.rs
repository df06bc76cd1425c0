//! Time during which tasks of the whole system waited for a CPU, for memory or for I/O.
//!
//! Source: kernel `Documentation/accounting/psi.rst`: the `total` of the lines `some` (at least one
//! task waited) and `full` (all that were not idle waited) in /proc/pressure is in microseconds. `full`
//! of the CPU is not defined for the whole system and always reads 0, so it is not taken.

use super::{Counter, Span, growth, opened, status_of};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_study::Reading;

const REMEDY: &str = "start the kernel with psi=1";

/// The sampler.
#[derive(Debug)]
pub struct Pressure {
    cpu: Resource,
    memory: Resource,
    io: Resource,
    start_ns: u64,
}

/// One file of /proc/pressure.
#[derive(Debug)]
struct Resource {
    name: &'static str,
    source: Result<Counter, Status>,
    before: Result<Totals, String>,
}

/// Totals of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Totals {
    some_ns: u64,
    /// `None` if the line is missing, as for the CPU before Linux 5.13.
    full_ns: Option<u64>,
}

impl Resource {
    fn new(root: &Path, name: &'static str) -> Self {
        let path = root.join("proc/pressure").join(name);
        let source = Counter::open(&path).map_err(|error| status_of(&path, &error, REMEDY)).and_then(
            // With psi=0 the file is there and reading fails with EOPNOTSUPP.
            |mut counter| match counter.read() {
                Ok(_) => Ok(counter),
                Err(error) => Err(status_of(&path, &error, REMEDY)),
            },
        );
        Self { name, source, before: Err("not started".to_owned()) }
    }

    fn totals(&mut self) -> Result<Totals, String> {
        let name = self.name;
        let counter = opened(&mut self.source)?;
        let text = counter.read().map_err(|error| format!("proc/pressure/{name}: {error}"))?;
        let some_ns = total_ns(text, "some ")
            .ok_or_else(|| format!("proc/pressure/{name} has no readable line 'some'"))?;
        Ok(Totals { some_ns, full_ns: total_ns(text, "full ") })
    }

    /// The total of `full`.
    fn full(&self, totals: &Result<Totals, String>) -> Result<u64, String> {
        let missing = || format!("proc/pressure/{} has no readable line 'full'", self.name);
        totals.clone()?.full_ns.ok_or_else(missing)
    }

    fn finish(&mut self, span: Span, readings: &mut Vec<Reading>) {
        let after = self.totals();
        let some = |totals: &Result<Totals, String>| totals.clone().map(|totals| totals.some_ns);
        let metric = format!("{}_some_ns", self.name);
        readings.push(growth("pressure", &metric, span, &some(&self.before), &some(&after)));
        if self.name != "cpu" {
            let (before, after) = (self.full(&self.before), self.full(&after));
            readings.push(growth("pressure", &format!("{}_full_ns", self.name), span, &before, &after));
        }
    }
}

impl Pressure {
    /// Reads `proc/pressure/{cpu,memory,io}` below `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            cpu: Resource::new(root, "cpu"),
            memory: Resource::new(root, "memory"),
            io: Resource::new(root, "io"),
            start_ns: 0,
        }
    }

    /// Nanoseconds since boot during which some task waited for a CPU.
    ///
    /// # Errors
    /// Why it is unknown, in one line.
    pub fn some_ns(&mut self) -> Result<u64, String> {
        self.cpu.totals().map(|totals| totals.some_ns)
    }

    fn resources(&mut self) -> [&mut Resource; 3] {
        [&mut self.cpu, &mut self.memory, &mut self.io]
    }
}

fn total_ns(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

impl Sampler for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn status(&self) -> Status {
        match [&self.cpu, &self.memory, &self.io].map(|resource| &resource.source) {
            [Err(status), Err(_), Err(_)] => status.clone(),
            _ => Status::Ready,
        }
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        for resource in self.resources() {
            resource.before = resource.totals();
        }
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        for resource in self.resources() {
            resource.finish(span, readings);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, found, write};
    use super::*;

    fn pressure(root: &Path, name: &str, some: u64, full: u64) {
        let averages = "avg10=2.98 avg60=1.31 avg300=0.58";
        let text = format!("some {averages} total={some}\nfull {averages} total={full}\n");
        write(root, &format!("proc/pressure/{name}"), &text);
    }

    #[test]
    fn the_totals_of_some_and_full_are_read() {
        let root = tempfile::tempdir().unwrap();
        for name in ["cpu", "memory", "io"] {
            pressure(root.path(), name, 100, 9);
        }
        let mut sampler = Pressure::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(5));
        pressure(root.path(), "cpu", 140, 0);
        pressure(root.path(), "io", 101, 12);
        let mut readings = Vec::new();
        sampler.finish(&at(9), &mut readings);
        assert_eq!(readings.len(), 5, "'full' of the CPU means nothing: {readings:?}");
        let some = found(&readings, "cpu_some_ns");
        assert_eq!((some.value, some.start_ns, some.end_ns), (Some(40_000.0), 5, 9));
        assert_eq!(found(&readings, "memory_some_ns").value, Some(0.0));
        assert_eq!(found(&readings, "io_full_ns").value, Some(3000.0));
    }

    #[test]
    fn one_file_that_is_missing_or_vanishes_is_a_gap_and_the_others_are_not() {
        let root = tempfile::tempdir().unwrap();
        pressure(root.path(), "cpu", 100, 0);
        pressure(root.path(), "memory", 100, 10);
        let mut sampler = Pressure::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(0));
        write(root.path(), "proc/pressure/memory", "some avg10=0.00 total=100\n");
        let mut readings = Vec::new();
        sampler.finish(&at(1), &mut readings);
        assert_eq!(found(&readings, "cpu_some_ns").value, Some(0.0));
        assert_eq!(found(&readings, "memory_some_ns").value, Some(0.0));
        assert!(found(&readings, "memory_full_ns").gap.as_ref().unwrap().contains("line 'full'"));
        assert!(found(&readings, "io_some_ns").gap.as_ref().unwrap().contains("pressure/io"));
    }

    #[test]
    fn garbage_is_a_gap() {
        let root = tempfile::tempdir().unwrap();
        for text in
            ["", "some", "some total=", "some total=-4", "full total=3", "some total=99999999999999999999"]
        {
            write(root.path(), "proc/pressure/cpu", text);
            let mut sampler = Pressure::new(root.path());
            assert!(sampler.some_ns().unwrap_err().contains("no readable line"), "{text}");
        }
    }
}
