//! The swap, in which the new file takes the name without losing any file that has the name then.
//!
//! Source: `renameat2(2)`. `RENAME_EXCHANGE` gives the new file the name and leaves the file that
//! had it in the work folder. That is the original, which has its second name by then, or a file that another process
//! put there after the last check.

use crate::driver::ReloadItem;
use crate::error::ItemError;
use crate::folder::{Folder, ItemFile, kept_of};
use crate::identity::{Identity, Inode};
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with};
use rustix::io::Errno;
use std::io;

/// Gives the original its second name.
///
/// # Errors
/// The name is taken, or another file has the database's; then the original has one name.
pub fn link(folder: &Folder, original: Identity) -> Result<(), ItemError> {
    let ((outside, database), (_, kept)) = (folder.at(ItemFile::Database), folder.at(ItemFile::Kept));
    let shown = outside.path().join(kept);
    let refused = |error: &dyn std::fmt::Display| {
        ItemError::failed(format!("the original cannot be kept as {}: {error}", shown.display()))
    };
    linkat(outside, database, outside, kept, AtFlags::empty()).map_err(|error| refused(&error))?;
    let linked = folder.inode(ItemFile::Kept)?;
    if linked != Some(original.inode) {
        // Only the file that still has the database's name: no file may lose its last name.
        if linked == folder.inode(ItemFile::Database)? {
            folder.remove_name(ItemFile::Kept).map_err(|error| refused(&error))?;
            return Err(refused(&"another file took the database's name, and is still there"));
        }
        return Err(refused(&"another file got that name"));
    }
    outside.sync().map_err(|error| refused(&error))
}

/// Removes the original's second name again, if it is one and the first exists.
///
/// # Errors
/// It cannot be removed.
pub fn remove_kept(reload: &ReloadItem, folder: &Folder) -> Result<(), ItemError> {
    let original = reload.with_state(|state| state.state().files).flatten().map(|(original, _)| original);
    let both = folder.inode(ItemFile::Kept)? == original && folder.inode(ItemFile::Database)? == original;
    if original.is_none() || !both {
        return Ok(());
    }
    folder.remove_name(ItemFile::Kept).and_then(|()| folder.outside().sync()).map_err(|error| {
        let kept = kept_of(&reload.database);
        ItemError::failed(format!("cannot remove the second name {}: {error}", kept.display()))
    })
}

/// Gives the new file the name. If the kernel or the file system cannot exchange names, replaces the file that has
/// the name then.
///
/// # Errors
/// Nothing was changed; one reason is that the name does not exist.
pub fn take_name(folder: &Folder) -> io::Result<()> {
    let ((from, new), (to, database)) = (folder.at(ItemFile::New), folder.at(ItemFile::Database));
    match renameat_with(from, new, to, database, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(renameat(from, new, to, database)?),
        exchanged => Ok(exchanged?),
    }
}

/// Removes the original from the work folder, where an exchange left it, unless that is its only name. May
/// be called before an exchange and at any time after it.
///
/// # Errors
/// The file there is neither the original nor the new one, and so another user's, or the original has lost its other
/// name: then nothing of the folder may be removed.
pub fn clear(reload: &ReloadItem, folder: &Folder, original: Inode, new: Inode) -> Result<(), ItemError> {
    let undecided = |what: &str| {
        Err(ItemError::Undecided(format!(
            "{what} is {0} now, and nothing was removed: move it to another name, or remove it; then \
             `threadwise restore {1}`",
            reload.new.display(),
            reload.database.display()
        )))
    };
    match folder.inode(ItemFile::New)? {
        Some(found) if found == original => {
            // The second name was durable before the exchange, but any process may have removed it since.
            let others = [folder.inode(ItemFile::Kept)?, folder.inode(ItemFile::Database)?];
            if !others.contains(&Some(original)) {
                return undecided("the original, which has lost its second name,");
            }
            folder.remove_name(ItemFile::New).map_err(|error| {
                ItemError::failed(format!("cannot remove {}: {error}", reload.new.display()))
            })
        }
        Some(found) if found != new => {
            undecided("another process gave the name to another file right before the swap; that file")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Settings;
    use crate::folder::path_of;
    use std::fs;
    use std::path::Path;

    #[test]
    fn what_had_the_name_is_kept_and_only_the_original_goes() {
        let root = tempfile::tempdir().unwrap();
        let database = root.path().join("db");
        let folder = Folder::acquire(&path_of(&database)).unwrap();
        let reload = ReloadItem::without_state(&database, folder.path().to_owned(), Settings::default());
        let (take_name, clear) =
            (|| take_name(&folder), |original, new| clear(&reload, &folder, original, new));
        let inode = |path: &Path| Identity::at(path).ok().map(|found| found.inode);
        let gone = take_name().unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        fs::write(&reload.new, "new").unwrap();
        assert!(take_name().is_err(), "the name is gone");
        fs::write(&reload.database, "original").unwrap();
        let (new, original) = (inode(&reload.new).unwrap(), inode(&reload.database).unwrap());
        let kept = kept_of(&reload.database);
        fs::hard_link(&reload.database, &kept).unwrap();
        clear(original, new).unwrap();
        assert_eq!(inode(&reload.new), Some(new), "before the exchange nothing goes");
        take_name().unwrap();
        assert_eq!((inode(&reload.new), inode(&reload.database)), (Some(original), Some(new)));
        let theirs = clear(new, new).unwrap_err().to_string();
        assert!(theirs.contains("another process gave the name"), "{theirs}");
        assert_eq!(fs::read(&reload.new).unwrap(), b"original");
        fs::rename(&kept, root.path().join("elsewhere")).unwrap();
        let only = clear(original, new).unwrap_err().to_string();
        assert!(only.contains("lost its second name"), "{only}");
        fs::rename(root.path().join("elsewhere"), &kept).unwrap();
        clear(original, new).unwrap();
        assert_eq!(inode(&reload.new), None);
        clear(original, new).unwrap();
        // Not only files: a folder would have stopped a rename.
        fs::create_dir(&reload.new).unwrap();
        assert!(clear(original, new).is_err());
    }
}
