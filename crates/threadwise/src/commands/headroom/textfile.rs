//! A file of metrics for node_exporter's textfile collector, replaced atomically after every window.
//!
//! Source: node_exporter, "Textfile Collector" (files `*.prom` of a folder, to be renamed into it).

use crate::error::AppError;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use threadwise_reload::dir::Dir;

/// A file that may be replaced, in a folder held open so that renaming it does not matter.
pub struct Textfile {
    path: PathBuf,
    folder: Dir,
    name: OsString,
    aside: OsString,
    mark: &'static str,
}

impl Textfile {
    /// Checks that the file may be written: it is new, or one that this command wrote, which begins with the mark.
    ///
    /// # Errors
    /// It is another file, its folder cannot be written, or root would follow another user's link to it.
    pub fn new(path: &Path, mark: &'static str) -> Result<Self, AppError> {
        let Some(name) = path.file_name().filter(|_| path != Path::new("-")) else {
            let why = "is not a file name that node_exporter can read: give one such as ./threadwise.prom";
            return Err(AppError::Input(format!("'{}' {why}", path.display())));
        };
        let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = Dir::led_to(parent).map_err(|error| {
            AppError::Input(format!(
                "{} is not a folder to write to: {error}; give another name",
                parent.display()
            ))
        })?;
        let mut aside = name.to_owned();
        aside.push(format!(".{}.new", std::process::id()));
        let file = Self { path: path.to_owned(), folder, name: name.to_owned(), aside, mark };
        file.expect_ours()?;
        // Only creating a file shows whether this user may; it is removed at once.
        let made = file.folder.create(&file.aside).and_then(|_| file.folder.remove(&file.aside));
        made.map(|()| file).map_err(|error| {
            let advice = "give a name in a folder that you may write to";
            AppError::Input(format!("cannot create {}: {error}; {advice}", path.display()))
        })
    }

    /// Whether node_exporter would read it.
    pub fn is_collected(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "prom")
    }

    /// Replaces the file with a text atomically.
    ///
    /// # Errors
    /// It cannot be written, or is another file by now.
    pub fn replace(&self, text: &str) -> Result<(), AppError> {
        self.expect_ours()?;
        self.folder
            .publish(&self.name, &self.aside, text)
            .map_err(|error| AppError::Failed(format!("cannot write {}: {error}", self.path.display())))
    }

    /// Refuses to replace another file.
    fn expect_ours(&self) -> Result<(), AppError> {
        match self.folder.stat(&self.name) {
            Ok(None) => Ok(()),
            Ok(Some(_)) if is_written_here(&self.folder, &self.name, self.mark) => Ok(()),
            _ => Err(foreign(&self.path, self.mark)),
        }
    }
}

/// Whether it is a regular file that begins with the mark.
fn is_written_here(folder: &Dir, name: &OsStr, mark: &str) -> bool {
    let mut head = Vec::new();
    let read = folder.regular(name).and_then(|file| file.take(mark.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == mark.as_bytes()
}

fn foreign(path: &Path, mark: &str) -> AppError {
    AppError::Input(format!(
        "{} exists, was not written by `{}`, and is not overwritten: give another name",
        path.display(),
        mark.trim_start_matches("# ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use threadwise_headroom::exposition::MARK;

    #[test]
    fn only_its_own_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.prom");
        let file = Textfile::new(&path, MARK).unwrap();
        let text = |value: u32| format!("{MARK}: text\nx {value}\n");
        file.replace(&text(1)).unwrap();
        file.replace(&text(2)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text(2));
        assert!(Textfile::new(&path, MARK).is_ok() && file.is_collected());
        fs::write(&path, "theirs\n").unwrap();
        assert!(Textfile::new(&path, MARK).is_err() && file.replace(&text(3)).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
        let link = folder.path().join("link.prom");
        symlink(folder.path().join("absent"), &link).unwrap();
        assert!(Textfile::new(&link, MARK).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_folder_is_the_one_that_was_opened() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("users")).unwrap();
        fs::create_dir(at("roots")).unwrap();
        let file = Textfile::new(&at("users/t.prom"), MARK).unwrap();
        // Its user puts a link to another folder in the folder's place.
        fs::rename(at("users"), at("away")).unwrap();
        symlink(at("roots"), at("users")).unwrap();
        file.replace(&format!("{MARK}: text\n")).unwrap();
        assert_eq!(fs::read_dir(at("roots")).unwrap().count(), 0);
        let mode = fs::metadata(at("away/t.prom")).unwrap().permissions().mode();
        assert_eq!(mode & 0o600, 0o600);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(at("users"), Some(65_534), None).unwrap();
            let why = Textfile::new(&at("users/t.prom"), MARK).err().unwrap().to_string();
            assert!(why.contains("does not follow"), "{why}");
            assert_eq!(fs::read_dir(at("roots")).unwrap().count(), 0);
        }
        for bad in ["-", "/", "..", "nowhere/t.prom"] {
            assert!(Textfile::new(Path::new(bad), MARK).is_err(), "{bad}");
        }
    }
}
