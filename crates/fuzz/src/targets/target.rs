//! What every target has: the trait, a folder and a check.

use crate::random::Random;
use std::os::unix::fs::PermissionsExt;

/// One part of the program that reads what others wrote.
pub trait Target {
    /// Makes an input; nothing but the random numbers decides it.
    fn input(&self, random: &mut Random) -> Vec<u8>;

    /// Gives an input to the program. `true` when it got past the outermost check: magic, header, first
    /// key, syntax.
    ///
    /// # Errors
    /// What the program did that it must not do: an answer that contradicts itself. (Panics, aborts,
    /// time and memory are looked after by the caller.)
    fn judge(&mut self, input: &[u8]) -> Result<bool, String>;
}

/// A folder in memory where there is one, since some targets write thousands of small files a second.
pub(super) fn space() -> Result<tempfile::TempDir, String> {
    // Journals are believed in private folders only.
    let private = std::fs::Permissions::from_mode(0o700);
    let mut form = tempfile::Builder::new();
    let form = form.prefix("threadwise-fuzz-").permissions(private);
    let made = form.tempdir_in("/dev/shm").or_else(|_| form.tempdir());
    made.map_err(|error| format!("no temporary folder: {error}"))
}

/// Fails with a sentence where something does not hold.
pub(super) fn hold(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
