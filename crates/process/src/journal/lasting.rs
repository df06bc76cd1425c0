//! Journals of changes that outlast a reboot, such as a setting of a server that may run elsewhere.
//!
//! They have the form of the others ([`Locked`]) and are in [`crate::state::lasting_folder`]. Their subject is
//! not of this boot or PID namespace, so all of them are found; whether their owners live is known only for those
//! of this boot and namespace, and the caller has to check whether the others are in use before it restores them.

use super::error::JournalError;
use super::file::file_error;
use super::locked::{Locked, Written};
use super::owner::Owner;
use std::fs;
use std::io;
use std::path::Path;
use threadwise_machine::text::one_line;

/// Prefix of the kinds of such journals.
pub const LASTING: &str = "server-";

/// First word of a line that tells the user what to do.
const SAYS: &str = "says ";
/// Longest such text that is shown, characters.
const SHOWN: usize = 500;

/// A line that tells the user what to do if no process is left to do it.
pub fn says_line(text: &str) -> String {
    format!("{SAYS}{}\n", one_line(text, SHOWN))
}

/// Journals of a kind, of any boot, in order of their names.
///
/// # Errors
/// The folder cannot be read.
pub fn lasting(folder: &Path, kind: &str) -> Result<Vec<Written>, JournalError> {
    all(folder, |its_kind| its_kind == kind)
}

fn all(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Result<Vec<Written>, JournalError> {
    let names = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|source| file_error("look for a", folder, source))?,
    };
    let written = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_str()?;
        let (its_kind, _) = name.split_once('.').filter(|(its_kind, _)| is_meant(its_kind))?;
        let Owner { here, pid, .. } = Owner::of_name(its_kind, name)?;
        Some(Written { path: entry.path(), here, pid })
    };
    let mut found: Vec<Written> = names.flatten().filter_map(written).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Whether there is any such journal, as far as visible.
pub fn has_lasting(folder: &Path) -> bool {
    all(folder, |kind| kind.starts_with(LASTING)).is_ok_and(|found| !found.is_empty())
}

/// The contents of such journals whose owners have ended, or are of another boot or PID namespace.
///
/// # Errors
/// The folder or a journal in it cannot be read, or could have been written by others.
pub fn left_lasting(folder: &Path) -> Result<Vec<String>, JournalError> {
    let mut said = Vec::new();
    for written in all(folder, |kind| kind.starts_with(LASTING))? {
        // Just restored and removed.
        let Some(journal) = Locked::open(&written.path)? else { continue };
        if journal.living_owner(&kind_of(&written.path)).is_none() {
            said.extend(
                journal.whole().lines().filter_map(|line| line.strip_prefix(SAYS)).map(str::to_owned),
            );
        }
    }
    Ok(said)
}

/// The kind in a journal's name.
pub fn kind_of(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn journals_of_other_boots_are_found_and_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let made = Locked::create(folder.path(), "server-1f").unwrap().unwrap();
        let path = made.path().to_owned();
        drop(made);
        assert_eq!(kind_of(&path), "server-1f");
        Locked::open(&path).unwrap().unwrap().append(&says_line("do\nthis")).unwrap();
        // This process is its owner, and puts it back.
        assert_eq!(left_lasting(folder.path()).unwrap(), ["do this"]);
        let name = path.file_name().unwrap().to_str().unwrap();
        let boot = name.split('.').nth(1).unwrap();
        let other = path.with_file_name(name.replace(boot, "00000000-0000-4000-8000-000000000001"));
        fs::rename(&path, &other).unwrap();
        let found = lasting(folder.path(), "server-1f").unwrap();
        assert_eq!(found.iter().map(|one| one.path.clone()).collect::<Vec<_>>(), [other]);
        // A name that begins like another's is another server's.
        for kind in ["server-1", "server-1f2", "server-2"] {
            assert!(lasting(folder.path(), kind).unwrap().is_empty(), "{kind}");
        }
        assert!(lasting(&folder.path().join("absent"), "server-1f").unwrap().is_empty());
    }
}
