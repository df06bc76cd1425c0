//! The result of a check.

use std::fmt;

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// No problem.
    Ok,
    /// It could not be read; the line says why.
    Unknown,
    /// It may disturb a measurement.
    Warning,
    /// It will spoil a measurement.
    Problem,
}

impl Outcome {
    /// Word in tables and files: `ok`, `unknown`, `warning`, `problem`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One line of the doctor's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Short stable name, such as `governor`; what scripts look for.
    pub name: &'static str,
    /// Outcome.
    pub outcome: Outcome,
    /// What was found, with numbers, in one line.
    pub found: String,
    /// Where it was read, such as `/sys/devices/system/cpu/smt/control`.
    pub source: String,
    /// How to change it; `None` if there is nothing to change.
    pub remedy: Option<String>,
}

/// Number of checks by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// No problem.
    pub ok: usize,
    /// Could not be read.
    pub unknown: usize,
    /// May disturb a measurement.
    pub warnings: usize,
    /// Will spoil a measurement.
    pub problems: usize,
}

impl Summary {
    /// Counts outcomes.
    pub fn of(checks: &[Check]) -> Self {
        let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
        Self {
            ok: count(Outcome::Ok),
            unknown: count(Outcome::Unknown),
            warnings: count(Outcome::Warning),
            problems: count(Outcome::Problem),
        }
    }
}

/// `2 problems, 1 warning, 3 unknown, 20 ok`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        write!(
            f,
            "{} problem{}, {} warning{}, {} unknown, {} ok",
            self.problems,
            plural(self.problems),
            self.warnings,
            plural(self.warnings),
            self.unknown,
            self.ok
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_counted_by_outcome() {
        let check = |outcome| Check {
            name: "swap",
            outcome,
            found: "none".to_owned(),
            source: "/proc/swaps".to_owned(),
            remedy: None,
        };
        let checks = [Outcome::Ok, Outcome::Warning, Outcome::Ok, Outcome::Unknown].map(check);
        let summary = Summary::of(&checks);
        assert_eq!(summary, Summary { ok: 2, unknown: 1, warnings: 1, problems: 0 });
        assert_eq!(summary.to_string(), "0 problems, 1 warning, 1 unknown, 2 ok");
        assert_eq!(checks.map(|check| check.outcome.word()), ["ok", "warning", "ok", "unknown"]);
        assert_eq!(Outcome::Problem.word(), "problem");
        assert!(Outcome::Problem > Outcome::Warning, "the worst outcome is the maximum");
    }
}
