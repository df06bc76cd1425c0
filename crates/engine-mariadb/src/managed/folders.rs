//! Folders of servers of ours: templates that are whole or not there, and copies of them.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_process::{User, living, template};

use super::SOCKET;
use crate::error::failed;

/// Present in a copy whose server was stopped in order.
const CLEAN: &str = "clean";

/// How long processes of an earlier run may take to end.
const END_LIMIT: Duration = Duration::from_secs(20);

/// A server's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders(pub PathBuf);

impl Folders {
    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Temporary files of the server.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// What the server writes.
    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// The socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.data().join(SOCKET)
    }

    fn clean(&self) -> PathBuf {
        self.0.join(CLEAN)
    }

    /// Makes the folder with what the server needs but the data directory.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn make(&self, user: Option<&User>) -> Result<(), EngineError> {
        // Others may pass through, not look: the server's user has to reach its own folders.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o711)
            .create(&self.0)
            .map_err(|cause| io_error("make", &self.0, &cause))?;
        self.private(&self.tmp(), user)
    }

    /// Makes an empty data directory.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn make_data(&self, user: Option<&User>) -> Result<(), EngineError> {
        self.private(&self.data(), user)
    }

    fn private(&self, folder: &Path, user: Option<&User>) -> Result<(), EngineError> {
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
                return Err(io_error("make", folder, &cause));
            }
            _ => {}
        }
        match user {
            Some(user) => template::chown_tree(folder, user)
                .map_err(|cause| failed("give its folder to the server's user", cause)),
            None => Ok(()),
        }
    }
}

/// Lets the server's user pass through the data folder of the study.
///
/// # Errors
/// The file system's.
pub(crate) fn open_up(folder: &Path, user: Option<&User>) -> Result<(), EngineError> {
    match user {
        Some(_) => fs::set_permissions(folder, fs::Permissions::from_mode(0o711))
            .map_err(|cause| io_error("open", folder, &cause)),
        None => Ok(()),
    }
}

/// Makes `to` by `fill`, which works in a folder of another name; gives what `fill` gave. Half-made ones
/// of an earlier run, and their servers, are ended first.
///
/// # Errors
/// Those of `fill`, or the file system's.
pub(crate) fn make_template<T>(
    to: &Path,
    fill: impl FnOnce(&Folders) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let part = Folders(to.with_extension("part"));
    remove(&part.0)?;
    match fill(&part) {
        Ok(made) => {
            fs::rename(&part.0, to).map_err(|cause| io_error("name", to, &cause))?;
            Ok(made)
        }
        Err(error) => {
            // What counts is why it was not made.
            let _ = remove(&part.0);
            Err(error)
        }
    }
}

/// A new copy of a template in place of whatever is there.
///
/// # Errors
/// No space, or the file system's.
pub(crate) fn fresh_copy(from: &Folders, to: &Folders, user: Option<&User>) -> Result<(), EngineError> {
    remove(&to.0)?;
    to.make(user)?;
    // The socket and the process's number are those of a server that is no more.
    let skip = |path: &Path| path.extension().is_some_and(|end| end == "sock" || end == "pid");
    template::copy(&from.data(), &to.data(), user, &skip)
        .map_err(|cause| failed("copy the data directory", cause))?;
    // What waits for the disk would be written while something is measured.
    template::sync(&to.0).map_err(|cause| io_error("sync", &to.0, &cause))
}

/// The copy of an earlier block where its server was stopped in order, else a new one. Its mark is
/// taken off, since a server is about to run in it.
///
/// # Errors
/// As [`fresh_copy`].
pub(crate) fn kept_copy(from: &Folders, to: &Folders, user: Option<&User>) -> Result<(), EngineError> {
    if to.clean().is_file() {
        return fs::remove_file(to.clean()).map_err(|cause| io_error("use", &to.0, &cause));
    }
    fresh_copy(from, to, user)
}

/// Says that the server was stopped in order.
///
/// # Errors
/// The file system's.
pub(crate) fn mark_clean(folders: &Folders) -> Result<(), EngineError> {
    fs::write(folders.clean(), "").map_err(|cause| io_error("mark", &folders.0, &cause))
}

/// Removes a folder of ours with the server that still runs in it.
///
/// # Errors
/// The server does not end, or the file system's.
pub(crate) fn remove(folder: &Path) -> Result<(), EngineError> {
    if !folder.exists() {
        return Ok(());
    }
    living::end_in_folder(folder, END_LIMIT)
        .map_err(|cause| failed("end a server of an earlier run", cause))?;
    fs::remove_dir_all(folder).map_err(|cause| io_error("remove", folder, &cause))
}

fn io_error(action: &str, path: &Path, cause: &io::Error) -> EngineError {
    let hint = match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, choose another folder or less data"
        }
        _ => "",
    };
    failed(format!("{action} {}", path.display()), format!("{cause}{hint}"))
}
