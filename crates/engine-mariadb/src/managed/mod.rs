//! A private server: its programs, start and end. What is common to all private servers is in
//! `threadwise_engine::servers`.
//!
//! Its home holds `data` (0700, owned by the server's user; its working directory, with the socket inside), `tmp`, and
//! `log`, owned by the current user. Settings are arguments, and no file of the machine is read (`--no-defaults`).
//! There is no TCP. The binary log is off, since with it each commit would be written twice.

mod process;
mod programs;

pub(crate) use process::{Setup, socket};
pub(crate) use programs::Programs;

/// Name of the socket in the data directory. A relative name is short wherever the folder lies.
pub(crate) const SOCKET: &str = "mariadbd.sock";
