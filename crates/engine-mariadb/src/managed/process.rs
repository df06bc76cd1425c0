//! The process of a private server.

use mysql::prelude::Queryable;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_engine::servers::{Ending, Home, Launch};
use threadwise_process::space::server_memory_bytes;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{Signal, User, stopping, users};

use super::{Programs, SOCKET};
use crate::Server;
use crate::connect::Target;
use crate::options::{Managed, SCHEMA, Waits};
use crate::product::MARIADB;

/// Users that packages create for the server.
const USERS: [&str; 2] = ["mysql", "mariadb"];

/// Time limit for making a data directory.
const INSTALL_LIMIT: Duration = Duration::from_secs(120);

/// Time limit after SHUTDOWN, and after each signal.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);
const TERM_LIMIT: Duration = Duration::from_secs(20);

/// How a server is set up.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Its programs.
    pub programs: Programs,
    /// The user's options.
    pub options: Managed,
    /// Size of all data that it will hold, bytes.
    pub data_bytes: u64,
    /// Sessions at once.
    pub sessions: u32,
    /// The value of innodb_flush_log_at_trx_commit.
    pub flush_at_commit: u8,
}

pub(crate) fn socket(home: &Home) -> PathBuf {
    home.data().join(SOCKET)
}

fn tmp(home: &Home) -> PathBuf {
    home.file("tmp")
}

impl Setup {
    /// A server of the installed programs, which this looks for.
    ///
    /// # Errors
    /// They were not found, or are too old.
    pub(crate) fn find(
        options: &Managed,
        data_bytes: u64,
        sessions: u32,
        flush_at_commit: u8,
    ) -> Result<Self, EngineError> {
        let programs = Programs::find(options.bin.as_deref())?;
        Ok(Self { programs, options: options.clone(), data_bytes, sessions, flush_at_commit })
    }

    /// Makes a home and an empty data directory with the system tables; root has no password, and other users cannot
    /// enter the folder.
    ///
    /// # Errors
    /// The last lines of the tool's output.
    pub(crate) fn install(&self, home: &Home) -> Result<(), EngineError> {
        let (user, data, log) = (self.user(), home.data(), home.log());
        self.make(home)?;
        home.make_private(&data, user.as_ref())?;
        let mut args: Vec<OsString> = vec!["--no-defaults".into()];
        args.extend(self.programs.base.iter().map(|base| option("basedir", base)));
        args.push(option("datadir", &data));
        args.push(option("tmpdir", &tmp(home)));
        args.extend(
            ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
                .map(OsString::from),
        );
        let program = Program {
            program: &self.programs.install,
            args: &args,
            user: user.as_ref(),
            folder: &data,
            log: &log,
            death_signal: DeathSignal::Kill,
            cpus: None,
        };
        spawn::run(&program, INSTALL_LIMIT)
            .map(drop)
            .map_err(|cause| MARIADB.failed("make a data directory", cause))
    }

    fn arguments(&self, home: &Home) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--no-defaults".into()];
        args.extend(self.programs.base.iter().map(|base| option("basedir", base)));
        args.push(option("datadir", &home.data()));
        args.push(option("tmpdir", &tmp(home)));
        let mut set = |text: String| args.push(text.into());
        set(format!("--socket={SOCKET}"));
        set("--pid-file=mariadbd.pid".into());
        set(format!(
            "--innodb-buffer-pool-size={}",
            buffer_pool_bytes(self.data_bytes, server_memory_bytes(Path::new("/")))
        ));
        set(format!("--innodb-flush-log-at-trx-commit={}", self.flush_at_commit));
        set(format!("--max-connections={}", self.sessions.saturating_mul(2).max(100) + 50));
        // One thread a session, also if a packager chose otherwise; no thread is kept for later.
        for fixed in [
            "--skip-networking",
            // From 11.4 on a server without a certificate makes a key at every start, which takes seconds
            // (mariadb.com/kb/en/securing-connections-for-client-and-server, "zero-configuration TLS").
            // Only the server's user can reach the socket. A build without TLS has no such option.
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

/// The performance schema, if requested: InnoDB's latches and files, conditions, and the latch of metadata locks,
/// which are what sessions wait for. The note of `workload::waits` has its cost; of 1.17 times the CPU time of an
/// insert, 1.09 (95%: 1.06 to 1.13) is spent with no instrument on.
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

/// Buffer pool bytes: the data and a third more, at least the server's default of 128 MiB, and at most three quarters
/// of the free memory; reading the data shows whether it fits.
fn buffer_pool_bytes(data_bytes: u64, free_bytes: u64) -> u64 {
    let wanted = data_bytes / 10 * 13 + (64 << 20);
    wanted.min(free_bytes / 4 * 3).max(128 << 20).next_multiple_of(1 << 20)
}

fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(format!("--{name}="));
    text.push(path);
    text
}

fn errors_of(log: &str) -> String {
    let errors = log.lines().filter_map(|line| line.split_once("[ERROR] ").map(|(_, said)| said.trim()));
    errors.take(2).collect::<Vec<_>>().join("; ")
}

impl Launch for Setup {
    type Server = Server;

    // Recovery of a large log takes long.
    const START_LIMIT: Duration = Duration::from_secs(120);

    const DEATH_SIGNAL: DeathSignal = DeathSignal::Kill;

    fn user(&self) -> Option<User> {
        users::server_user(&USERS)
    }

    fn make(&self, home: &Home) -> Result<(), EngineError> {
        let user = self.user();
        home.make(user.as_ref())?;
        home.make_private(&tmp(home), user.as_ref())
    }

    fn command(&self, home: &Home) -> (PathBuf, Vec<OsString>) {
        (self.programs.server.clone(), self.arguments(home))
    }

    fn connect(&self, home: &Home) -> Result<Server, EngineError> {
        let socket = socket(home);
        match socket.exists() {
            true => Server::find(&MARIADB, Target::own(socket), SCHEMA),
            false => Err(MARIADB.failed("start the server", "it created no socket")),
        }
    }

    /// Its first errors: the last ones only report the shutdown.
    fn last_words(&self, log: &Path, from: u64) -> String {
        let text = fs::read(log).unwrap_or_default();
        let new = text.get(usize::try_from(from).unwrap_or(usize::MAX)..).unwrap_or_default();
        let errors = errors_of(&String::from_utf8_lossy(new));
        let words = if errors.is_empty() { spawn::last_words(log) } else { errors };
        if words.is_empty() { "its log has no error".to_owned() } else { words }
    }

    /// SHUTDOWN, then SIGTERM, then SIGKILL. innodb_fast_shutdown is 0 for a template, which cleans up
    /// everything; 1 is the usual; 2 leaves the work to a recovery, which never happens.
    fn stop(
        &self,
        server: &Server,
        child: &mut Child,
        home: &Home,
        ending: Ending,
    ) -> Result<(), EngineError> {
        let fast = match ending {
            Ending::Template => 0,
            Ending::Keep => 1,
            Ending::Discard => 2,
        };
        let asked = server.connect().map(|mut connection| {
            // The answer may be lost with the connection.
            let _ = connection.query_drop(format!("SET GLOBAL innodb_fast_shutdown = {fast}"));
            let _ = connection.query_drop("SHUTDOWN");
        });
        let limit = if asked.is_ok() { SHUTDOWN_LIMIT } else { Duration::ZERO };
        let action = "stop the server";
        let ended = |status: ExitStatus| match status.success() {
            true => Ok(()),
            false => {
                let last = self.last_words(&home.log(), 0);
                Err(MARIADB.failed(action, format!("it ended with {status}: {last}")))
            }
        };
        if let Some(status) = stopping::wait(child, limit).map_err(|cause| MARIADB.failed(action, cause))? {
            return ended(status);
        }
        let stopped = stopping::stop(child, &[(Signal::TERM, TERM_LIMIT)]);
        ended(stopped.map_err(|cause| MARIADB.failed(action, cause))?.status)
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
