//! A server of ours: its programs, its folders, its start and its end.
//!
//! A server's folder F holds `data` (0700, the server's user's; its current folder, so that it is found
//! by it, with the socket inside), `tmp`, and `log`, which is ours. Settings are arguments, and no file
//! of the machine is read (`--no-defaults`). There is no TCP. The binary log is off, since a study is
//! about one server: with it each commit would be written twice.

mod folders;
mod process;
mod programs;

pub(crate) use folders::{Folders, fresh_copy, kept_copy, make_template, mark_clean, open_up, remove};
pub(crate) use process::{OwnServer, Setup};
pub(crate) use programs::Programs;

/// Name of the socket in the data directory. A relative name there is short wherever the folder lies.
pub(crate) const SOCKET: &str = "mariadbd.sock";
