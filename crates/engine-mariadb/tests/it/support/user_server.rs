//! A server that is not ours: as a user would have it, started by hand.

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use threadwise_study::Options;

/// The server; killed when dropped.
pub struct UserServer {
    child: Child,
    pub folder: TempDir,
}

fn owned_by_server(command: &mut Command) {
    if threadwise_process::users::is_root() {
        command.arg("--user=mysql");
    }
}

impl UserServer {
    /// Starts one with an account `root` without a password.
    pub fn start(settings: &[&str]) -> Self {
        let folder = super::folder();
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        // A server that starts removes the temporary tables of others from a shared one.
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777)).unwrap();
        let tmpdir = format!("--tmpdir={}", temporary.display());
        let mut install = Command::new("mariadb-install-db");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.arg(format!("--datadir={}", data.display())).arg(&tmpdir);
        owned_by_server(&mut install);
        let made = install.current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let passage = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&data, passage).unwrap();
        let mut server = Command::new("mariadbd");
        server.args([
            "--no-defaults",
            "--skip-networking",
            "--innodb-buffer-pool-size=64M",
            "--skip-log-bin",
        ]);
        server.arg(format!("--datadir={}", data.display())).args([&tmpdir, "--socket=s"]).args(settings);
        owned_by_server(&mut server);
        let log = File::create(log).unwrap();
        let child =
            server.current_dir(&data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut started = Self { child, folder };
        while started.try_connect().is_err() {
            assert!(started.child.try_wait().unwrap().is_none(), "the user's server ended");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        started
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("data/s")
    }

    fn try_connect(&self) -> mysql::Result<Conn> {
        self.connect_as("root")
    }

    fn connect_as(&self, user: &str) -> mysql::Result<Conn> {
        let socket = self.socket().to_string_lossy().into_owned();
        Conn::new(OptsBuilder::new().user(Some(user)).socket(Some(socket)))
    }

    /// A connection of a user without a password.
    pub fn connect(&self, user: &str) -> Conn {
        self.connect_as(user).unwrap()
    }

    /// Runs statements as its administrator.
    pub fn administer(&self, statements: &[&str]) {
        let mut connection = self.try_connect().unwrap();
        for sql in statements {
            connection.query_drop(sql).unwrap();
        }
    }

    /// One number that it says.
    pub fn number(&self, sql: &str) -> i64 {
        self.try_connect().unwrap().query_first(sql).unwrap().unwrap()
    }

    /// The engine's options for it.
    pub fn options(&self, user: &str) -> Options {
        self.options_in(user, "")
    }

    /// The engine's options for a database of it.
    pub fn options_in(&self, user: &str, database: &str) -> Options {
        let socket = self.socket().to_string_lossy().replace('/', "%2F");
        super::options(&[("url", super::text(&format!("mariadb://{user}@{socket}/{database}")))])
    }
}

impl Drop for UserServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
