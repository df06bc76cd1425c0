//! Firebird's programs and its engine: their places and version.
//!
//! Source: Debian's firebird3.0-utils and firebird3.0-server-core; Firebird's own archives, which unpack
//! to /opt/firebird.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use threadwise_engine::{EngineError, missing};
use threadwise_process::programs;

use crate::error::{ENGINE, failed};
use threadwise_engine::workloads::options::refuse;

/// Where installations outside PATH have their programs.
const FOLDERS: [&str; 2] = ["/opt/firebird/bin", "/usr/lib*/firebird/bin"];

/// Where the engine's folder (`plugins`, `firebird.msg`) is, newest version first.
const ROOTS: [&str; 5] = [
    "/usr/lib/*/firebird/*",
    "/opt/firebird",
    "/usr/lib64/firebird",
    "/usr/lib/firebird",
    "/usr/local/firebird",
];

/// Advice about a missing part.
const ADVICE: &str = "install Firebird's tools and engine (Debian: firebird3.0-utils and \
                      firebird3.0-server-core), or name their folder: --engine-option bin=FOLDER";

/// The programs and the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    /// The program isql, which contains the engine.
    pub isql: PathBuf,
    /// The program gfix, which changes settings stored in a database.
    pub gfix: PathBuf,
    /// The folder with the engine.
    pub root: PathBuf,
}

impl Programs {
    /// Looks for them: the programs in `bin` alone if it is given, the engine beside it or in its usual
    /// places.
    ///
    /// # Errors
    /// Which one is missing, and what to do.
    pub(crate) fn find(bin: Option<&Path>) -> Result<Self, EngineError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let find = |name: &str| match bin {
            Some(folder) => Some(folder.join(name)).filter(|program| programs::is_program(program)),
            None => programs::find(&[name], &FOLDERS, &path),
        };
        let lacks = |name: &str| match bin {
            Some(folder) => refuse("bin", format!("{}: there is no {name}; {ADVICE}", folder.display())),
            None => missing(ENGINE, &format!("there is no {name}; {ADVICE}")),
        };
        let gfix = find("gfix").ok_or_else(|| lacks("gfix"))?;
        // A program `isql` on PATH may be unixODBC's; beside gfix it is Firebird's.
        let beside = gfix.with_file_name("isql");
        let isql = find("isql-fb").or_else(|| Some(beside).filter(|isql| programs::is_program(isql)));
        let isql = isql.ok_or_else(|| lacks("isql-fb"))?;
        let above = bin.and_then(Path::parent).map(Path::to_owned);
        let usual = ROOTS.iter().flat_map(|pattern| programs::expand(Path::new(pattern)));
        let root = above.into_iter().chain(usual).find(|root| has_engine(root));
        Ok(Self { isql, gfix, root: root.ok_or_else(|| lacks("libEngine (the engine itself)"))? })
    }

    /// The version, such as `3.0.11.33637`.
    ///
    /// # Errors
    /// The program cannot be run, or prints no version.
    pub(crate) fn version(&self) -> Result<String, EngineError> {
        let action = format!("ask {} for its version", self.isql.display());
        let output = Command::new(&self.isql)
            .args(["-z", "-q"])
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .map_err(|cause| failed(action.clone(), cause))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        version_of(&said).ok_or_else(|| failed(action, format!("it printed '{}'", said.trim())))
    }

    /// The engine by the name of its plugin, such as `Engine12`.
    ///
    /// # Errors
    /// It no longer exists.
    pub(crate) fn engine(&self) -> Result<String, EngineError> {
        engine_in(&self.root).ok_or_else(|| {
            failed(
                "find its engine",
                format!("there is no engine in {}/plugins any more", self.root.display()),
            )
        })
    }
}

fn has_engine(root: &Path) -> bool {
    engine_in(root).is_some()
}

fn engine_in(root: &Path) -> Option<String> {
    let names = fs::read_dir(root.join("plugins")).ok()?.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| Some(name.to_str()?.strip_prefix("lib")?.split('.').next()?.to_owned())).find(
        |name| {
            name.strip_prefix("Engine").is_some_and(|number| number.bytes().all(|one| one.is_ascii_digit()))
        },
    )
}

/// `3.0.11.33637` of `ISQL Version: LI-V3.0.11.33637 Firebird 3.0`.
fn version_of(said: &str) -> Option<String> {
    let word = said.split_whitespace().find(|word| word.contains("-V") || word.contains("-T"))?;
    Some(word.split_once('-')?.1.get(1..)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_a_word_of_what_isql_says() {
        let said = "ISQL Version: LI-V3.0.11.33637 Firebird 3.0\n";
        assert_eq!(version_of(said).as_deref(), Some("3.0.11.33637"));
        assert_eq!(version_of("unixODBC 2.3"), None);
    }

    #[test]
    fn what_is_missing_is_named_with_its_packages() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let program = |name: &str| {
            let text = "#!/bin/sh\necho 'ISQL Version: LI-V9.0.1.2 Firebird 9.0'\n";
            threadwise_process::programs::write(&bin.join(name), text).unwrap();
        };
        let missing = || Programs::find(Some(&bin)).unwrap_err().to_string();
        assert!(
            missing().contains("no gfix") && missing().contains("firebird3.0-server-core"),
            "{}",
            missing()
        );
        program("gfix");
        assert!(missing().contains("no isql-fb") && missing().contains("firebird3.0-utils"), "{}", missing());
        program("isql");
        fs::create_dir(folder.path().join("plugins")).unwrap();
        fs::write(folder.path().join("plugins/libEngine19.so"), "").unwrap();
        let found = Programs::find(Some(&bin)).unwrap();
        assert_eq!((found.isql.clone(), found.root.as_path()), (bin.join("isql"), folder.path()));
        assert_eq!(
            (found.version().unwrap(), found.engine().unwrap()),
            ("9.0.1.2".into(), "Engine19".into())
        );
    }
}
