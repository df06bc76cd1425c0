//! Data directories of our clusters: made by initdb, filled once, copied for every treatment.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{User, living, template, users};

use super::process::SUPERUSER;
use super::programs::Programs;
use super::settings::{Fit, configuration};
use crate::error::failed;
use crate::options::Managed;

/// How long initdb may take; it takes 1 s on an idle machine.
const INITDB_LIMIT: Duration = Duration::from_secs(180);

/// How long processes of a killed server may take to go.
const CLEAR_LIMIT: Duration = Duration::from_secs(10);

/// File beside a data directory that a server uses, or used when it was ended.
const IN_USE: &str = "in-use";

/// File beside a data directory on which a server runs only while somebody needs it.
const RESTING: &str = "resting";

/// A folder of ours with a data directory and the log of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// The home of this name in a study's data folder. `what` makes the name.
    pub fn of(data_dir: &Path, kind: &str, what: impl Hash) -> Self {
        // The hash need only hold within one study: names are made and used by the same program.
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self { folder: data_dir.join(format!("postgres-{kind}-{:016x}", hasher.finish())) }
    }

    /// The same under an unfinished name.
    pub fn unfinished(&self) -> Self {
        Self { folder: self.folder.with_extension("part") }
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The server's log.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// A file of ours beside the data directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Whether it is there, whole, and no server used it that was not stopped in order.
    pub fn is_clean(&self) -> bool {
        self.data().join("PG_VERSION").exists() && !self.file(IN_USE).exists()
    }

    /// Says that a server is going to use it. An immediate shutdown leaves no trace of its own: the
    /// server removes its lock file then too.
    ///
    /// # Errors
    /// The file system's.
    pub fn begin(&self) -> Result<(), EngineError> {
        let path = self.file(IN_USE);
        fs::write(&path, "").map_err(|cause| failed(format!("write {}", path.display()), cause))
    }

    /// Says that its server was stopped in order.
    ///
    /// # Errors
    /// The file system's.
    pub fn end(&self) -> Result<(), EngineError> {
        let path = self.file(IN_USE);
        fs::remove_file(&path).map_err(|cause| failed(format!("remove {}", path.display()), cause))
    }

    /// Says that no server runs on it but while somebody needs it.
    ///
    /// # Errors
    /// The file system's.
    pub fn rest(&self) -> Result<(), EngineError> {
        let path = self.file(RESTING);
        fs::write(&path, "").map_err(|cause| failed(format!("write {}", path.display()), cause))
    }

    /// Whether that was said.
    pub fn is_resting(&self) -> bool {
        self.file(RESTING).exists()
    }

    /// Ends what a killed worker's server may still be doing here.
    ///
    /// # Errors
    /// Processes live on.
    pub fn clear(&self) -> Result<(), EngineError> {
        match self.data().exists() {
            true => living::end_in_folder(&self.data(), CLEAR_LIMIT).map(drop),
            false => Ok(()),
        }
        .map_err(|cause| failed("end an earlier server", cause))
    }

    /// Gives it its final name.
    ///
    /// # Errors
    /// The file system's.
    pub fn finish(&self, final_home: &Self) -> Result<(), EngineError> {
        sync(&self.folder);
        fs::rename(&self.folder, &final_home.folder)
            .map_err(|cause| failed(format!("finish {}", final_home.folder.display()), cause))
    }

    /// Removes it; nothing there is well.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove(&self) -> Result<(), EngineError> {
        match fs::remove_dir_all(&self.folder) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(failed(format!("remove {}", self.folder.display()), cause))
            }
            _ => Ok(()),
        }
    }

    /// Makes its folder anew, empty, and open to the server's user as far as passing through.
    fn make(&self, user: Option<&User>) -> Result<(), EngineError> {
        self.remove()?;
        let mode = if user.is_some() { 0o711 } else { 0o700 };
        let made = DirBuilder::new().mode(mode).create(&self.folder);
        made.map_err(|cause| failed(format!("make the folder {}", self.folder.display()), cause))?;
        match user {
            Some(user) => enterable(&self.folder, user),
            None => Ok(()),
        }
    }
}

/// The user that our servers run as; `None` for our own.
pub fn server_user() -> Option<User> {
    users::server_user(&["postgres"])
}

/// Makes a new, empty cluster with our settings.
///
/// # Errors
/// initdb's, with its last lines, or the file system's.
pub fn prepare(
    home: &Home,
    programs: &Programs,
    managed: &Managed,
    data_bytes: u64,
    sessions: u32,
) -> Result<(), EngineError> {
    let user = server_user();
    home.make(user.as_ref())?;
    let data = home.data();
    let action = || format!("make the data directory {}", data.display());
    let made = DirBuilder::new().mode(0o700).create(&data).and_then(|()| match &user {
        Some(user) => std::os::unix::fs::chown(&data, Some(user.uid), Some(user.gid)),
        None => Ok(()),
    });
    made.map_err(|cause| failed(action(), cause))?;
    let pgdata = ["-D".into(), data.as_os_str().to_owned(), "-U".into(), SUPERUSER.into()];
    // Trust is for whoever can reach the socket, which is its user alone: it lies in the data directory.
    // The files are not synced one by one: a study that does not survive a power failure starts anew.
    let words = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"].map(OsString::from);
    let args = [pgdata.as_slice(), words.as_slice()].concat();
    let program = Program {
        program: &programs.initdb,
        args: &args,
        user: user.as_ref(),
        folder: &data,
        log: &home.log(),
        death_signal: DeathSignal::Kill,
        cpus: None,
    };
    spawn::run(&program, INITDB_LIMIT).map_err(|cause| match complaint(&home.log()) {
        Some(line) => failed(action(), format!("initdb ended: {line}")),
        None => failed(action(), cause),
    })?;
    let fit = Fit { data_bytes, sessions, free_bytes: free_bytes(&data), major: programs.major };
    let text = configuration(fit, &managed.settings);
    let append =
        || fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?.write_all(text.as_bytes());
    append().map_err(|cause| failed("write postgresql.conf", cause))
}

/// The line in which initdb or the server that it runs says what it failed on; its last lines tell of
/// cleaning up.
fn complaint(log: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(log).ok()?).into_owned();
    let severe = ["FATAL:", "PANIC:", "initdb: error:"];
    let mut lines = text.lines().skip_while(|line| !severe.iter().any(|word| line.contains(word)));
    let said = lines.next()?.trim().to_owned();
    // Such as to check the free disk space.
    let hint = lines.next().and_then(|line| line.split_once("HINT:")).map(|(_, hint)| hint.trim());
    Some(hint.map_or(said.clone(), |hint| format!("{said} ({hint})")))
}

/// Copies a stopped cluster in place of whatever is at `to`.
///
/// # Errors
/// The file system's; nothing is left at `to` then.
pub fn restore(from: &Home, to: &Home) -> Result<(), EngineError> {
    let user = server_user();
    to.make(user.as_ref())?;
    let copied = template::copy(&from.data(), &to.data(), user.as_ref(), &|_| false);
    copied.map(|_| sync(&to.folder)).map_err(|cause| {
        let action = format!("copy {} to {}", from.data().display(), to.data().display());
        // The error of the copy is what counts; the janitor removes what cannot be removed here.
        let _ = to.remove();
        failed(action, format!("{cause}; make room there, or give another data folder"))
    })
}

/// Has written what waits, so that it does not happen while something is measured.
pub fn sync(folder: &Path) {
    // A file system that cannot do it costs a quieter start, nothing else.
    let _ = template::sync(folder);
}

fn free_bytes(folder: &Path) -> u64 {
    threadwise_process::room::free_bytes(folder).unwrap_or(u64::MAX)
}

/// Whether another user can get to a folder: every folder above must let it pass. Said here, since the
/// server's own message about it names no folder.
fn enterable(folder: &Path, user: &User) -> Result<(), EngineError> {
    for above in folder.ancestors() {
        let entry =
            fs::metadata(above).map_err(|cause| failed(format!("look at {}", above.display()), cause))?;
        let mode = entry.permissions().mode();
        let bit = match (entry.uid() == user.uid, entry.gid() == user.gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        if mode & bit == 0 {
            let (name, above) = (&user.name, above.display());
            let why = format!(
                "user {name}, which the server runs as, cannot pass through {above}: chmod o+x {above}, give \
                 another data folder, or run threadwise as an ordinary user"
            );
            return Err(failed("use the data folder", why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_the_servers_user_cannot_enter_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        // Nobody has this number, nor this group.
        let user = User { name: "postgres".into(), uid: 4_000_000, gid: 4_000_000 };
        let set = |mode: u32| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        let text = enterable(&inside, &user).unwrap_err().to_string();
        assert!(text.contains(&format!("chmod o+x {}", folder.path().display())), "{text}");
        set(0o711);
        enterable(&inside, &user).unwrap();
    }

    #[test]
    fn what_initdb_failed_on_is_found_before_its_farewell() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(complaint(&log), None);
        fs::write(&log, "creating\ninitdb: removing contents\n").unwrap();
        assert_eq!(complaint(&log), None);
        fs::write(&log, "x\n[7] FATAL:  no room\n[7] HINT:  Check free disk space.\nchild exited\n").unwrap();
        assert_eq!(complaint(&log).unwrap(), "[7] FATAL:  no room (Check free disk space.)");
    }

    #[test]
    fn a_home_is_clean_until_a_server_begins_and_again_when_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::of(folder.path(), "run", 1);
        assert_ne!(home, Home::of(folder.path(), "run", 2));
        assert!(!home.is_clean());
        home.make(None).unwrap();
        fs::create_dir(home.data()).unwrap();
        assert!(!home.is_clean(), "initdb has not been there");
        fs::write(home.data().join("PG_VERSION"), "15").unwrap();
        assert!(home.is_clean());
        home.begin().unwrap();
        home.clear().unwrap();
        assert!(!home.is_clean());
        home.end().unwrap();
        assert!(home.is_clean());
        home.remove().unwrap();
        home.remove().unwrap();
    }
}
