//! Whether an interrupted study continues where it began, on the same boot of the same machine.
//!
//! Slices of two boots are not comparable (docs/METHODOLOGY.md, "Arms over boots"), so after a boot a study of one boot
//! starts a new result file.

use crate::error::AppError;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use threadwise_machine::BootFacts;
use threadwise_store::{Problem, Store, StoreError};
use threadwise_study::Boot;

/// Environment variable: root folder of the boot's files in tests.
const TEST_ROOT: &str = "THREADWISE_TEST_ROOT";

/// The note of a study that was started without a probe. It is written before anything is measured, so that `--resume`
/// finds it however early the first part ended.
pub const NOT_PROBED: &str = "the hardware was not probed (--no-probe)";

/// The root of the boot's files.
pub fn root() -> PathBuf {
    std::env::var_os(TEST_ROOT).map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// The current boot.
pub fn this_boot() -> BootFacts {
    BootFacts::read(&root())
}

/// Now in UTC, RFC 3339.
pub fn now_utc() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Whether a study with this last boot would continue after another boot: both ids are known and differ.
pub fn is_other(boots: &[Boot], facts: &BootFacts) -> bool {
    let last = boots.last().and_then(|boot| boot.boot_id.as_ref());
    last.zip(facts.boot_id.as_ref()).is_some_and(|(last, now)| last != now)
}

/// What is unknown about the boots of a continued study, in one line.
pub fn unknown(boots: &[Boot], facts: &BootFacts) -> Option<String> {
    let why = match (boots.last(), &facts.boot_id) {
        (_, None) => "the id of this boot cannot be read",
        (None, _) => "the result file does not say which boot it began on",
        (Some(Boot { boot_id: None, .. }), _) => "the id of the boot that it began on could not be read",
        _ => return None,
    };
    Some(format!("It is unknown whether the machine was booted since: {why}; the study continues"))
}

/// How the boot of a study differs from this one, in words.
pub fn where_it_began(last: &Boot, now: &Boot) -> &'static str {
    match (&last.machine_hash, &now.machine_hash) {
        (Some(then), Some(now)) if then == now => "on an earlier boot of this machine",
        (Some(_), Some(_)) => "on another machine",
        _ => "on another boot or machine",
    }
}

/// An unused name beside a result file: `NAME-boot2.threadwise` and so on.
///
/// # Errors
/// All 1,000 names are used.
pub fn free_name(file: &Path) -> Result<PathBuf, AppError> {
    let stem = file.file_stem().unwrap_or_default();
    let named = |number: u32| {
        let mut name = stem.to_owned();
        name.push(format!("-boot{number}"));
        if let Some(ending) = file.extension() {
            name.push(".");
            name.push(ending);
        }
        file.with_file_name(name)
    };
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    (2..1002).map(named).find(is_free).ok_or_else(|| {
        AppError::Input(format!(
            "{}: none of 1000 names for a new result file beside it is free",
            file.display()
        ))
    })
}

/// A study opened before it is decided how to continue. Its file is unchanged.
pub struct Peeked {
    /// The study, for reading.
    pub store: Store,
    /// Whether a killed writer left a transaction to roll back.
    pub is_interrupted: bool,
    /// The copy in which it was rolled back.
    _copy: Option<Copied>,
}

/// Reads a study without changing its file. If it was killed while a run was stored, reads a copy in which that is
/// rolled back.
///
/// # Errors
/// An error of the store, or the file cannot be copied.
pub fn peek(file: &Path) -> Result<Peeked, AppError> {
    match Store::open(file) {
        Ok(store) => Ok(Peeked { store, is_interrupted: false, _copy: None }),
        Err(StoreError { problem: Problem::Interrupted, .. }) => {
            let copy = Copied::of(file)?;
            let store = Store::recover(&copy.file).and_then(|()| Store::open(&copy.file));
            let store = store.map_err(|error| {
                let text =
                    error.to_string().replace(&copy.file.display().to_string(), &file.display().to_string());
                AppError::Input(text)
            })?;
            Ok(Peeked { store, is_interrupted: true, _copy: Some(copy) })
        }
        Err(error) => Err(AppError::input(error)),
    }
}

/// A copy of a result file and its journal in a private folder, removed on drop.
struct Copied {
    folder: PathBuf,
    file: PathBuf,
}

impl Copied {
    fn of(file: &Path) -> Result<Self, AppError> {
        let failed = |error: std::io::Error| {
            AppError::Failed(format!(
                "cannot copy {} to {} to read it: {error}",
                file.display(),
                std::env::temp_dir().display()
            ))
        };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("threadwise-peek-{}-{}", std::process::id(), since.as_nanos());
        let folder = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let copied = Self { file: folder.join("study"), folder };
        let real = file.canonicalize().map_err(failed)?;
        let beside = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push("-journal");
            PathBuf::from(name)
        };
        std::fs::copy(&real, &copied.file).map_err(failed)?;
        std::fs::copy(beside(&real), beside(&copied.file)).map_err(failed)?;
        Ok(copied)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // A failed removal leaves it in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
