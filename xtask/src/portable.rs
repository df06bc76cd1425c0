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

/// The crates with fallbacks are tested, in unit tests and in those that run kernels; to all others their interface is
/// the same. Models of machines have no kernels.
pub fn step() -> Result<Task, String> {
    // Cargo keeps what a wrapper built apart from what rustc built, as it does for clippy.
    let wrapper = std::fs::canonicalize(Path::new("xtask/portable-rustc"))
        .map_err(|cause| format!("xtask/portable-rustc cannot be found: {cause}"))?;
    let tested = ["--package", "threadwise-machine", "--package", "threadwise-probe"];
    let live = ["--test", "clock", "--test", "latency", "--test", "live", "--test", "look"];
    let test = [["test", "--lib"].as_slice(), live.as_slice(), tested.as_slice()].concat();
    Ok(Task::new("cargo", &test).env("RUSTC_WORKSPACE_WRAPPER", &wrapper.to_string_lossy()))
}
