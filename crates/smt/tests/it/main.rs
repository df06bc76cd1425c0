//! Switching and putting back on a machine in a folder, whose kernel is imitated.

// Tests may unwrap: a failure here is a failed test with its place.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crashes;
mod fake;
mod hostile;
mod refusals;
mod switching;

use fake::Fake;
use std::path::Path;
use threadwise_machine::CpuSet;
use threadwise_smt::{Held, SmtError};

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

/// Holds a machine, with the journal in its state folder and no watchdog.
fn hold(fake: &Fake) -> Result<Held<'_>, SmtError> {
    Held::begin(fake, &fake.state(), None, None)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
