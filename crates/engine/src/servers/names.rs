//! Names of what belongs to equal data.

use crate::LoadRequest;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// 16 hexadecimal digits that stand for a text in names of files and tables: the first of its SHA-256, so that
/// every build of threadwise makes the same name.
pub fn digest(text: &str) -> String {
    let sum = Sha256::digest(text);
    sum.iter().take(8).fold(String::new(), |mut digits, byte| {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// A text that is equal for treatments with the same data.
pub fn identity(load: &LoadRequest) -> String {
    let mut text = format!("{} {} {}", load.workload, load.sessions, load.seed);
    for (name, value) in &load.options {
        // Quoted, so that no value looks like two options.
        let _ = write!(text, " {name}={:?}", value.to_string());
    }
    text
}

/// The suffix of object names that keeps treatments apart in one server: treatments that change their data have
/// their own, others share one with their equals.
pub fn suffix(load: &LoadRequest, changes_data: bool) -> String {
    let treatment = if changes_data { load.treatment.as_str() } else { "" };
    format!("_{}", digest(&format!("{} {treatment}", identity(load))))
}
