//! A machine whose state is recorded, and which may therefore be switched, any number of times.
//!
//! A study holds it from before its first block until after its last one, and applies the arm of each slice or run.
//! The journal has the state that was found first; control groups, interrupts and tasks that begin later are added
//! while all logical CPUs are online.

use crate::arm::{self, Arm, Smt};
use crate::error::SmtError;
use crate::facts::Facts;
use crate::kernel::Kernel;
use crate::left::{self, KIND};
use crate::refuse;
use crate::roots;
use crate::setting::CPUS;
use crate::settle::{Settled, settle};
use crate::state::{MachineState, Recorded, kept_line};
use std::path::{Path, PathBuf};
use threadwise_machine::CpuSet;
use threadwise_process::journal::{BootNamespace, Locked, Other};
use threadwise_process::watchdog::{Start, Watchdog};

/// The machine. Dropping this restores everything; [`Held::restore`] returns what could not be.
pub struct Held<'k> {
    kernel: &'k dyn Kernel,
    journal: PathBuf,
    facts: Facts,
    arm: Arm,
    watchdog: Option<Watchdog>,
    is_done: bool,
}

impl<'k> Held<'k> {
    /// Records the state of the machine, durably, in a new journal in `folder`, and starts a watchdog for it.
    /// `cpuset`: the logical CPUs that this control group allows. Changes nothing yet.
    ///
    /// # Errors
    /// Another process holds the machine, or leftovers must be restored first; the journal cannot be
    /// written, or the watchdog cannot be started.
    pub fn begin(
        kernel: &'k dyn Kernel,
        folder: &Path,
        cpuset: Option<CpuSet>,
        watchdog: Option<&Start>,
    ) -> Result<Self, SmtError> {
        if !BootNamespace::now().is_known() {
            let why =
                "/proc/sys/kernel/random/boot_id cannot be read, without which nothing could be restored";
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
        journal.append(&facts.first.lines_beyond(&MachineState::default()))?;
        let path = journal.path().to_owned();
        match watchdog.map(|start| begin_watchdog(start, &path)).transpose() {
            Ok(watchdog) => Ok(Self::new(kernel, &path, facts, watchdog)),
            Err(error) => {
                // Nothing has been changed.
                journal.remove()?;
                Err(error)
            }
        }
    }

    /// Takes over a lasting change: everything is restored, and may be switched again.
    /// `cpuset` is called when that is done, since it lacks offline logical CPUs.
    ///
    /// # Errors
    /// The journal's owner lives, it cannot be read or written, or not everything can be restored.
    pub fn take_over(
        kernel: &'k dyn Kernel,
        path: &Path,
        cpuset: &dyn Fn() -> Option<CpuSet>,
        watchdog: Option<&Start>,
    ) -> Result<Self, SmtError> {
        let gone = || SmtError::Refused("the journal was removed meanwhile; try again".to_owned());
        drop(left::open(path)?.ok_or_else(gone)?);
        // Before the lock, which it needs where this ends with an error.
        let watchdog = watchdog.map(|start| begin_watchdog(start, path)).transpose()?;
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

    /// The facts that were found.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The journal.
    pub fn journal(&self) -> &Path {
        &self.journal
    }

    /// Switches the machine and reads it back. What the arm does not name is restored. Callers that had bound
    /// threads to logical CPUs that were offline must bind them again.
    ///
    /// # Errors
    /// [`SmtError::Refused`], and nothing was changed; [`SmtError::Switch`], and the machine is restored except
    /// what is listed; the journal cannot be written, and nothing was changed.
    pub fn apply(&mut self, arm: &Arm) -> Result<Settled, SmtError> {
        if *arm == self.arm {
            return Ok(Settled::default());
        }
        refuse::check(self.kernel.roots(), &self.facts, arm).map_err(SmtError::Refused)?;
        if self.arm.smt.is_none() {
            self.record()?;
        } else if matches!(arm.smt, Some(Smt::On | Smt::Off)) {
            // Control only decides which CPUs are online, which is the same for both after this.
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
                .push("smt/control is off but smt/active is not 0; check the messages in dmesg".to_owned());
        }
        self.arm = arm.clone();
        if settled.failed.is_empty() {
            return Ok(settled);
        }
        self.arm = Arm::default();
        let back = settle(self.kernel, &arm::as_found(&self.facts.first));
        Err(SmtError::Switch { arm: arm.to_string(), why: settled.failed, not_restored: back.failed })
    }

    /// Records what has begun since, while everything is restored.
    fn record(&mut self) -> Result<(), SmtError> {
        let now = MachineState::read(self.kernel.roots())?;
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

    /// Restores everything and reads it back. If [`Settled::failed`] is not empty, the journal stays, and
    /// `threadwise restore` tries again.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn restore(mut self) -> Result<Settled, SmtError> {
        self.is_done = true;
        left::put_back(self.kernel, &self.journal)
    }

    /// Lets the change last after this process has ended, until it is restored by request.
    ///
    /// # Errors
    /// The journal cannot be written; everything is restored.
    pub fn keep(mut self) -> Result<(), SmtError> {
        let gone = || SmtError::Refused("the journal was removed by another process".to_owned());
        Locked::open(&self.journal)?.ok_or_else(gone)?.append(&kept_line(true))?;
        self.is_done = true;
        Ok(())
    }
}

fn begin_watchdog(start: &Start, journal: &Path) -> Result<Watchdog, SmtError> {
    let program = || start.program.clone();
    Watchdog::start(start, &[journal]).map_err(|source| SmtError::Watchdog { program: program(), source })
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // Without `restore` another error is being reported; the watchdog tries again.
            let _ = left::put_back(self.kernel, &self.journal);
        }
        drop(self.watchdog.take());
    }
}
