//! What tests of the laboratory need beyond Debian packages: fetched once below `target/`, from the sources that npm,
//! Maven, cargo and pip are configured for, each with a variable for the tests ([`Fetched`]).
//!
//! Version and checksum are pinned: npm checks by `integrity` of its lock file (package-lock.json(5)), pip by
//! `--require-hashes`; cargo by its index; Maven checks a file only against its repository, so it is summed here. All of it is run
//! as programs or loaded by tests; neither the repository nor a released program contains any of it.

use super::packages;
use super::table::{By, Fetched, tables};
use crate::command::{self, Task};
use crate::{dist, files};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The folder of all of it except the engines, relative to the workspace.
const HOME: &str = "target/test-servers";
/// File of a folder that is written last and records its contents.
const WHOLE: &str = "whole";
/// Requirements of Python environments, with checksums.
const REQUIREMENTS: [(&str, &str); 4] = [
    ("clients.txt", include_str!("clients.txt")),
    ("components.txt", include_str!("components.txt")),
    ("fleets.txt", include_str!("fleets.txt")),
    ("python.txt", include_str!("python.txt")),
];

/// Something of the table, fetched if missing; its variable, and the folder that is used.
///
/// # Errors
/// It cannot be fetched.
pub fn ensure(name: &str, may_install: bool) -> Result<[String; 2], String> {
    let found = tables()?.fetched.iter().find(|fetched| fetched.name == name);
    let fetched = found.ok_or_else(|| format!("parts.toml has no {name}"))?;
    packages::ensure(fetched.by.packages(), may_install)?;
    let folder = files::absolute(HOME)?.join(name);
    whole(fetched, &folder, fetch)?;
    named(&fetched.variable, &folder.join(&fetched.inside))
}

/// Fetches it unless it exists, complete and of the pinned version.
fn whole(
    fetched: &Fetched,
    folder: &Path,
    fetch: impl Fn(&Fetched, &Path) -> Result<(), String>,
) -> Result<(), String> {
    let pin = format!("{} {}\n", fetched.version, fetched.checksum);
    if fs::read_to_string(folder.join(WHOLE)).is_ok_and(|found| found == pin) {
        return Ok(());
    }
    files::empty_folder(folder)?;
    fetch(fetched, folder)?;
    if !fetched.then.is_empty() {
        let package = folder.join("node_modules").join(&fetched.package);
        Task::new("env -C {}", &[&package.display()]).more(fetched.then.split(' ')).run()?;
    }
    files::write(folder.join(WHOLE), pin)
}

/// Fetches something into its folder, which is empty.
fn fetch(fetched: &Fetched, folder: &Path) -> Result<(), String> {
    let Fetched { package, version, checksum, options, .. } = fetched;
    match fetched.by {
        By::Npm => npm(fetched, folder),
        By::Maven => by_maven(fetched, folder),
        By::Cargo => {
            let install = "cargo install --quiet --locked --root {} --version {}";
            Task::new(install, &[&folder.display(), version]).more(options).more([package]).run()
        }
        By::Pip => {
            let found = REQUIREMENTS.iter().find(|(name, _)| name == checksum);
            let (_, requirements) = found.ok_or_else(|| format!("no requirements {checksum}"))?;
            pip(folder, "venv", requirements, &[])
        }
        By::PipTarget => {
            let modules = folder.join(&fetched.inside);
            let text = format!("{package}=={version} --hash={checksum}\n");
            // The environment is only for its pip, which Debian's interpreter lacks.
            pip(folder, "pip", &text, &["--target", &modules.to_string_lossy()])
        }
    }
}

/// `$XDG_DATA_HOME` of the tests' engines, and the environment's place in it.
const ENGINES: [&str; 2] = ["target/test-engines", "threadwise/engines/analytics/venv"];

/// Makes the environment of the engines of `workers/` by the product itself (`threadwise engine add`, which does
/// nothing if it exists, complete and of the pinned versions); for an engine with a separate environment also the
/// shared one. The variable and its value.
///
/// # Errors
/// It cannot be made.
pub fn engines(asked: &str) -> Result<[String; 2], String> {
    let home = files::absolute(ENGINES[0])?;
    let program = std::env::var(dist::TEST_PROGRAM).or_else(|_| command::built("threadwise"))?;
    Task::new("{} engine add {}", &[&program, &asked]).env("XDG_DATA_HOME", home.display()).run()?;
    named("THREADWISE_TEST_ENGINES", &home.join(ENGINES[1]))
}

fn named(variable: &str, folder: &Path) -> Result<[String; 2], String> {
    match folder.is_dir() {
        true => Ok([variable.to_owned(), folder.to_string_lossy().into_owned()]),
        false => {
            Err(format!("there is no {}: the layout in xtask/src/lab/parts.toml is wrong", folder.display()))
        }
    }
}

/// Why fetched servers cannot run here.
pub fn impossible() -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("the fetched servers are programs for Linux on x86-64".to_owned());
    }
    // Servers that root starts run as another user, who must reach their programs.
    let closed = |folder: &&Path| fs::metadata(folder).is_ok_and(|entry| entry.permissions().mode() & 1 == 0);
    let current_dir = files::absolute(".").ok()?;
    let closed = current_dir.ancestors().find(closed).filter(|_| packages::is_root())?.display();
    Some(format!(
        "a server's user cannot pass through {closed}: chmod o+x {closed}, or check the project out elsewhere"
    ))
}

/// Makes a Python environment of this name in a folder, and installs the requirements with its pip, by checksums.
fn pip(folder: &Path, environment: &str, requirements: &str, more: &[&str]) -> Result<(), String> {
    let (needs, environment) = (folder.join("requirements.txt"), folder.join(environment));
    files::write(&needs, requirements)?;
    Task::new("python3 -m venv {}", &[&environment.display()]).run()?;
    let install = "{}/bin/python -m pip install --quiet --no-input --disable-pip-version-check --require-hashes \
                   --only-binary=:all: --no-deps -r {}";
    Task::new(install, &[&environment.display(), &needs.display()]).more(more).run()
}

/// Installs one package of npm, without its scripts.
fn npm(fetched: &Fetched, folder: &Path) -> Result<(), String> {
    let Fetched { package, version, checksum, .. } = fetched;
    let needs = format!(r#""dependencies": {{"{package}": "{version}"}}"#);
    let private = format!(r#"{{"private": true, {needs}}}"#);
    // Without "resolved": the registry is the one that npm is configured for.
    let lock = format!(
        r#"{{"lockfileVersion": 3, "packages": {{"": {{{needs}}},
            "node_modules/{package}": {{"version": "{version}", "integrity": "{checksum}"}}}}}}"#
    );
    files::write(folder.join("package.json"), private)?;
    files::write(folder.join("package-lock.json"), lock)?;
    Task::new("npm ci --prefix {} --ignore-scripts --no-audit --no-fund", &[&folder.display()]).run()
}

fn by_maven(fetched: &Fetched, folder: &Path) -> Result<(), String> {
    let Fetched { package, version, checksum, .. } = fetched;
    let copy = "mvn -B -q -C dependency:copy -Dartifact={}:{} -DoutputDirectory={}";
    Task::new(copy, &[package, version, &folder.display()]).run()?;
    let name = package.rsplit(':').next().unwrap_or_default();
    let file = format!("{}/{name}-{version}.jar", folder.display());
    let sum = Task::new("sha256sum {}", &[&file]).output()?;
    if sum.split_whitespace().next() != Some(checksum.as_str()) {
        return Err(format!("{file} is not the one pinned in xtask/src/lab/parts.toml: its sum is {sum}"));
    }
    Task::new("python3 -m zipfile -e {} {}", &[&file, &folder.display()]).run()?;
    // A .jar keeps no modes.
    let bin = folder.join(&fetched.inside);
    Task::new("chmod -R 755 {} {}", &[&bin.display(), &bin.with_file_name("scripts").display()]).run()?;
    Task::new("rm {}", &[&file]).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_whole_is_not_fetched_again_and_what_is_not_is() {
        let folder = std::env::temp_dir().join(format!("threadwise-xtask-{}", std::process::id()));
        let fetched = |version: &str| Fetched {
            name: "made".to_owned(),
            variable: "MADE".to_owned(),
            by: By::Npm,
            package: String::new(),
            version: version.to_owned(),
            checksum: "0".to_owned(),
            inside: "made".to_owned(),
            options: Vec::new(),
            then: String::new(),
        };
        let makes =
            |_: &Fetched, folder: &Path| fs::write(folder.join("made"), "").map_err(|why| why.to_string());
        let fails = |_: &Fetched, _: &Path| Err("fetched".to_owned());
        assert_eq!(whole(&fetched("1"), &folder, makes), Ok(()));
        assert_eq!((whole(&fetched("1"), &folder, fails), folder.join("made").exists()), (Ok(()), true));
        // Another version: what is there goes, and what was not fetched is not taken for whole.
        let again = whole(&fetched("2"), &folder, fails);
        assert_eq!((again, folder.join("made").exists()), (Err("fetched".into()), false));
        assert_eq!(whole(&fetched("2"), &folder, fails), Err("fetched".into()));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_python_package_has_a_version_and_checksums_and_names_no_registry() {
        for ((_, requirements), least) in REQUIREMENTS.into_iter().zip([8, 13, 15, 50]) {
            let pins: Vec<&str> = requirements.lines().filter(|line| line.contains("==")).collect();
            assert!(pins.len() >= least && pins.iter().all(|line| line.ends_with('\\')), "{pins:?}");
            assert!(requirements.matches("--hash=sha256:").count() > pins.len());
            assert!(!requirements.contains("://"));
        }
    }
}
