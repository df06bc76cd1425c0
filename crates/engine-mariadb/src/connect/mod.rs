//! Which server to connect to, as MariaDB's clients decide it: the URL, then the environment (MARIADB_* and
//! MYSQL_*), then `~/.my.cnf`, then the usual socket.
//!
//! Source: mariadb.com/kb/en/mariadb-environment-variables and "Configuring MariaDB with Option
//! Files". A password comes from MYSQL_PWD (or MARIADB_PWD) or the file; a URL with one is refused.

mod my_cnf;
mod server;
mod url;
mod version;

use mysql::{OptsBuilder, SslOpts};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use threadwise_machine::given;

use my_cnf::MyCnf;
pub use server::Server;
use url::Tls;
pub(crate) use version::require as require_version;

/// Where Debian, Red Hat and the server's own build put the socket.
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// Port of MariaDB and MySQL.
const PORT: u16 = 3306;

/// A server and an account. No `Debug`: it holds the password.
#[derive(Clone)]
pub(crate) struct Target {
    pub user: String,
    password: Option<String>,
    pub place: Endpoint,
    pub database: Option<String>,
    tls: Tls,
    authority: Option<PathBuf>,
    /// Warnings about its sources, for the user.
    pub notes: Vec<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// By a socket of this machine.
    Socket(PathBuf),
    /// By TCP.
    Tcp(String, u16),
}

/// Sources besides the URL: the environment and the file, read by [`Surroundings::read`].
pub(crate) struct Surroundings<'a> {
    /// Looks up a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of `~/.my.cnf`, and whether other users may read it.
    pub my_cnf: Option<(String, bool)>,
    /// Whether a socket exists.
    pub exists: &'a dyn Fn(&Path) -> bool,
}

/// The target that a URL names on this machine.
///
/// # Errors
/// An invalid URL, or one with a password; an invalid port.
pub(crate) fn target(url: &str) -> Result<Target, EngineError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let file = variable("HOME").map(|home| Path::new(&home).join(".my.cnf"));
    let my_cnf = file.map(|file| option_file(&file)).transpose()?.flatten();
    resolve(url, &Surroundings { variable: &variable, my_cnf, exists: &|path| path.exists() })
}

/// The text of an option file, and whether other users may read it; `None` if it does not exist or may not be read.
///
/// # Errors
/// It is not a regular file.
fn option_file(file: &Path) -> Result<Option<(String, bool)>, EngineError> {
    let Ok(found) = std::fs::metadata(file) else { return Ok(None) };
    match given::text(file, given::TEXT_BYTES) {
        Ok(text) => Ok(Some((text, found.permissions().mode() & 0o077 != 0))),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            Err(refuse("url", format!("{}: {error}", file.display())))
        }
        Err(_) => Ok(None),
    }
}

fn resolve(url: &str, around: &Surroundings<'_>) -> Result<Target, EngineError> {
    let url = url::parse(url)?;
    let variable = |name: &str| {
        let with_prefix = |prefix: &str| (around.variable)(&format!("{prefix}_{name}"));
        with_prefix("MARIADB").or_else(|| with_prefix("MYSQL"))
    };
    let mut notes = Vec::new();
    let file = match &around.my_cnf {
        Some((text, shared)) => {
            let file = my_cnf::parse(text)
                .map_err(|why| refuse("url", format!("~/.my.cnf, {why}: correct it there")))?;
            if *shared && file.password.is_some() {
                notes.push("~/.my.cnf holds a password and others may read it: chmod 600 ~/.my.cnf".into());
            }
            file
        }
        None => MyCnf::default(),
    };
    let login = || ["USER", "LOGNAME"].iter().find_map(|name| (around.variable)(name));
    let socket = url.socket.clone().map(PathBuf::from);
    let place = match (socket, url.host.clone()) {
        (Some(socket), _) => Endpoint::Socket(socket),
        (None, Some(host)) if host != "localhost" || url.port.is_some() => {
            Endpoint::Tcp(host, port(url.port, variable("TCP_PORT"), &file)?)
        }
        (None, host) => nameless(host.is_some(), &variable, &file, around)?,
    };
    let default_tls = match &place {
        Endpoint::Socket(_) => Tls::Disabled,
        Endpoint::Tcp(..) => Tls::Preferred,
    };
    Ok(Target {
        user: url.user.or(file.user).or_else(login).unwrap_or_else(|| "root".into()),
        password: variable("PWD").or(file.password),
        place,
        database: url.database,
        tls: url.tls.unwrap_or(default_tls),
        authority: url.authority.map(PathBuf::from),
        notes,
    })
}

/// If no host is given, or `localhost`, which means the socket to MariaDB's clients.
fn nameless(
    localhost: bool,
    variable: &dyn Fn(&str) -> Option<String>,
    file: &MyCnf,
    around: &Surroundings<'_>,
) -> Result<Endpoint, EngineError> {
    let host =
        variable("HOST").or_else(|| file.host.clone()).filter(|host| !localhost && host != "localhost");
    if let Some(host) = host {
        return Ok(Endpoint::Tcp(host, port(None, variable("TCP_PORT"), file)?));
    }
    let named = variable("UNIX_PORT").or_else(|| file.socket.clone()).map(PathBuf::from);
    let usual = || SOCKETS.iter().map(PathBuf::from).find(|socket| (around.exists)(socket));
    Ok(Endpoint::Socket(named.or_else(usual).unwrap_or_else(|| PathBuf::from(SOCKETS[0]))))
}

fn port(url: Option<u16>, variable: Option<String>, file: &MyCnf) -> Result<u16, EngineError> {
    if let Some(port) = url {
        return Ok(port);
    }
    let bad = |_| refuse("url", "MYSQL_TCP_PORT (or MARIADB_TCP_PORT) is not a number up to 65535".into());
    let variable = variable.map(|port| port.parse().map_err(bad)).transpose()?;
    Ok(variable.filter(|port| *port > 0).or(file.port).unwrap_or(PORT))
}

impl Target {
    /// An account without a password on a socket, for a private server.
    pub(crate) fn own(socket: PathBuf) -> Self {
        Self {
            user: "root".into(),
            password: None,
            place: Endpoint::Socket(socket),
            database: None,
            tls: Tls::Disabled,
            authority: None,
            notes: Vec::new(),
        }
    }

    /// Whether a password is known.
    pub(crate) fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Whether a connection without TLS may be tried if one with TLS is refused.
    pub(crate) fn plain_will_do(&self) -> bool {
        self.tls == Tls::Preferred
    }

    /// Options for the client library; `plain` leaves TLS out.
    pub(crate) fn options(&self, plain: bool) -> OptsBuilder {
        let options = OptsBuilder::new()
            .user(Some(self.user.clone()))
            .pass(self.password.clone())
            .db_name(self.database.clone())
            // Otherwise the library asks the server itself, and switches to a socket.
            .max_allowed_packet(Some(16 << 20))
            .prefer_socket(false)
            .tcp_connect_timeout(Some(std::time::Duration::from_secs(10)));
        let options = match &self.place {
            Endpoint::Socket(path) => options.socket(Some(path.to_string_lossy().into_owned())),
            Endpoint::Tcp(host, port) => options.ip_or_hostname(Some(host.clone())).tcp_port(*port),
        };
        match self.tls {
            _ if plain => options,
            Tls::Disabled => options,
            tls => options.ssl_opts(self.certificates(tls)),
        }
    }

    fn certificates(&self, tls: Tls) -> SslOpts {
        SslOpts::default()
            .with_root_cert_path(self.authority.clone())
            .with_danger_skip_domain_validation(tls != Tls::VerifyIdentity)
            .with_danger_accept_invalid_certs(matches!(tls, Tls::Preferred | Tls::Required))
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "socket {}", path.display()),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests;
