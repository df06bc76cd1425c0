//! The engine against a scripted server: whole studies, faults, rights that are missing, and the password.
//!
//! The server is `threadwise_tds::Responder` with the model of `model.rs`, which answers the statements of the engine.

#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

mod affinity;
mod bench;
mod burn;
mod connect;
mod faults;
mod insert;
mod killed;
mod lab_kills;
mod logical_io;
mod model;
mod rights;
mod schema;
mod tpch;
mod transaction;
mod worker;
mod worker_program;
