//! A server of ours: its programs, its start and its end. What is common to all servers of ours is
//! `threadwise_engine::servers`.
//!
//! Its home holds `data` (0700, the server's user's; its current folder, with the socket inside), `tmp`, and `log`,
//! which is ours. Settings are arguments, and no file of the machine is read (`--no-defaults`). There is no TCP. The
//! binary log is off, since a study is about one server: with it each commit would be written twice.

mod process;
mod programs;

pub(crate) use process::{Setup, socket};
pub(crate) use programs::Programs;

/// Name of the socket in the data directory. A relative name there is short wherever the folder lies.
pub(crate) const SOCKET: &str = "mariadbd.sock";
