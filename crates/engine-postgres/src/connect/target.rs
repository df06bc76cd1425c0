//! Which server to connect to: URL, service file, environment and defaults combined, in libpq's order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_engine::EngineError;

use super::environment::Environment;
use super::parameters::{PARAMETERS, Parameter, SESSION, Use};
use super::passfile::{self, Lookup};
use super::secret::Secret;
use super::{service, url};
use crate::error::refuse;

/// PostgreSQL's port.
const DEFAULT_PORT: u16 = 5432;

/// `sslrootcert` for the system's authorities (from libpq 16 on, with `verify-full` alone).
const SYSTEM: &str = "system";

/// Default time limit of a connection attempt; libpq would wait for ever.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A folder with its Unix socket, or `@NAME`: one in the abstract name space (unix(7)).
    Socket(PathBuf),
    /// A host by name or number; if `number` is given, it is the address to connect to, and TLS checks the name.
    Host {
        /// The name.
        name: String,
        /// Its address (`hostaddr`).
        number: Option<String>,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(folder) => write!(f, "{}", folder.display()),
            Self::Host { name, .. } => f.write_str(name),
        }
    }
}

/// Required TLS (libpq's `sslmode`). Unix sockets never use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// None.
    Disable,
    /// If the server has it; `allow` is treated as this, too.
    Prefer,
    /// Always, without checking the server's identity.
    Require,
    /// With a certificate of a known authority.
    VerifyCa,
    /// With a certificate of a known authority for this host.
    VerifyFull,
}

/// Whether a password is bound to the TLS connection that it is proved on (libpq's `channel_binding`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelBinding {
    /// No.
    Disable,
    /// If the server supports it.
    Prefer,
    /// Required.
    Require,
}

/// Required state of the server (libpq's `target_session_attrs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Any.
    Any,
    /// Its sessions may write.
    ReadWrite,
    /// It is not a standby.
    Primary,
}

/// A server, and how to connect to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// Port, also part of a socket's name.
    pub port: u16,
    /// User.
    pub user: String,
    /// Database.
    pub database: String,
    /// The password, if one was found.
    pub password: Option<Secret>,
    /// Where the password came from, or why there is none; shown if the server refuses it.
    pub password_source: String,
    /// Required TLS.
    pub ssl_mode: SslMode,
    /// Whether the password is bound to the TLS connection.
    pub channel_binding: ChannelBinding,
    /// Required state of the server.
    pub wanted: Wanted,
    /// File of trusted authorities; `None` for the system's.
    pub ssl_root: Option<PathBuf>,
    /// Time limit of a connection attempt.
    pub timeout: Duration,
    /// Application name, if the user gave one.
    pub application: Option<String>,
    /// Server settings to start sessions with (`-c name=value`).
    pub options: Option<String>,
}

impl Target {
    /// The server that a URL, if given, and the environment name.
    ///
    /// # Errors
    /// A password in the URL, or anything invalid in it, in the service file or in the environment.
    pub fn resolve(url: Option<&str>, environment: &Environment) -> Result<Self, EngineError> {
        let given = url.map(url::parse).transpose()?.unwrap_or_default();
        let name = given.get("service").map(String::as_str).or_else(|| environment.variable("PGSERVICE"));
        let service = name.map(|name| service::look_up(name, environment)).transpose()?.unwrap_or_default();
        Settings { from_url: &given, service: &service, environment }.target()
    }

    /// A private server behind its socket, which asks for no password.
    pub fn of_socket(folder: &Path, user: &str) -> Self {
        Self {
            address: Address::Socket(folder.to_owned()),
            port: DEFAULT_PORT,
            user: user.to_owned(),
            database: "postgres".into(),
            password: None,
            password_source: "this server asks for none".into(),
            ssl_mode: SslMode::Disable,
            channel_binding: ChannelBinding::Prefer,
            wanted: Wanted::Any,
            ssl_root: None,
            timeout: DEFAULT_TIMEOUT,
            application: None,
            options: None,
        }
    }

    /// `HOST port PORT`, or the socket's path.
    pub fn place(&self) -> String {
        match &self.address {
            Address::Socket(folder) => socket_path(folder, self.port).display().to_string(),
            Address::Host { name, .. } => format!("{name} port {}", self.port),
        }
    }
}

/// The folder as the kernel expects it: names of the abstract name space begin with a NUL, for which libpq writes `@`.
pub(super) fn kernel_folder(folder: &Path) -> Cow<'_, Path> {
    match folder.as_os_str().as_bytes() {
        [b'@', name @ ..] => Cow::Owned(OsString::from_vec([b"\0", name].concat()).into()),
        _ => Cow::Borrowed(folder),
    }
}

/// Path of a server's socket.
pub(super) fn socket_path(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

/// Sources of parameters.
struct Settings<'a> {
    from_url: &'a BTreeMap<String, String>,
    service: &'a BTreeMap<String, String>,
    environment: &'a Environment,
}

impl<'a> Settings<'a> {
    /// The URL first, then the service file, then the environment.
    fn get(&self, name: &str, variable: &str) -> Option<&'a str> {
        self.find(name, variable).map(|(text, _)| text)
    }

    /// A value, and the name of its source for errors.
    fn find<'b>(&self, name: &str, variable: &'b str) -> Option<(&'a str, &'b str)> {
        let filled = |map: &'a BTreeMap<String, String>| {
            map.get(name).filter(|text| !text.is_empty()).map(String::as_str)
        };
        let from_url = filled(self.from_url).map(|text| (text, "url"));
        let text = from_url.or_else(|| filled(self.service).map(|text| (text, "service")));
        text.or_else(|| self.environment.variable(variable).map(|text| (text, variable)))
    }

    fn target(&self) -> Result<Target, EngineError> {
        let user = match self.get("user", "PGUSER").or(self.environment.user.as_deref()) {
            Some(user) => user.to_owned(),
            None => {
                return Err(refuse(
                    "url",
                    "no user is named and your own has no name on this system: set PGUSER",
                ));
            }
        };
        let database = self.get("dbname", "PGDATABASE").unwrap_or(&user).to_owned();
        let address = self.one_address()?;
        let port = self.port()?;
        let address = address.unwrap_or_else(|| Address::Socket(self.default_folder(port)));
        let (password, password_source) = self.password(&address, port, &database, &user);
        let socket = matches!(address, Address::Socket(_));
        let ssl_mode = if socket { SslMode::Disable } else { self.ssl_mode()? };
        self.refuse_what_is_not_done(ssl_mode)?;
        Ok(Target {
            channel_binding: self.channel_binding(ssl_mode)?,
            wanted: self.wanted()?,
            ssl_root: self.ssl_root()?,
            timeout: self.timeout()?,
            application: self.get("application_name", "PGAPPNAME").map(str::to_owned),
            options: self.options(),
            address,
            port,
            user,
            database,
            password,
            password_source,
            ssl_mode,
        })
    }

    /// Refuses everything that libpq would do and this program does not.
    fn refuse_what_is_not_done(&self, ssl_mode: SslMode) -> Result<(), EngineError> {
        for Parameter { name, variable, what } in PARAMETERS {
            let (done, advice) = match what {
                Use::Only(done, advice) => (done, advice),
                Use::OnlyTls(done, advice) if ssl_mode > SslMode::Disable => (done, advice),
                Use::OnlyTls(..) | Use::Used | Use::Ignored => continue,
            };
            // The value is not repeated: it may be a secret.
            if let Some((_, place)) = self.find(name, variable).filter(|(value, _)| !done.contains(value)) {
                return Err(refuse(place, format!("{name}: {advice}")));
            }
        }
        // libpq reads these files by default.
        let list = self.environment.home.as_ref().map(|home| home.join(".postgresql/root.crl"));
        match list.filter(|list| ssl_mode >= SslMode::VerifyCa && list.is_file()) {
            Some(list) => {
                let why =
                    format!("{} is not supported: set sslmode=require if that is acceptable", list.display());
                Err(refuse("sslcrl", why))
            }
            None => Ok(()),
        }
    }

    /// `options`, with the variables that libpq turns into settings of the session.
    fn options(&self) -> Option<String> {
        let given = self.get("options", "PGOPTIONS").map(str::to_owned);
        let by_variable = SESSION.iter().filter_map(|(variable, setting)| {
            let value =
                self.environment.variable(variable).filter(|value| !value.eq_ignore_ascii_case("default"))?;
            // In options a space ends a word unless a backslash precedes it.
            Some(format!("-c {setting}={}", value.replace('\\', "\\\\").replace(' ', "\\ ")))
        });
        let all: Vec<String> = given.into_iter().chain(by_variable).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    fn port(&self) -> Result<u16, EngineError> {
        let Some(text) = self.get("port", "PGPORT") else { return Ok(DEFAULT_PORT) };
        // The text is not repeated: it may be a part of a password.
        let port = text.parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| {
            refuse("url", "the port (URL, service file or PGPORT) is not a number from 1 to 65535")
        })
    }

    /// The named address; `None` if none is named.
    fn one_address(&self) -> Result<Option<Address>, EngineError> {
        for (name, variable) in [("host", "PGHOST"), ("hostaddr", "PGHOSTADDR"), ("port", "PGPORT")] {
            if let Some((_, place)) = self.find(name, variable).filter(|(text, _)| text.contains(',')) {
                return Err(refuse(place, url::SEVERAL_HOSTS));
            }
        }
        let number = self.get("hostaddr", "PGHOSTADDR").map(str::to_owned);
        Ok(match (self.get("host", "PGHOST"), number) {
            (Some(folder), None) if folder.starts_with(['/', '@']) => Some(Address::Socket(folder.into())),
            (Some(name), number) => Some(Address::Host { name: name.to_owned(), number }),
            (None, Some(number)) => Some(Address::Host { name: number.clone(), number: Some(number) }),
            (None, None) => None,
        })
    }

    /// The first folder that has the socket, else the first.
    fn default_folder(&self, port: u16) -> PathBuf {
        let folders = &self.environment.socket_folders;
        let found = folders.iter().find(|folder| socket_path(folder, port).exists());
        found.or(folders.first()).cloned().unwrap_or_else(|| "/tmp".into())
    }

    fn password(&self, address: &Address, port: u16, database: &str, user: &str) -> (Option<Secret>, String) {
        if let Some(password) = self.service.get("password") {
            return (Some(Secret::new(password)), "the service file".into());
        }
        if let Some(password) = self.environment.variable("PGPASSWORD") {
            return (Some(Secret::new(password)), "PGPASSWORD".into());
        }
        let named = self.get("passfile", "PGPASSFILE").map(PathBuf::from);
        let default = || Some(self.environment.home.as_ref()?.join(".pgpass"));
        let Some(path) = named.or_else(default) else {
            return (None, "PGPASSWORD is not set".into());
        };
        let text = address.to_string();
        let socket =
            matches!(address, Address::Socket(folder) if self.environment.socket_folders.contains(folder));
        let hosts = if socket { vec!["localhost", &text] } else { vec![text.as_str()] };
        let shown = path.display();
        match passfile::look_up(&path, &hosts, port, database, user) {
            Lookup::Found(password) => (Some(password), shown.to_string()),
            Lookup::NoLine => (None, format!("PGPASSWORD is not set, and no line of {shown} matches")),
            Lookup::NoFile => (None, format!("PGPASSWORD is not set, and there is no {shown}")),
            Lookup::Ignored(why) => (None, format!("PGPASSWORD is not set, and {why}")),
        }
    }

    fn ssl_mode(&self) -> Result<SslMode, EngineError> {
        let by_system = self.get("sslrootcert", "PGSSLROOTCERT") == Some(SYSTEM);
        let old =
            self.get("requiressl", "PGREQUIRESSL").filter(|old| old.starts_with('1')).map(|_| "require");
        let default = if by_system { "verify-full" } else { "prefer" };
        let mode = match self.get("sslmode", "PGSSLMODE").or(old).unwrap_or(default) {
            "disable" => SslMode::Disable,
            "allow" | "prefer" => SslMode::Prefer,
            // With a file of authorities, named or in the home folder, libpq checks it ("backwards compatibility").
            "require" if self.ssl_root()?.is_some() => SslMode::VerifyCa,
            "require" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            _ => {
                return Err(refuse(
                    "url",
                    "sslmode (or PGSSLMODE) is not one of: disable, allow, prefer, require, verify-ca, verify-full",
                ));
            }
        };
        if mode != SslMode::VerifyFull && by_system {
            let why =
                "sslrootcert is system, which accepts a certificate for any host: set sslmode=verify-full";
            return Err(refuse("sslmode", why));
        }
        if mode == SslMode::VerifyCa && self.ssl_root()?.is_none() {
            let why = "without a file of an authority, any certificate that the system trusts would be accepted: name \
                       a file by PGSSLROOTCERT, or set sslmode=verify-full";
            return Err(refuse("sslmode", why));
        }
        Ok(mode)
    }

    fn ssl_root(&self) -> Result<Option<PathBuf>, EngineError> {
        match self.get("sslrootcert", "PGSSLROOTCERT") {
            Some(SYSTEM) => Ok(None),
            Some(path) if Path::new(path).is_file() => Ok(Some(path.into())),
            Some(path) => {
                Err(refuse("url", format!("sslrootcert (or PGSSLROOTCERT): there is no file {path}")))
            }
            None => {
                let home = self.environment.home.as_ref();
                Ok(home.map(|home| home.join(".postgresql/root.crt")).filter(|path| path.is_file()))
            }
        }
    }

    fn timeout(&self) -> Result<Duration, EngineError> {
        let Some(text) = self.get("connect_timeout", "PGCONNECT_TIMEOUT") else { return Ok(DEFAULT_TIMEOUT) };
        let bad =
            || refuse("url", "connect_timeout (or PGCONNECT_TIMEOUT) is not a number of seconds up to 3600");
        match text.parse::<u64>().map_err(|_| bad())? {
            0 => Ok(DEFAULT_TIMEOUT),
            seconds if seconds <= 3600 => Ok(Duration::from_secs(seconds)),
            _ => Err(bad()),
        }
    }

    fn channel_binding(&self, ssl_mode: SslMode) -> Result<ChannelBinding, EngineError> {
        let Some((text, place)) = self.find("channel_binding", "PGCHANNELBINDING") else {
            return Ok(ChannelBinding::Prefer);
        };
        match text {
            "disable" => Ok(ChannelBinding::Disable),
            "prefer" => Ok(ChannelBinding::Prefer),
            "require" if ssl_mode == SslMode::Disable => Err(refuse(
                place,
                "channel_binding is require, and TLS is not in use: name a host and set sslmode=require",
            )),
            "require" => Ok(ChannelBinding::Require),
            _ => Err(refuse(place, "channel_binding is not one of: disable, prefer, require")),
        }
    }

    /// Only servers that can be written to are of use, so there is little to choose.
    fn wanted(&self) -> Result<Wanted, EngineError> {
        match self.find("target_session_attrs", "PGTARGETSESSIONATTRS") {
            None | Some(("any", _)) => Ok(Wanted::Any),
            Some(("read-write", _)) => Ok(Wanted::ReadWrite),
            Some(("primary", _)) => Ok(Wanted::Primary),
            Some((_, place)) => {
                Err(refuse(place, "target_session_attrs must be any, read-write or primary, for making data"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(variables: &[(&str, &str)]) -> Environment {
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment {
            variables: pairs.collect(),
            home: None,
            user: Some("ada".into()),
            socket_folders: vec!["/nowhere/run".into(), "/nowhere/tmp".into()],
        }
    }

    fn target(url: Option<&str>, variables: &[(&str, &str)]) -> Target {
        Target::resolve(url, &surroundings(variables)).unwrap()
    }

    #[test]
    fn nothing_said_means_the_socket_and_the_own_name() {
        let found = target(None, &[]);
        assert_eq!(found.address, Address::Socket("/nowhere/run".into()));
        assert_eq!((found.user.as_str(), found.database.as_str(), found.port), ("ada", "ada", 5432));
        assert_eq!((found.ssl_mode, found.timeout), (SslMode::Disable, DEFAULT_TIMEOUT));
        assert_eq!(found.place(), "/nowhere/run/.s.PGSQL.5432");
    }

    #[test]
    fn a_socket_that_is_there_is_preferred() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".s.PGSQL.5432"), "").unwrap();
        let mut environment = surroundings(&[]);
        environment.socket_folders[1] = folder.path().to_owned();
        let found = Target::resolve(None, &environment).unwrap();
        assert_eq!(found.address, Address::Socket(folder.path().to_owned()));
    }

    #[test]
    fn the_url_comes_before_the_environment() {
        let variables = [
            ("PGHOST", "envhost"),
            ("PGPORT", "6000"),
            ("PGUSER", "bob"),
            ("PGDATABASE", "sales"),
            ("PGSSLMODE", "require"),
            ("PGCONNECT_TIMEOUT", "3"),
            ("PGAPPNAME", "mine"),
            ("PGOPTIONS", "-c work_mem=1MB"),
            ("PGPASSWORD", "hunter2"),
        ];
        let found = target(None, &variables);
        assert_eq!(found.address, Address::Host { name: "envhost".into(), number: None });
        assert_eq!((found.port, found.user.as_str(), found.database.as_str()), (6000, "bob", "sales"));
        assert_eq!((found.ssl_mode, found.timeout.as_secs()), (SslMode::Require, 3));
        assert_eq!(
            (found.application.as_deref(), found.options.as_deref()),
            (Some("mine"), Some("-c work_mem=1MB"))
        );
        assert_eq!(found.password, Some(Secret::new("hunter2")));
        assert!(!format!("{found:?}").contains("hunter2"));
        let found =
            target(Some("postgres://carol@[::1]:7000/x?sslmode=disable&hostaddr=127.0.0.1"), &variables);
        let address = Address::Host { name: "::1".into(), number: Some("127.0.0.1".into()) };
        assert_eq!((found.address, found.port, found.user.as_str()), (address, 7000, "carol"));
        assert_eq!((found.database.as_str(), found.ssl_mode), ("x", SslMode::Disable));
    }

    #[test]
    fn services_come_between_url_and_environment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("services");
        std::fs::write(&path, "[lab]\nhost=lab\nuser=eve\npassword=hunter2\n").unwrap();
        let path = path.display().to_string();
        let variables = [("PGSERVICEFILE", path.as_str()), ("PGHOST", "envhost"), ("PGSERVICE", "lab")];
        let found = target(Some("postgres:///db?user=zoe"), &variables);
        assert_eq!((found.address.to_string().as_str(), found.user.as_str()), ("lab", "zoe"));
        assert_eq!(
            (found.password, found.password_source.as_str()),
            (Some(Secret::new("hunter2")), "the service file")
        );
        let missing = Target::resolve(Some("postgres://?service=none"), &surroundings(&variables));
        assert!(missing.unwrap_err().to_string().contains("'none'"));
    }

    #[test]
    fn a_name_of_the_abstract_name_space_is_a_socket() {
        for (url, variables) in [
            ("postgres://%40lab/db", &[][..]),
            ("postgres:///db?host=@lab", &[]),
            ("postgres:///db?host=%40lab&sslmode=verify-full", &[]),
            ("postgres:///db", &[("PGHOST", "@lab")]),
        ] {
            let found = target(Some(url), variables);
            assert_eq!(found.address, Address::Socket("@lab".into()), "{url}");
            assert_eq!((found.place().as_str(), found.ssl_mode), ("@lab/.s.PGSQL.5432", SslMode::Disable));
        }
        assert_eq!(kernel_folder(Path::new("@lab")).as_os_str().as_bytes(), b"\0lab");
        assert_eq!(kernel_folder(Path::new("/run/@lab")).as_os_str().as_bytes(), b"/run/@lab");
    }

    #[test]
    fn several_hosts_are_refused_wherever_they_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("services");
        std::fs::write(&file, "[lab]\nhost=one,two\n").unwrap();
        let service = [("PGSERVICEFILE", file.to_str().unwrap()), ("PGSERVICE", "lab")];
        for (variables, place) in [
            (&[("PGHOST", "/nowhere,/tmp")][..], "PGHOST"),
            (&[("PGHOST", "@a,@b")], "PGHOST"),
            (&[("PGHOSTADDR", "127.0.0.1,127.0.0.2")], "PGHOSTADDR"),
            (&[("PGHOST", "h"), ("PGPORT", "1,2")], "PGPORT"),
            (&service, "service"),
        ] {
            let why =
                Target::resolve(Some("postgres:///db"), &surroundings(variables)).unwrap_err().to_string();
            assert!(why.contains(place) && why.contains("it names several hosts"), "{why}");
        }
    }

    #[test]
    fn the_systems_authorities_are_asked_for_the_hosts_name_too() {
        let mode = |variables: &[(&str, &str)]| {
            let found = Target::resolve(Some("postgres://h"), &surroundings(variables));
            found.map(|it| (it.ssl_mode, it.ssl_root)).map_err(|error| error.to_string())
        };
        let system = ("PGSSLROOTCERT", "system");
        assert_eq!(mode(&[system]), Ok((SslMode::VerifyFull, None)));
        assert_eq!(mode(&[system, ("PGSSLMODE", "verify-full")]), Ok((SslMode::VerifyFull, None)));
        for weak in ["disable", "allow", "prefer", "require", "verify-ca"] {
            assert!(mode(&[system, ("PGSSLMODE", weak)]).unwrap_err().contains("verify-full"), "{weak}");
        }
        assert!(mode(&[system, ("PGREQUIRESSL", "1")]).unwrap_err().contains("verify-full"));
        assert!(mode(&[("PGSSLMODE", "verify-ca")]).unwrap_err().contains("PGSSLROOTCERT"));
        assert_eq!(mode(&[("PGSSLMODE", "verify-full")]), Ok((SslMode::VerifyFull, None)));
    }

    #[test]
    fn an_authority_at_home_is_asked_under_require() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".postgresql/root.crt");
        let at_home = Environment { home: Some(home.path().to_owned()), ..surroundings(&[]) };
        let mode = || {
            Target::resolve(Some("postgres://h?sslmode=require"), &at_home)
                .map(|it| (it.ssl_mode, it.ssl_root))
        };
        assert_eq!(mode().unwrap(), (SslMode::Require, None));
        std::fs::create_dir(home.path().join(".postgresql")).unwrap();
        std::fs::write(&file, "").unwrap();
        assert_eq!(mode().unwrap(), (SslMode::VerifyCa, Some(file)));
    }

    #[test]
    fn sockets_stand_as_localhost_in_the_password_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        std::fs::write(&path, "localhost:5432:ada:ada:one\n/other:*:*:*:two\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let variables = [("PGPASSFILE", path.to_str().unwrap())];
        assert_eq!(target(None, &variables).password, Some(Secret::new("one")));
        let other = target(Some("postgres://%2Fother"), &variables);
        assert_eq!(other.password, Some(Secret::new("two")));
        let none = target(Some("postgres://host"), &variables);
        assert!(none.password.is_none() && none.password_source.contains("no line of"));
    }

    #[test]
    fn what_cannot_be_is_refused_without_repeating_it() {
        for (url, part) in [
            ("postgres://h:secret", "1 to 65535"),
            ("postgres://h:0", "1 to 65535"),
            ("postgres://h?sslmode=secret", "verify-full"),
            ("postgres://h?connect_timeout=secret", "seconds"),
            ("postgres://h?target_session_attrs=standby", "read-write"),
            ("postgres://h?sslrootcert=/nowhere/ca", "/nowhere/ca"),
            ("postgres:///db?host=secret,b", "several hosts"),
            ("postgres:///db?host=/secret,/b", "several hosts"),
            ("postgres://h/db?hostaddr=127.0.0.1,127.0.0.2", "several hosts"),
            ("postgres://h/db?port=1,2", "several hosts"),
        ] {
            let message = Target::resolve(Some(url), &surroundings(&[])).unwrap_err().to_string();
            assert!(message.contains(part) && !message.contains("secret"), "{message}");
        }
        let nobody = Environment { user: None, ..surroundings(&[]) };
        assert!(Target::resolve(None, &nobody).unwrap_err().to_string().contains("PGUSER"));
    }
}
