//! A work list: many files or databases, N jobs fed from one queue (or from parts of the list), and a
//! recipe of commands for each item.
//!
//! `recipe` reads the recipes, which are data (`recipes/*.toml`); `plan` is the input of one process;
//! `work` executes it, in a separate process (`threadwise worklist-run PLAN`); `sqlite` has the steps that
//! such processes do with the built-in SQLite; `list` makes or copies the items; `cold` drops them from
//! the page cache; `servers` has the private servers of recipes that need one; `programs` finds programs;
//! `check` compares one item of each run with its source; `engine` is the engine `worklist`, which runs
//! such a process under a treatment's placement as the engine `command` runs any.

mod check;
mod cold;
pub mod engine;
mod error;
mod list;
pub mod plan;
mod programs;
pub mod recipe;
mod servers;
pub mod sqlite;
mod versions;
pub mod work;

pub use engine::Worklist;
pub use error::ENGINE;
