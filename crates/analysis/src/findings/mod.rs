//! Findings and the verdict: what the estimates show, what they do not, and how far to trust them.
//!
//! A finding calls nothing a difference that is not an effect (docs/METHODOLOGY.md), and "not measurable here" is an
//! answer. Figures carry their intervals; adjectives are left out.

pub(crate) mod activity;
pub(crate) mod facts;
pub(crate) mod locality;
pub(crate) mod looks;
pub(crate) mod machine;
pub mod measured_yields;
pub(crate) mod scaling;
pub(crate) mod smt;
pub(crate) mod sweep;
pub(crate) mod trust;
pub(crate) mod versions;

#[cfg(test)]
mod tests;
