//! Names of what belongs to equal data.

use crate::LoadRequest;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// 16 hexadecimal digits that stand for a text in names of files and tables: the first of its SHA-256, so that
/// every build of threadwise finds the same name.
pub fn digest(text: &str) -> String {
    let sum = Sha256::digest(text);
    sum.iter().take(8).fold(String::new(), |mut digits, byte| {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// What makes the data of two treatments the same, as a text.
pub fn identity(load: &LoadRequest) -> String {
    let mut text = format!("{} {} {}", load.workload, load.sessions, load.seed);
    for (name, value) in &load.options {
        // Quoted, so that no value reads as two options.
        let _ = write!(text, " {name}={:?}", value.to_string());
    }
    text
}

/// The part of object names that keeps treatments apart in one server: those that change their data have one for
/// themselves, the others share it with equals.
pub fn suffix(load: &LoadRequest, changes_data: bool) -> String {
    let treatment = if changes_data { load.treatment.as_str() } else { "" };
    format!("_{}", digest(&format!("{} {treatment}", identity(load))))
}
