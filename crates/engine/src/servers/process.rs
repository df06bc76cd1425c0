//! The process of a private server: a child of the calling thread that dies with it, and is stopped in order.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{User, folder_processes, stopping};

use super::home::Home;
use crate::EngineError;

/// Pause between two attempts to connect.
const STEP: Duration = Duration::from_millis(10);

/// How long processes that a server started may take to end when they are killed.
const END_LIMIT: Duration = Duration::from_secs(10);

/// What happens next to the data of a server that is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is copied: servers that start on a copy must have nothing left to do.
    Template,
    /// It is used again: everything is written.
    Keep,
    /// It is removed.
    Discard,
}

/// How an engine's servers are started, reached and stopped.
pub trait Launch: Clone {
    /// A connection, or how to connect to a server that answers.
    type Server: Clone;

    /// How long a server may take until it answers; one that was killed has its log to replay.
    const START_LIMIT: Duration;

    /// The signal when the thread that started the server ends, or when the server is dropped.
    const DEATH_SIGNAL: DeathSignal;

    /// The user that it runs as; `None` for the current user.
    fn user(&self) -> Option<User>;

    /// Makes a home, empty, with all that a server needs there except the data directory.
    ///
    /// # Errors
    /// An error of the file system.
    fn make(&self, home: &Home) -> Result<(), EngineError> {
        home.make(self.user().as_ref())
    }

    /// The program, as an absolute path, and its arguments; its working directory is the data directory of the home.
    fn command(&self, home: &Home) -> (PathBuf, Vec<OsString>);

    /// Connects, if it answers.
    ///
    /// # Errors
    /// It does not answer yet, or refuses the login.
    fn connect(&self, home: &Home) -> Result<Self::Server, EngineError>;

    /// What a log tells about the server's end, from this byte on.
    fn last_words(&self, log: &Path, from: u64) -> String {
        let _ = from;
        spawn::last_words(log)
    }

    /// Stops the server and waits until it has ended.
    ///
    /// # Errors
    /// It did not end in order; the caller kills what is left.
    fn stop(
        &self,
        server: &Self::Server,
        child: &mut Child,
        home: &Home,
        ending: Ending,
    ) -> Result<(), EngineError>;
}

/// A running private server. When dropped, it is ended at once.
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
    /// Starts a server on the data directory of a home and waits until it answers. Call it on a thread that lives
    /// as long as the server has to.
    ///
    /// # Errors
    /// It ended, with the last lines of its log, or did not answer in time.
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

    /// The connection, or how to connect.
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

    /// Stops it and waits until it has ended.
    ///
    /// # Errors
    /// It did not end in order; it has ended or was killed nevertheless.
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

/// Ends a server and its descendants at once; does nothing if it has ended in order.
fn end_now(child: &mut Child, death_signal: DeathSignal, home: &Home) {
    if matches!(child.try_wait(), Ok(Some(status)) if status.success()) {
        return;
    }
    // Errors cannot be reported from here, and the watchdog ends what is left.
    let _ = stopping::stop(child, death_signal.steps());
    let _ = folder_processes::end_in_folder(home.folder(), END_LIMIT);
}
