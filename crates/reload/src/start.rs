//! How to start this program again.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program that calls [`crate::watch::watch`] or `apart::serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}
