//! What a neighbour costs: the rate of a session by the share of its slice in which something else used the other thread of
//! its core, as looks around the slice saw it (docs/METHODOLOGY.md, "Neighbours").
//!
//! Observational: nothing here is placed; the host moves its guests and others as it likes, and slices of one block and one
//! treatment are compared with each other.

mod cost;
mod pairs;
mod rows;
mod watched;
mod words;

pub use cost::{NeighbourCost, cost};
pub use pairs::{PairFound, pairs};
pub use rows::{DuringLook, LEAST_BLOCKS, Observations, PairLook, PairRow, Row, observations};
pub use watched::{PARTS, Watched, WatchedCpu, watched};
pub use words::{exposition, line, screen as neighbours_screen};
