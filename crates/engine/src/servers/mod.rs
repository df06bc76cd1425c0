//! Private servers: what the engines with a server share.
//!
//! A template is made once for equal data: an empty data directory, which a server fills and is then stopped in
//! order. Each treatment that needs one starts a server on a copy, as a child of its worker, whose logical CPUs and
//! memory policy it inherits; the copy stays for the next block if runs leave it unchanged. Or one server is kept
//! for the study. How a server is made, started, reached and stopped is up to its engine ([`Launch`]); folders,
//! copies, marks, the child process and the binding of threads are here.

pub mod address;
mod home;
mod names;
mod place;
mod process;
#[cfg(test)]
mod tests;

pub use home::{Home, sync};
pub use names::{digest, identity, suffix};
pub use place::{Rights, Thread};
pub use process::{Ending, Launch, Process};

use crate::{EngineError, Keeper, Loaded};

/// Finds the template, or makes it: `install` makes an empty data directory in a home, `fill` the data on a server
/// that runs there.
///
/// # Errors
/// An error of `install`, `fill`, the server, or the file system.
pub fn load_template<L: Launch>(
    launch: &L,
    template: &Home,
    install: impl FnOnce(&Home) -> Result<(), EngineError>,
    fill: impl FnOnce(&L::Server) -> Result<Loaded, EngineError>,
) -> Result<Loaded, EngineError> {
    if let Some(loaded) = template.loaded() {
        return Ok(loaded);
    }
    template.make_template(|part| {
        install(part)?;
        let process = Process::start(launch, part)?;
        let loaded = fill(process.server())?;
        process.stop(Ending::Template)?;
        Ok(loaded)
    })
}

/// A private server for one treatment.
#[derive(Debug)]
pub struct TreatmentServer<L: Launch> {
    /// The server.
    pub process: Process<L>,
    /// Whether the data is discarded after the run.
    pub discard: bool,
}

impl<L: Launch> TreatmentServer<L> {
    /// Starts a server in `home` on a copy of the template, see [`Home::copy_of`].
    ///
    /// # Errors
    /// An error of [`Home::copy_of`] or the server.
    pub fn start(launch: &L, template: &Home, home: &Home, discard: bool) -> Result<Self, EngineError> {
        home.copy_of(template, discard, launch.user().as_ref(), |home| launch.make(home))?;
        Ok(Self { process: Process::start(launch, home)?, discard })
    }

    /// Stops it. Its data is removed, or marked as fit for the next block.
    ///
    /// # Errors
    /// It did not end in order, or an error of the file system.
    pub fn finish(self) -> Result<(), EngineError> {
        let home = self.process.home().clone();
        match self.discard {
            // `and` takes a value: the data is removed whether the server ended in order or not.
            true => self.process.stop(Ending::Discard).and(home.remove()),
            false => self.process.stop(Ending::Keep).and_then(|()| home.end()),
        }
    }
}

/// A private server for all treatments. When dropped, it is ended at once and its data removed.
#[derive(Debug)]
pub struct StudyServer<L: Launch> {
    /// `None` if a server runs only while a treatment needs it, which then starts it.
    process: Option<Process<L>>,
    home: Home,
    ended: bool,
}

impl<L: Launch> StudyServer<L> {
    /// Keeps a running server.
    pub fn new(process: Process<L>) -> Self {
        Self { home: process.home().clone(), process: Some(process), ended: false }
    }

    /// Stops the server and keeps its data, on which treatments start servers in turn.
    ///
    /// # Errors
    /// It cannot be stopped in order.
    pub fn rest(mut self) -> Result<Self, EngineError> {
        if let Some(process) = self.process.take() {
            process.stop(Ending::Keep)?;
        }
        self.home.end()?;
        Ok(self)
    }
}

impl<L: Launch> Keeper for StudyServer<L> {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        self.ended = true;
        let stopped = self.process.take().map_or(Ok(()), |process| process.stop(Ending::Discard));
        stopped.and(self.home.remove())
    }
}

impl<L: Launch> Drop for StudyServer<L> {
    fn drop(&mut self) {
        if !self.ended {
            drop(self.process.take());
            // The watchdog ends and removes what cannot be ended and removed here.
            let _ = self.home.remove();
        }
    }
}
