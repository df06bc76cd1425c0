//! The verdict and the table of treatments for a terminal; the screens of `probe` and `doctor` are modules of their
//! own.

mod cpus;
mod doctor;
mod document;
mod lines;
mod pairs;
mod probe;
mod screen;
mod sheet;
pub(crate) mod sign;
mod strip;
mod style;
mod wakeups;

pub(crate) use lines::{columns, flow, wrap};
pub(crate) use sheet::bounds;
pub(crate) use style::{BOLD, CYAN, DIM, GREEN};
use style::{RED, YELLOW};

pub use crate::drawing::{drawing, topology_line};
pub use crate::picture::boxes;
pub use doctor::{DoctorRow, doctor};
pub use document::{sections, verdict};
pub use probe::probe;
pub use screen::{screen, table};
pub use style::Style;
