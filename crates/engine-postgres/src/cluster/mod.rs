//! A private cluster: initdb, start, stop, copy. It does not listen on a network; its socket is in its data directory,
//! which only its user may enter.

mod home;
mod process;
mod programs;
mod settings;

pub use home::{home, is_resting, prepare, rest, server_user};
pub use process::{Cluster, connect};
pub use programs::Programs;
pub use settings::configuration;
