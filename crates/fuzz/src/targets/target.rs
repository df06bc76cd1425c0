//! Common to all targets: the trait, a folder and a check.

use crate::random::Random;
use std::os::unix::fs::PermissionsExt;

/// A part of the program that reads others' data.
pub trait Target {
    /// Makes an input, only from the random numbers.
    fn input(&self, random: &mut Random) -> Vec<u8>;

    /// Gives an input to the program. `true` if it passed the outermost check: magic, header, first
    /// key, syntax.
    ///
    /// # Errors
    /// A forbidden result: an answer that contradicts itself. (The caller handles panics, aborts,
    /// time and memory.)
    fn judge(&mut self, input: &[u8]) -> Result<bool, String>;
}

/// A folder in memory if possible, since some targets write thousands of small files a second.
pub(super) fn space() -> Result<tempfile::TempDir, String> {
    // Journals are trusted only in private folders.
    let private = std::fs::Permissions::from_mode(0o700);
    let mut form = tempfile::Builder::new();
    let form = form.prefix("threadwise-fuzz-").permissions(private);
    let made = form.tempdir_in("/dev/shm").or_else(|_| form.tempdir());
    made.map_err(|error| format!("no temporary folder: {error}"))
}

/// Fails with a message if a condition does not hold.
pub(super) fn hold(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
