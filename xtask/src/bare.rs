//! `cargo xtask bare`: what the program refuses on a machine that has none of the optional programs.
//!
//! Where everything is installed, a refusal may come from the wrong place: an engine that is looked for before what is
//! asked of it is judged hides bad input behind a missing package. So the tests of refusals run once more with servers
//! and tools out of sight: in a mount namespace of their own (unshare(1)) `/dev/null` lies over each of these files,
//! which is no program. Nothing outside of it changes, and it ends with the tests.

use crate::command::Task;
use crate::engines;
use crate::fleets;
use crate::packages::{self, PACKAGES};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Packages that stay: without them there is no test at all, or no second engine whose refusals are tested.
const STAY: [&str; 4] = ["bzip2", "tar", "python3", "python3-venv"];
/// Programs of those packages that engines look for beside the ones that show that a package is there.
const BESIDE: [&str; 7] = ["gfix", "isql-fb", "mysqld", "initdb", "pg_config", "squeue", "srun"];
/// Parts of the names of tests that refuse something.
const NAMES: [&str; 6] = ["refus", "cannot", "bad_input", "unknown", "impossible", "missing"];

/// Runs them.
pub fn run() -> Result<(), String> {
    // Of the whole workspace, whose features `cargo test --workspace` has built dependencies with.
    let tests = ["test", "--workspace", "--test", "it"];
    // Built outside, where compilers have all that they may want.
    Task::new("cargo", &["build", "--workspace", "--bin", "threadwise-engine-sqlserver"]).run()?;
    Task::new("cargo", &tests).more(&["--no-run"]).run()?;
    let (engines, fleets) = (engines::ensure()?, fleets::ensure()?);
    let hidden: Vec<String> = hidden().iter().map(|path| path.display().to_string()).collect();
    println!("hidden: {}", hidden.join(" "));
    let script =
        "while [ \"$1\" != -- ]; do mount --bind /dev/null \"$1\" || exit 3; shift; done; shift; exec \"$@\"";
    let user: &[&str] = if packages::is_root() { &[] } else { &["--map-root-user"] };
    let namespace =
        Task::new("unshare", user).more(&["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
    let hidden: Vec<&str> = hidden.iter().map(String::as_str).collect();
    let task = namespace.more(&hidden).more(&["--", "cargo"]).more(&tests).more(&["--"]).more(&NAMES);
    fleets.tell(engines.tell(task)).run()
}

/// The files that are out of sight, as they are without links.
fn hidden() -> BTreeSet<PathBuf> {
    let packages = PACKAGES.iter().filter(|package| !STAY.contains(&package.name));
    let programs = packages.flat_map(|package| package.programs).copied().chain(BESIDE);
    // A command that shows that a package is there is no program.
    let programs = programs.filter(|program| !program.contains(' '));
    programs.flat_map(packages::found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_need_themselves_stays_in_sight() {
        let hidden = hidden();
        for program in ["sh", "cargo", "cc", "git", "tar"] {
            let found = packages::found(program);
            assert!(found.iter().all(|path| !hidden.contains(path)), "{program}: {hidden:?}");
        }
        assert!(PACKAGES.iter().any(|package| package.name == "mariadb-server"));
        assert!(STAY.iter().all(|name| PACKAGES.iter().any(|package| package.name == *name)));
    }
}
