//! A folder of ours in which Firebird is at home: its own configuration, its own lock files, the database.
//!
//! A home H holds `root` (links to the installed engine, and a `firebird.conf` of ours; the variable
//! FIREBIRD names it), `locks`, `tmp`, and `data` with the database, in which the programs work. Nothing of
//! the installation is changed or used but the engine's files.
//!
//! Source: the comments of Firebird 3.0's firebird.conf (ServerMode, DefaultDbCachePages, LockMemSize,
//! LockHashSlots); what FIREBIRD, FIREBIRD_LOCK and FIREBIRD_TMP move was seen with strace(1).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_process::{living, marked, template};

use crate::error::{failed, io_error, words};
use crate::programs::Programs;

/// Name of the database in its folder.
pub(crate) const DATABASE: &str = "./data.fdb";

/// Present in a copy whose sessions all ended in order.
const CLEAN: &str = "clean";

/// Files of the installation's folder that are ours instead.
const OURS: [&str; 2] = ["firebird.conf", "databases.conf"];

/// The log of the installation, which is not for us to write into; there will be one of our own.
const LOG: &str = "firebird.log";

/// How long programs of an earlier run may take to end.
const END_LIMIT: Duration = Duration::from_secs(20);

/// A home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home(pub PathBuf);

impl Home {
    /// The folder of the database.
    pub(crate) fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Makes everything but the folder of the database; each session's cache is to have `cache_pages`.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn make(&self, programs: &Programs, cache_pages: u64) -> Result<(), EngineError> {
        let root = self.0.join("root");
        for folder in [&root, &self.0.join("locks"), &self.0.join("tmp")] {
            make_folder(folder)?;
        }
        let entries =
            fs::read_dir(&programs.root).map_err(|cause| io_error("read", &programs.root, &cause))?;
        let is_linked =
            |entry: &fs::DirEntry| !OURS.iter().chain([&LOG]).any(|own| entry.file_name() == *own);
        for entry in entries.flatten().filter(is_linked) {
            let link = root.join(entry.file_name());
            symlink(entry.path(), &link).map_err(|cause| io_error("make", &link, &cause))?;
        }
        // Classic is what lets several programs have one database open. Each page in each cache has a lock
        // in the lock table, so that it gets all the hash slots that there can be.
        let text = format!(
            "ServerMode = Classic\nDefaultDbCachePages = {cache_pages}\nLockMemSize = 16M\nLockHashSlots = 65521\n"
        );
        for (name, text) in OURS.into_iter().zip([text.as_str(), ""]) {
            let path = root.join(name);
            fs::write(&path, text).map_err(|cause| io_error("write", &path, &cause))?;
        }
        Ok(())
    }

    /// Makes an empty folder for the database.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn make_data(&self) -> Result<(), EngineError> {
        make_folder(&self.data())
    }

    /// A command of Firebird's that works in the folder of the database. The engine is inside of the
    /// program, which asks for no password, so there is none; the mark lets the janitor find it.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("FIREBIRD", self.0.join("root"))
            .env("FIREBIRD_LOCK", self.0.join("locks"))
            .env("FIREBIRD_TMP", self.0.join("tmp"))
            .env(marked::VARIABLE, &self.0)
            // The loops are told their window in UTC; in the plain C locale the engine refuses a path with a
            // letter that is not ASCII.
            .envs([("TZ", "UTC"), ("LC_ALL", "C.UTF-8")])
            .current_dir(self.data());
        command
    }

    /// Sets whether each commit waits for the disk (`gfix -write`).
    ///
    /// # Errors
    /// gfix's words.
    pub(crate) fn set_forced_writes(&self, programs: &Programs, forced: bool) -> Result<(), EngineError> {
        let action = "set whether commits wait for the disk";
        let output = self
            .command(&programs.gfix)
            .args(["-write", if forced { "sync" } else { "async" }, "-user", "SYSDBA", DATABASE])
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|cause| failed(action, cause))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(action, words(&String::from_utf8_lossy(&output.stderr)))),
        }
    }

    /// Puts a copy of the database of `from` here, in place of whatever is there.
    ///
    /// # Errors
    /// No space, or the file system's.
    pub(crate) fn copy_from(
        &self,
        from: &Self,
        programs: &Programs,
        cache_pages: u64,
    ) -> Result<(), EngineError> {
        self.remove()?;
        self.make(programs, cache_pages)?;
        template::copy(&from.data(), &self.data(), None, &|_| false)
            .map_err(|cause| failed("copy the database", cause))?;
        // What waits for the disk would be written while something is measured.
        template::sync(&self.0).map_err(|cause| io_error("sync", &self.0, &cause))
    }

    /// The copy of an earlier block where its sessions ended in order, else a new one. Its mark is taken
    /// off, since sessions are about to use it.
    ///
    /// # Errors
    /// As [`Self::copy_from`].
    pub(crate) fn keep_or_copy_from(
        &self,
        from: &Self,
        programs: &Programs,
        cache_pages: u64,
    ) -> Result<(), EngineError> {
        let clean = self.0.join(CLEAN);
        match clean.is_file() {
            true => fs::remove_file(&clean).map_err(|cause| io_error("use", &self.0, &cause)),
            false => self.copy_from(from, programs, cache_pages),
        }
    }

    /// Says that all sessions ended in order.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn mark_clean(&self) -> Result<(), EngineError> {
        fs::write(self.0.join(CLEAN), "").map_err(|cause| io_error("mark", &self.0, &cause))
    }

    /// Removes the folder with the programs that still run in it.
    ///
    /// # Errors
    /// They do not end, or the file system's.
    pub(crate) fn remove(&self) -> Result<(), EngineError> {
        if !self.0.exists() {
            return Ok(());
        }
        living::end_in_folder(&self.0, END_LIMIT)
            .map_err(|cause| failed("end programs of an earlier run", cause))?;
        fs::remove_dir_all(&self.0).map_err(|cause| io_error("remove", &self.0, &cause))
    }
}

/// Makes a template by `fill`, which works in a folder of another name; gives what `fill` gave.
///
/// # Errors
/// Those of `fill`, or the file system's.
pub(crate) fn make_template<T>(
    to: &Path,
    fill: impl FnOnce(&Home) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let part = Home(to.with_extension("part"));
    part.remove()?;
    let made = fill(&part).and_then(|made| {
        fs::rename(&part.0, to).map_err(|cause| io_error("name", to, &cause))?;
        Ok(made)
    });
    if made.is_err() {
        // What counts is why it was not made.
        let _ = part.remove();
    }
    made
}

/// Refuses a folder whose name Firebird would misread: what stands before a colon is a host
/// (`src/common/isc_file.cpp`), and names are UTF-8.
///
/// # Errors
/// Which of the two, and what to do.
pub(crate) fn check_path(folder: &Path) -> Result<(), EngineError> {
    let why = match folder.to_str() {
        None => "is not UTF-8, which Firebird refuses",
        Some(text) if text.contains(':') => "has a colon, before which Firebird expects a host",
        Some(_) => return Ok(()),
    };
    let why = format!("the path {} {why}; choose another folder for data", folder.display());
    Err(failed("use the folder for data", why))
}

fn make_folder(folder: &Path) -> Result<(), EngineError> {
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(io_error("make", folder, &cause)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_firebird_would_misread_is_refused() {
        assert!(check_path(Path::new("/data/my base's \"ü\"")).is_ok());
        let message = check_path(Path::new("/data/host:base")).unwrap_err().to_string();
        assert!(message.contains("expects a host") && message.contains("another folder"), "{message}");
    }

    #[test]
    fn a_template_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("template");
        let broken: Result<(), _> = make_template(&to, |home| {
            home.make_data()?;
            Err(failed("fill it", "no"))
        });
        assert!(broken.is_err() && fs::read_dir(folder.path()).unwrap().next().is_none());
        make_template(&to, Home::make_data).unwrap();
        assert!(to.join("data").is_dir());
    }
}
