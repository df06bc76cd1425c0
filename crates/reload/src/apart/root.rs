//! Root's end of the socket, for the owner's process.

use super::link::Link;
use super::wire;
use crate::holder::Holder;
use crate::identity::Inode;
use std::ffi::OsStr;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Root's end of the socket, in the owner's process.
pub(super) static ROOT: OnceLock<Mutex<Link>> = OnceLock::new();

/// Processes other than the asking one that have a file open, according to root; `None` in any process but an
/// owner's.
pub fn ask_root(inode: Inode, name: &OsStr) -> Option<io::Result<Vec<Holder>>> {
    let mut link = ROOT.get()?.lock().unwrap_or_else(PoisonError::into_inner);
    Some(link.send(&wire::who_has_line(inode, name)).and_then(|()| link.holders()))
}

/// Whether root finds the processes that have a file open.
pub fn has_root() -> bool {
    ROOT.get().is_some()
}
