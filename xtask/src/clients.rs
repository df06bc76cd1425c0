//! Clients in Python for tests: of the server's side of TDS, and Oracle's driver, whose interface the worker's stand-in
//! has to have. Fetched from PyPI (python-tds and pyOpenSSL: MIT and Apache-2.0; pymssql: LGPL; oracledb: Apache-2.0 or
//! UPL); neither the repository nor a program has a part of them.

use crate::command::Task;
use crate::packages;
use crate::pinned::{ABSENT, Pinned, pip};
use std::path::Path;

/// All packages with their checksums.
const REQUIREMENTS: &str = include_str!("clients.txt");

const CLIENTS: Pinned = Pinned {
    name: "clients",
    title: "clients in Python of scripted servers",
    variable: "THREADWISE_TEST_CLIENTS",
    version: "1",
    // Checksums of the files are in the text; raise the version when it changes.
    checksum: "clients.txt",
    inside: "venv/bin",
    fetch: by_pip,
};

/// What the tests' variable is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clients(String);

impl Clients {
    /// Tells the tests of a command where their Python is.
    pub fn tell(&self, task: Task) -> Task {
        task.env(CLIENTS.variable, &self.0)
    }

    /// The tests of what a worker uses of its driver, against the driver itself; `None` where it is not there.
    pub fn drivers(&self) -> Option<Task> {
        let words =
            ["-B", "-m", "unittest", "discover", "-s", "workers/tests", "-p", "test_oracle_statements.py"];
        (self.0 != ABSENT).then(|| Task::new(&format!("{}/python", self.0), &words))
    }

    /// What is not tested, where they are not there.
    pub fn skip(&self) -> Option<String> {
        (self.0 == ABSENT).then(|| format!("{}: they could not be fetched, see above", CLIENTS.title))
    }
}

/// Makes sure that they are there. It is an error in CI when they cannot be fetched, elsewhere a skip.
pub fn ensure() -> Result<Clients, String> {
    CLIENTS.ensure(packages::is_ci()).map(Clients)
}

/// `cargo xtask clients`: fetches them and says how tests learn of them.
pub fn run() -> Result<(), String> {
    let Clients(folder) = ensure()?;
    println!("export {}='{folder}'", CLIENTS.variable);
    Ok(())
}

fn by_pip(_: &Pinned, folder: &Path) -> Result<(), String> {
    pip(folder, "venv", REQUIREMENTS, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_a_version_and_checksums() {
        let pins: Vec<&str> = REQUIREMENTS.lines().filter(|line| line.contains("==")).collect();
        assert!(pins.len() >= 8 && pins.iter().all(|line| line.ends_with('\\')), "{pins:?}");
        assert!(REQUIREMENTS.matches("--hash=sha256:").count() > pins.len());
        assert!(!REQUIREMENTS.contains("://"));
    }
}
