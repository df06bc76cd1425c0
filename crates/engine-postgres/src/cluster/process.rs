//! A running server of ours.
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

/// How long a fast shutdown may take: its checkpoint writes everything that is in memory.
const FAST_LIMIT: Duration = Duration::from_secs(60);

/// How long an immediate shutdown may take; the server kills its own processes after 5 s.
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(10);

/// Name of the socket, by the port in our configuration.
const SOCKET: &str = ".s.PGSQL.5432";

/// A running server of ours.
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

/// Connects to the server of ours whose data directory this is, as any worker may.
///
/// # Errors
/// It does not take connections.
pub fn connect(data: &Path) -> Result<Server, EngineError> {
    let opened = |cause| failed(format!("open the data directory {}", data.display()), cause);
    let (folder, held) = socket::folder(data, SOCKET).map_err(opened)?;
    Server::reach_by(Target::of_socket(&folder, SUPERUSER), SCHEMA, held.map(Into::into))
}
