//! What is fuzzed: for each target how inputs are made, and what the program has to hold with any of them.

mod cpu_lists;
mod journal;
mod machines;
mod messages;
mod placements;
mod plans;
mod reload;
mod results;
mod studies;
mod tool_output;
mod trees;

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

/// A target by its name.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Gets it ready.
    pub make: fn() -> Result<Box<dyn Target>, String>,
}

/// All targets.
pub const TARGETS: [Kind; 12] = [
    Kind { name: "result-file", about: "a result file, up to every form of report", make: results::make },
    Kind {
        name: "study-definition",
        about: "TOML, resolved and planned on several machines",
        make: studies::make,
    },
    Kind { name: "sysfs", about: "topology, drawings and placements of a sysfs tree", make: trees::sysfs },
    Kind { name: "proc", about: "doctor and samplers on a tree of /proc and /sys", make: trees::proc },
    Kind { name: "worker-message", about: "lines of the worker protocol", make: messages::make },
    Kind { name: "mask-journal", about: "the journal of masks that were changed", make: journal::make },
    Kind { name: "reload-state", about: "state and marker of a killed reload", make: reload::state },
    Kind {
        name: "database-header",
        about: "first pages of databases, and lists of files",
        make: reload::header,
    },
    Kind { name: "cpu-list", about: "CPU lists and masks", make: cpu_lists::make },
    Kind { name: "placement", about: "placements, service and memory policies", make: placements::make },
    Kind { name: "tool-output", about: "what known tools print", make: tool_output::make },
    Kind { name: "plan", about: "PostgreSQL's EXPLAIN", make: plans::make },
];

/// A folder in memory where there is one, since some targets write thousands of small files a second.
fn space() -> Result<tempfile::TempDir, String> {
    // Journals are believed in private folders only.
    let private = std::fs::Permissions::from_mode(0o700);
    let mut form = tempfile::Builder::new();
    let form = form.prefix("threadwise-fuzz-").permissions(private);
    let made = form.tempdir_in("/dev/shm").or_else(|_| form.tempdir());
    made.map_err(|error| format!("no temporary folder: {error}"))
}

/// Fails with a sentence where something does not hold.
fn hold(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
