//! Workloads on servers, written once: `logical-io`, `insert`, `transaction` and `tpch`, their data, their sessions, the
//! treatment around them, and threadwise's schema in a user's server.
//!
//! A database adds its SQL as data ([`Dialect`]) and a driver: [`Connection`], [`Driver`], and [`Observer`] for what
//! the server counts and its sessions wait for. What differs for a reason stays in the driver: how one visited row
//! comes to lie on a page and how that is proved, how rows are loaded in bulk, and how a server's threads are placed
//! ([`Host`]).

pub mod clock;
mod dialect;
mod driver;
mod insert;
mod limits;
mod loading;
mod logical_io;
mod others;
mod running;
mod samples;
mod schema;
mod session;
mod template;
mod texts;
pub mod tpch;
mod transaction;
mod treatment;
mod usage;
mod workload;

pub use dialect::{Dialect, Marks, SchemaSql};
pub use driver::{Connection, Driver, Keys, Observer, Opened, Parameter, Value, increments, numbers};
pub use limits::limits;
pub use loading::{load, load_shared};
pub use running::{Host, Sessions, Started, Threads};
pub use samples::Sampler;
pub use schema::{KeptSchema, announce, drop_left, drop_ours, finished, loaded, make as make_schema};
pub use session::{ClientLoop, Metered};
pub use template::{Names, Template, fill};
pub use texts::{Blocks, Rows, Slot, insert_loop_sql, insert_step_sql, insert_template, logical_io_loop_sql};
pub use treatment::Treatment;
pub use usage::{Call, Counted, Usage};
pub use workload::{Objects, Spec, SqlWorkload, some_sessions};
