//! How a study ended, and why.

use crate::shortfall::Shortfall;

/// What a look decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Measure on.
    Continue,
    /// Every comparison is within its target.
    Stop,
}

/// Why the study ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// All blocks of the plan are there.
    PlanDone,
    /// A look found every comparison within its target.
    TargetReached,
    /// The budget or the largest number of blocks was reached before the target was.
    BudgetOver,
    /// The limit of time cannot hold the blocks that the study needs; it can be resumed with a larger one.
    Short(Shortfall),
    /// Asked to stop; it can be resumed.
    Interrupted,
    /// Others wanted what we use while we measured, CPUs or connections, in one line; it can be resumed.
    OthersWaited(String),
}

/// How the study ended. What was measured is in the result file.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Complete blocks, those before a resume included.
    pub blocks: u32,
    /// Why it ended.
    pub reason: Reason,
}
