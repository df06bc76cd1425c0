//! A private server for recipes that work on it with MariaDB's own programs: with the server's default durability, and
//! without threadwise's database.

use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_engine::servers::{Ending, Home, Process};

use crate::managed::{self, Setup};
use crate::options::{Managed, Restart, Waits};
use crate::product::MARIADB;

/// Parameters of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateOptions {
    /// A private folder that exists, for its home.
    pub folder: PathBuf,
    /// Folder of the server's programs; `None` to search for them.
    pub bin: Option<PathBuf>,
    /// Size of all data that it will hold, bytes.
    pub data_bytes: u64,
    /// Connections at once.
    pub sessions: u32,
}

impl PrivateOptions {
    fn setup(&self) -> Result<Setup, EngineError> {
        let (bin, settings) = (self.bin.clone(), Vec::new());
        let managed = Managed { bin, restart: Restart::Run, settings, waits: Waits::None };
        Setup::find(&managed, self.data_bytes, self.sessions, 1)
    }

    fn home(&self) -> Home {
        Home::new(MARIADB.engine(), &self.folder, "list", "")
    }
}

/// A running private server. When dropped, it is killed.
#[derive(Debug)]
pub struct PrivateServer(Process<Setup>);

impl PrivateServer {
    /// Makes an empty data directory; removes one that exists.
    ///
    /// # Errors
    /// The programs were not found, the folder cannot be made, or the tool failed, with the last lines of its output.
    pub fn make(options: &PrivateOptions) -> Result<(), EngineError> {
        options.setup()?.install(&options.home())
    }

    /// Starts a server there on the calling thread, with which it ends, and waits until it answers. Ends first a server
    /// that a killed process left.
    ///
    /// # Errors
    /// The programs were not found, or the server failed, with the last lines of its log.
    pub fn start(options: &PrivateOptions) -> Result<Self, EngineError> {
        options.home().clear()?;
        Process::start(&options.setup()?, &options.home()).map(Self)
    }

    /// Its socket, as an absolute path.
    pub fn socket(&self) -> PathBuf {
        managed::socket(self.0.home())
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.0.home().data()
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.0.pid()
    }

    /// Stops it in order.
    ///
    /// # Errors
    /// It did not end by itself, so its data must not be used.
    pub fn stop(self) -> Result<(), EngineError> {
        self.0.stop(Ending::Keep)
    }
}
