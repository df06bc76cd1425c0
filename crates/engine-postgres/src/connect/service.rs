//! The connection service file: sections `[name]` of `parameter=value` lines, named by PGSERVICE or
//! the parameter `service`; the user's own file first, then the system's (PostgreSQL documentation,
//! "The Connection Service File").

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use threadwise_engine::EngineError;
use threadwise_machine::given;

use super::environment::Environment;
use super::parameters::is_known;
use crate::error::refuse;

/// Folders of the system's file: Debian's, Red Hat's.
const SYSTEM_FOLDERS: [&str; 2] = ["/etc/postgresql-common", "/etc/sysconfig/pgsql"];

/// The parameters of a service.
///
/// # Errors
/// No file has it, or a file cannot be read.
pub fn look_up(name: &str, environment: &Environment) -> Result<BTreeMap<String, String>, EngineError> {
    let files = files(environment);
    for file in &files {
        match given::text(file, given::TEXT_BYTES) {
            Ok(text) => {
                let bad = |why: String| refuse("service", format!("{}: {why}", file.display()));
                if let Some(found) = section(&text, name).map_err(bad)? {
                    return Ok(found);
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(refuse("service", format!("{} cannot be read: {error}", file.display())));
            }
        }
    }
    let looked: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Err(refuse("service", format!("no service is called '{name}' in {}", looked.join(", "))))
}

fn files(environment: &Environment) -> Vec<PathBuf> {
    let file = environment.variable("PGSERVICEFILE").map(PathBuf::from);
    let file = file.or_else(|| Some(environment.home.as_ref()?.join(".pg_service.conf")));
    let system: Vec<PathBuf> = match environment.variable("PGSYSCONFDIR") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => SYSTEM_FOLDERS.iter().map(PathBuf::from).collect(),
    };
    file.into_iter().chain(system.iter().map(|folder: &PathBuf| file_in(folder))).collect()
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("pg_service.conf")
}

/// The lines of one section. As libpq, it takes known parameters only.
fn section(text: &str, name: &str) -> Result<Option<BTreeMap<String, String>>, String> {
    let mut inside = false;
    let mut seen = false;
    let mut found = BTreeMap::new();
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = title == name && !seen;
            seen |= inside;
        } else if inside {
            // The line is not repeated: it may hold a password.
            let pair = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            let Some((key, value)) = pair.filter(|(key, _)| is_known(key) && *key != "service") else {
                return Err(format!("line {} is not parameter=value of a connection", number + 1));
            };
            found.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    Ok(seen.then_some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_section_is_read_and_no_other() {
        let text = "# x\n[a]\nhost=one\n\n[b]\n host = two \nport=5433\n#user=no\n[b]\nuser=late\n";
        let found = section(text, "b").unwrap().unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("host".into(), "two".into()), ("port".into(), "5433".to_owned())]
        );
        assert!(section(text, "c").unwrap().is_none());
        for line in ["ldap://host/dn", "nonsense=hunter2", "service=b"] {
            let why = section(&format!("[a]\nhost=one\n{line}\n"), "a").unwrap_err();
            assert!(why.contains("line 3") && !why.contains("hunter2"), "{why}");
        }
    }

    #[test]
    fn the_own_file_comes_before_the_systems() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("own"), "[a]\nhost=own\n").unwrap();
        fs::write(folder.path().join("pg_service.conf"), "[a]\nhost=system\n[b]\nhost=b\n").unwrap();
        let text = |name: &str| folder.path().join(name).display().to_string();
        let variables = [("PGSERVICEFILE".into(), text("own")), ("PGSYSCONFDIR".into(), text(""))].into();
        let environment = Environment { variables, ..Environment::default() };
        assert_eq!(look_up("a", &environment).unwrap()["host"], "own");
        assert_eq!(look_up("b", &environment).unwrap()["host"], "b");
        let message = look_up("c", &environment).unwrap_err().to_string();
        assert!(message.contains("'c'") && message.contains("own"), "{message}");
    }
}
