//! A server that answers; every thread opens its own connections to it.

use postgres::{Client, Config, NoTls, config};
use std::fmt;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use threadwise_engine::EngineError;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::locality::Locality;
use super::target::{Address, ChannelBinding, SslMode, Target, Wanted, kernel_folder};
use super::{explain, tls};
use crate::error::{failed, query};

/// A server of a supported version. Cheap to clone; every thread opens its own connections.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    target: Target,
    schema: String,
    version_num: u32,
    version: String,
    locality: Locality,
    /// Kept as long as connections are opened.
    _held: Option<std::os::fd::OwnedFd>,
}

/// Receives the texts of the server's notices.
pub(crate) type Hear = Arc<dyn Fn(&str) + Send + Sync>;

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({}, PostgreSQL {}, {:?})", self.0.target.place(), self.0.version, self.0.locality)
    }
}

impl Server {
    /// Connects once and checks that it answers, is new enough, and whether its processes run here. Threadwise's
    /// objects go into `schema`, which needs no quoting.
    ///
    /// # Errors
    /// It cannot be connected to, or is older than 11.
    pub fn reach(target: Target, schema: &str) -> Result<Self, EngineError> {
        Self::reach_by(target, schema, None)
    }

    /// As [`Server::reach`], keeping a file descriptor open that the target's path goes through.
    pub(crate) fn reach_by(
        target: Target,
        schema: &str,
        held: Option<std::os::fd::OwnedFd>,
    ) -> Result<Self, EngineError> {
        let application = target.application.as_deref().unwrap_or("threadwise");
        let mut client = attempt(&target, application, Arc::new(|_| ()))?;
        let (version_num, version) = version(&target, &mut client)?;
        is_what_is_wanted(&target, &mut client)?;
        let locality = Locality::of(&target, &mut client);
        let schema = schema.to_owned();
        Ok(Self(Arc::new(Inner { target, schema, version_num, version, locality, _held: held })))
    }

    /// A new connection for the calling thread. `application` is its application name, unless the user gave
    /// another. Its `search_path` is threadwise's schema, and no time limit of the server applies to it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn connect(&self, application: &str) -> Result<Client, EngineError> {
        self.connect_hearing(application, Arc::new(|_| ()))
    }

    /// As [`Server::connect`]; `hear` gets the text of every notice of the server. Only warnings come until
    /// `client_min_messages` is changed.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn connect_hearing(&self, application: &str, hear: Hear) -> Result<Client, EngineError> {
        let target = &self.0.target;
        let mut client = attempt(target, target.application.as_deref().unwrap_or(application), hear)?;
        let limits = format!(
            "SET search_path = {}; SET client_min_messages = warning; SET statement_timeout = 0; \
             SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0",
            self.0.schema
        );
        client.batch_execute(&limits).map_err(|cause| query("prepare a connection", &cause))?;
        if self.0.version_num >= 140_000 {
            let limit = "SET idle_session_timeout = 0";
            client.batch_execute(limit).map_err(|cause| query("prepare a connection", &cause))?;
        }
        if self.0.version_num >= 170_000 {
            let limit = "SET transaction_timeout = 0";
            client.batch_execute(limit).map_err(|cause| query("prepare a connection", &cause))?;
        }
        Ok(client)
    }

    /// How it is reached.
    pub(super) fn target(&self) -> &Target {
        &self.0.target
    }

    /// Threadwise's schema, an identifier that needs no quoting.
    pub fn schema(&self) -> &str {
        &self.0.schema
    }

    /// Whether the server's processes are visible below /proc by the numbers that it reports.
    pub fn is_local(&self) -> bool {
        matches!(self.0.locality, Locality::Here { .. })
    }

    /// Where the server's processes are.
    pub fn locality(&self) -> &Locality {
        &self.0.locality
    }

    /// `server_version_num`: 150018 for 15.18.
    pub fn version_num(&self) -> u32 {
        self.0.version_num
    }

    /// `server_version` as the server reports it: `15.18 (Debian 15.18-0+deb12u1)`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// The server's name in messages: `host port 5432`, or the path of its socket.
    pub fn place(&self) -> String {
        self.0.target.place()
    }

    /// The account used.
    pub fn user(&self) -> &str {
        &self.0.target.user
    }

    /// The database's name.
    pub fn database(&self) -> &str {
        &self.0.target.database
    }
}

/// The first value of a query by the simple protocol, which the oldest servers and poolers speak too.
fn first(client: &mut Client, doing: &str, sql: &str) -> Result<String, EngineError> {
    let rows = client.simple_query(sql).map_err(|cause| query(doing, &cause))?;
    let value = rows.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    value.map(str::to_owned).ok_or_else(|| failed(doing, "it returned no row"))
}

fn version(target: &Target, client: &mut Client) -> Result<(u32, String), EngineError> {
    let doing = "ask the server's version";
    let number = first(client, doing, "SHOW server_version_num")?;
    let text = first(client, doing, "SHOW server_version")?;
    let number: u32 =
        number.parse().map_err(|_| failed(doing, format!("'{number}' is not a version of PostgreSQL")))?;
    if number < explain::OLDEST * 10_000 {
        return Err(explain::too_old(target, &text));
    }
    Ok((number, text))
}

/// Checks `target_session_attrs` with libpq's queries.
fn is_what_is_wanted(target: &Target, client: &mut Client) -> Result<(), EngineError> {
    let doing = "ask whether the server may be written to";
    let (sql, yes) = match target.wanted {
        Wanted::Any => return Ok(()),
        Wanted::ReadWrite => ("SHOW transaction_read_only", "off"),
        Wanted::Primary => ("SELECT pg_catalog.pg_is_in_recovery()", "f"),
    };
    match first(client, doing, sql)?.as_str() == yes {
        true => Ok(()),
        false => Err(explain::not_wanted(target)),
    }
}

/// One connection, over the first address of the host that answers.
fn attempt(target: &Target, application: &str, hear: Hear) -> Result<Client, EngineError> {
    let mut base = Config::new();
    base.user(&target.user)
        .dbname(&target.database)
        .port(target.port)
        .connect_timeout(target.timeout)
        .application_name(application)
        .notice_callback(move |notice| hear(notice.message()));
    base.channel_binding(match target.channel_binding {
        ChannelBinding::Disable => config::ChannelBinding::Disable,
        ChannelBinding::Prefer => config::ChannelBinding::Prefer,
        ChannelBinding::Require => config::ChannelBinding::Require,
    });
    if let Some(password) = &target.password {
        base.password(password.reveal());
    }
    if let Some(options) = &target.options {
        base.options(options);
    }
    match &target.address {
        Address::Socket(folder) => {
            base.host_path(kernel_folder(folder));
            open(target, &base)
        }
        Address::Host { name, number } => {
            let mut last = None;
            for address in addresses(target, number.as_ref().unwrap_or(name))? {
                let mut config = base.clone();
                config.host(name).hostaddr(address);
                match open(target, &config) {
                    Ok(client) => return Ok(client),
                    Err(error) => last = Some(error),
                }
            }
            let nowhere = || explain::unknown_host(target, &std::io::ErrorKind::NotFound.into());
            Err(last.unwrap_or_else(nowhere))
        }
    }
}

/// The host's addresses, resolved on this thread: the client library would start another.
fn addresses(target: &Target, host: &str) -> Result<Vec<IpAddr>, EngineError> {
    if let Ok(number) = host.parse() {
        return Ok(vec![number]);
    }
    let found = (host, target.port).to_socket_addrs();
    Ok(found.map_err(|cause| explain::unknown_host(target, &cause))?.map(|address| address.ip()).collect())
}

/// One connection to one address, or an error if there is none in time: the client library's own limit ends with the
/// first packet, and a server may never answer after it.
fn open(target: &Target, config: &Config) -> Result<Client, EngineError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let (address, config) = (target.clone(), config.clone());
    // A thread inherits the logical CPUs of the one that starts it. It ends with the attempt, or with the process if
    // the server does not answer.
    let attempt = move || {
        // If nothing receives it any more, the connection is closed.
        let _ = sender.send(open_here(&address, &config));
    };
    let started = std::thread::Builder::new().name("connect".into()).spawn(attempt);
    started.map_err(|cause| failed("start a thread to connect", cause))?;
    receiver.recv_timeout(target.timeout).unwrap_or_else(|_| Err(explain::no_answer(target)))
}

fn open_here(target: &Target, config: &Config) -> Result<Client, EngineError> {
    let explained = |cause: &postgres::Error| explain::attempt(target, cause);
    let mut config = config.clone();
    let plain = |config: &mut Config| {
        config.ssl_mode(config::SslMode::Disable);
        config.connect(NoTls)
    };
    if target.ssl_mode == SslMode::Disable {
        return plain(&mut config).map_err(|cause| explained(&cause));
    }
    let required = target.ssl_mode > SslMode::Prefer;
    config.ssl_mode(if required { config::SslMode::Require } else { config::SslMode::Prefer });
    let tls = tls::configuration(target).map_err(|why| explain::no_tls(target, &why))?;
    match config.connect(MakeRustlsConnect::new(tls)) {
        Ok(client) => Ok(client),
        // As libpq: if TLS is only preferred, any failure of it is followed by an attempt without.
        Err(cause) if !required && without_tls_may_help(&cause) => {
            plain(&mut config).map_err(|second| explain::both(target, &cause, &second))
        }
        Err(cause) => Err(explained(&cause)),
    }
}

fn without_tls_may_help(cause: &postgres::Error) -> bool {
    use postgres::error::SqlState;
    match cause.code() {
        Some(code) => *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        None => cause.to_string().contains("TLS"),
    }
}
