//! What a check says.

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing in the way.
    Ok,
    /// It could not be read; the line says why.
    Unknown,
    /// It may disturb a measurement.
    Warning,
    /// It will spoil a measurement.
    Problem,
}

/// One line of the doctor's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Short stable name, such as `governor`; what scripts look for.
    pub name: &'static str,
    /// How it went.
    pub outcome: Outcome,
    /// What was found, with its figure, in one line.
    pub found: String,
    /// Where it was read, such as `/sys/devices/system/cpu/smt/control`.
    pub source: String,
    /// How to change it; `None` where there is nothing to change.
    pub remedy: Option<String>,
}
