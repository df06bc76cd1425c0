//! The server's programs: where they are, and which version.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use threadwise_engine::EngineError;
use threadwise_server::programs;

use crate::connect::require_version;
use crate::error::failed;

/// Where packages put them; PATH comes first.
const FOLDERS: [&str; 7] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/mysql/bin",
    "/usr/local/mysql/scripts",
];

/// The two programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    /// The server.
    pub server: PathBuf,
    /// What makes a data directory.
    pub install: PathBuf,
    /// The folder above `bin`, where the user named one: the tool looks for its files below it.
    pub base: Option<PathBuf>,
    /// Version in the server's words.
    pub version_text: String,
}

impl Programs {
    /// Looks for them, in `bin` alone where it is given.
    ///
    /// # Errors
    /// They are not there, or too old, or no MariaDB.
    pub(crate) fn find(bin: Option<&Path>) -> Result<Self, EngineError> {
        let find = |names: &[&str]| {
            let found = match bin {
                Some(folder) => {
                    let scripts = folder.join("../scripts");
                    let folders = [folder, scripts.as_path()].map(|path| path.to_string_lossy().into_owned());
                    programs::find(names, &folders.each_ref().map(String::as_str), "".as_ref())
                }
                None => programs::find(names, &FOLDERS, &env::var_os("PATH").unwrap_or_default()),
            };
            found.ok_or_else(|| {
                let place = bin.map_or("PATH and the usual folders".into(), |bin| bin.display().to_string());
                failed(
                    "find the server's programs",
                    format!(
                        "{} is not in {place}; install mariadb-server, or name its folder: --engine-option \
                         bin=FOLDER",
                        names[0]
                    ),
                )
            })
        };
        let server = find(&["mariadbd", "mysqld"])?;
        let install = find(&["mariadb-install-db", "mysql_install_db"])?;
        let version_text = version(&server)?;
        require_version(&version_text, &server.display().to_string())?;
        let base = bin.and_then(Path::parent).map(Path::to_owned);
        Ok(Self { server, install, base, version_text: short(&version_text) })
    }
}

fn version(server: &Path) -> Result<String, EngineError> {
    let output = Command::new(server)
        .args(["--no-defaults", "--version"])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| failed(format!("ask {} for its version", server.display()), cause))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `10.11.19-MariaDB-0+deb12u1` of `mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu …`.
fn short(version: &str) -> String {
    let word = version.split_whitespace().find(|word| word.contains("MariaDB"));
    word.unwrap_or(version).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn programs_in_a_named_folder_are_asked_for_their_version() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let program = |name: &str, says: &str| {
            let path = bin.join(name);
            std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let message = Programs::find(Some(&bin)).unwrap_err().to_string();
        assert!(message.contains("mariadbd is not in") && message.contains("mariadb-server"), "{message}");
        program("mariadbd", "mariadbd  Ver 10.3.39-MariaDB for Linux on x86_64");
        program("mariadb-install-db", "");
        let message = Programs::find(Some(&bin)).unwrap_err().to_string();
        assert!(message.contains("older than 10.5"), "{message}");
        program("mariadbd", "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)");
        assert!(Programs::find(Some(&bin)).unwrap_err().to_string().contains("no MariaDB"));
        program("mariadbd", "mariadbd  Ver 10.11.6-MariaDB-1 for Linux on x86_64");
        let found = Programs::find(Some(&bin)).unwrap();
        assert_eq!(
            (found.version_text.as_str(), found.base.as_deref()),
            ("10.11.6-MariaDB-1", Some(folder.path()))
        );
    }
}
