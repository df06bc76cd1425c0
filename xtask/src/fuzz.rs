//! `cargo xtask fuzz`: mutated inputs for all that reads what others wrote (`crates/fuzz`).

use crate::command::{self, Task};

/// What CI runs: the same inputs each time, as many of them as fit into the time.
const CI: [&str; 4] = ["--seconds", "20", "--seed", "1"];

/// Builds the program and runs it with the words of the command line; `--ci` stands for those of CI.
pub fn run(words: &[&str]) -> Result<(), String> {
    Task::new(&command::built("threadwise-fuzz")?, arguments(words)).run()
}

fn arguments<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    if words == ["--ci"] { &CI } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_has_a_fixed_seed() {
        assert_eq!(arguments(&["--ci"]), CI);
        assert!(CI.contains(&"--seed"));
        assert_eq!(arguments(&["--seed", "3"]), ["--seed", "3"]);
    }
}
