//! `cargo xtask ci`: everything that must pass, cheapest first; stops at the first failure.

use crate::command::Task;
use crate::dist;
use crate::steps::Steps;
use std::path::Path;

/// Runs all steps and prints their times.
pub fn run() -> Result<(), String> {
    let mut steps = Steps::default();
    let outcome =
        plan(&dist::for_tests()?).iter().try_for_each(|(name, task)| steps.step(name, || task.run()));
    println!("\n=== summary");
    println!("{}", steps.summary());
    outcome
}

/// Names and commands. All except package share one target folder and one profile, so that a dependency is
/// checked once (clippy, doc) and built once (test). The laboratory starts `program`, the one that dist,
/// which package calls, makes and users get.
fn plan(program: &Path) -> [(&'static str, Task); 9] {
    let cargo = |words: &str| Task::new(&format!("cargo {words}"), &[]);
    let lab = |words: &str| cargo(&format!("xtask lab {words}")).env(dist::TEST_PROGRAM, program.display());
    [
        ("fmt", cargo("fmt --all --check")),
        ("tidy", cargo("xtask tidy")),
        ("licences", cargo("xtask licences")),
        ("clippy", cargo("clippy --workspace --all-targets -- -D warnings")),
        ("doc", cargo("doc --no-deps --workspace").env("RUSTDOCFLAGS", "-D warnings")),
        ("test", cargo("xtask test")),
        ("package", cargo("xtask package")),
        ("lab", lab("--smoke")),
        // The smoke fetches nothing, and frames, charts and the notebook need their libraries.
        ("python", lab("python")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_runs_the_test_command_of_the_readme_and_the_laboratory_on_what_package_made() {
        let plan = plan(Path::new("/d/threadwise"));
        let shown: Vec<String> = plan.iter().map(|(_, task)| task.shown()).collect();
        let at = |command: &str| shown.iter().position(|shown| shown == command);
        assert!(at("cargo xtask test").is_some(), "{shown:?}");
        let lab = at("THREADWISE_TEST_PROGRAM=/d/threadwise cargo xtask lab --smoke");
        assert!(lab > at("cargo xtask package"), "{shown:?}");
    }
}
