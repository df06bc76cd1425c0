//! Published measurements that the program can redo, as data (`published/*.toml`): source, machine, arms, every
//! figure, what follows from it, slips, and what was said without a measurement. Pure: texts in, values out.
//!
//! Figures that were recomputed have the figures from which they follow, so that a test recomputes each of them.

mod figure;
mod reader;
mod types;

pub use figure::{Figure, Formula};
pub use reader::{PublishedError, all, find, find_plain, names, smt_yields};
pub use types::{
    Arm, Chart, Comparison, Dop, Engine, Kind, Machine, Published, Side, Size, Slip, Source, Statement,
};
