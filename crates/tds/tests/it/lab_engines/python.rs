//! The same conversations through clients in Python.
//!
//! Source: `tests/test_second_client.py`, whose head says how it is started by hand and with which clients.

use std::process::Command;

/// Names the folder with a Python that has the clients; `cargo xtask lab engines` sets it.
const VARIABLE: &str = "THREADWISE_TEST_CLIENTS";

#[test]
#[ignore = "laboratory: engines"]
fn the_second_client_holds_the_same_conversations() {
    let folder =
        std::env::var(VARIABLE).expect("the folder of a Python with the clients: cargo xtask lab engines");
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let output = Command::new(format!("{folder}/python"))
        .args(["-B", "-m", "unittest", "test_second_client"])
        .current_dir(tests)
        .env("THREADWISE_TDS_CONVERSATIONS", env!("CARGO_BIN_EXE_tds-conversations"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("skipped"), "{said}");
}
