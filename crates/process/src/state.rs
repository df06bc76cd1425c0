//! The folder for what must outlast a killed study: one fixed place per user, wherever its data was.
//!
//! Source: XDG Base Directory Specification (`$XDG_STATE_HOME`, by default `~/.local/state`; a relative
//! value is ignored), Filesystem Hierarchy Standard 3.0 (`/run` is cleared at boot, as masks are;
//! `/var/lib` is not).

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Overrides the folder; an absolute path.
pub const VARIABLE: &str = "THREADWISE_STATE_DIR";

/// Root's folder.
const ROOT: &str = "/run/threadwise";
/// Root's folder for what outlasts a boot.
const ROOT_LASTING: &str = "/var/lib/threadwise";
/// Name of a user's folder.
const NAME: &str = "threadwise";

/// The state folder of the calling user, which need not exist yet.
///
/// # Errors
/// No folder is possible, or [`VARIABLE`] is not an absolute path; one line.
pub fn folder() -> Result<PathBuf, String> {
    let uid = rustix::process::geteuid().as_raw();
    let is_own = |path: &Path| path.metadata().is_ok_and(|entry| entry.is_dir() && entry.uid() == uid);
    choose(uid, &|name| env::var_os(name), &is_own)
}

/// The same for what outlasts a reboot, which empties root's other folder.
///
/// # Errors
/// As [`folder`].
pub fn lasting_folder() -> Result<PathBuf, String> {
    folder().map(|found| if found == Path::new(ROOT) { PathBuf::from(ROOT_LASTING) } else { found })
}

fn choose(
    uid: u32,
    variable: &dyn Fn(&str) -> Option<OsString>,
    is_own: &dyn Fn(&Path) -> bool,
) -> Result<PathBuf, String> {
    let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match path(VARIABLE) {
        Some(folder) if folder.is_absolute() => return Ok(folder),
        Some(folder) => return Err(format!("{VARIABLE}={} is not an absolute path", folder.display())),
        None if uid == 0 => return Ok(PathBuf::from(ROOT)),
        None => {}
    }
    if let Some(state) = path("XDG_STATE_HOME").filter(|state| state.is_absolute()) {
        return Ok(state.join(NAME));
    }
    // Users of services have a home that does not exist, or is not theirs.
    let home = path("HOME").filter(|home| home.is_absolute() && is_own(home));
    let runtime = || Some(PathBuf::from(format!("/run/user/{uid}"))).filter(|folder| is_own(folder));
    match home.map(|home| home.join(".local/state")).or_else(runtime) {
        Some(state) => Ok(state.join(NAME)),
        None => Err(format!("there is no home folder for it: set {VARIABLE} to an absolute path")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_one_fixed_folder() {
        let found = |uid, variables: &[(&str, &str)], expected: &[&str]| {
            let variable = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            };
            choose(uid, &variable, &|path| expected.iter().any(|folder| Path::new(folder) == path))
                .map(|folder| folder.display().to_string())
        };
        let home = ("HOME", "/h/ann");
        let there = ["/h/ann", "/run/user/7"];
        assert_eq!(found(0, &[home, ("XDG_STATE_HOME", "/s")], &there).unwrap(), "/run/threadwise");
        assert_eq!(found(7, &[home], &there).unwrap(), "/h/ann/.local/state/threadwise");
        assert_eq!(found(7, &[home, ("XDG_STATE_HOME", "/s")], &there).unwrap(), "/s/threadwise");
        assert_eq!(
            found(7, &[home, ("XDG_STATE_HOME", "s")], &there).unwrap(),
            "/h/ann/.local/state/threadwise"
        );
        assert_eq!(found(7, &[("HOME", "/nonexistent")], &there).unwrap(), "/run/user/7/threadwise");
        assert!(found(7, &[("HOME", "/nonexistent")], &[]).unwrap_err().contains(VARIABLE));
        for uid in [0, 7] {
            assert_eq!(found(uid, &[home, (VARIABLE, "/x/y")], &there).unwrap(), "/x/y");
            assert!(found(uid, &[home, (VARIABLE, "x")], &there).unwrap_err().contains("absolute"));
        }
    }
}
