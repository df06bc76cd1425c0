//! What tests need that no Debian package has: fetched once into `target/test-servers`, from where npm and
//! Maven are set up to fetch. Version and checksum are pinned: npm checks by `integrity` of its lock file
//! (package-lock.json(5)).

use crate::command::Task;
use std::fs;
use std::path::{Path, PathBuf};

/// Where all of them are, from the workspace's folder.
const HOME: &str = "target/test-servers";

/// File of a folder that is written last and says what is in it.
const WHOLE: &str = "whole";

/// Value of a variable with which the tests that need it say that they are skipped.
pub const ABSENT: &str = "absent";

/// One of them.
#[derive(Debug)]
pub struct Pinned {
    /// Its folder below [`HOME`].
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Tests read in it the folder [`Pinned::inside`].
    pub variable: &'static str,
    /// Version that is fetched.
    pub version: &'static str,
    /// Checksum of what is fetched, in the form of whoever fetches it.
    pub checksum: &'static str,
    /// What tests look for, in its folder.
    pub inside: &'static str,
    /// Fetches it into its folder, which is empty.
    pub fetch: fn(&Pinned, &Path) -> Result<(), String>,
}

impl Pinned {
    /// Fetches it where it is not there, and says what its variable is set to. It is an error in CI when it
    /// cannot be had; elsewhere the variable is [`ABSENT`].
    pub fn ensure(&self, is_ci: bool) -> Result<String, String> {
        let workspace =
            std::env::current_dir().map_err(|cause| format!("the current folder is gone: {cause}"))?;
        let folder = workspace.join(HOME).join(self.name);
        judged(whole(self, &folder), &folder.join(self.inside), is_ci)
    }
}

fn judged(outcome: Result<(), String>, bin: &Path, is_ci: bool) -> Result<String, String> {
    match outcome {
        Ok(()) if bin.is_dir() => Ok(bin.to_string_lossy().into_owned()),
        Ok(()) => Err(format!("there is no {}: the layout in xtask/src is wrong", bin.display())),
        Err(why) if is_ci => Err(format!("{why}; in CI it has to be there")),
        Err(why) => {
            println!("{why}");
            Ok(ABSENT.to_owned())
        }
    }
}

/// Fetches it where it is not there, whole and of the pinned version.
fn whole(pinned: &Pinned, folder: &Path) -> Result<(), String> {
    let pin = format!("{} {}\n", pinned.version, pinned.checksum);
    let said = |cause: std::io::Error| format!("{} cannot be written: {cause}", folder.display());
    if fs::read_to_string(folder.join(WHOLE)).is_ok_and(|found| found == pin) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(said)?;
    }
    fs::create_dir_all(folder).map_err(said)?;
    (pinned.fetch)(pinned, folder)?;
    fs::write(folder.join(WHOLE), pin).map_err(said)
}

/// Makes a Python environment of this name in a folder, and has its pip install what the text requires, by checksums.
pub fn pip(folder: &Path, environment: &str, requirements: &str, more: &[&str]) -> Result<(), String> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (needs, environment) = (path("requirements.txt"), path(environment));
    fs::write(&needs, requirements).map_err(|cause| format!("{needs} cannot be written: {cause}"))?;
    Task::new("python3", &["-m", "venv", &environment]).run()?;
    let quiet = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
    let exact = ["--require-hashes", "--only-binary=:all:", "--no-deps", "-r", &needs];
    Task::new(&format!("{environment}/bin/python"), &quiet).more(&exact).more(more).run()
}

/// Installs one package of npm, without its scripts.
pub fn npm(package: &str, pinned: &Pinned, folder: &Path) -> Result<PathBuf, String> {
    let (version, checksum) = (pinned.version, pinned.checksum);
    let needs = format!(r#""dependencies": {{"{package}": "{version}"}}"#);
    let private = format!(r#"{{"private": true, {needs}}}"#);
    // Without "resolved": the registry is the one that npm is set up with.
    let lock = format!(
        r#"{{"lockfileVersion": 3, "packages": {{"": {{{needs}}},
            "node_modules/{package}": {{"version": "{version}", "integrity": "{checksum}"}}}}}}"#
    );
    for (name, text) in [("package.json", private), ("package-lock.json", lock)] {
        let path = folder.join(name);
        let written = fs::write(&path, text);
        written.map_err(|cause| format!("{} cannot be written: {cause}", path.display()))?;
    }
    let prefix = folder.to_string_lossy();
    let quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
    Task::new("npm", &["ci", "--prefix", &prefix]).more(&quiet).run()?;
    Ok(folder.join("node_modules").join(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_a_skip_and_in_ci_an_error() {
        let failed = || Err("no network".to_owned());
        let nowhere = Path::new("/nowhere");
        assert_eq!(judged(failed(), nowhere, false).as_deref(), Ok(ABSENT));
        assert!(judged(failed(), nowhere, true).is_err_and(|why| why.contains("no network")));
        assert!(judged(Ok(()), nowhere, false).is_err_and(|why| why.contains("/nowhere")));
        assert_eq!(judged(Ok(()), Path::new("/"), true).as_deref(), Ok("/"));
    }

    #[test]
    fn what_is_there_whole_is_not_fetched_again_and_what_is_not_is() {
        let folder = std::env::temp_dir().join(format!("threadwise-xtask-{}", std::process::id()));
        let pinned = |version, fetch| Pinned {
            name: "made",
            title: "made",
            variable: "MADE",
            version,
            checksum: "0",
            inside: "made",
            fetch,
        };
        let made = pinned("1", |_, folder| fs::write(folder.join("made"), "").map_err(|why| why.to_string()));
        let fails = |version| pinned(version, |_, _| Err("fetched".to_owned()));
        assert_eq!(whole(&made, &folder), Ok(()));
        assert_eq!((whole(&fails("1"), &folder), folder.join("made").exists()), (Ok(()), true));
        // Another version: what is there goes, and what was not fetched is not taken for whole.
        assert_eq!(
            (whole(&fails("2"), &folder), folder.join("made").exists()),
            (Err("fetched".into()), false)
        );
        assert_eq!(whole(&fails("2"), &folder), Err("fetched".into()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
