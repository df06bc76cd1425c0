//! Published measurements: as documents of their own, and beside the ratios of a study that redoes them. Pure.
//!
//! What is said of a pair is whether the published number lies in the measured interval, and nothing of why it does
//! not: machine, engine, size and year differ all at once.

mod beside;
mod blocks;
mod document;
mod sides;
#[cfg(test)]
mod tests;

pub use beside::{Beside, Differs, Here, NotRedone, Row, beside};
pub use blocks::section;
pub use document::{beside_any, beside_document, beside_same, document, list_document};
