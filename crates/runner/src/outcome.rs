//! How a study ended, and why.

use crate::shortfall::Shortfall;

/// Decision of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Continue to measure.
    Continue,
    /// Every comparison is within its target.
    Stop,
}

/// Why the study ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// All planned blocks are complete.
    PlanDone,
    /// A look found every comparison within its target.
    TargetReached,
    /// The budget or the largest number of blocks was reached before the target.
    BudgetOver,
    /// The time limit cannot hold the blocks that the study needs; it can be resumed with a larger one.
    Short(Shortfall),
    /// The user stopped it; it can be resumed.
    Interrupted,
    /// Others needed CPUs or connections that the study used, in one line; it can be resumed.
    OthersWaited(String),
}

/// How the study ended. The measurements are in the result file.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Complete blocks, including those before a resume.
    pub blocks: u32,
    /// Why it ended.
    pub reason: Reason,
}
