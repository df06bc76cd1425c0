//! A server that answers, and connections to it.

use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Error, Opts, OptsBuilder};
use std::fs::File;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_engine::at_end::{AtEnd, at_end};
use threadwise_engine::workloads::transaction::STATEMENT_LIMIT_SECONDS;
use threadwise_process::socket;

use super::{Endpoint, Target, require_version};
use crate::error::{advice, code};
use crate::product::Product;

/// Settings of every connection. The clock of the server's loops is UTC, so that it never jumps; the mode refuses
/// rows that do not fit, whatever the server's default is.
const SETTINGS: &str = "SET time_zone='+00:00', sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
                        autocommit=1, wait_timeout=86400";

/// Longest wait for a second connection, on which a statement is cancelled.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);

/// A server that answered, with the account used. Cheap to clone, for every thread.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    product: &'static Product,
    target: Target,
    schema: String,
    version: u32,
    version_text: String,
    plain: bool,
    /// Kept open if the socket's path is too long, since its short name goes through this descriptor.
    _folder: Option<File>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({}, {})", self.0.target.place, self.0.version_text)
    }
}

impl Server {
    /// Connects once and reads the version. `schema` is threadwise's database, which need not exist yet.
    ///
    /// # Errors
    /// No answer, a refused login, or an unsupported version.
    pub(crate) fn find(
        product: &'static Product,
        mut target: Target,
        schema: &str,
    ) -> Result<Self, EngineError> {
        // The client library uses the process's TLS provider; a build that contains two of them (such as the whole
        // workspace) has no default. If one is set already, it will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = shorten(product, &mut target)?;
        let mut plain = false;
        let first = |plain| {
            let options = target.options(plain).read_timeout(Some(Duration::from_secs(20)));
            Conn::new(Opts::from(options))
        };
        let mut connection = match first(plain) {
            Err(Error::DriverError(DriverError::TlsNotSupported)) if target.plain_will_do() => {
                plain = true;
                first(plain)
            }
            other => other,
        }
        .map_err(|cause| refused(product, &target, &cause))?;
        let version_text: String = connection
            .query_first("SELECT VERSION()")
            .map_err(|cause| refused(product, &target, &cause))?
            .unwrap_or_default();
        let version = require_version(&version_text, &target.place.to_string(), product)?;
        let schema = schema.to_owned();
        Ok(Self(Arc::new(Inner { product, target, schema, version, version_text, plain, _folder: folder })))
    }

    /// A new connection with `SETTINGS`. Statements use full names.
    ///
    /// # Errors
    /// The server is gone or refuses the login.
    pub fn connect(&self) -> Result<Conn, EngineError> {
        let settings = format!("{SETTINGS}, {}", self.product().no_limit);
        self.connect_with(self.0.target.options(self.0.plain), &settings)
    }

    /// A new connection with the settings of the user's own clients, in the address's database; this many prepared
    /// statements stay open. The server does not end it while it is parked, and ends a statement whose client was killed.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub(crate) fn connect_as_client(&self, statements: usize) -> Result<Conn, EngineError> {
        let settings = format!("SET wait_timeout=86400, {}", (self.product().limit)(STATEMENT_LIMIT_SECONDS));
        self.connect_with(self.0.target.options(self.0.plain).stmt_cache_size(statements), &settings)
    }

    fn connect_with(&self, options: OptsBuilder, settings: &str) -> Result<Conn, EngineError> {
        let mut connection = Conn::new(Opts::from(options))
            .map_err(|cause| refused(self.product(), &self.0.target, &cause))?;
        let set = connection.query_drop(settings);
        set.map_err(|cause| self.product().query("set up a connection", &cause))?;
        Ok(connection)
    }

    /// Asks the server to cancel the statement of a connection. Errors are ignored: the caller is ending.
    pub(crate) fn cancel(&self, connection_id: u32) {
        let options = self.0.target.options(self.0.plain);
        let options = options.tcp_connect_timeout(Some(CANCEL_LIMIT)).read_timeout(Some(CANCEL_LIMIT));
        if let Ok(mut second) = Conn::new(Opts::from(options)) {
            let _ = second.query_drop(format!("KILL QUERY {connection_id}"));
        }
    }

    /// Cancels the statement of a connection if this process is asked to end.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub(crate) fn cancel_at_end(&self, connection: &Conn) -> Result<AtEnd, EngineError> {
        let (server, id) = (self.clone(), connection.connection_id());
        at_end(move || server.cancel(id)).map_err(|cause| self.product().failed("catch SIGTERM", cause))
    }

    /// The product.
    pub(crate) fn product(&self) -> &'static Product {
        self.0.product
    }

    /// Threadwise's database.
    pub fn schema(&self) -> &str {
        &self.0.schema
    }

    /// Version as one number, 101119 for 10.11.19.
    pub fn version_num(&self) -> u32 {
        self.0.version
    }

    /// Version as the server reports it.
    pub fn version_text(&self) -> &str {
        &self.0.version_text
    }

    /// The account used.
    pub(crate) fn user(&self) -> &str {
        &self.0.target.user
    }

    /// How it is reached.
    pub(crate) fn place(&self) -> &Endpoint {
        &self.0.target.place
    }

    /// Whether the server is reached inside this machine; a forwarded port may still lead elsewhere.
    pub(crate) fn near(&self) -> bool {
        match &self.0.target.place {
            Endpoint::Socket(_) => true,
            Endpoint::Tcp(host, _) => host == "localhost" || host == "::1" || host.starts_with("127."),
        }
    }
}

/// A short name for a socket with a long path, through its folder's descriptor.
fn shorten(product: &Product, target: &mut Target) -> Result<Option<File>, EngineError> {
    let Endpoint::Socket(path) = &target.place else { return Ok(None) };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let found = socket::folder(folder, &name.to_string_lossy());
    let action = || format!("open the folder of the socket {}", path.display());
    let (short, held) = found.map_err(|cause| product.failed(action(), cause))?;
    target.place = Endpoint::Socket(short.join(name));
    Ok(held)
}

/// Why there is no connection, and what to do next. Never contains the password.
fn refused(product: &Product, target: &Target, cause: &Error) -> EngineError {
    let (Target { user, place, .. }, engine) = (target, product.engine());
    let action = format!("connect to {place} as '{user}'");
    let why = match (code(cause), cause) {
        (Some(1698), _) => {
            "without a password the account accepts only the system user of its name (unix_socket), \
                            which this client cannot use; name an account with a password (IDENTIFIED BY)"
                .to_owned()
        }
        (Some(1045), _) if target.has_password() => {
            "the password is wrong for this account; it came from MYSQL_PWD or ~/.my.cnf".to_owned()
        }
        (Some(1045), _) => format!(
            "the account needs a password and none was given: put it into MYSQL_PWD or ~/.my.cnf ([client] \
             password=…), or name another account ({engine}://user@host)"
        ),
        (Some(1049), _) => {
            "there is no such database; correct its name in the address, or leave it out if none is needed"
                .to_owned()
        }
        (Some(1130), _) => "the server accepts no account from this machine; GRANT one".to_owned(),
        (Some(_), _) => advice(cause),
        (None, Error::DriverError(DriverError::CouldNotConnect(Some((_, text, kind))))) => {
            absent(engine, text, *kind)
        }
        (None, Error::DriverError(DriverError::CouldNotConnect(None) | DriverError::ConnectTimeout)) => {
            "no answer; check host, port and firewall".to_owned()
        }
        (None, Error::DriverError(DriverError::TlsNotSupported)) => {
            "the server has no TLS; ssl-mode=disabled connects without it".to_owned()
        }
        (None, Error::TlsError(cause)) => {
            format!(
                "no TLS: {cause}; ssl-ca=FILE names its authority, ssl-mode=disabled connects without TLS"
            )
        }
        (None, Error::CodecError(cause)) if cause.to_string().contains("certificate") => {
            format!("no TLS: {cause}; ssl-ca=FILE names its authority, ssl-mode=required does not check it")
        }
        (None, Error::IoError(cause)) => match cause.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!("nothing there speaks {}'s protocol", product.title)
            }
            _ => format!("the connection broke: {cause}"),
        },
        (None, other) => advice(other),
    };
    product.failed(action, why)
}

fn absent(engine: &str, text: &str, kind: ErrorKind) -> String {
    match kind {
        ErrorKind::NotFound => format!(
            "there is no such socket; start the server, or name it: {engine}://user@host:3306 or MYSQL_UNIX_PORT"
        ),
        ErrorKind::ConnectionRefused => "the connection was refused; is the server running there?".to_owned(),
        ErrorKind::PermissionDenied => "this user may not open the socket".to_owned(),
        _ => text.to_owned(),
    }
}
