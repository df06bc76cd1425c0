//! Debian packages that the laboratory needs: which are missing, and installing them.

use super::table;
use crate::command::Task;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Makes sure that they are installed: root installs missing ones on request, or in CI.
///
/// # Errors
/// What is missing, and the command that installs it.
pub fn ensure(packages: &[&str], asked: bool) -> Result<(), String> {
    let known = &table::tables()?.packages;
    let is_installed =
        |name: &str| known.get(name).is_some_and(|programs| programs.iter().any(|one| is_there(one)));
    let missing = |packages: &[&str]| -> Vec<String> {
        let wanted: BTreeSet<&str> = packages.iter().copied().collect();
        wanted.into_iter().filter(|name| !is_installed(name)).map(str::to_owned).collect()
    };
    let found = missing(packages);
    if found.is_empty() {
        return Ok(());
    }
    if !(asked || is_ci()) || !is_root() || !is_on_path("apt-get") {
        return Err(format!("not installed: {}; {}", found.join(", "), install_command(&found)));
    }
    install(&found)?;
    match missing(packages).as_slice() {
        [] => Ok(()),
        left => Err(format!("installed, but their programs are missing: {}", left.join(", "))),
    }
}

/// Whether this is CI, which installs what is missing without being asked.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

fn install(missing: &[String]) -> Result<(), String> {
    // The packages of servers start them after installing, unless the system is in single-user mode
    // (invoke-rc.d(8)); tests start servers themselves.
    let apt = |words: &str| {
        let task = Task::new(&format!("apt-get {words}"), &[]);
        task.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").run()
    };
    apt("update -q")?;
    apt(&format!("install -q -y --no-install-recommends {}", missing.join(" ")))
}

/// The command that installs packages.
fn install_command(missing: &[String]) -> String {
    let sudo = if is_root() { "" } else { "sudo " };
    format!("{sudo}apt-get install -y --no-install-recommends {}", missing.join(" "))
}

fn is_there(program: &str) -> bool {
    if let Some((program, text)) = program.split_once(" -c ") {
        return Task::new("{} -c {}", &[&program, &text]).output().is_ok();
    }
    !found(program).is_empty()
}

/// The executable files of this name on PATH, or of this path, in which a folder may be `*`.
fn found(program: &str) -> Vec<PathBuf> {
    let files: Vec<PathBuf> = match (program.starts_with('/'), program.split_once("/*/")) {
        (false, _) => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).map(|folder| folder.join(program)).collect()
        }
        (true, None) => vec![PathBuf::from(program)],
        (true, Some((before, after))) => {
            let folders = std::fs::read_dir(before).into_iter().flatten().flatten();
            folders.map(|folder| folder.path().join(after)).collect()
        }
    };
    files.into_iter().filter(|file| executable(file)).collect()
}

fn executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether there is a program of this name.
pub fn is_on_path(program: &str) -> bool {
    !program.contains('/') && !found(program).is_empty()
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_the_command_that_installs_it() {
        assert_eq!(ensure(&[], false), Ok(()));
        assert!(install_command(&["a".into()]).ends_with("apt-get install -y --no-install-recommends a"));
        if !is_ci() {
            let why = ensure(&["nowhere"], false).unwrap_err();
            assert!(why.starts_with("not installed: nowhere; ") && why.contains("apt-get install"), "{why}");
        }
    }

    #[test]
    fn programs_are_found_on_path() {
        assert!(is_on_path("sh") && is_there("sh") && is_there("/bin/sh"));
        assert!(is_there("sh -c exit 0") && !is_there("sh -c exit 1"));
        assert!(!is_there("/usr/*/threadwise-no-such-program"));
        assert!(!is_on_path("threadwise-no-such-program"));
    }
}
