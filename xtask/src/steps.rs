//! Named steps with their times, and the summary at the end.

use std::time::{Duration, Instant};

/// Steps that have run, in order.
#[derive(Debug, Default)]
pub struct Steps {
    done: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    took: Duration,
    passed: bool,
}

impl Steps {
    /// Runs a step under its name and records its time.
    pub fn step<T>(&mut self, name: &str, task: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        println!("\n=== {name}");
        let started = Instant::now();
        let outcome = task();
        self.done.push(Step { name: name.to_owned(), took: started.elapsed(), passed: outcome.is_ok() });
        outcome
    }

    /// One line for each step and one for the sum.
    pub fn summary(&self) -> String {
        let line = |step: &Step| {
            let word = if step.passed { "ok" } else { "FAILED" };
            format!("  {:<10} {:<6} {:>8.1} s\n", step.name, word, step.took.as_secs_f64())
        };
        let total: Duration = self.done.iter().map(|step| step.took).sum();
        let lines: String = self.done.iter().map(line).collect();
        format!("{lines}  {:<10} {:<6} {:>8.1} s", "all", "", total.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_steps_and_outcomes_in_order() {
        let mut steps = Steps::default();
        assert_eq!(steps.step("first", || Ok(7)), Ok(7));
        assert_eq!(steps.step("second", || Err::<(), _>("why".to_owned())), Err("why".to_owned()));
        let words: Vec<String> = steps
            .summary()
            .lines()
            .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(words[..2], ["first ok", "second FAILED"]);
        assert!(words[2].starts_with("all"));
    }
}
