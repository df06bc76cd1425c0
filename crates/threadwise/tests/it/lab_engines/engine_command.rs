//! Environments of engines as they are really made.

use crate::harness::{Lab, said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The data folder of a real environment, which `cargo xtask lab engines` makes by `threadwise engine add` and names by
/// its virtual environment, `DATA/threadwise/engines/analytics/venv`.
pub fn real() -> PathBuf {
    let venv = std::env::var_os("THREADWISE_TEST_ENGINES").map(PathBuf::from);
    let ours = venv.filter(|venv| venv.ends_with("threadwise/engines/analytics/venv") && venv.is_dir());
    let home = ours.and_then(|venv| venv.ancestors().nth(4).map(Path::to_owned));
    home.expect("THREADWISE_TEST_ENGINES is not a folder DATA/threadwise/engines/analytics/venv: cargo xtask lab engines")
}

#[test]
#[ignore = "laboratory: engines"]
fn a_real_environment_is_ready_and_its_generator_works() {
    let real = real();
    let lab = Lab::new();
    let mut list = lab.command(&["engine", "list", "--json"]);
    let list = said(list.env("XDG_DATA_HOME", &real).output().unwrap());
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    for engine in &list["engines"].as_array().unwrap()[..2] {
        assert_eq!(engine["state"], "ready", "{engine}");
        assert!(engine["size_bytes"].as_u64() > Some(100 << 20), "{engine}");
    }
    let engines = threadwise_python::Engines::open(&real).unwrap();
    let found = engines.find("duckdb", None).unwrap();
    assert_eq!(list["engines"][0]["engine_version"], found.version);
    let made = Command::new(found.generator.unwrap())
        .args(["parquet", "-s", "0.001", "--output-dir"])
        .arg(lab.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(lab.files().contains(&"lineitem.parquet".to_owned()), "{:?}", lab.files());
}

#[test]
#[ignore = "laboratory: engines"]
fn a_real_environment_also_serves_as_one_of_the_users_own() {
    let real = real();
    let theirs = threadwise_python::Engines::open(&real).unwrap().find("duckdb", None).unwrap();
    let lab = Lab::new();
    let engines = threadwise_python::Engines::open(lab.path()).unwrap();
    for name in ["duckdb", "datafusion"] {
        let found = engines.find(name, Some(&theirs.python)).unwrap();
        assert_eq!((&found.python, &found.generator), (&theirs.python, &theirs.generator));
        assert!(found.script.starts_with(lab.path()));
    }
}
