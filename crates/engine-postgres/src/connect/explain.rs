//! Why a connection failed, in one line with what to do next. Classes of errors: PostgreSQL
//! documentation, appendix A; none of these texts can contain a password.

use postgres::error::SqlState;
use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use threadwise_engine::EngineError;

use super::target::{Address, Target};
use super::tls;
use crate::error::{failed, server_message};

/// The oldest supported major version.
pub const OLDEST: u32 = 11;

/// What was tried.
fn action(target: &Target) -> String {
    format!("connect to {} as user '{}'", target.place(), target.user)
}

/// The error of a failed attempt.
pub fn attempt(target: &Target, cause: &postgres::Error) -> EngineError {
    failed(action(target), reason(target, cause))
}

/// The error of a failed attempt with TLS and of one without, which was made since TLS was not required.
pub fn both(target: &Target, with: &postgres::Error, without: &postgres::Error) -> EngineError {
    match without.code() {
        // The server requires TLS, so the error of TLS matters.
        Some(code) if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => failed(
            action(target),
            format!("{}; without TLS: {}", reason(target, with), reason(target, without)),
        ),
        _ => attempt(target, without),
    }
}

/// The error for a host name without an address.
pub fn unknown_host(target: &Target, cause: &io::Error) -> EngineError {
    failed(
        action(target),
        format!("the host's name has no address ({cause}); check it, or give an IP address"),
    )
}

/// The error for a server that does not answer.
pub fn no_answer(target: &Target) -> EngineError {
    failed(action(target), silence(target))
}

fn silence(target: &Target) -> String {
    let seconds = target.timeout.as_secs();
    format!("no answer within {seconds} s: check host and firewall, or raise connect_timeout")
}

/// The error if TLS cannot be set up.
pub fn no_tls(target: &Target, why: &str) -> EngineError {
    failed(action(target), why)
}

/// The error for a server that is too old.
pub fn too_old(target: &Target, version: &str) -> EngineError {
    let why = format!(
        "PostgreSQL {version} is older than {OLDEST}, the first with procedures that commit; name a newer server"
    );
    failed(action(target), why)
}

/// The error for a standby, or a server that may not be written to.
pub fn not_wanted(target: &Target) -> EngineError {
    failed(
        action(target),
        "target_session_attrs requires a server that may be written to, and this one may not: name another",
    )
}

fn reason(target: &Target, cause: &postgres::Error) -> String {
    if let Some(code) = cause.code() {
        return refused_by_server(target, code).unwrap_or_else(|| server_message(cause));
    }
    let source = cause.source();
    if let Some(error) = source.and_then(|source| source.downcast_ref::<io::Error>()) {
        return socket(target, error, cause);
    }
    let text = source.map(ToString::to_string).unwrap_or_default();
    match text.as_str() {
        "password missing" => {
            format!(
                "the server asks for a password: {}; set PGPASSWORD or write ~/.pgpass (mode 0600)",
                target.password_source
            )
        }
        "server does not support TLS" => {
            "the server has no TLS and sslmode requires it: turn ssl on there, or set sslmode=prefer".into()
        }
        "server did not use channel binding" => {
            "channel_binding is require, and the server does not offer it: it needs TLS and a password by \
             scram-sha-256"
                .into()
        }
        _ => server_message(cause),
    }
}

/// Errors with an explanation of their own.
fn refused_by_server(target: &Target, code: &SqlState) -> Option<String> {
    let Target { user, database, password_source, .. } = target;
    let why = if *code == SqlState::INVALID_PASSWORD {
        match &target.password {
            Some(_) => format!(
                "the server refuses user '{user}' with the password from {password_source}: correct it there"
            ),
            None => format!("the server asks for a password of user '{user}': {password_source}"),
        }
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        format!("there is no database '{database}': name another one in the URL, or create it with createdb")
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        "the server accepts no more connections: raise max_connections or use fewer sessions".into()
    } else if *code == SqlState::CANNOT_CONNECT_NOW {
        "the server is starting, stopping or recovering: wait until it accepts connections".into()
    } else {
        return None;
    };
    Some(format!("{why} (SQLSTATE {})", code.code()))
}

fn socket(target: &Target, error: &io::Error, cause: &postgres::Error) -> String {
    let host = matches!(target.address, Address::Host { .. });
    // A socket in the abstract name space disappears with its server.
    let named =
        matches!(&target.address, Address::Socket(folder) if folder.as_os_str().as_bytes().starts_with(b"@"));
    let missing = match error.kind() {
        ErrorKind::ConnectionRefused if named => ErrorKind::NotFound,
        kind => kind,
    };
    match missing {
        ErrorKind::NotFound => "no server has this socket: start PostgreSQL, or give its host or socket folder \
                                and port in the URL (postgres://user@host:port/database) or by PGHOST and PGPORT"
            .into(),
        ErrorKind::ConnectionRefused if host => {
            "connection refused: no server listens there; start PostgreSQL, check port and listen_addresses".into()
        }
        ErrorKind::ConnectionRefused => "connection refused: the server of this socket has ended; start it".into(),
        ErrorKind::PermissionDenied => {
            "this user may not use the socket; give a host in the URL, or run as a user that may".into()
        }
        ErrorKind::TimedOut => silence(target),
        _ if cause.to_string().contains("TLS") => {
            let fault = error.get_ref().and_then(|fault| fault.downcast_ref::<rustls::Error>());
            format!("TLS failed: {error}{}", tls::advice(target, fault))
        }
        _ => format!("{error}; is it a PostgreSQL server?"),
    }
}
