//! `mariadb://[user@]host[:port][/database]` and the same with `mysql://`.
//!
//! The host may be empty (the usual socket), a name, an IPv4 address, an IPv6 address in brackets, or
//! the percent-encoded path of a socket. Parameters: `socket=/path`, `ssl-mode=disabled|preferred|
//! required|verify-ca|verify-identity`, `ssl-ca=/path`.

use threadwise_engine::EngineError;
use threadwise_engine::servers::address::{decode, split_port};
use threadwise_engine::workloads::options::refuse;

/// Required TLS, with the names of MySQL's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Never.
    Disabled,
    /// If the server has it; its certificate is not checked.
    Preferred,
    /// Required; the certificate is not checked.
    Required,
    /// Required, with a certificate of a known authority.
    VerifyCa,
    /// Required, with a certificate of a known authority for this host.
    VerifyIdentity,
}

/// Parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Url {
    pub user: Option<String>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<String>,
    pub database: Option<String>,
    pub tls: Option<Tls>,
    pub authority: Option<String>,
}

/// Parses a URL. No message repeats it, since it may hold a password.
///
/// # Errors
/// It contains a password, or is not such a URL.
pub(crate) fn parse(text: &str) -> Result<Url, EngineError> {
    let bad = |why: &str| refuse("url", format!("{why}; write it as mariadb://user@host:3306/"));
    let rest = ["mariadb://", "mysql://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .ok_or_else(|| bad("it begins with neither mariadb:// nor mysql://"))?;
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    // The last @: a password given in spite of the rule may contain one.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':'))
        || parameters.contains("password=")
        || parameters.contains("pwd=")
    {
        return Err(refuse(
            "url",
            "take the password out of the URL: give it in MYSQL_PWD, or in ~/.my.cnf under [client]".into(),
        ));
    }
    let (address, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = split_port(address).ok_or_else(|| bad("its port is not a number from 1 to 65535"))?;
    let decoded =
        |part: &str| decode(part).ok_or_else(|| bad("it has a % that is not followed by two digits"));
    let mut url = Url {
        user: user.filter(|user| !user.is_empty()).map(decoded).transpose()?,
        host: Some(decoded(host)?).filter(|host| !host.is_empty()),
        port,
        database: Some(decoded(database)?).filter(|name| !name.is_empty()),
        ..Url::default()
    };
    if url.host.as_ref().is_some_and(|host| host.starts_with('/')) {
        url.socket = url.host.take();
    }
    for pair in parameters.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value)?;
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "socket" => url.socket = Some(value),
            "ssl-ca" => url.authority = Some(value),
            "ssl-mode" => url.tls = Some(tls(&value).ok_or_else(|| bad("its ssl-mode is unknown"))?),
            _ => return Err(bad("it has a parameter other than socket, ssl-mode and ssl-ca")),
        }
    }
    Ok(url)
}

/// A TLS mode by its name.
pub(crate) fn tls(name: &str) -> Option<Tls> {
    Some(match name.to_ascii_lowercase().replace('_', "-").as_str() {
        "disabled" => Tls::Disabled,
        "preferred" => Tls::Preferred,
        "required" => Tls::Required,
        "verify-ca" => Tls::VerifyCa,
        "verify-identity" => Tls::VerifyIdentity,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_read() {
        let url = parse("mariadb://me%40x@db.example:3307/test?ssl-mode=VERIFY_CA&ssl_ca=/ca.pem").unwrap();
        assert_eq!((url.user.as_deref(), url.host.as_deref()), (Some("me@x"), Some("db.example")));
        assert_eq!((url.port, url.database.as_deref()), (Some(3307), Some("test")));
        assert_eq!((url.tls, url.authority.as_deref()), (Some(Tls::VerifyCa), Some("/ca.pem")));
        let six = parse("mysql://[::1]:3306").unwrap();
        assert_eq!((six.host.as_deref(), six.port), (Some("::1"), Some(3306)));
        assert_eq!(parse("mariadb://").unwrap(), Url::default());
        assert_eq!(parse("mariadb://%2Frun%2Fs.sock/").unwrap().socket.as_deref(), Some("/run/s.sock"));
        assert_eq!(parse("mariadb:///?socket=/run/s").unwrap().socket.as_deref(), Some("/run/s"));
    }

    #[test]
    fn a_password_is_refused_and_never_repeated() {
        for text in ["mariadb://me:hush@host/db", "mariadb://me:hu@sh@host", "mariadb://host?password=hush"] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains("MYSQL_PWD") && !message.contains("hu"), "{message}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in ["postgres://x", "mariadb://h:0", "mariadb://h:99999", "mariadb://h?x=1", "mariadb://%2/"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
