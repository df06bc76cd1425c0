//! The folder of a private Firebird: its own configuration, lock files, and the database. What is common to all
//! private servers is in `threadwise_engine::servers`.
//!
//! A home holds `root` (links to the installed engine, and a `firebird.conf`; the variable FIREBIRD
//! names it), `locks`, `tmp`, and `data` with the database, which is the programs' working directory. Only the
//! engine's files of the installation are used, and nothing in it is changed.
//!
//! Source: the comments of Firebird 3.0's firebird.conf (ServerMode, DefaultDbCachePages, LockMemSize,
//! LockHashSlots); strace(1) showed what FIREBIRD, FIREBIRD_LOCK and FIREBIRD_TMP move.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use threadwise_engine::servers::{self, identity};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_process::marked;

use crate::error::{ENGINE, failed, io_error, words};
use crate::programs::Programs;

/// Name of the database in its folder.
pub(crate) const DATABASE: &str = "./data.fdb";

/// Files of the installation's folder that the home replaces.
const OURS: [&str; 2] = ["firebird.conf", "databases.conf"];

/// The folder with the character sets except UTF8 and those that need no code. Its module does not load through a link
/// ("CHARACTER SET WIN1252 is not installed"), so databases that may use any of them need a copy, of about 1 MB.
const CHARACTER_SETS: &str = "intl";

/// The log of the installation, which must not be written to; the home has its own.
const LOG: &str = "firebird.log";

/// A home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home(pub servers::Home);

/// The template of treatments with the same data; each works on a copy.
pub(crate) fn template_of(load: &LoadRequest) -> servers::Home {
    servers::Home::new(ENGINE, &load.data_dir, "template", &identity(load))
}

/// The copy of one treatment.
pub(crate) fn copy_of(load: &LoadRequest) -> Home {
    let identity = format!("{} {}", identity(load), load.treatment);
    Home(servers::Home::new(ENGINE, &load.data_dir, "run", &identity))
}

impl Home {
    /// Makes everything except the folder of the database, with `cache_pages` for each session's cache. If `only` is
    /// given, the engine opens databases in that folder alone, and none over the network.
    ///
    /// # Errors
    /// An error of the file system; or `only` is a path that Firebird's configuration cannot hold.
    pub(crate) fn make(
        &self,
        programs: &Programs,
        cache_pages: u64,
        only: Option<&Path>,
    ) -> Result<(), EngineError> {
        let confined = only.map_or(Ok(String::new()), |folder| confined(programs, folder))?;
        self.0.make(None)?;
        let root = self.0.file("root");
        for folder in [&root, &self.0.file("locks"), &self.0.file("tmp")] {
            self.0.make_private(folder, None)?;
        }
        let entries =
            fs::read_dir(&programs.root).map_err(|cause| io_error("read", &programs.root, &cause))?;
        let is_linked =
            |entry: &fs::DirEntry| !OURS.iter().chain([&LOG]).any(|known| entry.file_name() == *known);
        for entry in entries.flatten().filter(is_linked) {
            let link = root.join(entry.file_name());
            match only.is_some() && entry.file_name() == CHARACTER_SETS {
                true => copy_files(&entry.path(), &link),
                false => symlink(entry.path(), &link),
            }
            .map_err(|cause| io_error("make", &link, &cause))?;
        }
        // Classic lets several programs open one database. Each page in each cache has a lock in the lock
        // table, hence the largest possible number of hash slots.
        let text = format!(
            "ServerMode = Classic\nDefaultDbCachePages = {cache_pages}\nLockMemSize = 16M\nLockHashSlots = 65521\n\
             {confined}"
        );
        for (name, text) in OURS.into_iter().zip([text.as_str(), ""]) {
            let path = root.join(name);
            fs::write(&path, text).map_err(|cause| io_error("write", &path, &cause))?;
        }
        Ok(())
    }

    /// A Firebird program whose working directory is the folder of the database. It contains the engine, which
    /// asks for no password; the mark lets the watchdog find it.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("FIREBIRD", self.0.file("root"))
            .env("FIREBIRD_LOCK", self.0.file("locks"))
            .env("FIREBIRD_TMP", self.0.file("tmp"))
            .env(marked::VARIABLE, self.0.folder())
            // Loops get their window in UTC; in the plain C locale the engine refuses a path with a non-ASCII
            // letter.
            .envs([("TZ", "UTC"), ("LC_ALL", "C.UTF-8")])
            .current_dir(self.0.data());
        command
    }

    /// Sets whether each commit waits for the disk (`gfix -write`).
    ///
    /// # Errors
    /// The error of gfix.
    pub(crate) fn set_forced_writes(&self, programs: &Programs, forced: bool) -> Result<(), EngineError> {
        let action = "set whether commits wait for the disk";
        self.gfix(programs, action, ["-write", if forced { "sync" } else { "async" }])
    }

    /// Removes the cache size from the database (`gfix -buffers`), which would override the configuration of this
    /// home.
    ///
    /// # Errors
    /// The error of gfix.
    pub(crate) fn forget_cache_pages(&self, programs: &Programs) -> Result<(), EngineError> {
        self.gfix(programs, "remove the cache size from the database", ["-buffers", "0"])
    }

    fn gfix(&self, programs: &Programs, action: &str, args: [&str; 2]) -> Result<(), EngineError> {
        let output = self
            .command(&programs.gfix)
            .args(args)
            .args(["-user", "SYSDBA", DATABASE])
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|cause| failed(action, cause))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(action, words(&String::from_utf8_lossy(&output.stderr)))),
        }
    }
}

/// A new folder with the files of another one.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Configuration lines with which the engine opens databases in one folder alone (`DatabaseAccess`), and itself,
/// without a server (`Providers`).
fn confined(programs: &Programs, folder: &Path) -> Result<String, EngineError> {
    let folder = folder.display().to_string();
    match folder.find(|sign: char| ";#$\"\\".contains(sign) || sign.is_control()) {
        Some(at) => {
            let sign = folder[at..].chars().next().unwrap_or_default();
            let why =
                format!("{sign:?} in the path {folder:?} would be misread there; choose another data folder");
            Err(failed("write Firebird's configuration", why))
        }
        None => Ok(format!("DatabaseAccess = Restrict {folder}\nProviders = {}\n", programs.engine()?)),
    }
}

/// Refuses a folder whose name Firebird would misread: text before a colon is a host
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
    let why = format!("the path {} {why}; choose another data folder", folder.display());
    Err(failed("use the data folder", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_the_configuration_cannot_hold_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("plugins")).unwrap();
        fs::write(root.path().join("plugins/libEngine12.so"), "").unwrap();
        let programs = Programs { isql: "isql".into(), gfix: "gfix".into(), root: root.path().to_owned() };
        let lines = confined(&programs, Path::new("/data/my base's ü")).unwrap();
        assert_eq!(lines, "DatabaseAccess = Restrict /data/my base's ü\nProviders = Engine12\n");
        for path in ["/data/a;b", "/data/#1", "/data/$(x)", "/data/a\nb"] {
            let message = confined(&programs, Path::new(path)).unwrap_err().to_string();
            assert!(message.contains("choose another data folder") && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_path_that_firebird_would_misread_is_refused() {
        assert!(check_path(Path::new("/data/my base's \"ü\"")).is_ok());
        let message = check_path(Path::new("/data/host:base")).unwrap_err().to_string();
        assert!(message.contains("expects a host") && message.contains("another data folder"), "{message}");
    }
}
