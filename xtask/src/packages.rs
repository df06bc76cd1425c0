//! Debian packages that the laboratory needs: which are missing, and installing them.

use crate::command::Task;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A Debian package, and the programs of which any one shows that it is installed.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Name for `apt-get install`.
    pub name: &'static str,
    /// Programs to look for on PATH, or by their path, in which a folder may be `*`; one is enough.
    /// `PROGRAM -c TEXT` is a command that has to succeed.
    pub programs: &'static [&'static str],
}

const fn package(name: &'static str, programs: &'static [&'static str]) -> Package {
    Package { name, programs }
}

pub const CHROMIUM: Package = package("chromium", &["chromium", "chromium-browser", "google-chrome"]);
pub const PYTHON: Package = package("python3", &["python3"]);
/// Debian's own interpreter has the module venv without its requirements for pip.
pub const VENV: Package = package("python3-venv", &["python3 -c import venv, ensurepip"]);
pub const POSTGRESQL: Package = package("postgresql", &["postgres", "/usr/lib/postgresql/*/bin/postgres"]);
pub const MARIADB: Package = package("mariadb-server", &["mariadbd", "/usr/sbin/mariadbd"]);
pub const FIREBIRD: Package = package("firebird3.0-utils", &["gbak", "isql-fb"]);
/// The engine as a library, without the server: nothing is started.
pub const FIREBIRD_ENGINE: Package =
    package("firebird3.0-server-core", &["sh -c ls /usr/lib/*/firebird/*/plugins/libEngine1*.so"]);
pub const OPENSSL: Package = package("openssl", &["openssl"]);
pub const NPM: Package = package("npm", &["npm"]);
pub const MAVEN: Package = package("maven", &["mvn"]);
pub const SLURMCTLD: Package = package("slurmctld", &["slurmctld", "/usr/sbin/slurmctld"]);
pub const SLURMD: Package = package("slurmd", &["slurmd", "/usr/sbin/slurmd"]);
pub const SLURM_CLIENT: Package = package("slurm-client", &["sbatch"]);
pub const SYSBENCH: Package = package("sysbench", &["sysbench"]);

/// Makes sure that they are installed: root installs missing ones on request, or in CI.
///
/// # Errors
/// What is missing, and the command that installs it.
pub fn ensure(packages: &[&'static Package], asked: bool) -> Result<(), String> {
    let missing = missing(packages, is_there);
    if missing.is_empty() {
        return Ok(());
    }
    if !(asked || is_ci()) || !is_root() || !is_on_path("apt-get") {
        return Err(format!("not installed: {}; {}", names(&missing).join(", "), install_command(&missing)));
    }
    install(&missing)?;
    match self::missing(packages, is_there).as_slice() {
        [] => Ok(()),
        left => Err(format!("installed, but their programs are missing: {}", names(left).join(", "))),
    }
}

/// Whether this is CI, which installs what is missing without being asked.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// The missing ones, each once.
fn missing(packages: &[&'static Package], found: impl Fn(&str) -> bool) -> Vec<&'static Package> {
    let mut missing = Vec::new();
    for package in packages {
        if !missing.contains(package) && !package.programs.iter().any(|program| found(program)) {
            missing.push(*package);
        }
    }
    missing
}

fn install(missing: &[&Package]) -> Result<(), String> {
    // The packages of servers start them after installing, unless the system is in single-user mode
    // (invoke-rc.d(8)); tests start servers themselves.
    let apt = |arguments: &[&str]| {
        Task::new("apt-get", arguments).env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").run()
    };
    apt(&["update", "-q"])?;
    let mut arguments = vec!["install", "-q", "-y", "--no-install-recommends"];
    arguments.extend(names(missing));
    apt(&arguments)
}

/// The command that installs packages.
fn install_command(missing: &[&Package]) -> String {
    let sudo = if is_root() { "" } else { "sudo " };
    format!("{sudo}apt-get install -y --no-install-recommends {}", names(missing).join(" "))
}

fn names(packages: &[&Package]) -> Vec<&'static str> {
    packages.iter().map(|package| package.name).collect()
}

fn is_there(program: &str) -> bool {
    if let Some((program, text)) = program.split_once(" -c ") {
        return Task::new(program, &["-c", text]).output().is_ok();
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
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| effective_user(&status) == Some(0))
}

/// The effective user id: second number of the line `Uid:` in proc_pid_status(5).
fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_program_of_a_package_is_enough() {
        let packages = [&CHROMIUM, &NPM];
        assert_eq!(missing(&packages, |program| program == "npm"), [&CHROMIUM]);
        assert!(missing(&packages, |program| program != "chromium").is_empty());
        assert_eq!(missing(&packages, |_| false).len(), 2);
    }

    #[test]
    fn what_is_missing_is_said_with_the_command_that_installs_it() {
        static NOWHERE: Package = package("nowhere", &["threadwise-no-such-program"]);
        assert_eq!(ensure(&[], false), Ok(()));
        assert!(install_command(&[&NOWHERE]).ends_with("apt-get install -y --no-install-recommends nowhere"));
        if !is_ci() {
            let why = ensure(&[&NOWHERE], false).unwrap_err();
            assert!(why.starts_with("not installed: nowhere; ") && why.contains("apt-get install"), "{why}");
        }
    }

    #[test]
    fn the_effective_user_is_the_second_number() {
        assert_eq!(effective_user("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(0));
        assert_eq!(effective_user("Uid:\t0\t1000\t0\t0\n"), Some(1000));
        assert_eq!(effective_user("Name:\tx\n"), None);
    }

    #[test]
    fn programs_are_found_on_path() {
        assert!(is_on_path("sh") && is_there("sh") && is_there("/bin/sh"));
        assert!(is_there("sh -c exit 0") && !is_there("sh -c exit 1"));
        assert!(!is_there("/usr/*/threadwise-no-such-program"));
        assert!(!is_on_path("threadwise-no-such-program"));
    }
}
