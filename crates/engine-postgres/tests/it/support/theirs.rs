//! A server of the kind that users have: not ours, on TCP and on a socket, asking for passwords.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use tempfile::TempDir;
use threadwise_engine_postgres::Server;
use threadwise_engine_postgres::cluster::{self, Programs, prepare, server_user};
use threadwise_engine_postgres::connect::{Environment, Target};
use threadwise_engine_postgres::options::Managed;
use threadwise_process::spawn::{self, DeathSignal, Program};
use threadwise_process::{Signal, stopping};

/// The password of user `ada`.
pub const PASSWORD: &str = "hunter2-secret";

/// A running server with the users `ada` (may create schemas), `reader` (may not), `standby` (whose
/// transactions are read-only), all with the same password, and the superuser `threadwise`, who needs
/// none on the socket.
pub struct Theirs {
    child: Child,
    /// Its port.
    pub port: u16,
    /// Its data directory, where its socket is too.
    pub data: PathBuf,
    /// Certificate of the authority that signed the server's.
    pub authority: PathBuf,
    folder: TempDir,
}

impl Theirs {
    pub fn start(programs: &Programs) -> Self {
        let folder = super::folder();
        let home = cluster::home(folder.path(), "theirs", "");
        prepare(&home, programs, &Managed::default(), 0, 4).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let data = home.data();
        let authority = certificates(&data);
        let tls = match authority.exists() {
            true => "ssl = on\nssl_cert_file = 'server.crt'\nssl_key_file = 'server.key'\n",
            false => "",
        };
        // A socket in the abstract name space beside the one in its folder.
        let sockets = format!("unix_socket_directories = '{}, @threadwise-{port}'\n", data.display());
        let more =
            format!("listen_addresses = '127.0.0.1'\nport = {port}\nmax_connections = 20\n{sockets}{tls}");
        let conf = data.join("postgresql.conf");
        std::fs::write(&conf, std::fs::read_to_string(&conf).unwrap() + &more).unwrap();
        let rules = "local all threadwise trust\nlocal all all scram-sha-256\n\
                     host all all 127.0.0.1/32 scram-sha-256\n";
        std::fs::write(data.join("pg_hba.conf"), rules).unwrap();
        let user = server_user();
        let program = Program {
            program: &programs.postgres,
            args: &[OsString::from("-D"), data.as_os_str().to_owned()],
            user: user.as_ref(),
            folder: &data,
            log: &home.log(),
            death_signal: DeathSignal::Quit,
            cpus: None,
        };
        let child = spawn::start(&program).unwrap();
        let theirs = Self { child, port, data, authority, folder };
        super::eventually("the server does not start", || theirs.superuser_server("public").is_ok());
        let mut client = theirs.superuser();
        let roles = format!(
            "CREATE ROLE ada LOGIN PASSWORD '{PASSWORD}'; CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; \
             CREATE ROLE standby LOGIN PASSWORD '{PASSWORD}'; \
             ALTER ROLE standby SET default_transaction_read_only = on; \
             GRANT CREATE ON DATABASE postgres TO ada, standby"
        );
        client.batch_execute(&roles).unwrap();
        theirs
    }

    /// URL of the socket for a user.
    pub fn socket_url(&self, user: &str) -> String {
        format!("postgres://{user}@/postgres?host={}&port={}", self.data.display(), self.port)
    }

    /// URL of the socket in the abstract name space.
    pub fn abstract_url(&self, user: &str) -> String {
        format!("postgres://{user}@/postgres?host=@threadwise-{0}&port={0}", self.port)
    }

    /// URL of TCP for a user.
    pub fn tcp_url(&self, user: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/postgres", self.port)
    }

    /// The server as its superuser reaches it, with this schema.
    pub fn superuser_server(&self, schema: &str) -> Result<Server, String> {
        let target = Target::resolve(Some(&self.socket_url("threadwise")), &Environment::default());
        Server::reach(target.unwrap(), schema).map_err(|error| error.to_string())
    }

    /// A superuser's connection.
    pub fn superuser(&self) -> postgres::Client {
        self.superuser_server("public").unwrap().connect("superuser").unwrap()
    }

    /// The postmaster.
    pub fn postmaster(&self) -> u32 {
        self.child.id()
    }

    /// The folder of data and log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let steps = [(Signal::INT, Duration::from_secs(20)), (Signal::QUIT, Duration::from_secs(10))];
        let _ = stopping::stop(&mut self.child, &steps);
    }
}

/// An authority and a certificate of it for 127.0.0.1 in the server's folder; nothing without openssl.
fn certificates(data: &Path) -> PathBuf {
    let authority = data.join("ca.crt");
    let script = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key \
          -out ca.crt 2>/dev/null \
        && openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr 2>/dev/null \
        && echo subjectAltName=IP:127.0.0.1 > ext \
        && openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext \
          -out server.crt 2>/dev/null && chmod 0600 server.key";
    let made = Command::new("sh").args(["-c", script]).current_dir(data).status().unwrap();
    if let (true, Some(user)) = (made.success(), server_user()) {
        for entry in std::fs::read_dir(data).unwrap() {
            let path = entry.unwrap().path();
            std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid)).unwrap();
        }
    }
    authority
}
