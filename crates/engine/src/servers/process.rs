//! The process of a private server: a child of the calling thread, which dies with it, and is stopped in order.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{User, living, stopping};

use super::home::Home;
use crate::EngineError;

/// Pause between two attempts to connect.
const STEP: Duration = Duration::from_millis(10);

/// How long what a server started may take to end when it is ended at once.
const END_LIMIT: Duration = Duration::from_secs(10);

/// What is to become of the data of a server that is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is copied: nothing is left to do for those who start on a copy.
    Template,
    /// It is used again: everything is written.
    Keep,
    /// It is removed.
    Discard,
}

/// How servers of one kind are started, reached and stopped: what differs from engine to engine.
pub trait Launch: Clone {
    /// A way to connect to one that answers.
    type Server: Clone;

    /// How long one may take until it answers; one that was killed has its log to replay.
    const START_LIMIT: Duration;

    /// What ends it when the thread that started it does, or when it is dropped.
    const DEATH_SIGNAL: DeathSignal;

    /// The user that it runs as; `None` for our own.
    fn user(&self) -> Option<User>;

    /// Makes a home, empty, with all that a server needs there but the data directory.
    ///
    /// # Errors
    /// The file system's.
    fn make(&self, home: &Home) -> Result<(), EngineError> {
        home.make(self.user().as_ref())
    }

    /// The program, as an absolute path, and its arguments; it works in the data directory of the home.
    fn command(&self, home: &Home) -> (PathBuf, Vec<OsString>);

    /// Connects, if it answers.
    ///
    /// # Errors
    /// It does not yet, or not to us.
    fn connect(&self, home: &Home) -> Result<Self::Server, EngineError>;

    /// What a log says of the server's end, from this byte on.
    fn last_words(&self, log: &Path, from: u64) -> String {
        let _ = from;
        spawn::last_words(log)
    }

    /// Stops it and waits until it is gone.
    ///
    /// # Errors
    /// It did not end in order; what is left of it is killed afterwards.
    fn stop(
        &self,
        server: &Self::Server,
        child: &mut Child,
        home: &Home,
        ending: Ending,
    ) -> Result<(), EngineError>;
}

/// A running private server. When it is dropped, it is ended at once.
pub struct Process<L: Launch> {
    launch: L,
    child: Child,
    home: Home,
    server: L::Server,
}

impl<L: Launch> fmt::Debug for Process<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({}, {})", self.home.folder().display(), self.child.id())
    }
}

impl<L: Launch> Process<L> {
    /// Starts a server on the data directory of a home and waits until it answers. Called on the thread that
    /// lives as long as the server has to.
    ///
    /// # Errors
    /// It ended, with the last words of its log, or did not answer in time.
    pub fn start(launch: &L, home: &Home) -> Result<Self, EngineError> {
        let (program, args) = launch.command(home);
        let (user, data, log) = (launch.user(), home.data(), home.log());
        let from = std::fs::metadata(&log).map_or(0, |entry| entry.len());
        let program = Program {
            program: &program,
            args: &args,
            user: user.as_ref(),
            folder: &data,
            log: &log,
            death_signal: L::DEATH_SIGNAL,
            cpus: None,
        };
        let mut child = spawn::start(&program).map_err(|cause| home.failed(START, cause))?;
        match answer(launch, &mut child, home, from) {
            Ok(server) => Ok(Self { launch: launch.clone(), child, home: home.clone(), server }),
            Err(error) => {
                end_now(&mut child, L::DEATH_SIGNAL, home);
                Err(error)
            }
        }
    }

    /// The way to it.
    pub fn server(&self) -> &L::Server {
        &self.server
    }

    /// Its home.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it and waits until it is gone.
    ///
    /// # Errors
    /// It did not end in order; it is gone or killed nevertheless.
    pub fn stop(mut self, ending: Ending) -> Result<(), EngineError> {
        self.launch.stop(&self.server, &mut self.child, &self.home, ending)
    }
}

impl<L: Launch> Drop for Process<L> {
    fn drop(&mut self) {
        end_now(&mut self.child, L::DEATH_SIGNAL, &self.home);
    }
}

const START: &str = "start the server";

/// Waits until a server answers.
fn answer<L: Launch>(
    launch: &L,
    child: &mut Child,
    home: &Home,
    from: u64,
) -> Result<L::Server, EngineError> {
    let until = Instant::now() + L::START_LIMIT;
    let last_words = || launch.last_words(&home.log(), from);
    loop {
        let error = match launch.connect(home) {
            Ok(server) => return Ok(server),
            Err(error) => error,
        };
        let ended = child.try_wait().map_err(|cause| home.failed(START, cause))?;
        if let Some(status) = ended {
            return Err(home.failed(START, format!("it ended with {status}: {}", last_words())));
        }
        if Instant::now() > until {
            let seconds = L::START_LIMIT.as_secs();
            let why = format!("no connection within {seconds} s ({error}): {}", last_words());
            return Err(home.failed(START, why));
        }
        std::thread::sleep(STEP);
    }
}

/// Ends a server at once, and whatever of it is left; does nothing when it has ended in order.
fn end_now(child: &mut Child, death_signal: DeathSignal, home: &Home) {
    if matches!(child.try_wait(), Ok(Some(status)) if status.success()) {
        return;
    }
    // Nothing can be reported from here, and the janitor ends what is left.
    let _ = stopping::stop(child, death_signal.steps());
    let _ = living::end_in_folder(home.folder(), END_LIMIT);
}
