//! A file of metrics for node_exporter's textfile collector, replaced as a whole after every window.
//!
//! Source: node_exporter, "Textfile Collector" (files `*.prom` of a folder, to be renamed into it).

use crate::error::AppError;
use crate::output;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use threadwise_headroom::exposition::MARK;

/// A file that may be replaced.
pub struct Textfile {
    path: PathBuf,
    aside: PathBuf,
}

impl Textfile {
    /// Looks whether the file may be written: it is new, or one that this command wrote.
    ///
    /// # Errors
    /// It is another file, or its folder cannot be written.
    pub fn new(path: &Path) -> Result<Self, AppError> {
        match path.symlink_metadata() {
            Ok(_) if !is_written_here(path) => return Err(foreign(path)),
            Ok(_) => {}
            Err(_) => output::check_new(path)?,
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        Ok(Self { path: path.to_owned(), aside: path.with_file_name(name) })
    }

    /// Whether node_exporter would read it.
    pub fn is_collected(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "prom")
    }

    /// Puts a text in its place, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written, or another file lies there by now.
    pub fn replace(&self, text: &str) -> Result<(), AppError> {
        if self.path.symlink_metadata().is_ok() && !is_written_here(&self.path) {
            return Err(foreign(&self.path));
        }
        let written = write_new(&self.aside, text).and_then(|()| fs::rename(&self.aside, &self.path));
        written.map_err(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                // Incomplete: it would only be in the way. A failed removal changes nothing for the user.
                let _ = fs::remove_file(&self.aside);
            }
            AppError::Failed(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Whether it is a plain file that begins with the mark.
fn is_written_here(path: &Path) -> bool {
    // Opening a pipe would wait for who writes to it.
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MARK.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == MARK.as_bytes()
}

fn foreign(path: &Path) -> AppError {
    AppError::Input(format!(
        "{} exists, was not written by `threadwise headroom`, and is not overwritten: give another name",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.prom");
        let file = Textfile::new(&path).unwrap();
        let text = |value: u32| format!("{MARK}: text\nx {value}\n");
        file.replace(&text(1)).unwrap();
        file.replace(&text(2)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text(2));
        assert!(Textfile::new(&path).is_ok() && file.is_collected());
        fs::write(&path, "theirs\n").unwrap();
        assert!(Textfile::new(&path).is_err() && file.replace(&text(3)).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
        let link = folder.path().join("link.prom");
        std::os::unix::fs::symlink(folder.path().join("absent"), &link).unwrap();
        assert!(Textfile::new(&link).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
