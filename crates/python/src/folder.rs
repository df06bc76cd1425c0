//! Threadwise's part of the user's data folder.

use crate::AnalyticsError;
use crate::engine::environments;
use crate::environment::{Environment, EnvironmentState};
use crate::lock::{Lock, Patience};
use crate::requirements::Requirements;
use crate::{python, scripts};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Threadwise's part of a user's data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engines {
    /// `threadwise` in the data folder.
    home: PathBuf,
}

/// An environment's state, for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// State of the folder.
    pub state: EnvironmentState,
    /// Its folder.
    pub folder: PathBuf,
    /// Disk space that it takes; `None` if it is not installed.
    pub size_bytes: Option<u64>,
}

/// The user's data folder from the values of `XDG_DATA_HOME` and `HOME`. The first must be absolute,
/// else it is ignored, as its specification requires.
///
/// # Errors
/// Neither is set.
pub fn data_home(xdg: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, AnalyticsError> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let fallback = || absolute(home).map(|home| home.join(".local/share"));
    absolute(xdg).or_else(fallback).ok_or_else(|| {
        AnalyticsError::Input(
            "there is no folder for engines: set XDG_DATA_HOME (or HOME) to an absolute path".to_owned(),
        )
    })
}

impl Engines {
    /// The part in a data folder ([`data_home`]). Touches nothing.
    ///
    /// # Errors
    /// Its path is not UTF-8, so that no worker could get paths in it.
    pub fn open(data_home: &Path) -> Result<Self, AnalyticsError> {
        match data_home.to_str() {
            Some(_) => Ok(Self { home: data_home.join("threadwise") }),
            None => Err(AnalyticsError::Input(format!(
                "the folder for engines {} has a name that is not UTF-8: set XDG_DATA_HOME to another",
                data_home.display()
            ))),
        }
    }

    /// The state of an environment. Runs its Python once, since a replaced system Python
    /// does not find the packages of the environment.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn state(&self, requirements: &'static Requirements) -> Result<EnvironmentState, AnalyticsError> {
        let environment = self.environment(requirements);
        let state = environment.state()?;
        let EnvironmentState::Ready(complete) = &state else { return Ok(state) };
        Ok(match python::version(&environment.python()) {
            Ok(version) if version == complete.python => state,
            // Another bug fix release has the same package folder.
            Ok(version) if minor(&version) == minor(&complete.python) => state,
            Ok(version) => EnvironmentState::Incomplete(format!(
                "it was made for Python {}, which is now {version}",
                complete.python
            )),
            Err(why) => EnvironmentState::Incomplete(why),
        })
    }

    /// State, folder and size.
    ///
    /// # Errors
    /// As [`Engines::state`].
    pub fn status(&self, requirements: &'static Requirements) -> Result<Status, AnalyticsError> {
        let environment = self.environment(requirements);
        let state = self.state(requirements)?;
        let is_ours = !matches!(state, EnvironmentState::Absent | EnvironmentState::Foreign);
        let size_bytes = is_ours.then(|| environment.size_bytes());
        Ok(Status { state, folder: environment.folder().to_owned(), size_bytes })
    }

    /// Removes an environment, and with the last one all worker programs, and returns whether
    /// it existed. A running study loses its engine.
    ///
    /// # Errors
    /// The environment is being made, threadwise did not make it, or the file system refuses.
    pub fn remove(&self, requirements: &'static Requirements) -> Result<bool, AnalyticsError> {
        let environment = self.environment(requirements);
        let is_there = |environment: &Environment| environment.folder().symlink_metadata().is_ok();
        let was_there = is_there(&environment);
        if self.home.join("engines").is_dir() {
            let never = AtomicBool::new(false);
            let patience = Patience { longest: Duration::ZERO, stop: &never };
            let lock = Lock::take(&self.lock_path(requirements), &patience, &mut |_| {})?;
            let removed = environment.remove();
            lock.discard()?;
            removed?;
        }
        let is_last = !environments().any(|one| is_there(&self.environment(one)));
        Ok(is_last && scripts::remove_all(&self.home)? || was_there)
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn environment(&self, requirements: &'static Requirements) -> Environment {
        Environment::at(self.home.join("engines").join(requirements.environment), requirements)
    }

    pub(crate) fn lock_path(&self, requirements: &'static Requirements) -> PathBuf {
        self.home.join("engines").join(format!("{}.lock", requirements.environment))
    }
}

/// The 3.11 of 3.11.7.
fn minor(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ANALYTICS;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn the_data_folder_is_that_of_the_specification() {
        let some = |text: &str| Some(OsString::from(text));
        assert_eq!(data_home(some("/data"), some("/users/me")).unwrap(), Path::new("/data"));
        for not_absolute in [None, some(""), some("data")] {
            let found = data_home(not_absolute, some("/users/me")).unwrap();
            assert_eq!(found, Path::new("/users/me/.local/share"));
        }
        assert!(data_home(None, None).unwrap_err().to_string().contains("XDG_DATA_HOME"));
    }

    #[test]
    fn a_path_that_no_worker_can_be_given_is_refused() {
        let path = Path::new(OsStr::from_bytes(b"/users/\xff"));
        assert!(Engines::open(path).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn looking_makes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let engines = Engines::open(folder.path()).unwrap();
        assert_eq!(engines.status(&ANALYTICS).unwrap().state, EnvironmentState::Absent);
        assert!(!engines.remove(&ANALYTICS).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
