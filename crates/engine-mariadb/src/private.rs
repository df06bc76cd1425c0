//! A server of ours for who works on it with MariaDB's own programs: with durability as the server's
//! default is, and without anything of ours in it.

use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_engine::servers::{Ending, Home, Process};

use crate::error::ENGINE;
use crate::managed::{self, Setup};
use crate::options::{Managed, Restart, Waits};

/// What a server is made and started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateOptions {
    /// A folder of ours that is there, in which it has its home.
    pub folder: PathBuf,
    /// Folder of the server's programs; `None` to look for them.
    pub bin: Option<PathBuf>,
    /// Bytes of all data that it will hold.
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
        Home::new(ENGINE, &self.folder, "list", "")
    }
}

/// A server of ours that runs. When it is dropped, it is killed.
#[derive(Debug)]
pub struct PrivateServer(Process<Setup>);

impl PrivateServer {
    /// Makes an empty data directory in place of whatever is there.
    ///
    /// # Errors
    /// The programs are not there, the folder cannot be made, or the tool's last words.
    pub fn make(options: &PrivateOptions) -> Result<(), EngineError> {
        options.setup()?.install(&options.home())
    }

    /// Starts a server there on the calling thread, with which it ends, and waits until it answers. One that a
    /// killed process left is ended first.
    ///
    /// # Errors
    /// The programs are not there, or the server's last words.
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
    /// It did not end by itself, so its data is not to be used.
    pub fn stop(self) -> Result<(), EngineError> {
        self.0.stop(Ending::Keep)
    }
}
