//! Published measurements that the program can repeat, as data (`published/*.toml`): source, machine, arms, figures and
//! their formulas, slips, and claims without a measurement. Pure: texts in, values out.
//!
//! Recomputed figures name the figures that they follow from, so that a test recomputes each of them.

mod figure;
mod reader;
mod types;

pub use figure::{Figure, Formula};
pub use reader::{PublishedError, all, find, find_plain, names, smt_yields};
pub use types::{
    Arm, Chart, Comparison, Dop, Engine, Kind, Machine, Published, Side, Size, Slip, Source, Statement,
};
