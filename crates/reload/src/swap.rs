//! The moment in which the new file takes the name, so that nothing that has the name then is lost.
//!
//! Source: `renameat2(2)`. `RENAME_EXCHANGE` gives the new file the name and leaves in the work folder what
//! had it. That is the original, which has its second name by then, or a file that somebody put there after
//! the last look at it.

use crate::chain::Work;
use crate::error::ItemError;
use crate::folder::kept_of;
use crate::identity::{Inode, inode_at};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::Path;

/// Gives the new file the name. Where the kernel or the file system cannot exchange names, what has the name
/// then is replaced.
///
/// # Errors
/// Nothing was changed: among others because the name is gone.
pub fn take_name(new: &Path, database: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, database, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(new, database),
        exchanged => Ok(exchanged?),
    }
}

/// Takes the original out of the work folder, where an exchange left it, unless that is its only name. May
/// be called before an exchange and at any time after it.
///
/// # Errors
/// What is there is neither the original nor the new file, and so somebody's, or the original has no other
/// name any more: nothing of the folder must go.
pub fn clear(work: &Work, original: Inode, new: Inode) -> Result<(), ItemError> {
    let undecided = |what: &str| {
        Err(ItemError::Undecided(format!(
            "{what} is {0} now, and nothing was removed: move it to a name of its own, or remove it; then \
             `threadwise reload --recover {1}`",
            work.new.display(),
            work.database.display()
        )))
    };
    match inode_at(&work.new)? {
        Some(found) if found == original => {
            // The second name was durable before the exchange, but anybody may have removed it since.
            let others = [inode_at(&kept_of(&work.database))?, inode_at(&work.database)?];
            if !others.contains(&Some(original)) {
                return undecided("the original, which has lost its second name,");
            }
            fs::remove_file(&work.new)
                .map_err(|error| ItemError::failed(format!("cannot remove {}: {error}", work.new.display())))
        }
        Some(found) if found != new => {
            undecided("somebody gave the name to another file right before the swap; that file")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Settings;

    #[test]
    fn what_had_the_name_is_kept_and_only_the_original_goes() {
        let folder = tempfile::tempdir().unwrap();
        let work =
            Work::without_state(&folder.path().join("db"), folder.path().to_owned(), Settings::default());
        let inode = |path: &Path| inode_at(path).unwrap();
        let gone = take_name(&work.new, &work.database).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        fs::write(&work.new, "new").unwrap();
        assert!(take_name(&work.new, &work.database).is_err(), "the name is gone");
        fs::write(&work.database, "original").unwrap();
        let (new, original) = (inode(&work.new).unwrap(), inode(&work.database).unwrap());
        let kept = kept_of(&work.database);
        fs::hard_link(&work.database, &kept).unwrap();
        clear(&work, original, new).unwrap();
        assert_eq!(inode(&work.new), Some(new), "before the exchange nothing goes");
        take_name(&work.new, &work.database).unwrap();
        assert_eq!((inode(&work.new), inode(&work.database)), (Some(original), Some(new)));
        let theirs = clear(&work, new, new).unwrap_err().to_string();
        assert!(theirs.contains("somebody gave the name"), "{theirs}");
        assert_eq!(fs::read(&work.new).unwrap(), b"original");
        fs::rename(&kept, folder.path().join("elsewhere")).unwrap();
        let only = clear(&work, original, new).unwrap_err().to_string();
        assert!(only.contains("lost its second name"), "{only}");
        fs::rename(folder.path().join("elsewhere"), &kept).unwrap();
        clear(&work, original, new).unwrap();
        assert_eq!(inode(&work.new), None);
        clear(&work, original, new).unwrap();
        // Not only files: a folder would have stopped a rename.
        fs::create_dir(&work.new).unwrap();
        assert!(clear(&work, original, new).is_err());
    }
}
