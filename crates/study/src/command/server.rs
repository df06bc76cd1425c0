//! A running server that the user names in the option `pin_server`.

use std::fmt;
use std::path::PathBuf;

/// How to find a server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerName {
    /// By process ID.
    Pid(u32),
    /// By the TCP port that it listens on.
    Port(u16),
    /// By the path of the socket that it listens on.
    Socket(PathBuf),
    /// By its systemd unit.
    Unit(String),
}

/// Suffixes of the names of units that have processes.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

/// Host names of this machine.
const HERE: [&str; 8] = ["", "localhost", "127.0.0.1", "0.0.0.0", "[::1]", "::1", "[::]", "*"];

impl ServerName {
    /// Parses `pid:N`, `port:N`, `socket:PATH`, `unit:NAME`, or one without its prefix: a number is a process ID, `:N`
    /// and `localhost:N` a port, a path a socket, anything else a unit.
    ///
    /// # Errors
    /// None of these, or on another machine.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.split_once(':') {
            Some(("pid", rest)) => pid(rest),
            Some(("port", rest)) => port(rest),
            Some(("socket", rest)) => socket(rest),
            Some(("unit", rest)) => unit(rest),
            _ if text.starts_with('/') => socket(text),
            _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => pid(text),
            _ => match text.rsplit_once(':') {
                Some((host, rest)) if HERE.contains(&host) => port(rest),
                Some((host, rest)) if rest.parse::<u16>().is_ok() => Err(format!(
                    "'{host}' is another machine, where nothing can be bound: give the port of a server \
                     on this one as port:{rest}"
                )),
                _ => unit(text),
            },
        }
    }
}

fn pid(text: &str) -> Result<ServerName, String> {
    let pid = text.parse().ok().filter(|pid| *pid > 0 && i32::try_from(*pid).is_ok());
    pid.map(ServerName::Pid).ok_or_else(|| format!("'{text}' is not a process ID"))
}

fn port(text: &str) -> Result<ServerName, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.map(ServerName::Port).ok_or_else(|| format!("'{text}' is not a TCP port; 1 to 65535 are allowed"))
}

fn socket(text: &str) -> Result<ServerName, String> {
    let path = text.starts_with('/').then(|| ServerName::Socket(text.into()));
    path.ok_or_else(|| format!("'{text}' is not the absolute path of a socket"))
}

/// Source: `systemd.unit(5)`, "The unit name prefix must consist of one or more valid characters".
fn unit(text: &str) -> Result<ServerName, String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || br":-_.\@".contains(&byte);
    if text.is_empty() || text.len() > 255 || text.starts_with('.') || !text.bytes().all(is_valid) {
        return Err(format!(
            "'{text}' does not name a server: give its process ID, port:N, the path of its socket, or its systemd unit"
        ));
    }
    let whole = UNITS.iter().any(|end| text.ends_with(end));
    Ok(ServerName::Unit(if whole { text.to_owned() } else { format!("{text}.service") }))
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pid(pid) => write!(f, "process {pid}"),
            Self::Port(port) => write!(f, "TCP port {port}"),
            Self::Socket(path) => write!(f, "socket {}", path.display()),
            Self::Unit(unit) => write!(f, "unit {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_server_is_read() {
        let read = |text: &str| ServerName::parse(text).unwrap();
        assert_eq!((read("812"), read("pid:812")), (ServerName::Pid(812), ServerName::Pid(812)));
        for text in ["port:5432", ":5432", "localhost:5432", "127.0.0.1:5432", "[::1]:5432", "::1:5432"] {
            assert_eq!(read(text), ServerName::Port(5432), "{text}");
        }
        let socket = ServerName::Socket("/run/postgresql/.s.PGSQL.5432".into());
        assert_eq!(read("/run/postgresql/.s.PGSQL.5432"), socket);
        assert_eq!(read("socket:/run/postgresql/.s.PGSQL.5432"), socket);
        assert_eq!(read("mariadb"), ServerName::Unit("mariadb.service".into()));
        assert_eq!(read("unit:812"), ServerName::Unit("812.service".into()));
        assert_eq!(read("postgresql@15-main.service").to_string(), "unit postgresql@15-main.service");
        assert_eq!(read("app.slice"), ServerName::Unit("app.slice".into()));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let refused = |text: &str| ServerName::parse(text).unwrap_err();
        assert!(refused("db.example:5432").contains("another machine"));
        assert!(refused("port:0").contains("65535") && refused("port:70000").contains("65535"));
        assert!(refused("0").contains("not a process ID") && refused("4294967295").contains("not a process"));
        assert!(refused("socket:here").contains("absolute"));
        for text in ["", "a b", "../x", "a/b", "unit:", ".service"] {
            assert!(refused(text).contains("systemd unit"), "{text}");
        }
    }
}
