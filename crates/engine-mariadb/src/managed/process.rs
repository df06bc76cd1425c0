//! The process of a server of ours.

use mysql::prelude::Queryable;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};
use threadwise_engine::EngineError;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{Signal, User, stopping};

use super::{Folders, Programs, SOCKET};
use crate::Server;
use crate::connect::Target;
use crate::error::failed;
use crate::memory::free_bytes;
use crate::options::{Managed, SCHEMA, Waits};

/// How long a server may take to answer; recovery of a large log takes its time.
const START_LIMIT: Duration = Duration::from_secs(120);

/// How long the making of a data directory may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(120);

/// How long it may take after SHUTDOWN, and after each signal.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);
const TERM_LIMIT: Duration = Duration::from_secs(20);

/// Pause between tries to connect.
const STEP: Duration = Duration::from_millis(20);

/// How a server is set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup<'a> {
    /// Its programs.
    pub programs: &'a Programs,
    /// What the user asked for.
    pub options: &'a Managed,
    /// Its user, where it is not our own.
    pub user: Option<&'a User>,
    /// Bytes of all data that it will hold.
    pub data_bytes: u64,
    /// Sessions at once.
    pub sessions: u32,
    /// The value of innodb_flush_log_at_trx_commit.
    pub flush_at_commit: u8,
}

impl Setup<'_> {
    /// Makes an empty data directory with the system's tables; root has no password, and the folder
    /// lets nobody in.
    ///
    /// # Errors
    /// The tool's last words.
    pub(crate) fn install(&self, folders: &Folders) -> Result<(), EngineError> {
        folders.make(self.user)?;
        folders.make_data(self.user)?;
        let data = folders.data();
        let mut args: Vec<OsString> = vec!["--no-defaults".into()];
        args.extend(self.programs.base.iter().map(|base| option("basedir", base)));
        args.push(option("datadir", &data));
        args.push(option("tmpdir", &folders.tmp()));
        args.extend(
            ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
                .map(OsString::from),
        );
        let log = folders.log();
        let program = self.program(&self.programs.install, &args, (&data, &log));
        spawn::run(&program, INSTALL_LIMIT).map(drop).map_err(|cause| failed("make a data directory", cause))
    }

    /// Starts the server on the calling thread, with which it ends, and waits until it answers.
    ///
    /// # Errors
    /// It ended, or did not answer in time; the last words of its log.
    pub(crate) fn start(&self, folders: &Folders) -> Result<OwnServer, EngineError> {
        let args = self.arguments(folders);
        let (data, log) = (folders.data(), folders.log());
        let program = self.program(&self.programs.server, &args, (&data, &log));
        let begin = fs::metadata(&log).map_or(0, |entry| entry.len() as usize);
        let mut child = spawn::start(&program).map_err(|cause| failed("start the server", cause))?;
        match answer(&mut child, folders, begin) {
            Ok(server) => Ok(OwnServer { child: Some(child), server, folders: folders.clone() }),
            Err(error) => {
                // Why it did not start counts more.
                let _ = stopping::kill_group(&mut child);
                Err(error)
            }
        }
    }

    fn program<'b>(
        &'b self,
        program: &'b Path,
        args: &'b [OsString],
        (folder, log): (&'b Path, &'b Path),
    ) -> Program<'b> {
        Program { program, args, user: self.user, folder, log, death_signal: DeathSignal::Kill, cpus: None }
    }

    fn arguments(&self, folders: &Folders) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--no-defaults".into()];
        args.extend(self.programs.base.iter().map(|base| option("basedir", base)));
        args.push(option("datadir", &folders.data()));
        args.push(option("tmpdir", &folders.tmp()));
        let mut set = |text: String| args.push(text.into());
        set(format!("--socket={SOCKET}"));
        set("--pid-file=mariadbd.pid".into());
        set(format!("--innodb-buffer-pool-size={}", buffer_pool_bytes(self.data_bytes, free_bytes())));
        set(format!("--innodb-flush-log-at-trx-commit={}", self.flush_at_commit));
        set(format!("--max-connections={}", self.sessions.saturating_mul(2).max(100) + 50));
        // One thread a session, also where a packager chose otherwise; none is kept for later.
        for fixed in [
            "--skip-networking",
            // From 11.4 on a server without a certificate makes a key at every start, which takes seconds
            // (mariadb.com/kb/en/securing-connections-for-client-and-server, "zero-configuration TLS").
            // Its socket lies in a folder that is its user's alone. A build without TLS has no such option.
            "--loose-ssl=OFF",
            "--skip-name-resolve",
            "--skip-log-bin",
            "--thread-handling=one-thread-per-connection",
            "--thread-cache-size=0",
            "--innodb-buffer-pool-dump-at-shutdown=OFF",
            "--innodb-buffer-pool-load-at-startup=OFF",
            "--loose-innodb-adaptive-hash-index=OFF",
            "--innodb-stats-persistent=ON",
            "--innodb-stats-auto-recalc=OFF",
            "--character-set-server=latin1",
            "--collation-server=latin1_bin",
            "--event-scheduler=OFF",
            "--skip-slave-start",
            "--loose-feedback=OFF",
        ] {
            set(fixed.into());
        }
        for wait in wait_settings(self.options.waits) {
            set((*wait).into());
        }
        for (name, value) in &self.options.settings {
            set(format!("--{name}={value}"));
        }
        args
    }
}

/// The performance schema, where it is asked for: InnoDB's latches and files, conditions, and the latch
/// of metadata locks, which are what sessions wait for. What it costs is in the note of `workload::waits`;
/// of 1.17 times the CPU time of an insert, 1.09 (95%: 1.06 to 1.13) is spent with no instrument on.
fn wait_settings(waits: Waits) -> &'static [&'static str] {
    match waits {
        Waits::Instruments => &[
            "--performance-schema=ON",
            "--performance-schema-instrument=%=OFF",
            "--performance-schema-instrument=wait/synch/%/innodb/%=ON",
            "--performance-schema-instrument=wait/io/file/innodb/%=ON",
            "--performance-schema-instrument=wait/synch/cond/%=ON",
            "--performance-schema-instrument=wait/synch/rwlock/sql/MDL%=ON",
            "--performance-schema-consumer-events-waits-current=ON",
            "--performance-schema-consumer-events-statements-current=OFF",
            "--performance-schema-consumer-statements-digest=OFF",
        ],
        Waits::States | Waits::None => &["--performance-schema=OFF"],
    }
}

/// The data and a third more, at least the server's default of 128 MiB, and at most three quarters of
/// the memory that is free: whether the data fits is seen when it has been read.
fn buffer_pool_bytes(data_bytes: u64, free_bytes: u64) -> u64 {
    let wanted = data_bytes / 10 * 13 + (64 << 20);
    wanted.min(free_bytes / 4 * 3).max(128 << 20).next_multiple_of(1 << 20)
}

fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(format!("--{name}="));
    text.push(path);
    text
}

/// What the server's log says of its end, from the byte `begin` on: its first errors, since the last
/// ones only say that it gave up.
fn last_words(folders: &Folders, begin: usize) -> String {
    let log = fs::read(folders.log()).unwrap_or_default();
    let errors = errors_of(&String::from_utf8_lossy(log.get(begin..).unwrap_or_default()));
    let words = if errors.is_empty() { spawn::last_words(&folders.log()) } else { errors };
    if words.is_empty() { "it said nothing".to_owned() } else { words }
}

fn errors_of(log: &str) -> String {
    let errors = log.lines().filter_map(|line| line.split_once("[ERROR] ").map(|(_, said)| said.trim()));
    errors.take(2).collect::<Vec<_>>().join("; ")
}

/// Waits until the server answers.
fn answer(child: &mut Child, folders: &Folders, begin: usize) -> Result<Server, EngineError> {
    let action = "start the server";
    let until = Instant::now() + START_LIMIT;
    let last_words = || last_words(folders, begin);
    loop {
        let ended = child.try_wait().map_err(|cause| failed(action, cause))?;
        if let Some(status) = ended {
            return Err(failed(action, format!("it ended with {status}: {}", last_words())));
        }
        let found = match folders.socket().exists() {
            true => Server::find(Target::own(folders.socket()), SCHEMA),
            false => Err(failed(action, "it made no socket")),
        };
        match found {
            Ok(server) => return Ok(server),
            Err(error) if Instant::now() >= until => {
                let why = format!("no answer within {} s: {error}; {}", START_LIMIT.as_secs(), last_words());
                return Err(failed(action, why));
            }
            Err(_) => std::thread::sleep(STEP),
        }
    }
}

/// A server of ours that runs. When it is dropped, it is killed.
#[derive(Debug)]
pub(crate) struct OwnServer {
    child: Option<Child>,
    /// The way to it.
    pub server: Server,
    /// Its folder.
    pub folders: Folders,
}

impl OwnServer {
    /// Its process.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Stops it in order: SHUTDOWN, then SIGTERM, then SIGKILL. `fast` is innodb_fast_shutdown: 0 cleans
    /// up everything for a template, 1 is the usual, 2 leaves it to a recovery that nobody will need.
    ///
    /// # Errors
    /// It did not end by itself, so its data is not to be used.
    pub(crate) fn stop(mut self, fast: u8) -> Result<(), EngineError> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let asked = self.server.connect().map(|mut connection| {
            // The answer may be lost with the server.
            let _ = connection.query_drop(format!("SET GLOBAL innodb_fast_shutdown = {fast}"));
            let _ = connection.query_drop("SHUTDOWN");
        });
        let limit = if asked.is_ok() { SHUTDOWN_LIMIT } else { Duration::ZERO };
        let action = "stop the server";
        if let Some(status) = stopping::wait(&mut child, limit).map_err(|cause| failed(action, cause))? {
            return ended(status.success(), status, &self.folders);
        }
        let stopped = stopping::stop(&mut child, &[(Signal::TERM, TERM_LIMIT)])
            .map_err(|cause| failed(action, cause))?;
        ended(stopped.status.success(), stopped.status, &self.folders)
    }
}

fn ended(orderly: bool, status: std::process::ExitStatus, folders: &Folders) -> Result<(), EngineError> {
    match orderly {
        true => Ok(()),
        false => {
            let why = format!("it ended with {status}: {}", last_words(folders, 0));
            Err(failed("stop the server", why))
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Its data is thrown away; the parent-death signal remains where this fails.
            let _ = stopping::kill_group(&mut child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_fits_the_data_with_room() {
        assert_eq!(buffer_pool_bytes(0, 8 << 30), 128 << 20);
        assert_eq!(buffer_pool_bytes(1 << 30, 8 << 30) >> 20, 1396);
        assert_eq!(buffer_pool_bytes(1 << 40, 8 << 30), 6 << 30);
        assert_eq!(buffer_pool_bytes(1 << 40, 0), 128 << 20);
    }

    #[test]
    fn the_first_errors_of_a_log_say_why() {
        let log = "x [Note] a\n1 [ERROR] mariadbd: File './ibdata1' not found\n2 [ERROR] Plugin 'InnoDB' failed\n\
                   3 [ERROR] Unknown storage engine\n4 [ERROR] Aborting\n";
        assert_eq!(errors_of(log), "mariadbd: File './ibdata1' not found; Plugin 'InnoDB' failed");
        assert_eq!(errors_of("a\nb [Note] c"), "");
    }
}
