//! `~/.my.cnf`: what MariaDB's own clients read (mariadb.com/kb/en/configuring-mariadb-with-option-files).
//!
//! Read: the groups `[client]`, `[client-server]` and `[client-mariadb]`, with the options user,
//! password, host, port and socket. Not read: `!include` and the system-wide files. Comments, quotes and
//! escapes are those of MariaDB's reader (`mysys/my_default.c`); tests compare both.

/// Options from the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MyCnf {
    pub user: Option<String>,
    pub password: Option<String>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<String>,
}

/// Groups that clients read.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

/// Reads the text of the file; unknown options are skipped.
///
/// # Errors
/// Errors that the clients report too, and an invalid port; with the line number, and without its text, which may be
/// a password.
pub(crate) fn parse(text: &str) -> Result<MyCnf, String> {
    let mut found = MyCnf::default();
    for (number, name, value) in options(text)? {
        match name {
            "user" => found.user = Some(value),
            "password" => found.password = Some(value),
            "host" => found.host = Some(value),
            "port" => {
                let port = value
                    .parse()
                    .map_err(|_| format!("line {number}: the port is not a number up to 65535"))?;
                // For the clients 0 is the usual port.
                found.port = Some(port).filter(|port| *port > 0);
            }
            "socket" => found.socket = Some(value),
            _ => {}
        }
    }
    Ok(found)
}

/// Options with a value in the groups that clients read, with their line numbers.
fn options(text: &str) -> Result<Vec<(usize, &str, String)>, String> {
    let mut group = None;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(|line| line.trim_matches(is_space))) {
        if line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let (name, _) =
                rest.split_once(']').ok_or_else(|| format!("line {number}: a [ without its ]"))?;
            group = Some(name.trim_end_matches(is_space));
            continue;
        }
        let group = group.ok_or_else(|| format!("line {number}: an option before any [group]"))?;
        let (name, value) = match without_comment(line).split_once('=') {
            Some((name, value)) if GROUPS.contains(&group) => (name, value),
            _ => continue,
        };
        found.push((number, name.trim_end_matches(is_space), unquote(value.trim_matches(is_space))));
    }
    Ok(found)
}

/// White space of the clients' reader (`my_isspace` of latin1).
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

/// A line up to the first `#` outside of quotes. A backslash protects a quote only inside quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, letter) in line.char_indices() {
        match letter {
            '\'' | '"' if !escaped => match quote {
                None => quote = Some(letter),
                Some(open) if open == letter => quote = None,
                Some(_) => {}
            },
            '#' if quote.is_none() => return &line[..at],
            _ => {}
        }
        escaped = quote.is_some() && letter == '\\' && !escaped;
    }
    line
}

/// Removes a quote at both ends, and resolves escapes.
fn unquote(value: &str) -> String {
    let inside = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    unescape(inside('"').or_else(|| inside('\'')).unwrap_or(value))
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
    use std::io::Write;
    use std::process::Command;

    #[test]
    fn the_client_group_is_read_and_others_are_not() {
        let text = "# mine\n[mysqld]\nuser=server\n[client]\nuser = me\npassword=\"a#b \\\"c\"\nport=3307\n\
                    socket=/run/x # here\n;host=no\n[mysqldump]\nuser=dump\n";
        let found = parse(text).unwrap();
        assert_eq!(found.user.as_deref(), Some("me"));
        assert_eq!(found.password.as_deref(), Some("a#b \"c"));
        assert_eq!((found.port, found.socket.as_deref(), found.host), (Some(3307), Some("/run/x"), None));
    }

    #[test]
    fn odd_files_do_no_harm_and_errors_name_the_line_alone() {
        for text in ["", "[client]\n=\n==", "[client]\npassword", "!include x\n", "[client]\nport=0"] {
            assert_eq!(parse(text), Ok(MyCnf::default()), "{text}");
        }
        for (text, part) in [
            ("[client", "line 1: a ["),
            ("# x\npassword=hush\n", "line 2: an option before"),
            ("[client]\nhost=h\nport=hush\n", "line 3: the port"),
            ("[client]\nport=70000\n", "line 2: the port"),
            ("[client]\nport=-1\n", "line 2: the port"),
            ("[client]\nport=\n", "line 2: the port"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(part) && !why.contains("hush"), "{why}");
        }
        assert_eq!(parse("[mysqld]\nport=x\n"), Ok(MyCnf::default()), "not ours");
    }

    /// Values as they stand in a file, and what `my_print_defaults` of MariaDB 10.11 makes of them.
    const VALUES: [(&str, &str); 34] = [
        ("/tmp/sock#old", "/tmp/sock"),
        ("/tmp/sock\t#old", "/tmp/sock"),
        ("/tmp/sock #old", "/tmp/sock"),
        ("'/tmp/sock' # don't use 'x", "/tmp/sock"),
        ("\"a#b\" # c", "a#b"),
        ("'a#b'#c", "a#b"),
        ("a;b", "a;b"),
        ("a ; b", "a ; b"),
        ("a b", "a b"),
        ("  a  ", "a"),
        ("\ta\t", "a"),
        ("#", ""),
        ("", ""),
        ("\"\"", ""),
        ("'", "'"),
        ("\"", "\""),
        ("'a\"", "'a\""),
        ("'a'b", "'a'b"),
        ("a'b#c'd", "a'b#c'd"),
        ("a'b#c", "a'b#c"),
        ("'it\\'s # 1'", "it's # 1"),
        ("\"a\\\\\" # b", "a\\"),
        ("\"a\\\" # b\"", "a\" # b"),
        ("a\\'b#c", "a'b#c"),
        ("a\\#b", "a\\"),
        ("a\\sb", "a b"),
        ("a\\tb", "a\tb"),
        ("a\\xb", "a\\xb"),
        ("a\\", "a\\"),
        ("a\\\\sb", "a\\sb"),
        ("'  a  '", "  a  "),
        ("a=b=c", "a=b=c"),
        ("'a' 'b#c'", "a' 'b#c"),
        ("é#ü", "é"),
    ];

    fn read(value: &str) -> String {
        parse(&format!("[client]\n password = {value}\nuser=after\n")).unwrap().password.unwrap()
    }

    #[test]
    fn comments_quotes_and_escapes_are_those_of_the_clients() {
        for (value, wanted) in VALUES {
            assert_eq!(read(value), wanted, "{value}");
        }
    }

    mod lab_servers {
        use super::*;

        #[test]
        #[ignore = "laboratory: servers"]
        fn the_table_is_what_my_print_defaults_says() {
            for (value, wanted) in VALUES {
                let mut file = tempfile::NamedTempFile::new().unwrap();
                write!(file, "[client]\n password = {value}\nuser=after\n").unwrap();
                let defaults = format!("--defaults-file={}", file.path().display());
                let said = Command::new("my_print_defaults").args([&defaults, "client"]).output().unwrap();
                let text = String::from_utf8(said.stdout).unwrap();
                assert_eq!(text, format!("--password={wanted}\n--user=after\n"), "{value}");
            }
        }
    }
}
