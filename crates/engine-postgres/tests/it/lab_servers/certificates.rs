//! Servers with certificates by PostgreSQL's own recipes and others that psql takes: the connection is made, or the
//! message says what about the certificate is not accepted and how to make one that is.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support;

use crate::support::programs;
use crate::support::theirs::{PASSWORD, Theirs};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;
use threadwise_engine_postgres::Server;
use threadwise_engine_postgres::cluster::server_user;
use threadwise_engine_postgres::connect::{Environment, Target};

/// "Creating Certificates" in PostgreSQL's manual, the first recipe.
const SELF_SIGNED: &str =
    "openssl req -new -x509 -days 365 -nodes -text -out server.crt -keyout server.key -subj /CN=db.example";

/// The second: an authority, and a certificate without extensions.
const SIGNED: &str = "openssl req -new -nodes -text -out root.csr -keyout root.key -subj /CN=root \
    && openssl x509 -req -in root.csr -text -days 3650 -extfile /etc/ssl/openssl.cnf -extensions v3_ca -signkey root.key -out root.crt \
    && openssl req -new -nodes -text -out server.csr -keyout server.key -subj /CN=db.example \
    && openssl x509 -req -in server.csr -text -days 365 -CA root.crt -CAkey root.key -CAcreateserial -out server.crt";

struct Lab {
    theirs: Theirs,
    url: String,
    other: PathBuf,
}

impl Lab {
    fn start() -> Self {
        let theirs = Theirs::start(&programs());
        let url = format!("postgres://ada@db.example:{}/postgres?hostaddr=127.0.0.1", theirs.port);
        let other = theirs.authority.clone();
        Self { theirs, url, other }
    }

    /// Gives the server another certificate.
    fn serve(&self, recipe: &str) {
        let script = format!("{{ {recipe}; }} 2>&1 && chmod 0600 *.key");
        let made = Command::new("sh").args(["-c", &script]).current_dir(&self.theirs.data).output().unwrap();
        assert!(made.status.success(), "{recipe}: {}", String::from_utf8_lossy(&made.stdout));
        if let Some(user) = server_user() {
            for file in ["server.crt", "server.key"] {
                chown(self.theirs.data.join(file), Some(user.uid), Some(user.gid)).unwrap();
            }
        }
        let mut client = self.theirs.superuser();
        let loaded = "SELECT pg_conf_load_time()::text";
        let before: String = client.query_one(loaded, &[]).unwrap().get(0);
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
        // A session that is started after the postmaster has read its files again inherits the new ones.
        support::eventually("the server does not read its files", || {
            self.theirs.superuser().query_one(loaded, &[]).unwrap().get::<_, String>(0) != before
        });
    }

    /// Whether the connection is encrypted, or why there is none.
    fn ask(&self, mode: &str, root: Option<&str>, more: &[(&str, &str)]) -> Result<bool, String> {
        self.ask_by(&self.url, mode, root, more)
    }

    fn ask_by(
        &self,
        url: &str,
        mode: &str,
        root: Option<&str>,
        more: &[(&str, &str)],
    ) -> Result<bool, String> {
        let root = root.map(|file| self.theirs.data.join(file).display().to_string());
        let mut variables = vec![("PGPASSWORD", PASSWORD), ("PGSSLMODE", mode)];
        variables.extend(root.as_deref().map(|root| ("PGSSLROOTCERT", root)));
        variables.extend(more);
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let around = Environment { variables: pairs.collect(), ..Environment::default() };
        let target = Target::resolve(Some(url), &around).map_err(|error| error.to_string())?;
        let server = Server::reach(target, "threadwise").map_err(|error| error.to_string())?;
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        Ok(server.connect("t").unwrap().query_one(sql, &[]).unwrap().get(0))
    }

    /// A certificate made out to `db.example`, which `root` vouches for.
    fn is_taken(&self, root: &str) {
        assert_eq!(self.ask("prefer", None, &[]), Ok(true));
        for mode in ["require", "verify-ca", "verify-full"] {
            assert_eq!(self.ask(mode, Some(root), &[]), Ok(true), "{mode}");
        }
        let bound = [("PGCHANNELBINDING", "require")];
        assert_eq!(self.ask("require", None, &bound), Ok(true));
        // Another name, and another authority.
        let elsewhere = self.url.replace("db.example", "other.example");
        assert_eq!(self.ask_by(&elsewhere, "verify-ca", Some(root), &[]), Ok(true));
        let why = self.ask_by(&elsewhere, "verify-full", Some(root), &[]).unwrap_err();
        assert!(why.contains("TLS failed"), "{why}");
        let why = self.ask("verify-ca", self.other.to_str(), &[]).unwrap_err();
        assert!(why.contains("TLS failed"), "{why}");
        let why = self.ask("verify-ca", Some("system"), &[]).unwrap_err();
        assert!(why.contains("PGSSLROOTCERT"), "{why}");
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn certificates_by_the_manuals_recipes_are_taken_where_the_users_file_vouches_for_them() {
    let lab = Lab::start();
    lab.serve(SELF_SIGNED);
    lab.is_taken("server.crt");
    let why = lab.ask("verify-ca", lab.other.to_str(), &[]).unwrap_err();
    assert!(why.contains("CA:TRUE") && why.contains("basicConstraints=CA:FALSE"), "{why}");
    // The same, with the host's name as an alternative one only.
    lab.serve("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -out server.crt -keyout server.key -subj /CN=x -addext subjectAltName=DNS:db.example");
    lab.is_taken("server.crt");
    lab.serve(SIGNED);
    lab.is_taken("root.crt");
    // Version 1, and signed by itself alone.
    lab.serve("openssl req -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -out server.csr -keyout server.key -subj /CN=db.example && openssl x509 -req -in server.csr -days 2 -signkey server.key -out server.crt");
    lab.is_taken("server.crt");
    // An authority of the same name and another key.
    lab.serve(SIGNED);
    lab.serve("cp root.crt old.crt && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout new.key -out new.crt -subj /CN=root");
    let why = lab.ask("verify-ca", Some("new.crt"), &[]).unwrap_err();
    assert!(why.contains("TLS failed"), "{why}");
    assert_eq!(lab.ask("verify-ca", Some("old.crt"), &[]), Ok(true));
}

#[test]
#[ignore = "laboratory: servers"]
fn keys_that_are_not_taken_are_named_with_the_command_for_others() {
    let lab = Lab::start();
    for key in ["ec -pkeyopt ec_paramgen_curve:P-521", "rsa-pss"] {
        lab.serve(&format!("openssl req -x509 -newkey {key} -nodes -days 2 -subj /CN=db.example -keyout server.key -out server.crt"));
        for (mode, root) in [("require", None), ("verify-full", Some("server.crt"))] {
            let why = lab.ask(mode, root, &[]).unwrap_err();
            assert!(why.contains("P-256") && why.contains("rsa:2048"), "{why}");
        }
        // Where TLS is only preferred, what is said is of the connection without.
        assert_eq!(lab.ask("prefer", None, &[]), Ok(false));
        let why = lab.ask("prefer", None, &[("PGPASSWORD", "hunter2-secret-wrong")]).unwrap_err();
        assert!(why.contains("28P01") && !why.contains("TLS"), "{why}");
        let why = lab.ask("prefer", None, &[("PGPASSWORD", "")]).unwrap_err();
        assert!(why.contains("asks for a password") && !why.contains("TLS"), "{why}");
    }
    // The server asks for TLS: both are said.
    let rules = lab.theirs.data.join("pg_hba.conf");
    let text = std::fs::read_to_string(&rules).unwrap();
    std::fs::write(&rules, text.replace("host all", "hostssl all")).unwrap();
    lab.theirs.superuser().batch_execute("SELECT pg_reload_conf()").unwrap();
    support::eventually("the rules are not read", || lab.ask("prefer", None, &[]).is_err());
    let why = lab.ask("prefer", None, &[]).unwrap_err();
    assert!(why.contains("P-256") && why.contains("without TLS: ") && why.contains("28000"), "{why}");
    // The command that is named makes one that is taken.
    let (_, command) = lab
        .ask("require", None, &[])
        .unwrap_err()
        .split_once("make another: ")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    lab.serve(&command.replace("HOST", "db.example"));
    lab.is_taken("server.crt");
}
