//! The environment that determines a connection, as a value, so that rules can be tested without changing the process.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Variables, home folder and user name for defaults.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Variables by name.
    pub variables: BTreeMap<String, String>,
    /// Home folder, if there is one.
    pub home: Option<PathBuf>,
    /// Name of the operating system's user, if known.
    pub user: Option<String>,
    /// Folders in which a server's socket is searched, in this order.
    pub socket_folders: Vec<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let entry = account(&passwd, rustix::process::geteuid().as_raw());
        let home = variables.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let user = entry.as_ref().map(|(name, _)| name.clone()).or_else(|| variables.get("USER").cloned());
        Self {
            home: home.or(entry.map(|(_, home)| home)),
            user,
            variables,
            // Debian and Red Hat build with the first; the default of the sources is the second.
            socket_folders: vec!["/var/run/postgresql".into(), "/tmp".into()],
        }
    }

    /// A variable that is set and not empty (libpq takes an empty one as absent).
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Name and home folder of a user number in the text of /etc/passwd (passwd(5)).
fn account(passwd: &str, uid: u32) -> Option<(String, PathBuf)> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, _, _, home, ..] = fields[..] else { return None };
        (number.parse() == Ok(uid)).then(|| (name.to_owned(), PathBuf::from(home)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000:,,,:/people/ada:/bin/sh\n";
        assert_eq!(account(passwd, 1000), Some(("ada".into(), "/people/ada".into())));
        assert_eq!(account(passwd, 7), None);
        assert!(!Environment::of_process().socket_folders.is_empty());
    }
}
