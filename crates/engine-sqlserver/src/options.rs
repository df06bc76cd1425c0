//! The engine's options: the server, and how to connect to it.

use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::{only, path, refuse, text, word};
use threadwise_study::Options;
use threadwise_study::engine::{AFFINITY, AFFINITY_KEEP, AFFINITY_SET};

/// Threadwise's schema, unless the user gives another name.
pub(crate) const SCHEMA: &str = "threadwise";

/// Schemas of the server, and those that every database has.
const THEIRS: [&str; 5] = ["sys", "dbo", "guest", "information_schema", "public"];

/// Required TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    /// With a certificate of a known authority for this host.
    Verify,
    /// Everything is encrypted; the certificate is not checked.
    Trust,
    /// Only the login is encrypted.
    Off,
    /// Nothing is encrypted, for servers without TLS.
    Plain,
}

/// How the server's logical CPUs are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Affinity {
    /// The server is bound to each treatment's, and restored.
    Set,
    /// The server is not bound.
    Keep,
}

/// A server of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerOptions {
    /// Its URL, without a password.
    pub url: String,
    /// Threadwise's schema.
    pub schema: String,
    /// Required TLS.
    pub tls: Tls,
    /// File with the authority of its certificate; `None` for those that the system knows.
    pub tls_ca: Option<PathBuf>,
    /// File with the password, if it is not in the environment.
    pub password_file: Option<PathBuf>,
    /// Whether it is bound to placements.
    pub affinity: Affinity,
}

/// Reads and checks the engine's options.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn parse(options: &Options) -> Result<ServerOptions, EngineError> {
    only(options, "the engine sqlserver", &["url", "schema", "tls", "tls_ca", "password_file", AFFINITY])?;
    let Some(url) = text(options, "url")? else {
        let why = "it names the server: give --engine sqlserver://USER@HOST:1433/DATABASE";
        return Err(refuse("url", why.into()));
    };
    let schema = text(options, "schema")?.unwrap_or_else(|| SCHEMA.to_owned());
    let plain = schema.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = schema.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if !plain || !begins || schema.len() > 64 {
        let why = format!("'{schema}' is not 1 to 64 of the characters a-z, A-Z, 0-9 and _, no digit first");
        return Err(refuse("schema", why));
    }
    let lower = schema.to_ascii_lowercase();
    if THEIRS.contains(&lower.as_str()) || lower.starts_with("db_") {
        return Err(refuse("schema", format!("'{schema}' belongs to the server")));
    }
    let words = ["verify", "trust", "off", "plain"];
    let tls = [Tls::Verify, Tls::Trust, Tls::Off, Tls::Plain][word(options, "tls", &words)?];
    let tls_ca = path(options, "tls_ca")?;
    if tls_ca.is_some() && tls != Tls::Verify {
        return Err(refuse("tls_ca", "without tls=verify no certificate is checked: leave it out".into()));
    }
    let password_file = path(options, "password_file")?;
    // Before a study `auto` is resolved to one of the others.
    let words = ["auto", AFFINITY_SET, AFFINITY_KEEP];
    let affinity = match word(options, AFFINITY, &words)? {
        1 => Affinity::Set,
        _ => Affinity::Keep,
    };
    Ok(ServerOptions { url, schema, tls, tls_ca, password_file, affinity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).into(), OptionValue::Text((*value).into()))).collect()
    }

    #[test]
    fn an_address_is_all_that_is_needed_and_tls_is_on() {
        let server = parse(&options(&[("url", "sqlserver://me@db/shop")])).unwrap();
        assert_eq!((server.schema.as_str(), server.tls, server.tls_ca), ("threadwise", Tls::Verify, None));
        let message = parse(&Options::new()).unwrap_err().to_string();
        assert!(message.contains("sqlserver://USER@HOST"), "{message}");
    }

    #[test]
    fn what_would_break_us_is_refused_by_name() {
        for (name, value, part) in [
            ("schema", "dbo", "belongs"),
            ("schema", "DB_owner", "belongs"),
            ("schema", "a]b", "characters"),
            ("schema", "1a", "digit"),
            ("schema", "", "characters"),
            ("tls", "yes", "verify, trust, off, plain"),
            ("affinity", "on", "auto, set, keep"),
            ("tls_ca", "ca.pem", "absolute"),
            ("password_file", "p", "absolute"),
            ("settings.x", "1", "allowed: url"),
        ] {
            let given = options(&[("url", "sqlserver://h"), (name, value)]);
            let message = parse(&given).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(part), "{message}");
        }
        let both = options(&[("url", "sqlserver://h"), ("tls", "trust"), ("tls_ca", "/ca.pem")]);
        assert!(parse(&both).unwrap_err().to_string().contains("tls_ca"));
        let flag = [("url".to_owned(), OptionValue::Flag(true))].into();
        assert!(parse(&flag).unwrap_err().to_string().contains("not text"));
    }
}
