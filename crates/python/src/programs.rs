//! Programs on PATH, and other people's engines among them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Prefix of the names of programs that speak the worker protocol (docs/WORKER.md).
const PREFIX: &str = "threadwise-engine-";

/// The first program of this name in the absolute folders of `path` (the value of `PATH`).
pub(crate) fn on_path(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| is_program(program))
}

/// Whether it is an executable file.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|entry| entry.is_file() && entry.permissions().mode() & 0o111 != 0)
}

/// Engines that are programs `threadwise-engine-NAME` in the absolute folders of `path`: name and
/// program, by name; of two with the same name the first one on `path`.
pub fn external(path: &OsStr) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        // A folder of PATH that does not exist or cannot be read has no programs.
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let Some(engine) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
            let is_new = found.iter().all(|(name, _)| name != engine);
            if !engine.is_empty() && is_new && is_program(&entry.path()) {
                found.push((engine.to_owned(), entry.path()));
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, mode: u32) {
        let path = folder.join(name);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn engines_on_the_path_are_listed_once() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(first.path(), "threadwise-engine-mine", 0o755);
        put(second.path(), "threadwise-engine-mine", 0o755);
        put(second.path(), "threadwise-engine-also", 0o755);
        put(second.path(), "threadwise-engine-notes.txt", 0o644);
        put(second.path(), "threadwise-engine-", 0o755);
        let path =
            std::env::join_paths([Path::new("bin"), Path::new("/proc/nowhere"), first.path(), second.path()]);
        let found = external(&path.unwrap());
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["also", "mine"]);
        assert!(found[1].1.starts_with(first.path()));
    }
}
