//! sqlglot, which reads the dialects of SQL of servers that no test starts: <https://github.com/tobymao/sqlglot>
//! (MIT). Fetched for tests of the workers; neither the repository nor a program has a part of it.

use crate::command::Task;
use crate::packages;
use crate::pinned::{ABSENT, Pinned, pip};
use std::path::Path;

/// PyPI's name of it.
const PYPI: &str = "sqlglot";

const SQLGLOT: Pinned = Pinned {
    name: "sqlglot",
    title: "queries in T-SQL and for Oracle",
    variable: "THREADWISE_TEST_SQLGLOT",
    version: "30.30.0",
    checksum: "sha256:06c4c212a7868c7dcff0fd0fda348dd3c5cbad40137b3083a70ecdfe22921cf9",
    inside: "modules",
    fetch: by_pip,
};

/// What the tests' variable is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sqlglot(String);

impl Sqlglot {
    /// Tells the tests of a command where it is.
    pub fn tell(&self, task: Task) -> Task {
        task.env(SQLGLOT.variable, &self.0)
    }

    /// What is not tested, where it is not there.
    pub fn skip(&self) -> Option<String> {
        (self.0 == ABSENT).then(|| format!("{}: {PYPI} could not be fetched, see above", SQLGLOT.title))
    }
}

/// Makes sure that it is there. It is an error in CI when it cannot be fetched, elsewhere a skip.
pub fn ensure() -> Result<Sqlglot, String> {
    SQLGLOT.ensure(packages::is_ci()).map(Sqlglot)
}

/// `cargo xtask sqlglot`: fetches it and says how tests learn of it.
pub fn run() -> Result<(), String> {
    let Sqlglot(folder) = ensure()?;
    println!("export {}='{folder}'", SQLGLOT.variable);
    Ok(())
}

/// Installs it without what it would like to have beside it. The environment is for its pip alone, which
/// Debian's interpreter lacks.
fn by_pip(pinned: &Pinned, folder: &Path) -> Result<(), String> {
    let modules = folder.join(pinned.inside);
    let text = format!("{PYPI}=={} --hash={}\n", pinned.version, pinned.checksum);
    pip(folder, "pip", &text, &["--target", &modules.to_string_lossy()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_learn_where_it_is_and_a_skip_speaks_of_no_package_of_debian() {
        let shown = Sqlglot("/s".to_owned()).tell(Task::new("python", &["-m", "unittest"])).shown();
        assert_eq!(shown, "THREADWISE_TEST_SQLGLOT=/s python -m unittest");
        assert_eq!(Sqlglot("/s".to_owned()).skip(), None);
        let skip = Sqlglot(ABSENT.to_owned()).skip().unwrap();
        assert!(skip.contains("sqlglot") && packages::package_of(&skip).is_none(), "{skip}");
    }
}
