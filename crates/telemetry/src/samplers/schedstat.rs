//! Wait of the measuring thread on a run queue: if it is long, readings came late.
//! (The runner measures the cost of readings, around them.)
//!
//! Source: kernel `Documentation/scheduler/sched-stats.rst`, `/proc/PID/schedstat`: time on a
//! CPU and time waiting to run, in nanoseconds, then the number of timeslices. Needs
//! CONFIG_SCHED_INFO, which every distribution kernel has.

use super::{Counter, Span, growth, opened, status_of};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_study::Reading;

/// The sampler: wait of the thread that makes it, which measures.
#[derive(Debug)]
pub struct Schedstat {
    source: Result<Counter, Status>,
    start_ns: u64,
    before: Result<Times, String>,
}

/// One schedstat line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Time on a CPU, nanoseconds.
    pub cpu_ns: u64,
    /// Time on a run queue waiting for a CPU, nanoseconds.
    pub wait_ns: u64,
}

/// Reads a schedstat line.
pub fn parse(text: &str) -> Option<Times> {
    let mut words = text.split_whitespace();
    let cpu_ns = words.next()?.parse().ok()?;
    let wait_ns = words.next()?.parse().ok()?;
    Some(Times { cpu_ns, wait_ns })
}

impl Schedstat {
    /// Reads `proc/thread-self/schedstat` below `root`.
    pub fn new(root: &Path) -> Self {
        let path = root.join("proc/thread-self/schedstat");
        let remedy = "run where /proc shows this process";
        let source = Counter::open(&path).map_err(|error| status_of(&path, &error, remedy));
        Self { source, start_ns: 0, before: Err("not started".to_owned()) }
    }

    fn times(&mut self) -> Result<Times, String> {
        let text = opened(&mut self.source)?.read().map_err(|error| format!("schedstat: {error}"))?;
        parse(text).ok_or_else(|| "schedstat of this thread is not readable".to_owned())
    }
}

impl Sampler for Schedstat {
    fn name(&self) -> &'static str {
        "schedstat"
    }

    fn status(&self) -> Status {
        self.source.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.before = self.times();
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let after = self.times();
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let wait = |times: &Result<Times, String>| times.clone().map(|times| times.wait_ns);
        readings.push(growth(self.name(), "own_wait_ns", span, &wait(&self.before), &wait(&after)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, write};
    use super::*;

    #[test]
    fn the_wait_is_read() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "proc/thread-self/schedstat", "100 40 3\n");
        let mut sampler = Schedstat::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        sampler.start(&at(0));
        write(root.path(), "proc/thread-self/schedstat", "160 41 4\n");
        let mut readings = Vec::new();
        sampler.finish(&at(1), &mut readings);
        let values: Vec<_> =
            readings.iter().map(|reading| (reading.metric.as_str(), reading.value)).collect();
        assert_eq!(values, [("own_wait_ns", Some(1.0))]);
    }

    #[test]
    fn garbage_is_nothing() {
        for text in ["", "5", "a b c", "-1 2 3", "99999999999999999999 1 1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
