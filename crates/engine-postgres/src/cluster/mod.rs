//! A cluster of ours: initdb, start, stop, copy. Nothing of it listens on a network; its socket lies in
//! its data directory, which only its user may enter.

mod home;
mod process;
mod programs;
mod settings;

pub use home::{home, is_resting, prepare, rest, server_user};
pub use process::{Cluster, connect};
pub use programs::Programs;
pub use settings::configuration;
