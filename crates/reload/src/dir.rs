//! A folder by its descriptor, and the names in it: never by a path, which leads elsewhere once another user
//! renames a folder on the way, and never through a link.
//!
//! Source: `openat(2)` ("Rationale for openat() and other directory file descriptor APIs"; `O_NOFOLLOW`,
//! `O_EXCL`).

use crate::error::ItemError;
use crate::identity::Inode;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most links in a path, as the kernel's limit (`path_resolution(7)`).
const MOST_LINKS: u32 = 40;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder; its path is for messages only.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    /// Opens a folder, which may not be a link.
    ///
    /// # Errors
    /// Those of `open(2)`.
    pub fn open(path: &Path) -> rustix::io::Result<Self> {
        Ok(Self { fd: openat(CWD, path, FOLDER, Mode::empty())?, path: path.to_owned() })
    }

    /// Opens the folder of a path, name by name. For root a link is followed only if it is root's: another
    /// user's could lead to every folder.
    ///
    /// # Errors
    /// Those of `open(2)`, and a link that is not followed.
    pub fn led_to(path: &Path) -> io::Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let follows = |owner: u32| !is_root || owner == 0;
        Self::walk(path, &follows)
    }

    fn walk(path: &Path, follows: &dyn Fn(u32) -> bool) -> io::Result<Self> {
        let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect();
        let mut rest: VecDeque<OsString> = parts(&std::path::absolute(path)?);
        let mut at = openat(CWD, "/", FOLDER, Mode::empty())?;
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            let entry = openat(&at, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
            let found = fstat(&entry)?;
            if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
                at = openat(&entry, ".", FOLDER, Mode::empty())?;
                continue;
            }
            if !follows(found.st_uid) {
                let why =
                    "is a link of another user, which root does not follow: name the folder that it leads to";
                return Err(io::Error::other(format!("{} {why}", name.display())));
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            // The link that was checked.
            let to = readlinkat(&entry, "", Vec::new())?;
            let mut further: VecDeque<OsString> = parts(Path::new(OsStr::from_bytes(to.to_bytes())));
            further.append(&mut rest);
            rest = further;
        }
        Ok(Self { fd: at, path: path.to_owned() })
    }

    /// Opens a folder in it, which may not be a link.
    ///
    /// # Errors
    /// Those of `open(2)`.
    pub fn below(&self, name: &OsStr) -> rustix::io::Result<Self> {
        Ok(Self { fd: openat(&self.fd, name, FOLDER, Mode::empty())?, path: self.path.join(name) })
    }

    /// Another descriptor of the same open folder.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()?, path: self.path.clone() })
    }

    /// Its path when it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, folder or link with a name in it; `None` if there is none.
    ///
    /// # Errors
    /// Those of `stat(2)`.
    pub fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    /// The file with a name in it; `None` if there is none.
    ///
    /// # Errors
    /// The name cannot be inspected.
    pub fn inode(&self, name: &OsStr) -> Result<Option<Inode>, ItemError> {
        let found = self.stat(name).map_err(|error| {
            ItemError::failed(format!("cannot inspect {}: {error}", self.path.join(name).display()))
        })?;
        Ok(found.map(|stat| Inode { dev: stat.st_dev, ino: stat.st_ino }))
    }

    /// Makes a file for its owner only, replacing one that a killed run left.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        self.create_for(name, Mode::RUSR | Mode::WUSR)
    }

    /// As [`Dir::create`], for the users that this mode and the umask allow.
    fn create_for(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        self.remove(name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.fd, name, flags, mode)?))
    }

    /// Opens a regular file for reading; a pipe would block for ever.
    ///
    /// # Errors
    /// Those of `open(2)`, or it is not a regular file.
    pub fn regular(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.fd, name, flags, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("is not a regular file")),
        }
    }

    /// The beginning of a regular file as text; `None` if it does not exist.
    ///
    /// # Errors
    /// Those of `open(2)` and `read(2)`, or it is not a regular file, or not text.
    pub fn text(&self, name: &OsStr, max_bytes: u64) -> io::Result<Option<String>> {
        let mut text = String::new();
        match self.regular(name).and_then(|file| file.take(max_bytes).read_to_string(&mut text)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(|_| Some(text)),
        }
    }

    /// Gives a name atomically to a new file with this text; `next` is its name until then.
    /// With `durable` all of it is then on the disk.
    ///
    /// # Errors
    /// It could not be written; the name is unchanged.
    pub fn replace(&self, name: &OsStr, next: &OsStr, text: &str, durable: bool) -> io::Result<()> {
        let mut file = self.create(next)?;
        file.write_all(text.as_bytes())?;
        if durable {
            file.sync_all()?;
        }
        renameat(&self.fd, next, &self.fd, name)?;
        if durable { self.sync() } else { Ok(()) }
    }

    /// As [`Dir::replace`], for a file that every user whom the umask allows may read; on failure `next` is
    /// removed.
    ///
    /// # Errors
    /// As [`Dir::replace`].
    pub fn publish(&self, name: &OsStr, next: &OsStr, text: &str) -> io::Result<()> {
        let mut file = self.create_for(next, Mode::from_raw_mode(0o666))?;
        let written =
            file.write_all(text.as_bytes()).and_then(|()| Ok(renameat(&self.fd, next, &self.fd, name)?));
        if written.is_err() {
            // An incomplete one is of no use.
            let _ = self.remove(next);
        }
        written
    }

    /// Removes a name if it exists.
    ///
    /// # Errors
    /// Those of `unlink(2)`.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Makes the names in it durable.
    ///
    /// # Errors
    /// Those of `fsync(2)`.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// All names in it.
    ///
    /// # Errors
    /// Those of reading a folder.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        // Opened again, so that each listing starts at the beginning.
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Removes everything in it, except these names, and nothing behind a mount.
    ///
    /// # Errors
    /// What cannot be removed.
    pub fn clear(&self, except: &[&str]) -> io::Result<()> {
        threadwise_process::removal::clear_in(self.fd.as_fd(), except)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_is_followed_and_the_folder_is_the_one_that_was_opened() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let name = OsStr::new("file");
        fs::create_dir(at("folder")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("precious"), "precious").unwrap();
        let dir = Dir::open(&at("folder")).unwrap();
        fs::rename(at("folder"), at("away")).unwrap();
        fs::rename(at("other"), at("folder")).unwrap();
        for linked in ["folder", "away"] {
            symlink(at("precious"), at(linked).join("file")).unwrap();
        }
        assert!(dir.regular(name).is_err() && dir.text(name, 9).is_err());
        dir.replace(name, OsStr::new("next"), "text", true).unwrap();
        assert_eq!(dir.text(name, 3).unwrap().as_deref(), Some("tex"));
        assert_eq!(fs::read(at("away/file")).unwrap(), b"text");
        assert!(at("folder/file").is_symlink());
        fs::create_dir(at("away/deep")).unwrap();
        symlink(at("folder"), at("away/deep/link")).unwrap();
        dir.clear(&["file"]).unwrap();
        assert_eq!(dir.names().unwrap(), ["file"]);
        assert!(at("folder/file").is_symlink(), "nothing behind a link was removed");
        assert_eq!(fs::read(at("precious")).unwrap(), b"precious");
        assert_eq!(dir.below(OsStr::new("link")).unwrap_err(), Errno::NOENT);
    }

    #[test]
    fn a_path_leads_through_links_that_are_followed_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("folder/deep")).unwrap();
        fs::write(at("folder/deep/file"), "text").unwrap();
        symlink("folder/../folder/deep", at("relative")).unwrap();
        symlink(at("relative"), at("absolute")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let text = |dir: Dir| dir.text(OsStr::new("file"), 9).unwrap();
        for name in ["folder/deep", "folder/./deep", "folder/deep/../deep", "relative", "absolute"] {
            assert_eq!(text(Dir::walk(&at(name), &|_| true).unwrap()).as_deref(), Some("text"), "{name}");
        }
        assert!(text(Dir::walk(&at("folder/deep"), &|_| false).unwrap()).is_some());
        for name in ["relative", "absolute", "absolute/../deep"] {
            let why = Dir::walk(&at(name), &|_| false).unwrap_err().to_string();
            assert!(why.contains("does not follow"), "{name}: {why}");
        }
        for name in ["circle", "nowhere", "folder/deep/file", "folder/deep/file/x"] {
            assert!(Dir::walk(&at(name), &|_| true).is_err(), "{name}");
        }
    }

    #[test]
    fn root_follows_no_link_of_another_user() {
        if !rustix::process::geteuid().is_root() {
            let line = "SKIPPED: root_follows_no_link_of_another_user: only root can give a link away\n";
            io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let (folder, link) = (root.path().join("folder"), root.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        assert!(Dir::led_to(&link).is_ok());
        std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
        assert!(Dir::led_to(&link).unwrap_err().to_string().contains("does not follow"));
        assert!(Dir::led_to(&folder).is_ok());
    }
}
