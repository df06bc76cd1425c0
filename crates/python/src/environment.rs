//! The environment on the disk: its state, begun, completed, removed.
//!
//! A virtual environment cannot be moved, so it is made at its final place. The file `complete` in it
//! is written last and removed first; without it the rest is left over. The file
//! `made-by-threadwise` is written first and removed last; a folder without it is not threadwise's, and is
//! never touched, unless it is empty. Links are never followed: their targets are not threadwise's.

use crate::AnalyticsError;
use crate::private::{private_folder, write_synced};
use crate::requirements::{GENERATOR, Requirements};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const OWNER: &str = "made-by-threadwise";
const COMPLETE: &str = "complete";
const HEAD: &str = "threadwise analytics environment 1";

/// The folder of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    folder: PathBuf,
    requirements: &'static Requirements,
}

/// State of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentState {
    /// Nothing.
    Absent,
    /// Not made by threadwise.
    Foreign,
    /// Made by threadwise, but incomplete; why.
    Incomplete(String),
    /// Complete, but with other packages than are pinned now.
    Outdated(Complete),
    /// Complete and up to date.
    Ready(Complete),
}

/// The record of a complete environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complete {
    /// [`Requirements::fingerprint`] of what was installed.
    pub fingerprint: String,
    /// Version of its Python, such as 3.11.7.
    pub python: String,
    /// Its pinned packages: name and version.
    pub packages: Vec<(String, String)>,
}

impl Complete {
    /// The version of one of the packages.
    pub fn version(&self, package: &str) -> Option<&str> {
        self.packages.iter().find(|(name, _)| name == package).map(|(_, version)| version.as_str())
    }

    fn text(&self) -> String {
        let mut text = format!("{HEAD}\nrequirements {}\npython {}\n", self.fingerprint, self.python);
        for (name, version) in &self.packages {
            text.push_str(&format!("package {name} {version}\n"));
        }
        text + "end\n"
    }

    /// `None` if a byte is missing.
    fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(HEAD)?.strip_prefix('\n')?.strip_suffix("end\n")?;
        let mut lines = body.lines();
        let fingerprint = lines.next()?.strip_prefix("requirements ")?.to_owned();
        let python = lines.next()?.strip_prefix("python ")?.to_owned();
        let package = |line: &str| {
            let (name, version) = line.strip_prefix("package ")?.split_once(' ')?;
            Some((name.to_owned(), version.to_owned()))
        };
        let packages = lines.map(package).collect::<Option<Vec<_>>>()?;
        Some(Self { fingerprint, python, packages })
    }
}

impl Environment {
    pub(crate) fn at(folder: PathBuf, requirements: &'static Requirements) -> Self {
        Self { folder, requirements }
    }

    /// Its required packages.
    pub(crate) fn requirements(&self) -> &'static Requirements {
        self.requirements
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The virtual environment in it.
    pub(crate) fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    /// A folder for temporary files of the installation.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.venv().join("bin/python")
    }

    pub(crate) fn generator(&self) -> PathBuf {
        self.venv().join("bin").join(GENERATOR)
    }

    /// The state by its files, without running anything.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn state(&self) -> Result<EnvironmentState, AnalyticsError> {
        if !self.is_ours()? {
            return Ok(match self.folder.symlink_metadata() {
                Ok(found) if found.is_dir() && is_empty(&self.folder) => EnvironmentState::Absent,
                Ok(_) => EnvironmentState::Foreign,
                Err(_) => EnvironmentState::Absent,
            });
        }
        let path = self.folder.join(COMPLETE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(EnvironmentState::Incomplete("an installation was interrupted".to_owned()));
            }
            Err(cause) => return Err(AnalyticsError::io("read", &path)(cause)),
        };
        let Some(complete) = Complete::parse(&text) else {
            return Ok(EnvironmentState::Incomplete(format!("{} is damaged", path.display())));
        };
        let generator = self.requirements.has_generator.then(|| self.generator());
        for program in std::iter::once(self.python()).chain(generator) {
            if !crate::programs::is_program(&program) {
                let why = format!("{} or its target does not exist", program.display());
                return Ok(EnvironmentState::Incomplete(why));
            }
        }
        Ok(match complete.fingerprint == self.requirements.fingerprint() {
            true => EnvironmentState::Ready(complete),
            false => EnvironmentState::Outdated(complete),
        })
    }

    /// Makes the empty folder with its mark.
    pub(crate) fn begin(&self) -> Result<(), AnalyticsError> {
        let make =
            |folder: &Path| private_folder(folder).map_err(AnalyticsError::io("make the folder", folder));
        make(&self.folder)?;
        let text = "A virtual environment of threadwise. `threadwise engine remove` removes it.\n";
        write_synced(&self.folder.join(OWNER), text)?;
        make(&self.temporary())
    }

    /// Records, durably, that everything exists: earlier writes are on the disk first.
    pub(crate) fn complete(&self, complete: &Complete) -> Result<(), AnalyticsError> {
        let temporary = self.temporary();
        fs::remove_dir_all(&temporary).map_err(AnalyticsError::io("remove", &temporary))?;
        let sync = |path: &Path| File::open(path).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        sync(&self.folder).map_err(AnalyticsError::io("write to the disk", &self.folder))?;
        write_synced(&self.folder.join(COMPLETE), &complete.text())
    }

    /// Removes it in an order in which a kill at any moment leaves it recognisable.
    /// A missing one is not an error.
    ///
    /// # Errors
    /// Threadwise did not make it, or the file system refuses.
    pub(crate) fn remove(&self) -> Result<(), AnalyticsError> {
        match self.state()? {
            EnvironmentState::Foreign => return Err(AnalyticsError::Foreign { folder: self.folder.clone() }),
            EnvironmentState::Absent if self.folder.symlink_metadata().is_err() => return Ok(()),
            _ => {}
        }
        let names = fs::read_dir(&self.folder)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>());
        let mut paths = names.map_err(AnalyticsError::io("read", &self.folder))?;
        let rank = |path: &PathBuf| match path.file_name().and_then(|name| name.to_str()) {
            Some(COMPLETE) => 0,
            Some(OWNER) => 2,
            _ => 1,
        };
        paths.sort_by_key(rank);
        for path in &paths {
            remove(path).map_err(AnalyticsError::io("remove", path))?;
        }
        fs::remove_dir(&self.folder).map_err(AnalyticsError::io("remove", &self.folder))
    }

    /// Disk space that it takes, in bytes (blocks of 512, `stat(2)`); unreadable parts count as 0.
    pub(crate) fn size_bytes(&self) -> u64 {
        let mut folders = vec![self.folder.clone()];
        let mut bytes = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                // Of a link this is the link itself.
                let Ok(found) = entry.metadata() else { continue };
                bytes += found.blocks() * 512;
                if found.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        bytes
    }

    fn is_ours(&self) -> Result<bool, AnalyticsError> {
        // A link to a folder is not one of its folders, whatever is in it.
        let is_folder = match self.folder.symlink_metadata() {
            Ok(found) => found.is_dir(),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => false,
            Err(cause) => return Err(AnalyticsError::io("read", &self.folder)(cause)),
        };
        Ok(is_folder && self.folder.join(OWNER).symlink_metadata().is_ok_and(|found| found.is_file()))
    }
}

/// Removes a file, a link, or a folder with its contents. `std` follows no links here.
fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ANALYTICS;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn place() -> (tempfile::TempDir, Environment) {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::at(folder.path().join("a/analytics"), &ANALYTICS);
        (folder, environment)
    }

    fn whole() -> Complete {
        Complete {
            fingerprint: ANALYTICS.fingerprint(),
            python: "3.12.1".into(),
            packages: vec![("duckdb".into(), "2.0.0".into())],
        }
    }

    fn make(environment: &Environment, complete: &Complete) {
        environment.begin().unwrap();
        fs::create_dir_all(environment.venv().join("bin")).unwrap();
        for program in [environment.python(), environment.generator()] {
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        environment.complete(complete).unwrap();
    }

    #[test]
    fn it_is_begun_completed_and_removed() {
        let (folder, environment) = place();
        assert_eq!(environment.state().unwrap(), EnvironmentState::Absent);
        environment.begin().unwrap();
        assert!(
            matches!(environment.state().unwrap(), EnvironmentState::Incomplete(why) if why.contains("interrupted"))
        );
        environment.remove().unwrap();
        make(&environment, &whole());
        assert_eq!(environment.state().unwrap(), EnvironmentState::Ready(whole()));
        assert!(!environment.temporary().exists() && environment.size_bytes() > 0);
        let mode = environment.folder().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        environment.remove().unwrap();
        assert_eq!(environment.state().unwrap(), EnvironmentState::Absent);
        assert!(folder.path().join("a").exists(), "only the folder itself is removed");
        environment.remove().unwrap();
    }

    #[test]
    fn other_packages_make_it_outdated() {
        let (_folder, environment) = place();
        let old = Complete { fingerprint: "0".repeat(64), ..whole() };
        make(&environment, &old);
        assert_eq!(environment.state().unwrap(), EnvironmentState::Outdated(old.clone()));
        assert_eq!((old.version("duckdb"), old.version("x")), (Some("2.0.0"), None));
    }

    #[test]
    fn a_damaged_one_is_incomplete() {
        let (_folder, environment) = place();
        make(&environment, &whole());
        let path = environment.folder().join(COMPLETE);
        let text = fs::read_to_string(&path).unwrap();
        for length in 0..text.len() {
            assert_eq!(Complete::parse(&text[..length]), None, "{length}");
        }
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert!(
            matches!(environment.state().unwrap(), EnvironmentState::Incomplete(why) if why.contains("damaged"))
        );
        fs::write(&path, text).unwrap();
        // As when the system's Python is replaced by the next version.
        fs::remove_file(environment.python()).unwrap();
        symlink("/usr/bin/python3.0", environment.python()).unwrap();
        assert!(
            matches!(environment.state().unwrap(), EnvironmentState::Incomplete(why) if why.contains("bin/python"))
        );
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let (folder, environment) = place();
        fs::create_dir_all(environment.folder()).unwrap();
        assert_eq!(environment.state().unwrap(), EnvironmentState::Absent, "an empty folder has no owner");
        let precious = environment.folder().join("precious");
        fs::write(&precious, "precious").unwrap();
        assert_eq!(environment.state().unwrap(), EnvironmentState::Foreign);
        assert!(environment.remove().unwrap_err().to_string().contains("not made by threadwise"));
        assert!(precious.exists());
        // A link to a whole environment is not one.
        let real = Environment::at(folder.path().join("real"), &ANALYTICS);
        make(&real, &whole());
        let linked = Environment::at(folder.path().join("linked"), &ANALYTICS);
        symlink(real.folder(), linked.folder()).unwrap();
        assert_eq!(linked.state().unwrap(), EnvironmentState::Foreign);
        assert!(linked.remove().is_err() && real.python().exists());
        // A dangling link too.
        let dangling = Environment::at(folder.path().join("dangling"), &ANALYTICS);
        symlink("/proc/nowhere/at/all", dangling.folder()).unwrap();
        assert_eq!(dangling.state().unwrap(), EnvironmentState::Foreign);
    }

    #[test]
    fn links_inside_are_removed_and_not_followed() {
        let (folder, environment) = place();
        make(&environment, &whole());
        let precious = folder.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "precious").unwrap();
        symlink(&precious, environment.venv().join("lib64")).unwrap();
        symlink(&precious, environment.folder().join("link")).unwrap();
        let small = environment.size_bytes();
        fs::write(precious.join("large"), vec![1; 1 << 20]).unwrap();
        assert_eq!(environment.size_bytes(), small);
        environment.remove().unwrap();
        assert!(precious.join("file").exists());
    }

    #[test]
    fn a_removal_that_was_cut_short_can_be_finished() {
        let (_folder, environment) = place();
        make(&environment, &whole());
        // The marks go first and last.
        fs::remove_file(environment.folder().join(COMPLETE)).unwrap();
        fs::remove_dir_all(environment.venv()).unwrap();
        assert!(matches!(environment.state().unwrap(), EnvironmentState::Incomplete(_)));
        fs::remove_file(environment.folder().join(OWNER)).unwrap();
        assert_eq!(environment.state().unwrap(), EnvironmentState::Absent);
        environment.remove().unwrap();
        assert!(!environment.folder().exists());
    }
}
