//! Which server to connect to: the URL, then the variables of `sqlcmd` (SQLCMDUSER, SQLCMDPASSWORD).
//!
//! Source: "sqlcmd utility", environment variables, of the SQL Server documentation.

mod connection;
mod messages;
mod secret;
mod server;

use std::net::{ToSocketAddrs, UdpSocket};
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use tiberius::{AuthMethod, Config, EncryptionLevel};

use crate::options::{ServerOptions, Tls};
use crate::url;
pub(crate) use connection::{Connection, Fault, Unanswered, Unread, row_bytes};
pub use messages::hear as hear_messages;
pub(crate) use messages::heard;
use secret::Secret;
pub(crate) use server::Server;

/// A server and a login.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub user: String,
    password: Option<Secret>,
    pub host: String,
    pub port: u16,
    /// `None` for the login's default.
    pub database: Option<String>,
    pub options: ServerOptions,
}

/// The target that the options name on this machine.
///
/// # Errors
/// An invalid URL, or one with a password; an invalid password file.
pub(crate) fn target(options: ServerOptions) -> Result<Target, EngineError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    resolve(options, &variable)
}

fn resolve(options: ServerOptions, variable: &dyn Fn(&str) -> Option<String>) -> Result<Target, EngineError> {
    let url = url::parse(&options.url)?;
    let Some(user) = url.user.or_else(|| variable("SQLCMDUSER")) else {
        let why = "it names no login: sqlserver://USER@HOST/DATABASE, or give it in SQLCMDUSER";
        return Err(refuse("url", why.into()));
    };
    let password = match &options.password_file {
        Some(path) => Some(secret::of_file(path)?),
        None => variable(secret::VARIABLE).map(Secret::new),
    };
    Ok(Target { user, password, host: url.host, port: url.port, database: url.database, options })
}

impl Target {
    /// Whether a password is known.
    pub(crate) fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Options for the client library.
    fn config(&self, application: &str) -> Config {
        let mut config = Config::new();
        config.host(&self.host);
        config.port(self.port);
        config.application_name(application);
        // Loads and queries have no limit here; callers set their own.
        config.command_timeout(None);
        if let Some(database) = &self.database {
            config.database(database);
        }
        let password = self.password.as_ref().map_or("", |password| password.reveal());
        config.authentication(AuthMethod::sql_server(&self.user, password));
        match self.options.tls {
            Tls::Verify => config.encryption(EncryptionLevel::Required),
            Tls::Trust => {
                config.encryption(EncryptionLevel::Required);
                config.trust_cert();
            }
            Tls::Off => {
                config.encryption(EncryptionLevel::Off);
                config.trust_cert();
            }
            Tls::Plain => {
                config.encryption(EncryptionLevel::NotSupported);
                config.trust_cert();
            }
        }
        if let Some(authority) = &self.options.tls_ca {
            config.trust_cert_ca(authority.display());
        }
        config
    }

    /// Whether the server is reached inside this machine; a forwarded port may still lead elsewhere.
    pub(crate) fn is_near(&self) -> bool {
        self.host == "localhost" || self.host == "::1" || self.host.starts_with("127.")
    }

    /// Whether its addresses are this machine's: only such a server can be bound here.
    pub(crate) fn is_here(&self) -> bool {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs();
        addresses.is_ok_and(|all| {
            let mut all = all.peekable();
            all.peek().is_some() && all.all(|one| UdpSocket::bind((one.ip(), 0)).is_ok())
        })
    }

    /// How it is reached.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// A note on encryption.
    pub(crate) fn tls_line(&self) -> &'static str {
        match self.options.tls {
            Tls::Verify => "connections are encrypted by TLS, and the server's certificate was verified",
            Tls::Trust => {
                "connections are encrypted by TLS; the server's certificate was not checked (tls=trust)"
            }
            Tls::Off => "connections are not encrypted, except the login (tls=off)",
            Tls::Plain => "connections are not encrypted, and neither was the login (tls=plain)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Affinity;

    fn options(url: &str) -> ServerOptions {
        ServerOptions {
            url: url.into(),
            schema: "threadwise".into(),
            tls: Tls::Verify,
            tls_ca: None,
            password_file: None,
            affinity: Affinity::Keep,
        }
    }

    #[test]
    fn login_and_password_come_from_the_environment_where_the_address_has_none() {
        let variable = |name: &str| match name {
            "SQLCMDUSER" => Some("sa".to_owned()),
            "SQLCMDPASSWORD" => Some("hush".to_owned()),
            _ => None,
        };
        let target = resolve(options("sqlserver://db/shop"), &variable).unwrap();
        assert_eq!((target.user.as_str(), target.has_password(), target.is_near()), ("sa", true, false));
        assert!(!format!("{target:?}").contains("hush"));
        assert_eq!(resolve(options("sqlserver://me@127.0.0.1"), &variable).unwrap().user, "me");
        let message = resolve(options("sqlserver://db"), &|_| None).unwrap_err().to_string();
        assert!(message.contains("SQLCMDUSER"), "{message}");
    }
}
