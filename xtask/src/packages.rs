//! Debian packages that tests need: which are missing, and what is done about it.

use crate::command::Task;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A Debian package, the programs of which any one shows that it is there, and what it is for.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Name for `apt-get install`.
    pub name: &'static str,
    /// Programs to look for on PATH, or by their path, in which a folder may be `*`; one is enough.
    /// `PROGRAM -c TEXT` is a command that has to succeed.
    pub programs: &'static [&'static str],
    /// Tests that are skipped without it.
    pub used_for: &'static str,
}

/// All of them.
pub const PACKAGES: [Package; 16] = [
    Package { name: "bzip2", programs: &["bzip2"], used_for: "unpacking recorded machines" },
    Package { name: "tar", programs: &["tar"], used_for: "unpacking recorded machines" },
    Package {
        name: "chromium",
        programs: &["chromium", "chromium-browser", "google-chrome"],
        used_for: "opening the HTML report in a browser",
    },
    Package { name: "python3", programs: &["python3"], used_for: "a worker written in another language" },
    Package {
        // Debian's own interpreter has the module venv without what it needs to put pip in.
        name: "python3-venv",
        programs: &["python3 -c import venv, ensurepip"],
        used_for: "DuckDB, DataFusion and all of TPC-H",
    },
    Package {
        name: "postgresql",
        programs: &["postgres", "/usr/lib/postgresql/*/bin/postgres"],
        used_for: "studies of PostgreSQL",
    },
    Package {
        name: "mariadb-server",
        programs: &["mariadbd", "/usr/sbin/mariadbd"],
        used_for: "studies of MariaDB",
    },
    Package {
        name: "firebird3.0-utils",
        programs: &["gbak", "isql-fb"],
        used_for: "reloads and studies of Firebird",
    },
    Package {
        // The engine as a library, without the server: nothing is started.
        name: "firebird3.0-server-core",
        programs: &["sh -c ls /usr/lib/*/firebird/*/plugins/libEngine1*.so"],
        used_for: "reloads and studies of Firebird",
    },
    Package { name: "openssl", programs: &["openssl"], used_for: "TLS to a PostgreSQL server" },
    Package {
        name: "npm",
        programs: &["npm"],
        used_for: "studies of PostgreSQL 18, accessibility of the report",
    },
    Package { name: "maven", programs: &["mvn"], used_for: "studies of MariaDB 11.4" },
    Package {
        name: "slurmctld",
        programs: &["slurmctld", "/usr/sbin/slurmctld"],
        used_for: "fleets on Slurm",
    },
    Package { name: "slurmd", programs: &["slurmd", "/usr/sbin/slurmd"], used_for: "fleets on Slurm" },
    Package { name: "slurm-client", programs: &["sbatch"], used_for: "fleets on Slurm" },
    Package { name: "sysbench", programs: &["sysbench"], used_for: "run command with sysbench" },
];

/// What is known before anything is installed.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    /// `--install` was given.
    pub asked: bool,
    /// CI=true.
    pub ci: bool,
    /// We may install.
    pub root: bool,
    /// There is an `apt-get`.
    pub apt: bool,
}

/// What is done about missing packages.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is missing.
    Nothing,
    /// They are installed.
    Install,
    /// The tests run without them, and say so.
    Skip,
    /// This is an error; the text says why.
    Fail(String),
}

/// Makes sure that the packages of tests are there and returns those that tests have to do without.
pub fn ensure(asked: bool) -> Result<Vec<&'static Package>, String> {
    ensure_all(&PACKAGES, asked)
}

/// The same for these packages.
pub fn ensure_all(packages: &'static [Package], asked: bool) -> Result<Vec<&'static Package>, String> {
    let missing = missing(packages, is_there);
    let situation = Situation { asked, ci: is_ci(), root: is_root(), apt: is_on_path("apt-get") };
    match decide(&missing, situation) {
        Decision::Nothing => Ok(Vec::new()),
        Decision::Fail(why) => Err(why),
        Decision::Skip => Ok(missing),
        Decision::Install => {
            install(&missing)?;
            match self::missing(packages, is_there).as_slice() {
                [] => Ok(Vec::new()),
                left => Err(format!("installed, and yet there is no program of: {}", names(left).join(", "))),
            }
        }
    }
}

/// Under CI=true a skipped test is an error where a package would have made it run.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// The package that a line about a skipped test speaks of, if any.
pub fn package_of(line: &str) -> Option<&'static Package> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut words = line.split(|c| !word(c));
    words.find_map(|word| {
        PACKAGES.iter().find(|package| package.name == word || package.programs.contains(&word))
    })
}

/// What is lost without a package, and how to get it.
pub fn skip(package: &Package) -> String {
    let command = how_to_install(&[package]);
    format!("{}: {} is not installed (Debian: {command})", package.used_for, package.name)
}

/// The command that installs packages.
pub fn how_to_install(packages: &[&Package]) -> String {
    install_command(packages, is_root())
}

fn missing(packages: &'static [Package], found: impl Fn(&str) -> bool) -> Vec<&'static Package> {
    packages.iter().filter(|package| !package.programs.iter().any(|program| found(program))).collect()
}

fn decide(missing: &[&Package], situation: Situation) -> Decision {
    let Situation { asked, ci, root, apt } = situation;
    if missing.is_empty() {
        return Decision::Nothing;
    }
    let what = names(missing).join(", ");
    match (asked || ci, apt, root) {
        (true, true, true) => Decision::Install,
        (true, true, false) if ci => {
            let command = install_command(missing, root);
            Decision::Fail(format!("missing: {what}; only root can install: {command}"))
        }
        (true, false, _) if asked => Decision::Fail(format!(
            "missing: {what}; there is no apt-get here: install them by this system's own means"
        )),
        _ => Decision::Skip,
    }
}

fn install(missing: &[&Package]) -> Result<(), String> {
    // The packages of servers start them after installing, unless the system is in single-user mode
    // (invoke-rc.d(8)); tests start servers of their own.
    let apt = |arguments: &[&str]| {
        Task::new("apt-get", arguments).env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").run()
    };
    apt(&["update", "-q"])?;
    let mut arguments = vec!["install", "-q", "-y", "--no-install-recommends"];
    arguments.extend(names(missing));
    apt(&arguments)
}

fn install_command(missing: &[&Package], root: bool) -> String {
    let sudo = if root { "" } else { "sudo " };
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

/// The files of this name on PATH, or of this path, in which a folder may be `*`, that may be run; without links, since
/// several of them may lead to one.
pub fn found(program: &str) -> Vec<PathBuf> {
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
    let programs = files.into_iter().filter(|file| executable(file));
    programs.map(|file| std::fs::canonicalize(&file).unwrap_or(file)).collect()
}

fn executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

pub fn is_on_path(program: &str) -> bool {
    !program.contains('/') && !found(program).is_empty()
}

/// Whether we run as root.
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

    const CHROMIUM: &Package = &PACKAGES[2];
    const NOTHING: Situation = Situation { asked: false, ci: false, root: false, apt: true };

    #[test]
    fn one_program_of_a_package_is_enough() {
        let is_browser = |program: &str| program.starts_with("chrom") || program == "google-chrome";
        let without_browser = missing(&PACKAGES, |program| !is_browser(program));
        assert_eq!(without_browser, [CHROMIUM]);
        assert!(missing(&PACKAGES, |program| program != "chromium").is_empty());
        assert_eq!(missing(&PACKAGES, |_| false).len(), PACKAGES.len());
    }

    #[test]
    fn nothing_is_done_where_nothing_is_missing() {
        let eager = Situation { asked: true, ci: true, root: true, apt: true };
        assert_eq!(decide(&[], eager), Decision::Nothing);
    }

    #[test]
    fn only_root_installs_and_only_when_asked() {
        let root = Situation { root: true, ..NOTHING };
        assert_eq!(decide(&[CHROMIUM], root), Decision::Skip);
        assert_eq!(decide(&[CHROMIUM], Situation { asked: true, ..root }), Decision::Install);
        assert_eq!(decide(&[CHROMIUM], Situation { ci: true, ..root }), Decision::Install);
        assert_eq!(decide(&[CHROMIUM], Situation { asked: true, ..NOTHING }), Decision::Skip);
    }

    #[test]
    fn in_ci_an_installable_package_must_be_there() {
        let Decision::Fail(why) = decide(&[CHROMIUM], Situation { ci: true, ..NOTHING }) else {
            panic!("a skip of something installable has to fail in CI");
        };
        assert!(why.contains("sudo apt-get install -y --no-install-recommends chromium"), "{why}");
    }

    #[test]
    fn without_apt_get_ci_skips_and_a_request_fails() {
        let other_system = Situation { ci: true, root: true, apt: false, asked: false };
        assert_eq!(decide(&[CHROMIUM], other_system), Decision::Skip);
        let asked = decide(&[CHROMIUM], Situation { asked: true, ..other_system });
        assert!(matches!(asked, Decision::Fail(why) if why.contains("no apt-get")));
    }

    #[test]
    fn a_skip_says_what_is_lost_and_how_to_get_it() {
        let line = skip(CHROMIUM);
        assert!(
            line.starts_with("opening the HTML report in a browser: chromium is not installed"),
            "{line}"
        );
        assert!(line.contains("apt-get install -y --no-install-recommends chromium"), "{line}");
    }

    #[test]
    fn skipped_tests_are_traced_to_their_package() {
        assert_eq!(
            package_of("SKIPPED: report in a browser: no chromium on PATH").map(|p| p.name),
            Some("chromium")
        );
        assert_eq!(package_of("SKIPPED: no recorded machines to start from"), None);
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
