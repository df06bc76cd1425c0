//! `~/.my.cnf`: what MariaDB's own clients read (mariadb.com/kb/en/configuring-mariadb-with-option-files).
//!
//! Read: the groups `[client]`, `[client-server]` and `[client-mariadb]`, with the options user,
//! password, host, port and socket. Not read: `!include` and the system-wide files.

/// What the file says.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct MyCnf {
    pub user: Option<String>,
    pub password: Option<String>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<String>,
}

/// Reads the text of the file; lines that are not understood are passed over, as the clients do.
pub(crate) fn parse(text: &str) -> MyCnf {
    let mut found = MyCnf::default();
    let mut ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            ours = ["client", "client-server", "client-mariadb"].contains(&group.0);
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| ours && !line.starts_with(['#', ';']))
        else {
            continue;
        };
        let value = Some(unquote(value.trim()));
        match name.trim() {
            "user" => found.user = value,
            "password" => found.password = value,
            "host" => found.host = value,
            "port" => found.port = value.and_then(|port| port.parse().ok()),
            "socket" => found.socket = value,
            _ => {}
        }
    }
    found
}

/// Quotes taken off, a comment after an unquoted value cut, escapes resolved.
fn unquote(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return unescape(inner);
        }
    }
    unescape(value.split(" #").next().unwrap_or_default().trim())
}

fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('s') => plain.push(' '),
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('b') => plain.push('\u{8}'),
            Some(same @ ('\\' | '"' | '\'')) => plain.push(same),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_group_is_read_and_others_are_not() {
        let text = "# mine\n[mysqld]\nuser=server\n[client]\nuser = me\npassword=\"a#b \\\"c\"\nport=3307\n\
                    socket=/run/x # here\n;host=no\n[mysqldump]\nuser=dump\n";
        let found = parse(text);
        assert_eq!(found.user.as_deref(), Some("me"));
        assert_eq!(found.password.as_deref(), Some("a#b \"c"));
        assert_eq!((found.port, found.socket.as_deref(), found.host), (Some(3307), Some("/run/x"), None));
    }

    #[test]
    fn odd_files_do_no_harm() {
        for text in ["", "[client", "=\n[client]\n=\n==", "[client]\nport=x\npassword"] {
            assert!(parse(text).password.is_none() && parse(text).port.is_none());
        }
        assert_eq!(parse("[client]\npassword='a\\\\sb\\s'").password.as_deref(), Some("a\\sb "));
    }
}
