//! The server's programs: their places and version.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::{EngineError, missing};
use threadwise_process::programs;

use crate::connect::require_version;
use crate::product::MARIADB;

/// Where packages put them; PATH comes first.
const FOLDERS: [&str; 6] =
    ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/bin", "/usr/local/sbin", "/usr/local/mysql/bin"];

/// Folder of the tool in MariaDB's tarballs, beside `bin`.
const SCRIPTS: &str = "scripts";

/// Names of the server, the usual one first.
const SERVERS: [&str; 2] = ["mariadbd", "mysqld"];

/// Names of the tool that makes a data directory.
const INSTALLERS: [&str; 2] = ["mariadb-install-db", "mysql_install_db"];

/// The server and its tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    /// The server.
    pub server: PathBuf,
    /// The tool that makes a data directory.
    pub install: PathBuf,
    /// The folder above `bin` of an unpacked server, below which its files are.
    pub base: Option<PathBuf>,
    /// Version as the server reports it.
    pub version_text: String,
}

impl Programs {
    /// Looks for them: the server in `bin` alone if it is given, and the tool beside the server first, so that
    /// both have the same version.
    ///
    /// # Errors
    /// They were not found, are too old, or not MariaDB.
    pub(crate) fn find(bin: Option<&Path>) -> Result<Self, EngineError> {
        Self::search(bin, &env::var_os("PATH").unwrap_or_default())
    }

    fn search(bin: Option<&Path>, path: &OsStr) -> Result<Self, EngineError> {
        let packaged = || env::split_paths(path).chain(FOLDERS.iter().map(PathBuf::from));
        let named = |bin: &Path| (vec![bin.to_owned()], bin.display().to_string());
        let usual = "PATH and the usual folders".to_owned();
        let (folders, place) = bin.map_or_else(|| (packaged().collect(), usual), named);
        let lacks =
            |why: String| if bin.is_some() { refuse("bin", why) } else { missing(MARIADB.engine(), &why) };
        let server = find_in(&SERVERS, &folders, &place).map_err(lacks)?;
        let mut folders = beside(&server);
        if bin.is_none() {
            folders.extend(packaged());
        }
        let place = format!("{place}, nor beside {}", server.display());
        let install = find_in(&INSTALLERS, &folders, &place).map_err(lacks)?;
        let version_text = version(&server)?;
        require_version(&version_text, &server.display().to_string(), &MARIADB)?;
        // Packaged programs know where their files are; an unpacked server does not.
        let is_unpacked = bin.is_some() || install.parent().is_some_and(|folder| folder.ends_with(SCRIPTS));
        let base = server.parent().and_then(Path::parent).filter(|_| is_unpacked).map(Path::to_owned);
        Ok(Self { server, install, base, version_text: short(&version_text) })
    }
}

/// Where the tool of a server may lie: beside it, in `scripts` beside its folder (MariaDB's own tarballs), or in `bin`
/// if the server is in `sbin` or `libexec` (packages).
fn beside(server: &Path) -> Vec<PathBuf> {
    let folder = server.parent().unwrap_or(Path::new("/"));
    let base = folder.parent().unwrap_or(folder);
    vec![folder.to_owned(), base.join(SCRIPTS), base.join("bin")]
}

/// The first of the names that is a program in one of the folders, links resolved. `place` names the folders in the
/// error.
fn find_in(names: &[&str], folders: &[PathBuf], place: &str) -> Result<PathBuf, String> {
    let texts: Vec<String> = folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    match programs::find(names, &texts, "".as_ref()) {
        // A link to the server does not tell where its files are.
        Some(found) => Ok(found.canonicalize().unwrap_or(found)),
        None => Err(absence(names, folders, place)),
    }
}

/// Why none of the programs was found, and what to do.
fn absence(names: &[&str], folders: &[PathBuf], place: &str) -> String {
    let mut files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    match files.find(|file| file.is_file()) {
        // For example extracted from a .jar, which stores no modes.
        Some(file) => format!("{0} is not executable: chmod +x {0}", file.display()),
        None => format!(
            "{} is not in {place}; install mariadb-server, or name the folder of mariadbd: --engine-option \
             bin=FOLDER",
            names[0]
        ),
    }
}

fn version(server: &Path) -> Result<String, EngineError> {
    let output = Command::new(server)
        .args(["--no-defaults", "--version"])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| MARIADB.failed(format!("ask {} for its version", server.display()), cause))?;
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

    /// A program that says something, in a folder that is made.
    fn program(path: &Path, says: &str, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        threadwise_process::programs::write(path, &format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn programs_in_a_named_folder_are_asked_for_their_version() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        let refusal = || Programs::find(Some(&bin)).unwrap_err().to_string();
        let says = |version: &str| program(&bin.join("mariadbd"), version, 0o755);
        let message = refusal();
        assert!(message.contains("mariadbd is not in") && message.contains("mariadb-server"), "{message}");
        says("mariadbd  Ver 10.3.39-MariaDB for Linux on x86_64");
        program(&bin.join("mariadb-install-db"), "", 0o755);
        let message = refusal();
        assert!(message.contains("older than 10.5"), "{message}");
        says("mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)");
        assert!(refusal().contains("not MariaDB"));
        says("mariadbd  Ver 10.11.6-MariaDB-1 for Linux on x86_64");
        let found = Programs::find(Some(&bin)).unwrap();
        assert_eq!(
            (found.version_text.as_str(), found.base.as_deref()),
            ("10.11.6-MariaDB-1", Some(folder.path()))
        );
    }

    #[test]
    fn an_unpacked_tarball_has_its_tool_in_scripts_whether_named_or_on_path() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("mariadb-11.4.5");
        let (bin, tool) = (base.join("bin"), base.join("scripts/mariadb-install-db"));
        program(&bin.join("mariadbd"), "mariadbd  Ver 11.4.5-MariaDB for Linux on x86_64", 0o755);
        program(&tool, "", 0o644);
        let message = Programs::find(Some(&bin)).unwrap_err().to_string();
        assert!(message.contains(&format!("chmod +x {}", tool.display())), "{message}");
        program(&tool, "", 0o755);
        // That of another version comes earlier on PATH.
        let other = folder.path().join("other");
        program(&other.join("mariadb-install-db"), "", 0o755);
        let path = env::join_paths([&other, &bin]).unwrap();
        for found in [Programs::find(Some(&bin)), Programs::search(None, &path)].map(Result::unwrap) {
            assert_eq!((&found.install, &found.server), (&tool, &bin.join("mariadbd")));
            assert_eq!(found.base.as_ref(), Some(&base));
        }
    }

    #[test]
    fn a_package_has_the_server_in_sbin_and_knows_where_its_files_are() {
        let folder = tempfile::tempdir().unwrap();
        let (sbin, tool) = (folder.path().join("sbin"), folder.path().join("bin/mariadb-install-db"));
        program(&sbin.join("mariadbd"), "mariadbd  Ver 10.11.6-MariaDB-1 for debian-linux-gnu", 0o755);
        program(&tool, "", 0o755);
        let found = Programs::search(None, sbin.as_os_str()).unwrap();
        assert_eq!((found.install, found.base), (tool, None));
    }
}
