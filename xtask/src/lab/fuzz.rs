//! `cargo xtask fuzz`: mutated inputs for everything that reads others' data (`crates/fuzz`).

use crate::command::{self, Task};

/// Builds the program and runs it with the words of the command line.
pub fn run(words: &[&str]) -> Result<(), String> {
    Task::new(&command::built("threadwise-fuzz")?, words).run()
}
