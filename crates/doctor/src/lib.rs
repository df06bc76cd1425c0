//! What would spoil a measurement on this machine: one line a check, with a remedy. Reads below a given root and
//! changes nothing; measured facts are passed in as [`Live`].

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
