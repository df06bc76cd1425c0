//! Time during which at least one task of the whole system waited for a CPU.
//!
//! Source: kernel `Documentation/accounting/psi.rst`: the `total` of the line `some` in
//! /proc/pressure/cpu is in microseconds.

use super::{Counter, Span, growth, status_of};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_study::Reading;

const REMEDY: &str = "start the kernel with psi=1";

/// The sampler.
#[derive(Debug)]
pub struct Pressure {
    source: Result<Counter, Status>,
    start_ns: u64,
    before: Result<u64, String>,
}

impl Pressure {
    /// Reads `proc/pressure/cpu` below `root`.
    pub fn new(root: &Path) -> Self {
        let path = root.join("proc/pressure/cpu");
        let source = Counter::open(&path).map_err(|error| status_of(&path, &error, REMEDY)).and_then(
            // With psi=0 the file is there and reading fails with EOPNOTSUPP.
            |mut counter| match counter.read() {
                Ok(_) => Ok(counter),
                Err(error) => Err(status_of(&path, &error, REMEDY)),
            },
        );
        Self { source, start_ns: 0, before: Err("not started".to_owned()) }
    }

    /// Nanoseconds since the start of the machine during which some task waited for a CPU.
    ///
    /// # Errors
    /// Why it is not known, in one line.
    pub fn some_ns(&mut self) -> Result<u64, String> {
        let counter = match &mut self.source {
            Ok(counter) => counter,
            Err(Status::Unsupported { why } | Status::Denied { why, .. }) => return Err(why.clone()),
            Err(Status::Ready) => return Err("not opened".to_owned()),
        };
        let text = counter.read().map_err(|error| format!("proc/pressure/cpu: {error}"))?;
        some_total_ns(text).ok_or_else(|| "proc/pressure/cpu has no readable line 'some'".to_owned())
    }
}

fn some_total_ns(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

impl Sampler for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn status(&self) -> Status {
        self.source.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.before = self.some_ns();
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let after = self.some_ns();
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        readings.push(growth(self.name(), "cpu_some_ns", span, &self.before, &after));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, write};
    use super::*;

    #[test]
    fn the_total_of_some_is_read() {
        let root = tempfile::tempdir().unwrap();
        let text = |total: u64| {
            format!(
                "some avg10=2.98 avg60=1.31 avg300=0.58 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"
            )
        };
        write(root.path(), "proc/pressure/cpu", &text(100));
        let mut sampler = Pressure::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(5));
        write(root.path(), "proc/pressure/cpu", &text(140));
        let mut readings = Vec::new();
        sampler.finish(&at(9), &mut readings);
        assert_eq!(readings[0].value, Some(40_000.0));
        assert_eq!((readings[0].start_ns, readings[0].end_ns), (5, 9));
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
