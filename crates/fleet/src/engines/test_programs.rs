//! Where tests find the programs that `cargo xtask fleets` fetches.

use std::io::Write;
use std::path::PathBuf;

/// Names their folder.
const VARIABLE: &str = "THREADWISE_TEST_FLEETS";

/// The folder; `None`, said loudly, where they could not be fetched.
pub(super) fn folder(what: &str) -> Option<PathBuf> {
    let folder =
        std::env::var_os(VARIABLE).unwrap_or_else(|| panic!("{VARIABLE} is not set: cargo xtask fleets"));
    if folder == "absent" {
        let line =
            format!("SKIPPED: {what}: their programs are not here (cargo xtask fleets fetches them)\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    Some(PathBuf::from(folder))
}
