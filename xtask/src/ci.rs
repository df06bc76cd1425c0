//! `cargo xtask ci`: everything that has to pass, cheapest first; stops at the first failure.

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

/// Of emulated guests with all that they fetch, seconds: `--foreground`, so that Ctrl-C reaches it (timeout(1)).
const LIMIT: [&str; 3] = ["--foreground", "--kill-after=10", "480"];

/// Names and commands. All but dist share one target folder and one profile, so that a dependency is
/// checked once (clippy, doc) and built once (test). What tests start is `program`, the one that dist
/// makes and users get.
fn plan(program: &Path) -> [(&'static str, Task); 11] {
    let cargo = |arguments: &[&str]| Task::new("cargo", arguments);
    let with_program = |task: Task| task.env(dist::TEST_PROGRAM, &program.to_string_lossy());
    let in_time = |task: &str| with_program(Task::new("timeout", &LIMIT).more(&["cargo", "xtask", task]));
    [
        ("fmt", cargo(&["fmt", "--all", "--check"])),
        ("tidy", cargo(&["xtask", "tidy"])),
        ("licences", cargo(&["xtask", "licences"])),
        ("clippy", cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        ("doc", cargo(&["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings")),
        ("dist", cargo(&["xtask", "dist"])),
        ("test", with_program(cargo(&["xtask", "test"]))),
        ("bare", with_program(cargo(&["xtask", "bare"]))),
        ("emulated", in_time("emulated")),
        ("machines", in_time("machines")),
        ("fuzz", cargo(&["xtask", "fuzz", "--ci"])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_runs_the_test_command_of_the_readme_on_what_dist_made() {
        let plan = plan(Path::new("/d/threadwise"));
        let shown: Vec<String> = plan.iter().map(|(_, task)| task.shown()).collect();
        let at = |command: &str| shown.iter().position(|shown| shown == command);
        let dist = at("cargo xtask dist");
        let in_time = "timeout --foreground --kill-after=10 480 cargo xtask";
        for what in ["cargo xtask test", &format!("{in_time} emulated"), &format!("{in_time} machines")] {
            let found = at(&format!("THREADWISE_TEST_PROGRAM=/d/threadwise {what}"));
            assert!(dist.is_some() && found > dist, "{shown:?}");
        }
    }
}
