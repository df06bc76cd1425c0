//! A server of ours for who works on it with MariaDB's own programs: with durability as the server's
//! default is, and without anything of ours in it.

use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_process::users;

use crate::USERS;
use crate::managed::{self, Folders, OwnServer, Programs, Setup};
use crate::options::{Managed, Restart, Waits};

/// What a server is made and started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateOptions {
    /// Its folder, in a folder of ours that is there.
    pub folder: PathBuf,
    /// Folder of the server's programs; `None` to look for them.
    pub bin: Option<PathBuf>,
    /// Bytes of all data that it will hold.
    pub data_bytes: u64,
    /// Connections at once.
    pub sessions: u32,
}

/// A server of ours that runs. When it is dropped, it is killed.
#[derive(Debug)]
pub struct PrivateServer(OwnServer);

impl PrivateServer {
    /// Makes an empty data directory in place of whatever is there.
    ///
    /// # Errors
    /// The programs are not there, the folder cannot be made, or the tool's last words.
    pub fn make(options: &PrivateOptions) -> Result<(), EngineError> {
        managed::remove(&options.folder)?;
        let user = users::server_user(&USERS);
        if let Some(above) = options.folder.parent() {
            managed::open_up(above, user.as_ref())?;
        }
        with_setup(options, |setup, folders| setup.install(folders))
    }

    /// Starts a server there on the calling thread, with which it ends, and waits until it answers.
    ///
    /// # Errors
    /// The programs are not there, or the server's last words.
    pub fn start(options: &PrivateOptions) -> Result<Self, EngineError> {
        with_setup(options, |setup, folders| setup.start(folders).map(Self))
    }

    /// Its socket, as an absolute path.
    pub fn socket(&self) -> PathBuf {
        self.0.folders.socket()
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.0.folders.data()
    }

    /// Its process; `None` once it has ended.
    pub fn process(&self) -> Option<u32> {
        self.0.process()
    }

    /// Stops it in order.
    ///
    /// # Errors
    /// It did not end by itself, so its data is not to be used.
    pub fn stop(self) -> Result<(), EngineError> {
        self.0.stop(1)
    }
}

fn with_setup<T>(
    options: &PrivateOptions,
    run: impl FnOnce(&Setup<'_>, &Folders) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let programs = Programs::find(options.bin.as_deref())?;
    let user = users::server_user(&USERS);
    let managed =
        Managed { bin: options.bin.clone(), restart: Restart::Run, settings: Vec::new(), waits: Waits::None };
    let setup = Setup {
        programs: &programs,
        options: &managed,
        user: user.as_ref(),
        data_bytes: options.data_bytes,
        sessions: options.sessions,
        flush_at_commit: 1,
    };
    run(&setup, &Folders(options.folder.clone()))
}
