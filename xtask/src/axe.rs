//! axe-core, which looks for faults of accessibility in the HTML report: <https://github.com/dequelabs/axe-core>
//! (MPL-2.0). Fetched for tests; neither the repository nor a program has a part of it.

use crate::command::Task;
use crate::packages;
use crate::pinned::{self, ABSENT, Pinned};

/// npm's name of it.
const NPM: &str = "axe-core";

const AXE: Pinned = Pinned {
    name: "axe-core",
    title: "accessibility of the HTML report",
    variable: "THREADWISE_TEST_AXE",
    version: "4.14.1",
    checksum: "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    inside: "node_modules/axe-core",
    fetch: |axe, folder| pinned::npm(NPM, axe, folder).map(drop),
};

/// What the tests' variable is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axe(String);

impl Axe {
    /// Tells the tests of a command where it is.
    pub fn tell(&self, task: Task) -> Task {
        task.env(AXE.variable, &self.0)
    }

    /// What is not tested, where it is not there.
    pub fn skip(&self) -> Option<String> {
        (self.0 == ABSENT).then(|| format!("{}: {NPM} could not be fetched, see above", AXE.title))
    }
}

/// Makes sure that it is there. It is an error in CI when it cannot be fetched, elsewhere a skip.
pub fn ensure() -> Result<Axe, String> {
    AXE.ensure(packages::is_ci()).map(Axe)
}

/// `cargo xtask axe`: fetches it and says how tests learn of it.
pub fn run() -> Result<(), String> {
    let Axe(folder) = ensure()?;
    println!("export {}='{folder}'", AXE.variable);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_learn_where_it_is_and_a_skip_speaks_of_no_package_of_debian() {
        let shown = Axe("/axe".to_owned()).tell(Task::new("cargo", &["test"])).shown();
        assert_eq!(shown, "THREADWISE_TEST_AXE=/axe cargo test");
        assert_eq!(Axe("/axe".to_owned()).skip(), None);
        let skip = Axe(ABSENT.to_owned()).skip().unwrap();
        assert!(skip.contains("axe-core") && packages::package_of(&skip).is_none(), "{skip}");
    }
}
