//! The password file `~/.pgpass`: lines `host:port:database:user:password`, `*` for any, `\` before a
//! colon or a backslash, `#` for comments; read only if no other user may read it (PostgreSQL
//! documentation, "The Password File").

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use threadwise_machine::given;

use super::secret::Secret;

/// Result of a look-up in a password file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The password.
    Found(Secret),
    /// There is a file, and no line of it matches.
    NoLine,
    /// There is no such file.
    NoFile,
    /// The file was ignored; the reason.
    Ignored(String),
}

/// Looks up a password: `hosts` are the names that the file may have for the server.
pub fn look_up(path: &Path, hosts: &[&str], port: u16, database: &str, user: &str) -> Lookup {
    let entry = match fs::metadata(path) {
        Ok(entry) => entry,
        Err(error) if error.kind() == ErrorKind::NotFound => return Lookup::NoFile,
        Err(error) => return Lookup::Ignored(format!("{} cannot be read: {error}", path.display())),
    };
    if !entry.is_file() {
        return Lookup::Ignored(format!("{} is not a file", path.display()));
    }
    if entry.mode() & 0o077 != 0 {
        let path = path.display();
        let mode = entry.mode() & 0o777;
        return Lookup::Ignored(format!(
            "{path} has mode {mode:04o}, so others may use it: chmod 0600 {path}"
        ));
    }
    match given::text(path, given::TEXT_BYTES) {
        Ok(text) => match find(&text, hosts, &port.to_string(), database, user) {
            Some(password) => Lookup::Found(Secret::new(password)),
            None => Lookup::NoLine,
        },
        Err(error) => Lookup::Ignored(format!("{} cannot be read: {error}", path.display())),
    }
}

fn find(text: &str, hosts: &[&str], port: &str, database: &str, user: &str) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let [line_host, line_port, line_database, line_user, password] =
            <[Field; 5]>::try_from(fields).ok()?;
        let fits = hosts.iter().any(|host| line_host.fits(host))
            && line_port.fits(port)
            && line_database.fits(database)
            && line_user.fits(user);
        (fits && !password.text.is_empty()).then_some(password.text)
    })
}

/// Matches one field; an escaped star is not a wildcard.
#[derive(Debug, Default)]
struct Field {
    text: String,
    any: bool,
}

impl Field {
    fn fits(&self, value: &str) -> bool {
        self.any || self.text == value
    }
}

/// The five fields of a line; the password is the whole rest, in which a colon needs no escape.
fn fields(line: &str) -> Vec<Field> {
    let mut fields = vec![Field::default()];
    let mut plain_star = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let last = fields.len() == 5;
        match letter {
            ':' if !last => {
                close(&mut fields, plain_star);
                fields.push(Field::default());
                plain_star = false;
                continue;
            }
            '\\' => append(&mut fields, letters.next().unwrap_or('\\')),
            other => {
                plain_star = other == '*' && fields.last().is_some_and(|field| field.text.is_empty());
                append(&mut fields, other);
            }
        }
    }
    fields
}

fn append(fields: &mut [Field], letter: char) {
    if let Some(field) = fields.last_mut() {
        field.text.push(letter);
    }
}

fn close(fields: &mut [Field], plain_star: bool) {
    if let Some(field) = fields.last_mut() {
        field.any = plain_star && field.text == "*";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FILE: &str = "# comment:*:*:*:no\n\
        h1:5432:db:ada:first\n\
        h1:*:*:ada:se:cond\\\\\\:x\n\
        \\*:*:*:*:star\n\
        a\\:b:1:d\\\\:u:escaped\n\
        localhost:*:*:bob:socket\n\
        short:1:db:ada\n\
        empty:*:*:*:\n\
        *:*:*:carol:any\n";

    fn look(host: &str, port: &str, database: &str, user: &str) -> Option<String> {
        find(FILE, &[host], port, database, user)
    }

    #[test]
    fn the_first_line_that_fits_gives_the_password() {
        assert_eq!(look("h1", "5432", "db", "ada").as_deref(), Some("first"));
        assert_eq!(look("h1", "5433", "x", "ada").as_deref(), Some("se:cond\\:x"));
        assert_eq!(look("a:b", "1", "d\\", "u").as_deref(), Some("escaped"));
        assert_eq!(look("*", "1", "d", "u").as_deref(), Some("star"));
        assert_eq!(look("h9", "1", "d", "u"), None, "an escaped star is a star");
        assert_eq!(look("h9", "1", "d", "carol").as_deref(), Some("any"));
        assert_eq!(look("short", "1", "db", "ada"), None);
        assert_eq!(look("empty", "1", "db", "ada"), None);
        assert_eq!(look("# comment", "1", "d", "u"), None);
        assert_eq!(find(FILE, &["/run/pg", "localhost"], "1", "d", "bob").as_deref(), Some("socket"));
    }

    #[test]
    fn a_file_that_others_may_use_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        let ask = || look_up(&path, &["h"], 1, "d", "u");
        assert_eq!(ask(), Lookup::NoFile);
        fs::write(&path, "h:1:d:u:hunter2\n").unwrap();
        for mode in [0o644, 0o640, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let Lookup::Ignored(why) = ask() else { panic!("read with mode {mode:o}") };
            assert!(why.contains("chmod 0600") && !why.contains("hunter2"), "{why}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(ask(), Lookup::Found(Secret::new("hunter2")));
        assert!(!format!("{:?}", ask()).contains("hunter2"));
        assert_eq!(look_up(&path, &["other"], 1, "d", "u"), Lookup::NoLine);
        assert!(matches!(look_up(folder.path(), &["h"], 1, "d", "u"), Lookup::Ignored(_)));
    }
}
