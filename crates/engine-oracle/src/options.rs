//! The engine's options: the server, the account, and the prefix of threadwise's objects.
//!
//! The address is `oracle://USER@HOST:1521/SERVICE`; `oracles://` means TLS (protocol TCPS), whose certificate is checked
//! against the machine's authorities (the variable SSL_CERT_FILE names others). An address with a password is refused, and
//! no message shows any part of it.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use threadwise_engine::EngineError;
use threadwise_engine::servers::address::{decode, split_port};
use threadwise_engine::workloads::options::{only, path, refuse, text, word};
use threadwise_machine::given;
use threadwise_study::Options;

/// Environment variable with the password, unless a file is given.
pub(crate) const VARIABLE: &str = "ORACLE_PASSWORD";

/// Schemes of addresses, without TLS and with it, and the usual port of each.
pub(crate) const SCHEMES: [&str; 2] = ["oracle", "oracles"];
const PORTS: [u16; 2] = [1521, 2484];

/// Longest prefix: before Oracle 12.2 names have at most 30 bytes, and 23 are needed after it.
const LONGEST_PREFIX: usize = 7;

const FORM: &str = "give an address such as oracle://USER@HOST:1521/SERVICE";

/// A server and an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub user: String,
    pub host: String,
    pub port: u16,
    pub service: String,
    pub tls: bool,
    /// Prefix of the names of threadwise's objects, in capitals.
    pub prefix: String,
    /// Whether waits are sampled.
    pub waits: bool,
    /// File with the password, if it is not in the environment.
    pub password_file: Option<PathBuf>,
    /// The user's own Python with the driver, if given.
    pub python: Option<PathBuf>,
}

/// A password. Only the proxy gets its text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

/// Reads and checks the engine's options, not yet the password.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn parse(options: &Options) -> Result<Target, EngineError> {
    only(options, "the engine oracle", &["url", "password_file", "prefix", "waits", "python"])?;
    let Some(url) = text(options, "url")? else {
        return Err(refuse("url", format!("the engine oracle needs your server: {FORM}")));
    };
    let mut target = address(&url)?;
    target.waits = word(options, "waits", &["states", "none"])? == 0;
    if let Some(prefix) = text(options, "prefix")? {
        let plain = prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let begins = prefix.starts_with(|first: char| first.is_ascii_alphabetic());
        if !plain || !begins || prefix.len() > LONGEST_PREFIX {
            let most = LONGEST_PREFIX - 1;
            return Err(refuse(
                "prefix",
                format!("'{prefix}' is not a letter and up to {most} letters, digits and _"),
            ));
        }
        target.prefix = prefix.to_ascii_uppercase();
    }
    target.password_file = path(options, "password_file")?;
    target.python = path(options, "python")?;
    Ok(target)
}

fn address(url: &str) -> Result<Target, EngineError> {
    let bad = |why: &str| refuse("url", format!("{why}; {FORM}"));
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let Some(kind) = SCHEMES.iter().position(|one| *one == scheme) else {
        return Err(bad("it begins with neither oracle:// nor oracles://"));
    };
    // The last @: a password given in spite of the rule may contain one.
    let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    if user.contains([':', '/', '@']) {
        let why = format!(
            "the address contains a password: remove it, and give it by {VARIABLE} or by --engine-option \
             password_file=FILE"
        );
        return Err(refuse("url", why));
    }
    let is_of = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|one| one.is_ascii_alphanumeric() || more.contains(one))
    };
    let user = decode(user).unwrap_or_default();
    if !is_of(&user, "_$#") || !user.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Err(bad("it names no user"));
    }
    let (host, service) = place.split_once('/').unwrap_or((place, ""));
    let (host, port) = split_port(host).ok_or_else(|| bad("host or port is invalid"))?;
    if !is_of(host, "_.:%-") {
        return Err(bad("it names no host"));
    }
    if !is_of(service, "_.$#-") {
        return Err(bad("it names no service, or has something after it"));
    }
    Ok(Target {
        user,
        host: host.to_owned(),
        port: port.unwrap_or(PORTS[kind]),
        service: service.to_owned(),
        tls: kind == 1,
        prefix: "TW_".to_owned(),
        waits: true,
        password_file: None,
        python: None,
    })
}

impl Target {
    /// Server and service, as messages name them.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}/{}", self.host, self.port, self.service)
    }

    /// The password: of the file if one is given.
    ///
    /// # Errors
    /// No password was given, or other users may read its file.
    pub(crate) fn password(&self) -> Result<Secret, EngineError> {
        let password = match &self.password_file {
            Some(path) => of_file(path)?,
            None => std::env::var(VARIABLE).unwrap_or_default(),
        };
        if password.is_empty() {
            let why = format!(
                "there is no password for user '{}': set {VARIABLE}, or give a file of mode 0600 that begins with it",
                self.user
            );
            return Err(refuse("password_file", why));
        }
        Ok(Secret(password))
    }
}

/// The first line of a file that no other user may read.
fn of_file(path: &Path) -> Result<String, EngineError> {
    let bad = |why: String| {
        let how = "give the absolute path of your own file of mode 0600, with the password as its first line";
        refuse("password_file", format!("{} {why}; {how}", path.display()))
    };
    let entry = std::fs::metadata(path).map_err(|cause| bad(format!("cannot be read ({cause})")))?;
    if entry.mode() & 0o077 != 0 {
        let mode = entry.mode() & 0o7777;
        return Err(bad(format!("has mode {mode:04o}, so others may read it: chmod 600 {}", path.display())));
    }
    if ![rustix::process::geteuid().as_raw(), 0].contains(&entry.uid()) {
        return Err(bad("belongs to another user".to_owned()));
    }
    let text =
        given::text(path, given::TEXT_BYTES).map_err(|cause| bad(format!("cannot be read ({cause})")))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use threadwise_study::OptionValue;

    const URL: &str = "oracle://bench@db.example:1521/APP";

    fn read(pairs: &[(&str, &str)]) -> Result<Target, String> {
        let pairs = pairs.iter().map(|(name, value)| ((*name).into(), OptionValue::Text((*value).into())));
        parse(&pairs.collect()).map_err(|cause| cause.to_string())
    }

    #[test]
    fn addresses_have_all_parts() {
        let target = read(&[("url", "oracle://bench@db:1522/app.example"), ("prefix", "x_")]).unwrap();
        assert_eq!((target.place().as_str(), target.user.as_str()), ("db:1522/app.example", "bench"));
        assert_eq!((target.tls, target.prefix.as_str(), target.waits), (false, "X_", true));
        assert_eq!(read(&[("url", "oracle://b@[::1]/s")]).unwrap().host, "::1");
        let tls = read(&[("url", "oracles://C%23%23ADMIN@h/s"), ("waits", "none")]).unwrap();
        assert_eq!((tls.user.as_str(), tls.port, tls.tls, tls.waits), ("C##ADMIN", 2484, true, false));
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for url in [
            "oracle://bench:hidden@db/app",
            "oracle://bench/hidden@db:1521/app",
            "oracle://bench:h@hidden@db/a",
            "oracles://bench:hidden@db:1521/app",
            "bench/hidden@db",
            "oracle:hidden",
            "oracle://bench@db/app?password=hidden",
            "oracle://bench@db:hidden/app",
            "oracle://db/hidden x",
        ] {
            let message = read(&[("url", url)]).unwrap_err();
            assert!(message.starts_with("option 'url'") && !message.contains("hidden"), "{url}: {message}");
        }
        assert_eq!(format!("{:?}", Secret("hidden".into())), "Secret(not shown)");
    }

    #[test]
    fn other_options_are_refused_by_name() {
        assert!(read(&[]).unwrap_err().contains("needs your server"));
        assert!(parse(&[("url".to_owned(), OptionValue::Integer(5))].into()).is_err());
        for (name, value, part) in [
            ("schema", "x", "allowed: url"),
            ("prefix", "TOOLONG__", "prefix"),
            ("prefix", "1A", "prefix"),
            ("prefix", "A'B", "prefix"),
            ("waits", "all", "states, none"),
            ("password_file", "p", "absolute path"),
            ("python", "python3", "absolute path"),
        ] {
            let message = read(&[("url", URL), (name, value)]).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        for (url, part) in [("oracle://db/app", "no user"), ("oracle://u@db", "no service")] {
            assert!(read(&[("url", url)]).unwrap_err().contains(part));
        }
    }

    #[test]
    fn a_password_file_is_the_users_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "hush hush\nmore\n").unwrap();
        let given = path.to_string_lossy().into_owned();
        let target = read(&[("url", URL), ("password_file", &given)]).unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o640);
        let message = target.password().unwrap_err().to_string();
        assert!(message.contains("0640") && message.contains("chmod 600") && !message.contains("hush"));
        mode(0o600);
        assert_eq!(target.password().unwrap(), Secret("hush hush".into()));
        std::fs::write(&path, "\n").unwrap();
        assert!(target.password().unwrap_err().to_string().contains("no password"));
    }
}
