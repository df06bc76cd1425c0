//! The commands around a run: `setup`, `warmup`, `before`, `check`, `after`, `teardown`.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use super::error::failed;
use super::output;
use super::running::{KILL, RunningCommand, filled};
use super::spawn::{self, Start, Used};
use super::tree::{self, Identity};
use crate::{EngineError, clock};

impl RunningCommand {
    /// Runs one of these commands, if it was given; an error unless it succeeds.
    pub(super) fn must(&self, name: &'static str) -> Result<(), EngineError> {
        match self.side(name, self.timeout(), false)? {
            None => Ok(()),
            Some(how) => Err(failed(&format!("run {name}"), &how)),
        }
    }

    /// Runs one of these commands to its end. `None` for success, else how it ended.
    ///
    /// Processes that it left in the background keep running, and do not count for a run.
    pub(super) fn side(
        &self,
        name: &'static str,
        limit: Duration,
        is_last: bool,
    ) -> Result<Option<String>, EngineError> {
        let Some(words) = self.options.words(name) else { return Ok(None) };
        let words = filled(name, words, &self.values)?;
        let [stdout, stderr] = ["out", "err"].map(|end| self.log(name, end));
        let before: BTreeSet<Identity> = tree::below_us(&BTreeSet::new()).into_iter().collect();
        let folder = self.folder();
        let start = Start {
            words: &words,
            folder: &folder,
            home: &self.home,
            stdout: &stdout,
            stderr: &stderr,
            cpus: &self.cpus,
            group: None,
            at_ns: 0,
        };
        let pid =
            spawn::start(&start).map_err(|error| failed(&format!("start {name}"), &error.to_string()))?;
        let until_ns = clock::monotonic_ns().saturating_add(limit.as_nanos() as u64);
        let mut pause = Duration::from_millis(1);
        let why = loop {
            if spawn::is_over(pid) {
                break None;
            }
            if self.is_interrupted() && !is_last {
                break Some("the study was stopped".to_owned());
            }
            if clock::monotonic_ns() > until_ns {
                break Some(format!("it did not end within {} s and was killed", limit.as_secs()));
            }
            if output::size([&stdout, &stderr]) > self.options.output_limit_bytes {
                break Some(self.too_much());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        };
        if let Some(why) = why {
            tree::kill_group(pid);
            tree::end(&before, &[], None, KILL, &mut Used::default());
            // It may have become a zombie in between.
            spawn::reap(pid);
            let said = output::last_words(&stdout, &stderr);
            return Err(failed(&format!("run {name}"), &format!("{why}; its last lines: {said}")));
        }
        let ended = spawn::reap(pid);
        tree::reap_adopted(&before, &[]);
        Ok(ended.filter(|ended| !ended.status.success()).map(|ended| {
            let said = output::last_words(&stdout, &stderr);
            format!("it {}: {said}", how(ended.status))
        }))
    }

    pub(super) fn too_much(&self) -> String {
        format!(
            "it wrote more than {} MiB of output; --set output_limit_mib=N allows more, a redirection into a file needs none",
            self.options.output_limit_bytes >> 20
        )
    }
}

/// How a process ended, in words.
pub fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => format!("ended: {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_reported_in_words() {
        assert_eq!(how(ExitStatus::from_raw(3 << 8)), "ended with exit code 3");
        assert_eq!(how(ExitStatus::from_raw(9)), "was ended by signal 9");
    }
}
