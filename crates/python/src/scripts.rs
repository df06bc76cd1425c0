//! The worker programs: the files of `workers/`, included in this program and written beside the
//! environment, so that an installed `threadwise` is one file.
//!
//! Their folder is named by their contents. Before use every file is compared with the expected text
//! and written again if it differs, and anything else in the folder is removed: Python would
//! import it (a module of that name, or compiled code in `__pycache__`) first.

mod files;

use crate::AnalyticsError;
use crate::lock::{Lock, Patience};
use crate::private::{private_folder, write_synced};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use files::FILES;
pub use files::{CLUSTER_BY_SHIPDATE, COUNT_ROWS};

const PREFIX: &str = "workers-";
/// Checking and writing takes milliseconds; a process that holds the lock for longer is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// Names of all of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Makes sure that the worker programs below `home` are correct, and returns their folder.
///
/// # Errors
/// They cannot be written.
pub(crate) fn ensure(home: &Path) -> Result<PathBuf, AnalyticsError> {
    ensure_files(home, &FILES)
}

fn ensure_files(home: &Path, files: &[(&str, &str)]) -> Result<PathBuf, AnalyticsError> {
    let folder = home.join(folder_name(files));
    if is_whole(&folder, files) {
        return Ok(folder);
    }
    private_folder(home).map_err(AnalyticsError::io("make the folder", home))?;
    let never = AtomicBool::new(false);
    let patience = Patience { longest: PATIENCE, stop: &never };
    let _lock = Lock::take(&home.join("workers.lock"), &patience, &mut |_| {})?;
    if folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        fs::remove_file(&folder).map_err(AnalyticsError::io("remove", &folder))?;
    }
    private_folder(&folder).map_err(AnalyticsError::io("make the folder", &folder))?;
    let mode = fs::Permissions::from_mode(0o700);
    fs::set_permissions(&folder, mode).map_err(AnalyticsError::io("make private", &folder))?;
    remove_strays(&folder, files).map_err(AnalyticsError::io("clean", &folder))?;
    for (name, text) in files {
        let path = folder.join(name);
        if !holds(&path, text) {
            write_synced(&path, text)?;
        }
    }
    match is_whole(&folder, files) {
        true => Ok(folder),
        false => Err(AnalyticsError::Install(format!(
            "{} is changed by another process while threadwise writes it: find that process, then try again",
            folder.display()
        ))),
    }
}

/// Removes all folders of worker programs below `home` and returns whether there was one. Folders of
/// that name with other contents stay.
pub(crate) fn remove_all(home: &Path) -> Result<bool, AnalyticsError> {
    let entries = match fs::read_dir(home) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(cause) => return Err(AnalyticsError::io("read", home)(cause)),
    };
    let mut found = false;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let hash = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_ours =
            hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_scripts(&entry.path()).map_err(AnalyticsError::io("remove", &entry.path()))?;
            found = true;
        }
    }
    // There is none if nothing was ever written.
    let _ = fs::remove_file(home.join("workers.lock"));
    Ok(found)
}

fn remove_scripts(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Other versions had other files; all were Python programs and their statements.
        let path = entry.path();
        if entry.file_type()?.is_file() && path.extension().is_some_and(|end| end == "py" || end == "sql") {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_dir(folder) {
        Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        done => done,
    }
}

/// 16 digits of the hash over names and contents.
fn folder_name(files: &[(&str, &str)]) -> String {
    let mut hash = Sha256::new();
    for (name, text) in files {
        for part in [name, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    format!("{PREFIX}{}", &format!("{:x}", hash.finalize())[..16])
}

/// Whether the folder is private and holds only these files.
fn is_whole(folder: &Path, files: &[(&str, &str)]) -> bool {
    let is_private = folder
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o077 == 0);
    let count = fs::read_dir(folder).map_or(0, Iterator::count);
    is_private && count == files.len() && files.iter().all(|(name, text)| holds(&folder.join(name), text))
}

/// Whether a regular file holds exactly this text and no other user may write it.
fn holds(path: &Path, text: &str) -> bool {
    let is_file =
        path.symlink_metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o077 == 0);
    let mut bytes = Vec::new();
    let limit = text.len() as u64 + 1;
    is_file
        && fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).is_ok()
        && bytes == text.as_bytes()
}

fn remove_strays(folder: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_file = entry.file_type()?.is_file();
        let is_known = files.iter().any(|(name, _)| entry.file_name() == *name);
        match (is_known && is_file, entry.file_type()?.is_dir()) {
            (true, _) => {}
            (false, true) => fs::remove_dir_all(entry.path())?,
            (false, false) => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const TWO: [(&str, &str); 2] = [("a.py", "import b\n"), ("b.py", "print(1)\n")];

    fn names_in(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn they_are_written_once_privately_and_named_by_their_contents() {
        let home = tempfile::tempdir().unwrap();
        let folder = ensure_files(home.path(), &TWO).unwrap();
        assert_eq!(names_in(&folder), ["a.py", "b.py"]);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("a.py"))), (0o700, 0o600));
        let written = folder.join("a.py").metadata().unwrap().modified().unwrap();
        assert_eq!(ensure_files(home.path(), &TWO).unwrap(), folder);
        assert_eq!(folder.join("a.py").metadata().unwrap().modified().unwrap(), written);
        let other = ensure_files(home.path(), &[("a.py", "import b\n"), ("b.py", "print(2)\n")]).unwrap();
        assert_ne!(other, folder);
    }

    #[test]
    fn what_was_changed_is_written_anew_and_what_does_not_belong_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = ensure_files(home.path(), &TWO).unwrap();
        let precious = home.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "precious").unwrap();
        let changes: [&dyn Fn(); 8] = [
            &|| fs::write(folder.join("a.py"), "import").unwrap(),
            &|| fs::write(folder.join("a.py"), "import b\n# more\n").unwrap(),
            &|| fs::remove_file(folder.join("b.py")).unwrap(),
            &|| fs::write(folder.join("pyarrow.py"), "evil\n").unwrap(),
            &|| {
                fs::create_dir(folder.join("__pycache__")).unwrap();
                fs::write(folder.join("__pycache__/b.cpython-312.pyc"), "evil\n").unwrap();
            },
            &|| {
                fs::remove_file(folder.join("a.py")).unwrap();
                symlink(precious.join("file"), folder.join("a.py")).unwrap();
            },
            &|| fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap(),
            &|| {
                fs::remove_dir_all(&folder).unwrap();
                symlink(&precious, &folder).unwrap();
            },
        ];
        for (number, change) in changes.iter().enumerate() {
            change();
            assert!(!is_whole(&folder, &TWO), "{number}");
            ensure_files(home.path(), &TWO).unwrap();
            assert!(is_whole(&folder, &TWO), "{number}");
            assert_eq!(names_in(&precious), ["file"], "{number}");
            assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "precious");
        }
    }

    #[test]
    fn many_at_once_agree() {
        let home = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let all: Vec<_> =
                (0..8).map(|_| scope.spawn(|| ensure_files(home.path(), &TWO).unwrap())).collect();
            for one in all {
                assert!(is_whole(&one.join().unwrap(), &TWO));
            }
        });
    }

    #[test]
    fn only_folders_of_ours_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = ensure_files(home.path(), &TWO).unwrap();
        let kept = home.path().join("workers-of-mine");
        fs::create_dir(&kept).unwrap();
        let linked = home.path().join(format!("{PREFIX}0123456789abcdef"));
        symlink(&kept, &linked).unwrap();
        fs::write(kept.join("x.py"), "").unwrap();
        assert!(remove_all(home.path()).unwrap());
        assert!(!folder.exists() && kept.join("x.py").exists() && linked.symlink_metadata().is_ok());
        assert!(!remove_all(home.path()).unwrap());
    }

    #[test]
    fn every_file_of_the_folder_is_carried() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workers");
        let mut there = names_in(&folder);
        there.retain(|name| name.ends_with(".py") || name.ends_with(".sql"));
        let mut carried: Vec<&str> = names().collect();
        carried.sort_unstable();
        assert_eq!(there, carried, "workers/ and the list at the top of this file differ");
    }

    #[test]
    fn the_real_ones_are_written_as_they_are() {
        let home = tempfile::tempdir().unwrap();
        let folder = ensure(home.path()).unwrap();
        assert!(is_whole(&folder, &FILES));
        let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workers").join(FILES[0].0);
        assert_eq!(fs::read(first).unwrap(), fs::read(folder.join(FILES[0].0)).unwrap());
    }
}
