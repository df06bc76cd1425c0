//! The program as its user meets it: one integration test binary, one module per concern.

// Tests may unwrap: a failure here is a failed test with its place.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod arms;
mod bad_input;
mod boots;
mod check;
mod command;
mod command_tools;
mod compare;
mod connections;
mod engine_command;
mod factors;
mod firebird;
mod fit;
mod forms;
mod harness;
mod headroom;
mod hostile;
mod killed;
mod left;
mod locks;
mod outputs;
mod pin_server;
mod probe;
mod properties;
mod published;
mod questions;
mod quota;
mod real;
mod reload;
mod reload_input;
mod reload_root;
mod reload_study;
mod resumed;
mod servers;
mod smt;
mod spins;
mod tpch;
mod transaction;
mod validity;
mod warmup;
mod watch;
mod worklist;
mod worklist_run;
