//! `sqlserver://[user@]host[:port][/database]`, and the same with `mssql://`.
//!
//! The host is a name, an IPv4 address or an IPv6 address in brackets. A named instance (`host\NAME`) has its own
//! port, which the server's log names; the URL must give it.

use threadwise_engine::EngineError;
use threadwise_engine::servers::address::{decode, split_port};
use threadwise_engine::workloads::options::refuse;

/// The default instance's port.
const PORT: u16 = 1433;

/// Parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    pub user: Option<String>,
    pub host: String,
    pub port: u16,
    pub database: Option<String>,
}

/// Parses a URL. No message repeats it, since it may contain a password.
///
/// # Errors
/// It contains a password, or is not such a URL.
pub(crate) fn parse(text: &str) -> Result<Url, EngineError> {
    let bad = |why: &str| refuse("url", format!("{why}; write it as sqlserver://user@host:1433/database"));
    let rest = ["sqlserver://", "mssql://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .ok_or_else(|| bad("it begins with neither sqlserver:// nor mssql://"))?;
    if rest.to_ascii_lowercase().contains("password=") {
        return Err(password());
    }
    if rest.contains(['?', ';']) {
        return Err(bad("it has parameters: give them with --engine-option, such as tls=trust"));
    }
    // The last @: a password given in spite of the rule may contain one.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err(password());
    }
    let (address, database) = rest.split_once('/').unwrap_or((rest, ""));
    if address.contains('\\') || address.to_ascii_lowercase().contains("%5c") {
        return Err(bad("a named instance has its own port, which the server's log names: give that port"));
    }
    let (host, port) = split_port(address).ok_or_else(|| bad("its port is not a number from 1 to 65535"))?;
    let decoded =
        |part: &str| decode(part).ok_or_else(|| bad("it has a % that is not followed by two digits"));
    let filled = |part: &str| Ok::<_, EngineError>(Some(decoded(part)?).filter(|part| !part.is_empty()));
    Ok(Url {
        user: user.map(filled).transpose()?.flatten(),
        host: filled(host)?.unwrap_or_else(|| "localhost".to_owned()),
        port: port.unwrap_or(PORT),
        database: filled(database)?,
    })
}

fn password() -> EngineError {
    let why = "take the password out of the URL: give it in SQLCMDPASSWORD, or in a file with \
               --engine-option password_file=/path";
    refuse("url", why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_read_and_have_their_defaults() {
        let url = parse("sqlserver://CORP%5Cme@db.example:1444/shop%20two").unwrap();
        assert_eq!((url.user.as_deref(), url.host.as_str()), (Some("CORP\\me"), "db.example"));
        assert_eq!((url.port, url.database.as_deref()), (1444, Some("shop two")));
        let bare = parse("mssql://").unwrap();
        assert_eq!(
            (bare.user, bare.host.as_str(), bare.port, bare.database),
            (None, "localhost", 1433, None)
        );
        assert_eq!(parse("sqlserver://[::1]:1435").unwrap().host, "::1");
    }

    #[test]
    fn a_password_is_refused_and_never_repeated() {
        for text in ["sqlserver://me:hush@host/db", "sqlserver://me:hu@sh@host", "mssql://host?Password=hush"]
        {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains("SQLCMDPASSWORD") && !message.contains("hu"), "{message}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for (text, part) in [
            ("postgres://x", "begins with"),
            ("sqlserver://h:0", "port"),
            ("sqlserver://h:99999", "port"),
            ("sqlserver://h?x=1", "--engine-option"),
            ("sqlserver://h\\SQLEXPRESS", "instance"),
            ("sqlserver://%2/", "%"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
