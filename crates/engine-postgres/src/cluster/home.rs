//! Data directories of private clusters, made by initdb.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_engine::servers::Home;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{User, users};

use super::programs::Programs;
use super::settings::{Fit, configuration};
use crate::error::{ENGINE, failed};
use crate::options::Managed;

/// Superuser of private clusters.
pub(super) const SUPERUSER: &str = "threadwise";

/// How long initdb may take; it takes 1 s on an idle machine.
const INITDB_LIMIT: Duration = Duration::from_secs(180);

/// File beside a data directory on which a server runs only while it is needed.
const RESTING: &str = "resting";

/// The home of a cluster in a study's data folder, see [`Home::new`].
pub fn home(data_dir: &Path, kind: &str, identity: &str) -> Home {
    Home::new(ENGINE, data_dir, kind, identity)
}

/// Marks a home whose server runs only while it is needed.
///
/// # Errors
/// An error of the file system.
pub fn rest(home: &Home) -> Result<(), EngineError> {
    let path = home.file(RESTING);
    fs::write(&path, "").map_err(|cause| failed(format!("write {}", path.display()), cause))
}

/// Whether a home is so marked.
pub fn is_resting(home: &Home) -> bool {
    home.file(RESTING).exists()
}

/// The user that private servers run as; `None` for the current user.
pub fn server_user() -> Option<User> {
    users::server_user(&["postgres"])
}

/// Makes a new, empty cluster with threadwise's settings.
///
/// # Errors
/// An error of initdb, with its last lines, or an error of the file system.
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
    home.make_private(&data, user.as_ref())?;
    let action = || format!("create the data directory {}", data.display());
    let pgdata = ["-D".into(), data.as_os_str().to_owned(), "-U".into(), SUPERUSER.into()];
    // Only the server's user can reach the socket in the data directory, so trust is safe. Files are not synced
    // one by one: after a power failure a study starts again.
    let words = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"].map(OsString::from);
    // As in threadwise's settings: initdb's servers, if killed, then leave nothing in /dev/shm.
    let shared = ["-c", "dynamic_shared_memory_type=mmap"].map(OsString::from);
    let shared = if programs.major >= 16 { shared.as_slice() } else { &[] };
    let args = [pgdata.as_slice(), words.as_slice(), shared].concat();
    let program = Program {
        program: &programs.initdb,
        args: &args,
        user: user.as_ref(),
        folder: &data,
        log: &home.log(),
        death_signal: DeathSignal::Terminate,
        cpus: None,
    };
    spawn::run(&program, INITDB_LIMIT).map_err(|cause| match complaint(&home.log()) {
        Some(line) => failed(action(), ended(&line, &programs.initdb)),
        None => failed(action(), cause),
    })?;
    let fit = Fit { data_bytes, sessions, free_bytes: free_bytes(&data), major: programs.major };
    let text = configuration(fit, &managed.settings);
    let append =
        || fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?.write_all(text.as_bytes());
    append().map_err(|cause| failed("write postgresql.conf", cause))
}

/// The line with the error of initdb or of the server that it runs; its last lines are about cleaning up.
fn complaint(log: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(log).ok()?).into_owned();
    let severe = ["FATAL:", "PANIC:", "initdb: error:"];
    let mut lines = text.lines().skip_while(|line| !severe.iter().any(|word| line.contains(word)));
    let said = lines.next()?.trim().to_owned();
    // For example: check the free disk space.
    let hint = lines.next().and_then(|line| line.split_once("HINT:")).map(|(_, hint)| hint.trim());
    Some(hint.map_or(said.clone(), |hint| format!("{said} ({hint})")))
}

/// Why initdb ended. PostgreSQL's programs find their libraries and files relative to their own place (its
/// `src/port/path.c`, `make_relative_path`), so that a copy of `bin` alone answers `--version` and does nothing else.
fn ended(line: &str, initdb: &Path) -> String {
    let parts_missing = ["$libdir/", ".bki\"", "/share"].iter().any(|part| line.contains(part))
        && ["No such file or directory", "does not exist"].iter().any(|why| line.contains(why));
    match parts_missing {
        false => format!("initdb ended: {line}"),
        true => format!(
            "the programs in {} do not run there: copy the whole tree (bin, lib and share), or name the folder that \
             they were installed in with --engine-option bin=FOLDER (initdb ended: {line})",
            initdb.parent().unwrap_or(Path::new("/")).display()
        ),
    }
}

fn free_bytes(folder: &Path) -> u64 {
    threadwise_process::space::free_bytes(folder).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_copy_of_bin_alone_is_said_to_be_one() {
        let said = |line: &str| ended(line, Path::new("/copy/bin/initdb"));
        for line in [
            "[7] FATAL:  could not access file \"$libdir/dict_snowball\": No such file or directory",
            "initdb: error: file \"/copy/share/postgres.bki\" does not exist",
            "initdb: error: input file \"/copy/share/postgresql/15/postgres.bki\" does not exist",
        ] {
            assert!(
                said(line).starts_with("the programs in /copy/bin do not run there: copy the whole tree")
            );
            assert!(said(line).contains(line), "{line}");
        }
        for line in
            ["FATAL:  no room", "FATAL:  could not create file \"pg_wal/1\": No such file or directory"]
        {
            assert_eq!(said(line), format!("initdb ended: {line}"));
        }
    }
}
