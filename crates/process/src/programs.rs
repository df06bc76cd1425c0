//! Finding a server's programs: in the folders of PATH and where packages install them, several versions
//! side by side.
//!
//! Source: `execvp(3)` for the meaning of PATH; Debian's postgresql-common
//! (`/usr/lib/postgresql/VERSION/bin`) and PGDG's packages for Red Hat (`/usr/pgsql-VERSION/bin`) for
//! the patterns. Relative folders are left out, so that the current folder never affects what runs.

use rustix::fs::{Access, access};
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// The first program found: names in their order, and for each the folders of `path` (as in the
/// environment variable), then those of `folders`, whose patterns [`expand`] expands.
pub fn find(names: &[&str], folders: &[&str], path: &OsStr) -> Option<PathBuf> {
    let mut searched: Vec<PathBuf> = std::env::split_paths(path).collect();
    searched.extend(folders.iter().flat_map(|pattern| expand(Path::new(pattern))));
    searched.retain(|folder| folder.is_absolute());
    names
        .iter()
        .find_map(|name| searched.iter().map(|folder| folder.join(name)).find(|program| is_program(program)))
}

/// Writes a program that may be started at once. A separate process writes it, so that no child that another thread
/// has just forked still has it open for writing, in which case `execve(2)` fails with ETXTBSY.
///
/// # Errors
/// The system's, or that the program could not be written.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut child = shell.spawn()?;
    let given = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    match child.wait()?.success() {
        true => given,
        false => Err(std::io::Error::other(format!("{} was not written", path.display()))),
    }
}

/// Copies a program so that the copy may be started at once, as above.
///
/// # Errors
/// The system's, or that the program could not be copied.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    match Command::new("cp").arg("--").args([from, to]).status()?.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("{} was not copied", from.display()))),
    }
}

/// Whether the path is a file that this user may run.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|entry| entry.is_file()) && access(path, Access::EXEC_OK).is_ok()
}

/// The folders that match a pattern, in which `*` is any text of one step
/// (`/usr/lib/postgresql/*/bin`, `/usr/pgsql-*/bin`): the newest version first, by the numbers in
/// place of `*`. A pattern without `*` is the folder itself, if it exists.
pub fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![(Vec::new(), PathBuf::new())];
    for component in pattern.components() {
        found = match component {
            Component::Normal(step) => match step.to_str().and_then(|step| step.split_once('*')) {
                Some((before, after)) => {
                    found.iter().flat_map(|(versions, at)| matching(versions, at, before, after)).collect()
                }
                None => joined(found, step),
            },
            other => joined(found, other.as_os_str()),
        };
    }
    found.retain(|(_, folder)| folder.is_dir());
    found.sort_by_key(|(versions, folder)| (Reverse(versions.clone()), folder.clone()));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// A version as numbers; empty, and so older than all, for a text that is not one.
type Version = Vec<u64>;

fn joined(found: Vec<(Vec<Version>, PathBuf)>, step: &OsStr) -> Vec<(Vec<Version>, PathBuf)> {
    found.into_iter().map(|(versions, at)| (versions, at.join(step))).collect()
}

fn matching(versions: &[Version], at: &Path, before: &str, after: &str) -> Vec<(Vec<Version>, PathBuf)> {
    let Ok(entries) = fs::read_dir(at) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let star = name.to_str()?.strip_prefix(before)?.strip_suffix(after)?;
            let mut versions = versions.to_vec();
            versions.push(version(star));
            Some((versions, entry.path()))
        })
        .collect()
}

fn version(text: &str) -> Version {
    text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_newest_version_by_number_comes_first() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9.6", "15", "9.10", "100", "contrib", "9"] {
            program(&root.path().join(version).join("bin/postgres"), 0o755);
        }
        fs::create_dir(root.path().join("99")).unwrap();
        let found = expand(&root.path().join("*/bin"));
        let names: Vec<_> = found
            .iter()
            .map(|folder| folder.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["100/bin", "15/bin", "9.10/bin", "9.6/bin", "9/bin", "contrib/bin"]);
        let pattern = root.path().join("*/bin");
        let newest = find(&["postgres"], &[pattern.to_str().unwrap()], OsStr::new("")).unwrap();
        assert_eq!(newest, root.path().join("100/bin/postgres"));
        assert_eq!(expand(&root.path().join("15/bin")), [root.path().join("15/bin")]);
        assert!(expand(&root.path().join("16/bin")).is_empty());
        assert_eq!(expand(&root.path().join("c*b/bin")), [root.path().join("contrib/bin")]);
    }

    #[test]
    fn path_comes_before_folders_and_an_earlier_name_before_both() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        program(&at("path/mysqld"), 0o755);
        program(&at("other/mysqld"), 0o755);
        let other = at("other");
        let folders = [other.to_str().unwrap()];
        let path = std::env::join_paths([at("absent"), at("path")]).unwrap();
        assert_eq!(find(&["mariadbd", "mysqld"], &folders, &path), Some(at("path/mysqld")));
        program(&at("other/mariadbd"), 0o755);
        assert_eq!(find(&["mariadbd", "mysqld"], &folders, &path), Some(at("other/mariadbd")));
    }

    #[test]
    fn what_cannot_be_run_is_not_found() {
        let root = tempfile::tempdir().unwrap();
        program(&root.path().join("postgres"), 0o644);
        fs::create_dir(root.path().join("initdb")).unwrap();
        let path = root.path().as_os_str();
        assert_eq!(find(&["postgres", "initdb"], &[], path), None);
        assert_eq!(find(&["Cargo.toml", "sh"], &["."], OsStr::new(".:")), None);
    }
}
