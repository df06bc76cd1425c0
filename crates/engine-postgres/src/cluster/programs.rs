//! PostgreSQL's programs on this machine: the newest, or those of a given folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use threadwise_engine::{EngineError, missing};
use threadwise_process::programs;

use crate::connect::OLDEST;
use crate::error::{ENGINE, failed, refuse};

/// Where packages put them: Debian, Red Hat (PGDG), and builds from source.
const FOLDERS: [&str; 3] = ["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"];

/// The programs of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// `postgres`.
    pub postgres: PathBuf,
    /// `initdb` beside it.
    pub initdb: PathBuf,
    /// Its version as it prints it: `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
    /// The first number of the version.
    pub major: u32,
}

impl Programs {
    /// The programs in `bin`, or the newest installed ones.
    ///
    /// # Errors
    /// There are none, or they are too old.
    pub fn find(bin: Option<&Path>) -> Result<Self, EngineError> {
        let found = match bin {
            Some(folder) => Self::in_folder(folder).map_err(|why| refuse("bin", why))?,
            None => newest()?,
        };
        if found.major < OLDEST {
            let why = format!(
                "PostgreSQL {} in {} is older than {OLDEST}, the first with procedures that commit; install a \
                 newer one, or name its folder with --engine-option bin=FOLDER",
                found.version,
                found.postgres.parent().unwrap_or(Path::new("/")).display()
            );
            return Err(failed("use PostgreSQL's programs", why));
        }
        Ok(found)
    }

    fn in_folder(folder: &Path) -> Result<Self, String> {
        // Links resolved: a link to postgres alone does not tell where initdb is.
        let resolve = |name: &str| {
            let path = folder.join(name);
            std::fs::canonicalize(&path)
                .ok()
                .filter(|path| programs::is_program(path))
                .ok_or_else(|| format!("there is no program {}", path.display()))
        };
        let postgres = resolve("postgres")?;
        let initdb = resolve("initdb")?;
        let (version, major) = version(&postgres)?;
        Ok(Self { postgres, initdb, version, major })
    }
}

fn newest() -> Result<Programs, EngineError> {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect())
        .unwrap_or_default();
    folders.extend(FOLDERS.iter().flat_map(|pattern| programs::expand(Path::new(pattern))));
    folders.extend(configured(&folders));
    let mut seen: Vec<Programs> = Vec::new();
    for folder in folders.iter().filter(|folder| folder.join("postgres").exists()) {
        if let Ok(found) = Programs::in_folder(folder)
            && seen.iter().all(|other| other.postgres != found.postgres)
        {
            seen.push(found);
        }
    }
    // Of equal versions the first one found, in the order of PATH.
    seen.into_iter().rev().max_by_key(|programs| numbers(&programs.version)).ok_or_else(|| {
        let why = "postgres and initdb are neither on PATH nor where packages put them; install PostgreSQL \
                   (Debian: postgresql), or name their folder with --engine-option bin=FOLDER";
        missing(ENGINE, why)
    })
}

/// The folder that `pg_config` reports, for builds in other places.
fn configured(folders: &[PathBuf]) -> Option<PathBuf> {
    let program =
        folders.iter().map(|folder| folder.join("pg_config")).find(|path| programs::is_program(path))?;
    let output = Command::new(program).arg("--bindir").env_clear().output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    folder.is_absolute().then_some(folder)
}

/// Parses the output of `postgres --version`: `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn version(postgres: &Path) -> Result<(String, u32), String> {
    let shown = postgres.display();
    let output = Command::new(postgres)
        .arg("--version")
        .env_clear()
        .output()
        .map_err(|cause| format!("{shown} cannot be run: {cause}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().strip_prefix("postgres (PostgreSQL) ").map(str::to_owned);
    let major = version.as_deref().and_then(|version| numbers(version).first().copied());
    match (version, major) {
        (Some(version), Some(major)) => Ok((version, major)),
        _ => Err(format!("{shown} --version does not print a version of PostgreSQL")),
    }
}

/// The numbers at the beginning of a version: `[15, 18]`; `19beta1` is 19.
fn numbers(version: &str) -> Vec<u32> {
    let first = version.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next().unwrap_or("");
    first.split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["postgres", "initdb"] {
            let path = folder.path().join(name);
            let text = format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n");
            threadwise_process::programs::write(&path, &text).unwrap();
        }
        folder
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(numbers("15.18 (Debian 15.18-0+deb12u1)"), [15, 18]);
        assert_eq!(numbers("19beta1"), [19]);
        assert_eq!(numbers("9.6.24"), [9, 6, 24]);
        assert!(numbers("10.1") > numbers("9.6.24"));
        assert!(numbers("devel").is_empty());
    }

    #[test]
    fn the_programs_of_a_folder_are_found_and_asked() {
        let folder = fake("17.2 (X)");
        let found = Programs::find(Some(folder.path())).unwrap();
        assert_eq!((found.version.as_str(), found.major), ("17.2 (X)", 17));
        assert!(found.initdb.ends_with("initdb"));
    }

    #[test]
    fn old_missing_and_strange_programs_say_so() {
        let message = |folder: &Path| Programs::find(Some(folder)).unwrap_err().to_string();
        for version in ["9.2.24", "10.23"] {
            let old = message(fake(version).path());
            assert!(old.contains(&format!("PostgreSQL {version}")) && old.contains("older than 11"), "{old}");
        }
        let strange = message(fake("none").path());
        assert!(strange.contains("does not print"), "{strange}");
        let empty = tempfile::tempdir().unwrap();
        assert!(message(empty.path()).contains("no program"), "{}", message(empty.path()));
    }
}
