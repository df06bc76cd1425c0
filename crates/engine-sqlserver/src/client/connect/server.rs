//! A server that answers, and connections to it.

use std::io::ErrorKind;
use std::sync::Arc;
use threadwise_engine::EngineError;
use tiberius::Row;

use super::connection::LOGGING_IN;
use super::{Connection, Fault, Target, target};
use crate::client::error::{advice, code, one_line};
use crate::failed;
use crate::options::{Affinity, ServerOptions, Tls};

/// Settings of every connection: no row counts, rollback of the whole transaction at an error, and this session as the
/// victim of a deadlock with a user's session.
const SETTINGS: &str = include_str!("../../sql/settings.sql");

/// The oldest supported version: 2014, with delayed durability and tables in memory.
const OLDEST: u32 = 12;

/// A server that answered, with the login used. Cheap to clone, for every thread.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

struct Inner {
    target: Target,
    facts: Facts,
}

/// Facts about a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Facts {
    /// First part of the version: 16 for SQL Server 2022.
    major: u32,
    /// `16.0.4135.4`.
    version: String,
    /// The first line of @@VERSION.
    product: String,
    database: String,
    /// Whether it is Babelfish, another server with the same language.
    is_babelfish: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({}, {})", self.0.target.place(), self.0.facts.version)
    }
}

impl Server {
    /// Connects once and reads the version.
    ///
    /// # Errors
    /// No answer, a refused login, or an unsupported version.
    pub(crate) fn find(options: ServerOptions) -> Result<Self, EngineError> {
        let target = target(options)?;
        let mut connection =
            Connection::open(target.config("threadwise")).map_err(|cause| refused(&target, &cause))?;
        let rows = connection.rows(include_str!("../../sql/version.sql"));
        let rows = rows.map_err(|cause| refused(&target, &cause))?;
        let facts = rows.first().and_then(facts);
        let facts = facts.ok_or_else(|| failed("read the server's version", "the answer is empty"))?;
        if facts.major < OLDEST {
            let why = format!(
                "version {} is older than 12.0 (2014), the oldest that threadwise supports; use a \
                 newer one",
                facts.version
            );
            return Err(failed(format!("use the server at {}", target.place()), why));
        }
        Ok(Self(Arc::new(Inner { target, facts })))
    }

    /// A new connection with [`SETTINGS`] and this program name.
    ///
    /// # Errors
    /// The server is gone or refuses the login.
    pub(crate) fn connect(&self, name: &str) -> Result<Connection, EngineError> {
        let target = &self.0.target;
        let mut connection =
            Connection::open(target.config(name)).map_err(|cause| refused(target, &cause))?;
        for line in SETTINGS.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
            match connection.run(line) {
                Ok(()) => {}
                // Babelfish lacks some of them, and works as if they were set.
                Err(Fault::Server(_)) if self.is_babelfish() => {}
                Err(cause) => return Err(failed("set up a connection", advice(&cause))),
            }
        }
        Ok(connection)
    }

    /// Threadwise's schema.
    pub(crate) fn schema(&self) -> &str {
        &self.0.target.options.schema
    }

    /// How its logical CPUs are treated.
    pub(crate) fn affinity(&self) -> Affinity {
        self.0.target.options.affinity
    }

    /// How it is reached, and as whom.
    pub(crate) fn target(&self) -> &Target {
        &self.0.target
    }

    /// The database of threadwise's schema.
    pub(crate) fn database(&self) -> &str {
        &self.0.facts.database
    }

    /// Whether it is Babelfish.
    pub(crate) fn is_babelfish(&self) -> bool {
        self.0.facts.is_babelfish
    }

    /// Product and version, for the result file, so that Babelfish is not taken for SQL Server.
    pub(crate) fn version_text(&self) -> String {
        match self.0.facts.is_babelfish {
            true => one_line(&self.0.facts.product),
            false => self.0.facts.version.clone(),
        }
    }
}

fn facts(row: &Row) -> Option<Facts> {
    let text = |at: usize| row.try_get::<&str, _>(at).ok().flatten().unwrap_or_default().to_owned();
    let (version, all) = (text(0), text(1));
    Some(Facts {
        major: version.split('.').next()?.parse().ok()?,
        version,
        product: all.lines().next().unwrap_or_default().trim().to_owned(),
        database: text(2),
        is_babelfish: all.contains("Babelfish"),
    })
}

/// Why there is no connection, and what to do next. Never contains the password.
fn refused(target: &Target, cause: &Fault) -> EngineError {
    let action = format!("connect to {} as '{}'", target.place(), target.user);
    let why = match (code(cause), cause) {
        (Some(18456), _) if target.has_password() => {
            "login or password is wrong (error 18456); the password came from SQLCMDPASSWORD or password_file"
                .to_owned()
        }
        (Some(18456), _) => "the login needs a password and none was given: put it into SQLCMDPASSWORD, or into a \
                             file (--engine-option password_file=/path)"
            .to_owned(),
        (Some(18452 | 18461), _) => {
            "it does not accept logins of this kind; use a SQL Server login with a password (mixed mode)".to_owned()
        }
        (Some(18470 | 18486 | 18487 | 18488), _) => advice(cause) + "; ask its administrator to correct it",
        (Some(4060 | 911), _) => "there is no such database, or the login may not open it; correct its name in the \
                                  address, or leave it out for the login's own"
            .to_owned(),
        (Some(_), _) if !target.has_password() => {
            advice(cause) + "; no password was given: SQLCMDPASSWORD or --engine-option password_file=/path"
        }
        (Some(_), _) => advice(cause),
        (None, Fault::Tls(cause)) => no_tls(target.options.tls, cause),
        (None, Fault::Io { kind, message }) => match kind {
            ErrorKind::ConnectionRefused => "the connection was refused; is the server running there, and does it \
                                             listen on TCP?"
                .to_owned(),
            ErrorKind::TimedOut if message.contains(LOGGING_IN) => {
                let plain = match target.options.tls {
                    Tls::Off => {
                        " For a server without TLS give --engine-option tls=plain, which sends the password unencrypted"
                    }
                    _ => "",
                };
                format!("it accepts connections and does not answer; is this a port of SQL Server?{plain}")
            }
            ErrorKind::TimedOut => "no answer; check host, port and firewall".to_owned(),
            _ if message.contains("certificate") => no_tls(target.options.tls, message),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
                "the connection was closed before the login; is this a port of SQL Server, and does it have TLS? For a \
                 server without TLS give --engine-option tls=plain, which sends the password unencrypted"
                    .to_owned()
            }
            _ => format!("the program that answers there is not SQL Server ({})", one_line(message)),
        },
        // The library's message if the server cannot encrypt and the options require it.
        (None, Fault::Protocol(cause)) if cause.contains("encryption level") => {
            "no TLS: the server has none; ask its administrator to set it up, or give --engine-option tls=plain, which \
             sends the password unencrypted"
                .to_owned()
        }
        (None, other) => format!("the program that answers there is not SQL Server ({})", advice(other)),
    };
    failed(action, why)
}

fn no_tls(tls: Tls, cause: &str) -> String {
    let cause = one_line(cause);
    // The library's advice is for programmers.
    let cause = cause.split(". To connect anyway").next().unwrap_or_default();
    match tls {
        Tls::Verify => format!(
            "no TLS: {cause}; --engine-option tls_ca=/FILE names its authority, tls=trust does not check its \
             certificate"
        ),
        Tls::Trust => format!("no TLS: {cause}; --engine-option tls=off encrypts the login alone"),
        Tls::Off => format!(
            "no TLS: {cause}; the login needs it: ask the server's administrator to set it up, or give \
             --engine-option tls=plain, which sends the password unencrypted"
        ),
        Tls::Plain => format!("no TLS: {cause}; the server requires it: give --engine-option tls=trust"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tls: Tls, url: &str) -> Target {
        let options = ServerOptions {
            url: url.into(),
            schema: "s".into(),
            tls,
            tls_ca: None,
            password_file: None,
            affinity: Affinity::Keep,
        };
        super::super::resolve(options, &|_| None).unwrap()
    }

    #[test]
    fn why_there_is_no_connection_says_what_to_do() {
        let target = of(Tls::Verify, "sqlserver://me@db");
        let io = |kind, message: &str| Fault::Io { kind, message: message.into() };
        for (cause, part) in [
            (io(ErrorKind::ConnectionRefused, "x"), "refused; is the server running"),
            (io(ErrorKind::TimedOut, "x"), "firewall"),
            (io(ErrorKind::UnexpectedEof, "x"), "does it have TLS"),
            (io(ErrorKind::InvalidData, "invalid peer certificate"), "tls=trust"),
            (Fault::Tls("handshake\nfailed".into()), "no TLS: handshake failed; --engine-option tls_ca"),
        ] {
            let message = refused(&target, &cause).to_string();
            assert!(message.contains("connect to db:1433 as 'me'") && message.contains(part), "{message}");
        }
        let plain = refused(&of(Tls::Trust, "sqlserver://me@db"), &Fault::Tls("x".into())).to_string();
        assert!(plain.contains("tls=off"), "{plain}");
    }
}
