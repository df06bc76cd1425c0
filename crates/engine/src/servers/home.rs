//! Folders of private servers: templates that are complete or absent, and copies of them.
//!
//! A home holds `data`, the data directory, in which its programs work and by which they are found; the `log` of
//! its server; and other files of its engine. It lies in the study's data folder and is removed with it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_process::{User, folder_processes, segments, template};

use super::names::digest;
use crate::{EngineError, Loaded};

/// Marks a home whose programs ended in order; removed while they are running.
const CLEAN: &str = "clean";

/// Result of loading, in a template.
const LOADED: &str = "loaded";

/// How long programs that a killed worker left may take to end.
const CLEAR_LIMIT: Duration = Duration::from_secs(20);

/// The folder of a private server, with its data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    engine: &'static str,
    folder: PathBuf,
}

impl Home {
    /// The home of this kind in a study's data folder; homes of other data have another `identity`.
    pub fn new(engine: &'static str, data_dir: &Path, kind: &str, identity: &str) -> Self {
        Self { engine, folder: data_dir.join(format!("{engine}-{kind}-{}", digest(identity))) }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The log of its server.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// A file or folder beside the data directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes its folder, empty; the server's user may pass through it.
    ///
    /// # Errors
    /// An error of the file system; or a folder above that the user cannot pass, by its name.
    pub fn make(&self, user: Option<&User>) -> Result<(), EngineError> {
        self.remove()?;
        let mode = if user.is_some() { 0o711 } else { 0o700 };
        let made = DirBuilder::new().mode(mode).create(&self.folder);
        made.map_err(|cause| self.io_error("make", &self.folder, &cause))?;
        user.map_or(Ok(()), |user| self.enterable(user))
    }

    /// Makes a folder inside that only the server's user may enter.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn make_private(&self, folder: &Path, user: Option<&User>) -> Result<(), EngineError> {
        DirBuilder::new()
            .mode(0o700)
            .create(folder)
            .and_then(|()| user.map_or(Ok(()), |user| chown(folder, Some(user.uid), Some(user.gid))))
            .map_err(|cause| self.io_error("make", folder, &cause))
    }

    /// Makes a template by `fill`, which works under another name, and stores the result of loading. Removes what an
    /// earlier attempt left.
    ///
    /// # Errors
    /// An error of `fill` or of the file system; nothing is left then.
    pub fn make_template(
        &self,
        fill: impl FnOnce(&Self) -> Result<Loaded, EngineError>,
    ) -> Result<Loaded, EngineError> {
        self.remove()?;
        let part = Self { engine: self.engine, folder: self.folder.with_extension("part") };
        part.remove()?;
        let made = fill(&part).and_then(|loaded| {
            part.write_loaded(&loaded)?;
            sync(&part.folder);
            fs::rename(&part.folder, &self.folder)
                .map_err(|cause| self.io_error("name", &self.folder, &cause))?;
            Ok(loaded)
        });
        if made.is_err() {
            // Report the first error; the watchdog removes what cannot be removed here.
            let _ = part.remove();
        }
        made
    }

    /// Result of loading this template; `None` if there is none.
    pub fn loaded(&self) -> Option<Loaded> {
        let text = fs::read_to_string(self.file(LOADED)).ok()?;
        let mut lines = text.lines();
        Some(Loaded {
            bytes_per_session: lines.next()?.parse().ok()?,
            rows_per_session: lines.next()?.parse().ok()?,
            notes: lines.map(str::to_owned).collect(),
        })
    }

    /// As [`Self::loaded`], but an error if there is none.
    ///
    /// # Errors
    /// There is no template.
    pub fn expect_loaded(&self) -> Result<(), EngineError> {
        let why = || format!("{} is missing; load it first", self.folder.display());
        self.loaded().map(drop).ok_or_else(|| self.failed("find the loaded data", why()))
    }

    /// Bytes, rows and notes, one a line.
    fn write_loaded(&self, loaded: &Loaded) -> Result<(), EngineError> {
        let line = |note: &String| note.lines().map(str::trim).collect::<Vec<_>>().join(" ") + "\n";
        let notes: String = loaded.notes.iter().map(line).collect();
        let text = format!("{}\n{}\n{notes}", loaded.bytes_per_session, loaded.rows_per_session);
        let path = self.file(LOADED);
        fs::write(&path, text).map_err(|cause| self.io_error("write", &path, &cause))
    }

    /// Makes a copy of the template here, for programs that are about to run on it: a new one if runs change it
    /// (`discard`) or the programs of the last block did not end in order. `make` makes the home, empty, without a
    /// data directory.
    ///
    /// # Errors
    /// There is no template; no space; or an error of the file system.
    pub fn copy_of(
        &self,
        template: &Self,
        discard: bool,
        user: Option<&User>,
        make: impl FnOnce(&Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        template.expect_loaded()?;
        if discard || !self.is_clean() {
            make(self)?;
            self.fill_from(template, user)?;
        }
        self.begin()
    }

    fn fill_from(&self, template: &Self, user: Option<&User>) -> Result<(), EngineError> {
        let copied = template::copy(&template.data(), &self.data(), user);
        copied.map(|_| sync(&self.folder)).map_err(|cause| {
            // Report the error of the copy; the watchdog removes what cannot be removed here.
            let _ = self.remove();
            self.failed("copy the loaded data", cause)
        })
    }

    /// Whether its programs ended in order.
    pub fn is_clean(&self) -> bool {
        self.file(CLEAN).is_file()
    }

    /// Marks that programs are going to run here.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn begin(&self) -> Result<(), EngineError> {
        match fs::remove_file(self.file(CLEAN)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(self.io_error("use", &self.folder, &cause))
            }
            _ => Ok(()),
        }
    }

    /// Marks that they ended in order.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn end(&self) -> Result<(), EngineError> {
        let path = self.file(CLEAN);
        fs::write(&path, "").map_err(|cause| self.io_error("write", &path, &cause))
    }

    /// Ends programs that a killed worker left running here.
    ///
    /// # Errors
    /// They are still running.
    pub fn clear(&self) -> Result<(), EngineError> {
        match self.folder.exists() {
            true => folder_processes::end_in_folder(&self.folder, CLEAR_LIMIT).map(drop),
            false => Ok(()),
        }
        .map_err(|cause| self.failed("end programs of an earlier run", cause))
    }

    /// Removes the home and ends what runs in it; no error if there is none.
    ///
    /// # Errors
    /// Programs are still running, or an error of the file system.
    pub fn remove(&self) -> Result<(), EngineError> {
        self.clear()?;
        segments::remove_in_folder(&self.folder);
        match fs::remove_dir_all(&self.folder) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(self.io_error("remove", &self.folder, &cause))
            }
            _ => Ok(()),
        }
    }

    /// Whether another user can get here: every folder above must let it pass. Checked here, since a server's own
    /// message about it names no folder.
    fn enterable(&self, user: &User) -> Result<(), EngineError> {
        for above in self.folder.ancestors() {
            let entry = fs::metadata(above).map_err(|cause| self.io_error("look at", above, &cause))?;
            let mode = entry.permissions().mode();
            let bit = match (entry.uid() == user.uid, entry.gid() == user.gid) {
                (true, _) => 0o100,
                (false, true) => 0o010,
                (false, false) => 0o001,
            };
            if mode & bit == 0 {
                let (name, above) = (&user.name, above.display());
                let why = format!(
                    "user {name}, which the server runs as, cannot pass through {above}: chmod o+x {above}, \
                     give another data folder, or run threadwise as an ordinary user"
                );
                return Err(self.failed("use the data folder", why));
            }
        }
        Ok(())
    }

    pub(super) fn failed(&self, action: impl Into<String>, why: impl ToString) -> EngineError {
        EngineError::Failed { engine: self.engine.into(), action: action.into(), why: why.to_string() }
    }

    fn io_error(&self, action: &str, path: &Path, cause: &io::Error) -> EngineError {
        let hint = match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "; free some space, choose another folder or less data"
            }
            _ => "",
        };
        self.failed(format!("{action} {}", path.display()), format!("{cause}{hint}"))
    }
}

/// Writes cached data to the disk now, so that the kernel does not do it during a measurement.
pub fn sync(folder: &Path) {
    // Without support of the file system only the start is less quiet.
    let _ = template::sync(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(folder: &Path, kind: &str) -> Home {
        Home::new("test", folder, kind, "1")
    }

    #[test]
    fn a_folder_that_the_servers_user_cannot_enter_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let home = home(&inside, "run");
        fs::create_dir(home.folder()).unwrap();
        // No user has this number, and no group.
        let user = User { name: "server".into(), uid: 4_000_000, gid: 4_000_000 };
        let set =
            |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        set(home.folder(), 0o711);
        set(&inside, 0o711);
        set(folder.path(), 0o700);
        let text = home.enterable(&user).unwrap_err().to_string();
        assert!(text.contains(&format!("chmod o+x {}", folder.path().display())), "{text}");
        set(folder.path(), 0o711);
        home.enterable(&user).unwrap();
    }

    #[test]
    fn a_template_is_whole_or_not_there_and_tells_what_was_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let template = home(folder.path(), "template");
        let broken = template.make_template(|part| {
            part.make(None)?;
            Err(part.failed("fill it", "no"))
        });
        assert!(broken.is_err() && fs::read_dir(folder.path()).unwrap().next().is_none());
        let early = home(folder.path(), "run").copy_of(&template, true, None, |_| Ok(()));
        assert!(early.unwrap_err().to_string().contains("load it first"));
        let loaded = Loaded {
            bytes_per_session: 5,
            rows_per_session: 6,
            notes: vec!["one\n line".to_owned(), "two".to_owned()],
        };
        let made = template.make_template(|part| {
            part.make(None)?;
            part.make_private(&part.data(), None)?;
            Ok(loaded.clone())
        });
        assert_eq!(made, Ok(loaded));
        let kept = template.loaded().unwrap();
        assert_eq!((kept.bytes_per_session, kept.notes), (5, vec!["one line".to_owned(), "two".to_owned()]));
        assert!(template.data().is_dir());
    }

    #[test]
    fn a_home_is_clean_only_after_it_was_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (template, run) = (home(folder.path(), "template"), home(folder.path(), "run"));
        assert_ne!(run, Home::new("test", folder.path(), "run", "2"));
        let fill = |part: &Home| {
            part.make(None)?;
            part.make_private(&part.data(), None)?;
            fs::write(part.data().join("file"), "template").unwrap();
            Ok(Loaded::default())
        };
        template.make_template(fill).unwrap();
        let copy = |discard: bool| run.copy_of(&template, discard, None, |run| run.make(None));
        let file = run.data().join("file");
        copy(false).unwrap();
        assert!(file.exists() && !run.is_clean());
        for (is_clean, discard, text) in
            [(false, false, "template"), (true, false, "changed"), (true, true, "template")]
        {
            fs::write(&file, "changed").unwrap();
            if is_clean {
                run.end().unwrap();
            }
            copy(discard).unwrap();
            assert_eq!((fs::read_to_string(&file).unwrap().as_str(), run.is_clean()), (text, false));
        }
        fs::remove_dir_all(template.data()).unwrap();
        assert!(copy(true).is_err() && !run.folder().exists());
        run.remove().unwrap();
    }
}
