//! Other processes, as the engines that run a database server need them: finding programs and users, copying a
//! data directory, starting it so that it never outlives us, placing its threads and putting foreign
//! masks back, reading what its threads did, and ending what is left.
//!
//! `spawn` alone has `unsafe`. Everything else reads /proc and the file system. Nothing here knows a
//! particular server.

pub mod as_owner;
pub mod find;
pub mod journal;
pub mod living;
pub mod marked;
pub mod masks;
pub mod proc;
pub mod programs;
pub mod removal;
pub mod room;
pub mod segments;
pub mod socket;
pub mod spawn;
pub mod state;
pub mod stopping;
pub mod template;
pub mod users;

pub use rustix::process::Signal;
pub use users::User;
