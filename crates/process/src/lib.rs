//! Other processes, for engines that run a database server: finding programs and users, copying a
//! data directory, starting a server so that it never outlives its starter, binding its threads and restoring foreign
//! masks, reading its threads' counters, and ending what is left.
//!
//! Only `spawn` has `unsafe`. All other modules read /proc and the file system. Nothing here is specific to a server.

pub mod as_owner;
pub mod find;
pub mod folder_processes;
pub mod journal;
pub mod marked;
pub mod masks;
pub mod proc;
pub mod programs;
pub mod removal;
pub mod segments;
pub mod socket;
pub mod space;
pub mod spawn;
pub mod state;
pub mod stopping;
pub mod template;
pub mod users;
pub mod watchdog;

pub use rustix::process::Signal;
pub use users::User;
