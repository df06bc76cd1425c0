//! The engines of `workers/` for tests: their Python packages, installed by the product itself.
//!
//! `threadwise engine add` makes the environment below `target/` and does nothing where it is there
//! already, whole and of the pinned versions. Tests learn of it by one variable.

use crate::command::{self, Task};
use crate::dist;
use crate::packages;
use std::path::{Path, PathBuf};

/// Tests read in it the folder of the environment, or [`ABSENT`].
const VARIABLE: &str = "THREADWISE_TEST_ENGINES";

/// Value of the variable with which tests of these engines say that they are skipped. Without the
/// variable they fail, and so they do with this value under CI=true.
const ABSENT: &str = "absent";

/// `$XDG_DATA_HOME` of the tests' engines, from the workspace's folder.
const HOME: &str = "target/test-engines";

/// Where the product puts the environment in it.
const ENVIRONMENT: &str = "threadwise/engines/analytics/venv";

/// The folder of the environment, which exists; `None` where it could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engines(Option<PathBuf>);

impl Engines {
    /// Tells the tests of a command where the engines are.
    pub fn tell(&self, task: Task) -> Task {
        let value = self.0.as_deref().map_or(ABSENT.into(), Path::to_string_lossy);
        task.env(VARIABLE, &value)
    }

    /// The tests of the workers, which run on the environment's own interpreter.
    pub fn workers(&self) -> Option<Task> {
        let python = self.0.as_ref()?.join("bin/python");
        // -B: no compiled files beside the sources.
        let words = ["-B", "-m", "unittest", "discover", "-s", "workers/tests"];
        Some(Task::new(&python.to_string_lossy(), &words))
    }

    /// What is not tested without them, on one line.
    pub fn skip(&self) -> Option<&'static str> {
        let line = "DuckDB, DataFusion and all of TPC-H: their packages could not be installed, see above; \
                    with a network, run it again";
        self.0.is_none().then_some(line)
    }
}

/// Makes sure that they are there. It is an error in CI when they cannot be had, elsewhere a skip.
pub fn ensure() -> Result<Engines, String> {
    let folder = std::env::current_dir().map_err(|cause| format!("the current folder is gone: {cause}"))?;
    let home = folder.join(HOME);
    // Apart from running it, since a program that cannot be built is no want of a network.
    let program = std::env::var(dist::TEST_PROGRAM).or_else(|_| command::built("threadwise"))?;
    let added = Task::new(&program, &["engine", "add", asked(packages::is_ci())]);
    let outcome = added.env("XDG_DATA_HOME", &home.to_string_lossy()).run();
    judged(outcome, home.join(ENVIRONMENT), packages::is_ci())
}

/// The engine to add: one with an environment of its own makes the shared one too. Its 700 MiB are asked
/// of a machine of CI alone; elsewhere its tests run where it has been added, and otherwise say that they are skipped.
fn asked(is_ci: bool) -> &'static str {
    if is_ci { "clickhouse" } else { "duckdb" }
}

fn judged(outcome: Result<(), String>, environment: PathBuf, is_ci: bool) -> Result<Engines, String> {
    match outcome {
        Ok(()) if environment.join("bin/python").exists() => Ok(Engines(Some(environment))),
        Ok(()) => Err(format!(
            "'threadwise engine add' made no {}: {HOME} or the layout in xtask/src/engines.rs is wrong",
            environment.display()
        )),
        Err(why) if is_ci => Err(format!("{why}; in CI the engines have to be there")),
        Err(why) => {
            println!("{why}");
            Ok(Engines(None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_cannot_be_had_are_a_skip_and_in_ci_an_error() {
        let failed = || Err("no network".to_owned());
        assert_eq!(judged(failed(), PathBuf::from("/nowhere"), false), Ok(Engines(None)));
        assert!(
            judged(failed(), PathBuf::from("/nowhere"), true).is_err_and(|why| why.contains("no network"))
        );
    }

    #[test]
    fn an_environment_that_is_elsewhere_is_always_an_error() {
        assert!(judged(Ok(()), PathBuf::from("/nowhere"), false).is_err_and(|why| why.contains("/nowhere")));
    }

    #[test]
    fn tests_learn_where_the_engines_are_or_that_there_are_none() {
        let there = Engines(Some(PathBuf::from("/e")));
        let shown = |engines: &Engines| engines.tell(Task::new("cargo", &["test"])).shown();
        assert_eq!(shown(&there), "THREADWISE_TEST_ENGINES=/e cargo test");
        assert_eq!(shown(&Engines(None)), "THREADWISE_TEST_ENGINES=absent cargo test");
        let workers = there.workers().map(|task| task.shown());
        assert_eq!(workers.as_deref(), Some("/e/bin/python -B -m unittest discover -s workers/tests"));
        assert_eq!((Engines(None).workers(), there.skip()), (None, None));
    }

    #[test]
    fn the_line_of_the_skip_speaks_of_no_package_of_debian() {
        // Otherwise it would count as a skip for want of that package.
        assert_eq!(Engines(None).skip().map(packages::package_of), Some(None));
    }
}
