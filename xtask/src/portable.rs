//! `cargo xtask portable`: everything that exists for x86-64 only has a fallback, and it is tested.
//!
//! `--cfg threadwise_portable` switches the fallbacks on, so that an x86-64 machine can test them.
//! It is given to the workspace's own crates only: RUSTFLAGS would build every dependency again.

use crate::command::Task;
use std::path::Path;

/// Runs the tests.
pub fn run() -> Result<(), String> {
    step()?.run()
}

/// The crates with fallbacks are tested; to all others their interface is the same.
pub fn step() -> Result<Task, String> {
    // Cargo keeps what a wrapper built apart from what rustc built, as it does for clippy.
    let wrapper = std::fs::canonicalize(Path::new("xtask/portable-rustc"))
        .map_err(|cause| format!("xtask/portable-rustc cannot be found: {cause}"))?;
    let tested = ["--package", "threadwise-machine", "--package", "threadwise-probe"];
    let test = [["test", "--lib", "--tests"].as_slice(), tested.as_slice()].concat();
    Ok(Task::new("cargo", &test).env("RUSTC_WORKSPACE_WRAPPER", &wrapper.to_string_lossy()))
}
