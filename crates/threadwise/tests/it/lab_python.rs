//! The Python module (`python/`): `cargo xtask lab python`.

use crate::harness::program;
use std::path::Path;
use std::process::Command;

/// Names the folder with a Python that has the packages; `cargo xtask lab python` sets it.
const VARIABLE: &str = "THREADWISE_TEST_PYTHON";

/// Minor versions of Python 3 that the module supports.
const MINOR_VERSIONS: std::ops::RangeInclusive<u32> = 9..=14;

/// An interpreter with the packages.
pub fn python() -> String {
    let folder =
        std::env::var(VARIABLE).expect("the folder of a Python with the packages: cargo xtask lab python");
    format!("{folder}/python")
}

/// Runs tests of Python in the project's folder with these words after `discover`, and variables. They find the program
/// on PATH.
pub fn unittest(python: &str, words: &[&str], variables: &[(&str, &Path)]) {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(std::path::absolute(program()).unwrap(), folder.path().join("threadwise"))
        .unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(python)
        .args(["-B", "-W", "error::ResourceWarning", "-m", "unittest", "discover"])
        .args(words)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .env("THREADWISE_STATE_DIR", folder.path().join("state"))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("skipped"), "{python}: {text}");
}

fn tried(python: &str, file: &str) {
    unittest(python, &["-s", "python/tests", "-p", file], &[]);
}

/// What needs no package, by the system's interpreter.
#[test]
#[ignore = "laboratory: python"]
fn smoke_raw_data_is_what_the_program_exports() {
    tried("python3", "test_plain.py");
}

#[test]
#[ignore = "laboratory: python"]
fn other_versions_of_python_read_the_same() {
    let names = MINOR_VERSIONS.map(|minor| format!("python3.{minor}"));
    let runs =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|one| one.status.success());
    let names: Vec<String> = names.filter(runs).collect();
    println!("interpreters on PATH: {names:?}");
    names.iter().for_each(|name| tried(name, "test_plain.py"));
}

/// What services read: the action and the template by their schemas, forms of `compare` by readers of others.
#[test]
#[ignore = "laboratory: python"]
fn services_read_what_integrations_have() {
    unittest(&python(), &["-s", "integrations/tests"], &[]);
}

#[test]
#[ignore = "laboratory: python"]
fn frames_charts_and_examples_are_right() {
    tried(&python(), "test_frames.py");
}
