//! Findings and the verdict: what the estimates say, what they do not, and how far to trust them.
//!
//! A finding calls nothing a difference that is no effect (docs/METHODOLOGY.md), and "not
//! measurable here" is an answer. Figures carry their intervals; adjectives are left out.

pub(crate) mod activity;
pub(crate) mod arms;
pub(crate) mod by_state;
pub(crate) mod clock;
pub(crate) mod drift;
pub(crate) mod external_arms;
mod facts;
pub(crate) mod halves;
pub(crate) mod long_windows;
pub(crate) mod looks;
pub(crate) mod lost_cpu;
pub(crate) mod machine;
pub mod measured_yields;
pub(crate) mod order;
pub(crate) mod quota;
pub(crate) mod scaling;
pub(crate) mod smt;
pub(crate) mod sweep;
pub(crate) mod trust;
pub(crate) mod versions;
pub(crate) mod why;

#[cfg(test)]
mod tests;
