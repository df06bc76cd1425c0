//! The result file from outside: what goes in comes out, whatever happens to writer or file.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod boots;
mod hostile;
mod kill;
mod long_windows;
mod made;
mod made_probe;
mod made_queries;
mod observed;
mod probes;
mod queries;
mod round_trip;
