//! A running server of ours: started as a child of the calling thread, which ends it when it ends
//! itself, and stopped in order.
//!
//! Source: PostgreSQL documentation, "Shutting Down the Server": SIGINT is the fast shutdown (with a
//! checkpoint), SIGQUIT the immediate one (without).

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use threadwise_engine::EngineError;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{Signal, User, living, stopping};

use super::programs::Programs;
use crate::connect::{Server, Target};
use crate::error::failed;
use crate::options::SCHEMA;

/// Superuser of our clusters.
pub const SUPERUSER: &str = "threadwise";

/// How long a server may take until it takes connections; one that was killed has its log to replay.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Pause between two attempts to connect.
const START_STEP: Duration = Duration::from_millis(10);

/// How long a fast shutdown may take: its checkpoint writes everything that is in memory.
const FAST_LIMIT: Duration = Duration::from_secs(60);

/// How long an immediate shutdown may take; the server kills its own processes after 5 s.
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(10);

/// Longest path of a Unix socket (`sun_path` of 108 bytes with its final zero, unix(7)).
const SOCKET_PATH_BYTES: usize = 107;

/// What is to become of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is used again: everything is written first.
    Keep,
    /// It is removed.
    Discard,
}

/// A running server of ours.
pub struct Cluster {
    child: Child,
    data: PathBuf,
    server: Server,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({}, process {})", self.data.display(), self.child.id())
    }
}

impl Cluster {
    /// Starts a server on a data directory and waits until it takes connections. Called on the thread
    /// that lives as long as the server has to.
    ///
    /// # Errors
    /// It does not start, with the last lines of its log, or not in time.
    pub fn start(
        programs: &Programs,
        data: &Path,
        log: &Path,
        user: Option<&User>,
    ) -> Result<Self, EngineError> {
        let args = [OsString::from("-D"), data.as_os_str().to_owned()];
        let program = Program {
            program: &programs.postgres,
            args: &args,
            user,
            folder: data,
            log,
            death_signal: DeathSignal::Quit,
            cpus: None,
        };
        let mut child = spawn::start(&program).map_err(|cause| failed("start the server", cause))?;
        match reach(&mut child, data, log) {
            Ok(server) => Ok(Self { child, data: data.to_owned(), server }),
            Err(error) => {
                end_now(&mut child, data);
                Err(error)
            }
        }
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The postmaster's process number.
    pub fn postmaster(&self) -> u32 {
        self.child.id()
    }

    /// Stops the server and waits until it is gone.
    ///
    /// # Errors
    /// It could not be stopped in order; it is gone or killed nevertheless.
    pub fn stop(mut self, ending: Ending) -> Result<(), EngineError> {
        let fast = [(Signal::INT, FAST_LIMIT), (Signal::QUIT, IMMEDIATE_LIMIT)];
        let steps = if ending == Ending::Keep { &fast[..] } else { &fast[1..] };
        let stopped = stopping::stop(&mut self.child, steps);
        let stopped = stopped.map_err(|cause| failed("stop the server", cause))?;
        let log = "its log says why";
        match stopped.signal {
            // The status tells what the signal does not: that it ended by itself just before.
            Some(signal) if signal == steps[0].0 && stopped.status.success() => Ok(()),
            None => {
                let why = format!("it had ended before, with {}; {log}", stopped.status);
                Err(failed("stop the server", why))
            }
            Some(Signal::INT | Signal::QUIT) => {
                let why = format!("it ended with {} in place of a shutdown in order; {log}", stopped.status);
                Err(failed("stop the server", why))
            }
            Some(_) => Err(failed("stop the server in time", "it was killed; look for a slow or full disk")),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        end_now(&mut self.child, &self.data);
    }
}

/// Ends a server at once, and whatever of it is left; does nothing when it has ended in order.
fn end_now(child: &mut Child, data: &Path) {
    if matches!(child.try_wait(), Ok(Some(status)) if status.success()) {
        return;
    }
    // Nothing can be reported from here, and the janitor ends what is left.
    let _ = stopping::stop(child, &[(Signal::QUIT, IMMEDIATE_LIMIT)]);
    let _ = living::end_in_folder(data, IMMEDIATE_LIMIT);
}

/// Waits until the server takes connections.
fn reach(child: &mut Child, data: &Path, log: &Path) -> Result<Server, EngineError> {
    let until = Instant::now() + START_LIMIT;
    loop {
        let error = match connect(data) {
            Ok(server) => return Ok(server),
            Err(error) => error,
        };
        if let Ok(Some(status)) = child.try_wait() {
            let why = format!("it ended with {status}: {}", spawn::last_words(log));
            return Err(failed("start the server", why));
        }
        if Instant::now() > until {
            let seconds = START_LIMIT.as_secs();
            let why = format!("no connection within {seconds} s ({error}): {}", spawn::last_words(log));
            return Err(failed("start the server", why));
        }
        std::thread::sleep(START_STEP);
    }
}

/// Connects to the server of ours whose data directory this is, as any worker may.
///
/// # Errors
/// It does not take connections.
pub fn connect(data: &Path) -> Result<Server, EngineError> {
    let (folder, held) = socket_folder(data)?;
    Server::reach_by(Target::of_socket(&folder, SUPERUSER), SCHEMA, held)
}

/// The folder by which the socket is connected to. Where its path is too long for a socket, it goes
/// through a descriptor of the folder, which is kept open.
fn socket_folder(data: &Path) -> Result<(PathBuf, Option<OwnedFd>), EngineError> {
    let length = data.as_os_str().as_bytes().len() + "/.s.PGSQL.5432".len();
    if length <= SOCKET_PATH_BYTES {
        return Ok((data.to_owned(), None));
    }
    let folder = File::open(data)
        .map_err(|cause| failed(format!("open the data directory {}", data.display()), cause))?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    Ok((path, Some(folder.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_go_through_a_descriptor() {
        let root = tempfile::tempdir().unwrap();
        let (folder, held) = socket_folder(root.path()).unwrap();
        assert!(folder == root.path() && held.is_none());
        let long = root.path().join("x".repeat(120));
        assert!(socket_folder(&long).is_err());
        std::fs::create_dir(&long).unwrap();
        let (folder, held) = socket_folder(&long).unwrap();
        assert!(held.is_some() && folder.as_os_str().len() < 40);
        std::fs::write(folder.join("here"), "").unwrap();
        assert!(long.join("here").exists());
    }
}
