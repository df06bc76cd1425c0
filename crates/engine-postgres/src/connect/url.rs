//! `postgres://[user@][host][:port][/database][?parameter=value…]`, the URI form of libpq's
//! connection strings. A password in it is refused before anything else is checked, and no error
//! repeats the URL, since any part of it may contain one.

use std::collections::BTreeMap;
use threadwise_engine::EngineError;

use super::parameters;
use crate::error::refuse;

/// The parameters of a URL by libpq's names.
///
/// # Errors
/// A password inside, another scheme, several hosts, an unknown parameter, an invalid escape.
pub fn parse(url: &str) -> Result<BTreeMap<String, String>, EngineError> {
    let bad = |why: &str| refuse("url", why);
    let rest = ["postgres://", "postgresql://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme))
        .ok_or_else(|| bad("it must begin with postgres:// or postgresql://"))?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A password may contain an unescaped slash: the authority extends at least to the last @.
    let (authority_user, place) = match place.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, place),
    };
    let (host, database) = place.split_once('/').unwrap_or((place, ""));
    let mut found = BTreeMap::new();
    if let Some(user) = authority_user {
        if user.contains(':') {
            return Err(password_inside());
        }
        put(&mut found, "user", &decode(user)?);
    }
    put_host(&mut found, host)?;
    put(&mut found, "dbname", &decode(database)?);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name)?;
        if name.to_ascii_lowercase().contains("passw") {
            return Err(password_inside());
        }
        // As libpq, for URLs made for JDBC.
        if (name.as_str(), value) == ("ssl", "true") {
            put(&mut found, "sslmode", "require");
            continue;
        }
        if !parameters::is_known(&name) {
            return Err(bad(
                "it has a parameter that libpq does not know (\"Parameter Key Words\" in PostgreSQL's manual)",
            ));
        }
        put(&mut found, &name, &decode(value)?);
    }
    Ok(found)
}

/// Why a list of hosts is refused.
pub const SEVERAL_HOSTS: &str = "it names several hosts; name the one server that is to be measured";

fn password_inside() -> EngineError {
    refuse(
        "url",
        "take the password out of the URL, where process lists and logs show it: set PGPASSWORD, or write \
         it into ~/.pgpass (mode 0600) as host:port:database:user:password",
    )
}

fn put_host(found: &mut BTreeMap<String, String>, text: &str) -> Result<(), EngineError> {
    if text.contains(',') {
        return Err(refuse("url", SEVERAL_HOSTS));
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(|| refuse("url", "a [ without its ]"))?;
            (host, rest.strip_prefix(':').unwrap_or(rest))
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    put(found, "host", &decode(host)?);
    put(found, "port", &decode(port)?);
    Ok(())
}

fn put(found: &mut BTreeMap<String, String>, name: &str, value: &str) {
    if !value.is_empty() {
        found.insert(name.to_owned(), value.to_owned());
    }
}

/// Decodes percent escapes (RFC 3986, section 2.1).
fn decode(text: &str) -> Result<String, EngineError> {
    let broken =
        || refuse("url", "a % is not followed by two hexadecimal digits; write %25 for a percent sign");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok()).ok_or_else(broken)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| broken())?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| refuse("url", "its escapes are not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Vec<String> {
        parse(url).unwrap().into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn urls_are_taken_apart_as_libpq_does() {
        assert!(parsed("postgres://").is_empty());
        assert_eq!(
            parsed("postgresql://ada@db.example:5433/sales?sslmode=verify-full&connect_timeout=3"),
            [
                "connect_timeout=3",
                "dbname=sales",
                "host=db.example",
                "port=5433",
                "sslmode=verify-full",
                "user=ada"
            ]
        );
        assert_eq!(parsed("postgres://[::1]:5433"), ["host=::1", "port=5433"]);
        assert_eq!(parsed("postgres://%2Frun%2Fpg/a%20b"), ["dbname=a b", "host=/run/pg"]);
        assert_eq!(parsed("postgres:///sales?host=/run/pg"), ["dbname=sales", "host=/run/pg"]);
        assert_eq!(parsed("postgres://a%40b@h"), ["host=h", "user=a@b"]);
    }

    #[test]
    fn a_password_is_refused_and_never_repeated() {
        for url in [
            "postgres://ada:hunter2@host/db",
            "postgres://ada:hun/ter2@host/db",
            "postgres://ada:hunter2:x@host/db?sslmode=nonsense",
            "postgres://host/db?password=hunter2",
            "postgres://host/db?user=ada&Password=hunter2",
            "postgres://host/db?sslpassword=hunter2",
            "postgres://host/db?p%61ssword=hunter2",
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains("PGPASSWORD") && !message.contains("ter2"), "{message}");
        }
    }

    #[test]
    fn what_is_no_url_says_so_without_repeating_it() {
        for (url, part) in [
            ("mysql://secret", "postgres://"),
            ("postgres://secret%2", "hexadecimal"),
            ("postgres://secret,b", "several hosts"),
            ("postgres://[secret", "["),
            ("postgres://h?secret=1", "does not know"),
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains(part) && !message.contains("secret"), "{message}");
        }
    }
}
