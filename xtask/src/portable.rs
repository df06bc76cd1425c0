//! `cargo xtask portable`: everything that exists for x86-64 only has a fallback, and it is tested.
//!
//! `--cfg threadwise_portable` switches the fallbacks on, so that an x86-64 machine can test them.
//! It is given to the workspace's own crates only: RUSTFLAGS would build every dependency again.

use crate::command::Task;
use crate::engines;
use std::path::Path;

/// Runs the steps one after the other.
pub fn run() -> Result<(), String> {
    let engines = engines::ensure()?;
    if let Some(line) = engines.skip() {
        println!("SKIPPED: {line}");
    }
    steps()?.into_iter().try_for_each(|task| engines.tell(task).run())
}

/// All crates are checked; only those with fallbacks are tested.
pub fn steps() -> Result<[Task; 2], String> {
    // Cargo keeps what a wrapper built apart from what rustc built, as it does for clippy.
    let wrapper = std::fs::canonicalize(Path::new("xtask/portable-rustc"))
        .map_err(|cause| format!("xtask/portable-rustc cannot be found: {cause}"))?;
    let cargo = |arguments: &[&str]| {
        Task::new("cargo", arguments).env("RUSTC_WORKSPACE_WRAPPER", &wrapper.to_string_lossy())
    };
    let tested = [
        "--package",
        "threadwise-machine",
        "--package",
        "threadwise-engine",
        "--package",
        "threadwise-probe",
    ];
    Ok([
        cargo(&["check", "--workspace"]),
        cargo(&[["test", "--lib", "--tests"].as_slice(), tested.as_slice()].concat()),
    ])
}
