//! What Firebird is asked without a folder.

use crate::harness::{Lab, said};

/// Its version is asked without any folder, so that neither a kill leaves one nor a taken name is in the way.
#[test]
#[ignore = "laboratory: servers"]
fn firebird_needs_no_temporary_folder() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("a.fdb"), "no database").unwrap();
    let mut command = lab.command(&["reload", "--engine", "firebird", "--dry-run", "a.fdb"]);
    let said = said(command.env("TMPDIR", "/proc/nowhere/at/all").output().unwrap());
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stdout.contains("not a database of Firebird"), "{}", said.stdout);
}
