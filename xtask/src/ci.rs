//! `cargo xtask ci`: everything that has to pass, cheapest first; stops at the first failure.

use crate::command::Task;
use crate::steps::Steps;

/// Runs all steps and prints their times.
pub fn run() -> Result<(), String> {
    let mut steps = Steps::default();
    let outcome = plan().iter().try_for_each(|(name, task)| steps.step(name, || task.run()));
    println!("\n=== summary");
    println!("{}", steps.summary());
    outcome
}

/// Names and commands. All share one target folder and one profile, so that a dependency is checked
/// once (clippy, doc) and built once (test).
fn plan() -> [(&'static str, Task); 7] {
    let cargo = |arguments: &[&str]| Task::new("cargo", arguments);
    [
        ("fmt", cargo(&["fmt", "--all", "--check"])),
        ("tidy", cargo(&["xtask", "tidy"])),
        ("licences", cargo(&["xtask", "licences"])),
        ("clippy", cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        ("doc", cargo(&["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings")),
        ("test", cargo(&["xtask", "test"])),
        ("fuzz", cargo(&["xtask", "fuzz", "--ci"])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_runs_the_test_command_of_the_readme() {
        assert!(plan().iter().any(|(_, task)| task.shown() == "cargo xtask test"));
    }
}
