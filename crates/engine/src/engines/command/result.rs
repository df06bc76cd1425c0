//! A run's result: whether it counts, what it used, and its metrics.

use std::fs;
use std::sync::PoisonError;
use std::time::Duration;
use threadwise_study::command::{Each, MetricSpec, PEAK_RSS_BYTES, Source};
use threadwise_study::{Counters, SessionSlice};

use super::extract::{extract_file, mark_in_file};
use super::group::Group;
use super::output;
use super::progress::Verdict;
use super::running::RunningCommand;
use super::session::LARGEST;
use super::side::how;
use super::spawn::Used;
use crate::EngineError;

/// Shortest run whose memory is known from polls: they come every 0.1 s.
const SEEN: Duration = Duration::from_secs(1);
/// Longest time without a poll after which the most memory of a run is still known.
const UNSEEN: Duration = Duration::from_millis(250);

impl RunningCommand {
    /// Why the run does not count, if so.
    pub(super) fn judge(&self) -> Result<(), EngineError> {
        let (verdict, ends) = {
            let state = self.progress.lock();
            (state.verdict.clone(), state.ends.clone())
        };
        let said = |session: u32| {
            let [stdout, stderr] = self.logs(session);
            output::last_words(&stdout, &stderr)
        };
        let fault = |kind: &'static str, what: String| Err(EngineError::Command { kind, what });
        match verdict {
            None => {}
            Some(Verdict::Interrupted) => return fault("stopped", "the study was stopped".to_owned()),
            Some(Verdict::TimedOut) => {
                let why =
                    format!("the command did not end within {} s and was killed", self.options.timeout_s);
                return fault("timeout", format!("{why} (timeout_s); its last lines: {}", said(0)));
            }
            Some(Verdict::TooMuchOutput) => {
                return fault("output", format!("the command: {}", self.too_much()));
            }
            Some(Verdict::Astray(what)) => return fault("lost-pin", what),
            Some(Verdict::LeftBehind(names)) => {
                let why = "the command left processes behind, which were killed";
                let what = format!("{why}: {names}; start what has to keep running in setup or before");
                return fault("left-behind", what);
            }
        }
        let bad = ends
            .iter()
            .find(|(_, status)| status.code().is_none_or(|code| !self.options.success.contains(&code)));
        match bad {
            None => Ok(()),
            Some((session, status)) => {
                let which = match self.options.each {
                    Each::Treatment => String::new(),
                    Each::Session => format!(" of session {session}"),
                };
                fault("exit-code", format!("the command{which} {}: {}", how(*status), said(*session)))
            }
        }
    }

    /// Some tools exit with 0 though some of their users failed: a match of `fails` in the output fails the run.
    fn unless_it_says_so(&self, session: u32) -> Result<(), EngineError> {
        for (name, pattern) in &self.options.fails {
            for path in self.logs(session) {
                let found = mark_in_file(pattern, &path).map_err(|why| EngineError::Command {
                    kind: "output",
                    what: format!("fails.{name} in {}: {why}", path.display()),
                })?;
                if let Some(found) = found {
                    let what =
                        format!("the command wrote '{found}', which counts as a failure (fails.{name})");
                    return Err(EngineError::Command { kind: "output", what });
                }
            }
        }
        Ok(())
    }

    /// The number that a metric finds in the output of a process.
    fn metric(&self, metric: &MetricSpec, session: u32) -> Result<f64, EngineError> {
        let [stdout, stderr] = self.logs(session);
        let (path, place) = match &metric.source {
            Source::Stdout => (stdout.clone(), "standard output".to_owned()),
            Source::Stderr => (stderr.clone(), "standard error".to_owned()),
            Source::File(name) => (self.out(session).join(name), format!("the file {name} in {{out}}")),
        };
        let found = extract_file(metric, &path, self.options.output_limit_bytes);
        found.map_err(|why| {
            let said = output::last_words(&stdout, &stderr);
            let what =
                format!("metric '{}' in {place}: {why}; the command's last lines: {said}", metric.name);
            EngineError::Command { kind: "metric", what }
        })
    }

    /// Adds to the sessions' reports what is known of the whole process tree only.
    pub(super) fn measure(&self, slices: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        for (session, slice) in slices.iter_mut().enumerate().take(self.processes() as usize) {
            self.unless_it_says_so(session as u32)?;
            for metric in &self.options.metrics {
                let value = self.metric(metric, session as u32)?;
                if self.options.caps.get(&metric.name).is_none_or(|cap| value < *cap) {
                    slice.metrics.insert(metric.name.clone(), value);
                }
            }
        }
        let (adopted, seen_bytes, unseen_ns, outlived_ns) = {
            let state = self.progress.lock();
            (state.adopted, state.peak_rss_bytes, state.unseen_ns, state.outlived_ns)
        };
        if let Some((outlived_ns, first)) = outlived_ns.zip(slices.first_mut()) {
            let began_ns = *self.began_ns.lock().unwrap_or_else(PoisonError::into_inner);
            first.finished_ns = first.finished_ns.max(Some(outlived_ns.saturating_sub(began_ns)));
        }
        let largest = slices.iter_mut().filter_map(|slice| slice.counters.remove(LARGEST)).max().unwrap_or(0);
        let mut counters = Counters::new();
        let counted = self.group.as_ref().and_then(Group::read);
        if let Some(first) = slices.first_mut() {
            add(first, &adopted);
        }
        let known_ns: u64 = slices.iter().map(|slice| slice.cpu_ns).sum();
        let before_ns = *self.group_before_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let more_ns =
            counted.map_or(0, |group| group.cpu_ns.saturating_sub(before_ns).saturating_sub(known_ns));
        if let Some(first) = slices.first_mut() {
            first.cpu_ns += more_ns;
        }
        let longest_ns = slices.iter().filter_map(|slice| slice.finished_ns).max().unwrap_or(0);
        let is_seen = u128::from(longest_ns) >= SEEN.as_nanos() && u128::from(unseen_ns) <= UNSEEN.as_nanos();
        let largest = largest.max(adopted.max_rss_bytes);
        let peak = is_seen.then(|| peak_bytes(seen_bytes, largest, own_peak_bytes())).flatten();
        counters.extend(peak.map(|bytes| (PEAK_RSS_BYTES.to_owned(), bytes)));
        let peak = counted.and_then(|group| group.peak_bytes);
        counters.extend(peak.map(|bytes| ("cgroup_peak_bytes".to_owned(), bytes)));
        Ok(counters)
    }

    pub(super) fn check(&self, slices: &mut [SessionSlice]) -> Result<(), EngineError> {
        if self.options.words("check").is_none() {
            return Ok(());
        }
        match self.side("check", self.timeout(), false)? {
            Some(how) => Err(EngineError::WrongAnswer(format!("the check command failed: {how}"))),
            None => {
                slices.iter_mut().take(1).for_each(|slice| slice.answers_checked += 1);
                Ok(())
            }
        }
    }
}

fn add(slice: &mut SessionSlice, used: &Used) {
    slice.cpu_ns += used.cpu_ns;
    slice.voluntary_switches += used.voluntary_switches;
    slice.involuntary_switches += used.involuntary_switches;
    for (name, more) in [("read_bytes", used.read_bytes), ("written_bytes", used.written_bytes)] {
        *slice.counters.entry(name.to_owned()).or_default() += more;
    }
}

/// The most memory seen of all processes together, or of the largest one. The kernel's peak includes the copy
/// of this process before it became the program, so a peak below that size is not usable.
fn peak_bytes(seen_bytes: u64, largest_bytes: u64, own_bytes: u64) -> Option<u64> {
    let largest_bytes = if largest_bytes > own_bytes { largest_bytes } else { 0 };
    Some(seen_bytes.max(largest_bytes)).filter(|&bytes| bytes > 0)
}

/// Peak memory of this process: `VmHWM` of `proc_pid_status(5)`.
fn own_peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_no_larger_than_ours_is_not_the_commands() {
        assert_eq!(peak_bytes(5, 10, 8), Some(10));
        assert_eq!(peak_bytes(5, 8, 8), Some(5));
        assert_eq!(peak_bytes(0, 8, 8), None);
        assert!(own_peak_bytes() > 0);
    }
}
