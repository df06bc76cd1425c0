//! Copying owner, group, mode and extended attributes (including POSIX ACLs and security labels) of one file
//! to another, and reading them back.
//!
//! Source: `xattr(7)`; `acl(5)` (the mode's group bits are the ACL's mask, so the mode is set last);
//! `chown(2)` (it clears the set-user-ID bits, one more reason for that order).

use crate::identity::stat;
use rustix::fs::{
    CWD, Gid, Mode, OFlags, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr,
    fstat, lgetxattr, llistxattr, openat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::path::Path;

/// Metadata of a file beside its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    uid: u32,
    gid: u32,
    mode: u32,
    attributes: BTreeMap<CString, Vec<u8>>,
}

impl Metadata {
    /// Reads it by path, opening nothing: closing a database would drop SQLite's locks on it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = stat(path)?;
        let attributes =
            attributes(|buffer| llistxattr(path, buffer), |name, buffer| lgetxattr(path, name, buffer))?;
        Ok(Self { uid: found.st_uid, gid: found.st_gid, mode: found.st_mode & 0o7777, attributes })
    }

    fn of_file(file: &File) -> io::Result<Self> {
        let found = fstat(file)?;
        let attributes =
            attributes(|buffer| flistxattr(file, buffer), |name, buffer| fgetxattr(file, name, buffer))?;
        Ok(Self { uid: found.st_uid, gid: found.st_gid, mode: found.st_mode & 0o7777, attributes })
    }

    /// The first attribute that only root sees (`trusted.` of `xattr(7)`), which other users cannot copy.
    pub fn roots_own(&self) -> Option<String> {
        self.attributes.keys().find(|name| name.to_bytes().starts_with(b"trusted.")).map(|name| shown(name))
    }

    /// Sets it on an open file and reads it back.
    ///
    /// # Errors
    /// What could not be set, in one line.
    pub fn give(&self, file: &File) -> Result<(), String> {
        let old = Self::of_file(file).map_err(|error| format!("cannot read its attributes: {error}"))?;
        if (old.uid, old.gid) != (self.uid, self.gid) {
            fchown(file, Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))
                .map_err(|error| format!("cannot set owner {}:{}: {error}", self.uid, self.gid))?;
        }
        for name in old.attributes.keys().filter(|name| !self.attributes.contains_key(*name)) {
            fremovexattr(file, name.as_c_str())
                .map_err(|error| format!("cannot remove attribute {}: {error}", shown(name)))?;
        }
        for (name, value) in &self.attributes {
            if old.attributes.get(name) != Some(value) {
                fsetxattr(file, name.as_c_str(), value, XattrFlags::empty())
                    .map_err(|error| format!("cannot set attribute {}: {error}", shown(name)))?;
            }
        }
        fchmod(file, Mode::from_raw_mode(self.mode))
            .map_err(|error| format!("cannot set mode {:o}: {error}", self.mode))?;
        match Self::of_file(file) {
            Ok(given) if given == *self => Ok(()),
            Ok(_) => Err("owner, mode and attributes do not read back as set".to_owned()),
            Err(error) => Err(format!("cannot read back its attributes: {error}")),
        }
    }
}

impl Metadata {
    /// Tries to set it on a file without a name (`O_TMPFILE` of `open(2)`), which leaves nothing behind.
    /// Without such files in the file system nothing is reported: then the work folder shows it.
    ///
    /// # Errors
    /// What could not be set, in one line.
    pub fn try_in(&self, folder: &Path) -> Result<(), String> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let Ok(file) = openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR) else { return Ok(()) };
        let owner = (Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)));
        fchown(&file, owner.0, owner.1)
            .map_err(|error| format!("cannot set owner {}:{}: {error}", self.uid, self.gid))?;
        for (name, value) in &self.attributes {
            fsetxattr(&file, name.as_c_str(), value, XattrFlags::empty())
                .map_err(|error| format!("cannot set attribute {}: {error}", shown(name)))?;
        }
        fchmod(&file, Mode::from_raw_mode(self.mode))
            .map_err(|error| format!("cannot set mode {:o}: {error}", self.mode))?;
        match fstat(&file) {
            Ok(given)
                if (given.st_uid, given.st_gid, given.st_mode & 0o7777)
                    == (self.uid, self.gid, self.mode) =>
            {
                Ok(())
            }
            Ok(_) => Err("owner and mode do not read back as set".to_owned()),
            Err(error) => Err(format!("cannot read back its attributes: {error}")),
        }
    }
}

fn shown(name: &CStr) -> String {
    name.to_string_lossy().into_owned()
}

/// All extended attributes that this user may see; none if the file system has none.
fn attributes(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    get: impl Fn(&CStr, &mut [u8]) -> rustix::io::Result<usize>,
) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    let names = match grown(list) {
        Err(error) if error == Errno::NOTSUP || error == Errno::NOSYS => return Ok(BTreeMap::new()),
        names => names?,
    };
    let mut found = BTreeMap::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = CString::new(name)?;
        match grown(|buffer| get(&name, buffer)) {
            Ok(value) => drop(found.insert(name, value)),
            // Removed between the two calls, or listed by the file system but not readable.
            Err(Errno::NODATA | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// Retries with a buffer that grows until the answer fits (`XATTR_SIZE_MAX` and `XATTR_LIST_MAX` are 64 KiB).
fn grown(ask: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut size = 1 << 10;
    loop {
        let mut buffer = vec![0; size];
        match ask(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if size < 1 << 20 => size *= 4,
            Err(error) => return Err(error),
        }
    }
}
