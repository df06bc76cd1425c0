//! A running private server.
//!
//! Source: PostgreSQL documentation, "Shutting Down the Server": SIGINT is the fast shutdown (with a
//! checkpoint), SIGQUIT the immediate one (without).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_engine::servers::{Ending, Home, Launch, Process};
use threadwise_process::spawn::DeathSignal;
use threadwise_process::{Signal, User, socket, stopping};

use super::home::{SUPERUSER, server_user};
use super::programs::Programs;
use crate::connect::{Server, Target};
use crate::error::failed;
use crate::options::SCHEMA;

/// Time limit of a fast shutdown: its checkpoint writes everything that is in memory.
const FAST_LIMIT: Duration = Duration::from_secs(60);

/// Time limit of an immediate shutdown; the server kills its own processes after 5 s.
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(10);

/// Name of the socket, by the port in the settings.
const SOCKET: &str = ".s.PGSQL.5432";

/// How private servers are started, reached and stopped.
pub type Cluster = Process<Programs>;

impl Launch for Programs {
    type Server = Server;

    const START_LIMIT: Duration = Duration::from_secs(60);

    const DEATH_SIGNAL: DeathSignal = DeathSignal::Quit;

    fn user(&self) -> Option<User> {
        server_user()
    }

    fn command(&self, home: &Home) -> (PathBuf, Vec<OsString>) {
        (self.postgres.clone(), vec![OsString::from("-D"), home.data().into_os_string()])
    }

    fn connect(&self, home: &Home) -> Result<Server, EngineError> {
        connect(&home.data())
    }

    fn stop(&self, _: &Server, child: &mut Child, _: &Home, ending: Ending) -> Result<(), EngineError> {
        let fast = [(Signal::INT, FAST_LIMIT), (Signal::QUIT, IMMEDIATE_LIMIT)];
        let steps = if ending == Ending::Discard { &fast[1..] } else { &fast[..] };
        let stopped = stopping::stop(child, steps).map_err(|cause| failed("stop the server", cause))?;
        let log = "its log says why";
        match stopped.signal {
            // The status tells that it ended by itself just before the signal.
            Some(signal) if signal == steps[0].0 && stopped.status.success() => Ok(()),
            None => {
                let why = format!("it had ended before, with {}; {log}", stopped.status);
                Err(failed("stop the server", why))
            }
            Some(Signal::INT | Signal::QUIT) => {
                let why = format!("it ended with {} instead of an orderly shutdown; {log}", stopped.status);
                Err(failed("stop the server", why))
            }
            Some(_) => Err(failed("stop the server in time", "it was killed; look for a slow or full disk")),
        }
    }
}

/// Connects to the private server on this data directory, from any worker.
///
/// # Errors
/// It does not accept connections.
pub fn connect(data: &Path) -> Result<Server, EngineError> {
    let opened = |cause| failed(format!("open the data directory {}", data.display()), cause);
    let (folder, held) = socket::folder(data, SOCKET).map_err(opened)?;
    Server::reach_by(Target::of_socket(&folder, SUPERUSER), SCHEMA, held.map(Into::into))
}
