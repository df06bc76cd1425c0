//! Programs for tests of fleets: Ansible, which runs generated playbooks on this machine, and kubernetes-validate, which
//! holds manifests against the schemas of Kubernetes' API. Fetched from PyPI (ansible-core: GPL-3.0-or-later;
//! kubernetes-validate: Apache-2.0) and run as programs; neither the repository nor a program has a part of them.

use crate::command::Task;
use crate::packages;
use crate::pinned::{ABSENT, Pinned, pip};
use std::path::Path;

/// All packages with their checksums.
const REQUIREMENTS: &str = include_str!("fleets.txt");

const FLEETS: Pinned = Pinned {
    name: "fleets",
    title: "fleets by Ansible, and manifests for Kubernetes",
    variable: "THREADWISE_TEST_FLEETS",
    version: "1",
    // Checksums of the files are in the text; raise the version when it changes.
    checksum: "fleets.txt",
    inside: "venv/bin",
    fetch: by_pip,
};

/// What the tests' variable is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleets(String);

impl Fleets {
    /// Tells the tests of a command where the programs are.
    pub fn tell(&self, task: Task) -> Task {
        task.env(FLEETS.variable, &self.0)
    }

    /// What is not tested, where they are not there.
    pub fn skip(&self) -> Option<String> {
        (self.0 == ABSENT)
            .then(|| format!("{}: their programs could not be fetched, see above", FLEETS.title))
    }
}

/// Makes sure that they are there. It is an error in CI when they cannot be fetched, elsewhere a skip.
pub fn ensure() -> Result<Fleets, String> {
    FLEETS.ensure(packages::is_ci()).map(Fleets)
}

/// `cargo xtask fleets`: fetches them and says how tests learn of them.
pub fn run() -> Result<(), String> {
    let Fleets(folder) = ensure()?;
    println!("export {}='{folder}'", FLEETS.variable);
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
        assert!(pins.len() >= 15 && pins.iter().all(|line| line.ends_with('\\')), "{pins:?}");
        assert!(["ansible-core==", "kubernetes-validate=="].iter().all(|name| REQUIREMENTS.contains(name)));
        assert!(REQUIREMENTS.matches("--hash=sha256:").count() > pins.len());
        assert!(!REQUIREMENTS.contains("://"));
    }

    #[test]
    fn tests_learn_where_they_are_and_a_skip_speaks_of_no_package_of_debian() {
        let shown = Fleets("/f".to_owned()).tell(Task::new("cargo", &["test"])).shown();
        assert_eq!(shown, "THREADWISE_TEST_FLEETS=/f cargo test");
        assert_eq!(Fleets("/f".to_owned()).skip(), None);
        let skip = Fleets(ABSENT.to_owned()).skip().unwrap();
        assert!(packages::package_of(&skip).is_none(), "{skip}");
    }
}
