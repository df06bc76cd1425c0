//! A machine whose state is written down, and that may therefore be switched, any number of times.
//!
//! A study holds it from before its first block until after its last one, and applies the arm of each slice or run.
//! What is journalled is what was found first; control groups, interrupts and tasks that begin later are added while
//! all logical CPUs are there.

use crate::arm::{self, Arm, Smt};
use crate::error::SmtError;
use crate::facts::Facts;
use crate::kernel::Kernel;
use crate::left::{self, KIND};
use crate::refuse;
use crate::roots;
use crate::setting::CPUS;
use crate::settle::{Settled, settle};
use crate::state::{Recorded, State, kept_line};
use crate::watchdog::{Start, Watchdog};
use std::path::{Path, PathBuf};
use threadwise_machine::CpuSet;
use threadwise_process::journal::{Here, Locked, Other};

/// The machine. Dropping this puts everything back; [`Held::restore`] says what could not be.
pub struct Held<'k> {
    kernel: &'k dyn Kernel,
    journal: PathBuf,
    facts: Facts,
    arm: Arm,
    watchdog: Option<Watchdog>,
    is_done: bool,
}

impl<'k> Held<'k> {
    /// Writes the state of the machine down, durably, in a new journal in `folder`, and starts a watchdog for it.
    /// `cpuset`: what our control group leaves us. Nothing is changed yet.
    ///
    /// # Errors
    /// Somebody holds the machine already, or what was left has to be put back first; the journal cannot be
    /// written, or the watchdog cannot be started.
    pub fn begin(
        kernel: &'k dyn Kernel,
        folder: &Path,
        cpuset: Option<CpuSet>,
        watchdog: Option<&Start>,
    ) -> Result<Self, SmtError> {
        if !Here::now().is_known() {
            let why =
                "/proc/sys/kernel/random/boot_id cannot be read, without which nothing could be put back";
            return Err(SmtError::Refused(why.to_owned()));
        }
        let mut journal = match Locked::create(folder, KIND)? {
            Ok(journal) => journal,
            Err(Other(other)) => {
                return Err(match left::open(&other.path) {
                    Err(SmtError::InUse { pid }) => SmtError::InUse { pid },
                    _ => SmtError::Switched { path: other.path },
                });
            }
        };
        let facts = match Facts::read(kernel.roots(), cpuset) {
            Ok(facts) => facts,
            Err(error) => {
                journal.remove()?;
                return Err(error.into());
            }
        };
        journal.append(&facts.first.lines_beyond(&State::default()))?;
        let path = journal.path().to_owned();
        match watchdog.map(|start| Watchdog::start(start, &path)).transpose() {
            Ok(watchdog) => Ok(Self::new(kernel, &path, facts, watchdog)),
            Err(error) => {
                // Nothing has been changed.
                journal.remove()?;
                Err(error)
            }
        }
    }

    /// Takes over a change that was to last: everything is put back as it was found, and may be switched again.
    /// `cpuset` is asked when that is done, since logical CPUs that are offline are missing in it.
    ///
    /// # Errors
    /// The journal's owner lives, it cannot be read or written, or not everything can be put back.
    pub fn take_over(
        kernel: &'k dyn Kernel,
        path: &Path,
        cpuset: &dyn Fn() -> Option<CpuSet>,
        watchdog: Option<&Start>,
    ) -> Result<Self, SmtError> {
        let gone = || SmtError::Refused("the journal was removed meanwhile; try again".to_owned());
        drop(left::open(path)?.ok_or_else(gone)?);
        // Before the lock, which it needs where this ends with an error.
        let watchdog = watchdog.map(|start| Watchdog::start(start, path)).transpose()?;
        let mut journal = left::open(path)?.ok_or_else(gone)?;
        journal.enter()?;
        journal.append(&kept_line(false))?;
        let Recorded { first, failed, .. } = Recorded::parse(journal.whole());
        let mut settled = settle(kernel, &arm::as_found(&first));
        settled.failed.extend(failed);
        if !settled.failed.is_empty() {
            let arm = Arm::default().to_string();
            return Err(SmtError::Switch { arm, why: settled.failed, not_restored: Vec::new() });
        }
        let mut facts = Facts::read(kernel.roots(), cpuset())?;
        journal.append(&facts.first.lines_beyond(&first))?;
        let now = std::mem::replace(&mut facts.first, first);
        facts.first.extend(now);
        Ok(Self::new(kernel, path, facts, watchdog))
    }

    fn new(kernel: &'k dyn Kernel, path: &Path, facts: Facts, watchdog: Option<Watchdog>) -> Self {
        Self { kernel, journal: path.to_owned(), facts, arm: Arm::default(), watchdog, is_done: false }
    }

    /// What was found.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The journal.
    pub fn journal(&self) -> &Path {
        &self.journal
    }

    /// Switches the machine and reads it back. What the arm does not name becomes what was found. Whoever had bound
    /// threads to logical CPUs that were offline has to bind them again.
    ///
    /// # Errors
    /// [`SmtError::Refused`], and nothing was changed; [`SmtError::Switch`], and the machine is as it was found, but
    /// for what is named; the journal cannot be written, and nothing was changed.
    pub fn apply(&mut self, arm: &Arm) -> Result<Settled, SmtError> {
        if *arm == self.arm {
            return Ok(Settled::default());
        }
        refuse::check(self.kernel.roots(), &self.facts, arm).map_err(SmtError::Refused)?;
        if self.arm.smt.is_none() {
            self.record()?;
        } else if matches!(arm.smt, Some(Smt::On | Smt::Off)) {
            // Control only decides over what is online, which is for both the same after this.
            self.switch(&Arm::default())?;
        }
        self.switch(arm)
    }

    fn switch(&mut self, arm: &Arm) -> Result<Settled, SmtError> {
        let mut settled = settle(self.kernel, &arm::target(&self.facts, arm));
        let active = roots::read(&self.kernel.roots().sys, &format!("{CPUS}/smt/active"));
        if arm.smt == Some(Smt::Off) && active.as_deref().is_ok_and(|active| active != "0") {
            settled
                .failed
                .push("smt/control is off and smt/active is not 0; look for messages in dmesg".to_owned());
        }
        self.arm = arm.clone();
        if settled.failed.is_empty() {
            return Ok(settled);
        }
        self.arm = Arm::default();
        let back = settle(self.kernel, &arm::as_found(&self.facts.first));
        Err(SmtError::Switch { arm: arm.to_string(), why: settled.failed, not_restored: back.failed })
    }

    /// Writes down what has begun since, while everything is as it was found.
    fn record(&mut self) -> Result<(), SmtError> {
        let now = State::read(self.kernel.roots())?;
        let lines = now.lines_beyond(&self.facts.first);
        if !lines.is_empty() {
            let gone = || {
                SmtError::Refused(
                    "the journal was removed by another process; nothing was changed".to_owned(),
                )
            };
            Locked::open(&self.journal)?.ok_or_else(gone)?.append(&lines)?;
            self.facts.first.extend(now);
        }
        Ok(())
    }

    /// Puts everything back and reads it back. The journal stays where something is named in
    /// [`Settled::failed`], and `threadwise smt restore` tries again.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn restore(mut self) -> Result<Settled, SmtError> {
        self.is_done = true;
        left::put_back(self.kernel, &self.journal)
    }

    /// Lets the change last after this process has ended, until it is asked back.
    ///
    /// # Errors
    /// The journal cannot be written; everything is put back.
    pub fn keep(mut self) -> Result<(), SmtError> {
        let gone = || SmtError::Refused("the journal was removed by another process".to_owned());
        Locked::open(&self.journal)?.ok_or_else(gone)?.append(&kept_line(true))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // Without `restore` something else has failed, which is what is reported; the watchdog tries again.
            let _ = left::put_back(self.kernel, &self.journal);
        }
        drop(self.watchdog.take());
    }
}
