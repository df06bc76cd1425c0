//! What would spoil a measurement on this machine: one line a check, and how to change it. It reads
//! below a given root and changes nothing; what must be measured is handed in as [`Live`].

mod answer;
mod case;
pub mod check;
mod checks;
pub mod live;
mod tree;
pub mod watch;

pub use case::Facts;
pub use check::{Check, Outcome, Summary};
pub use checks::examine;
pub use live::{Live, PerfAccess, ProcessLoad, ProcessName};
