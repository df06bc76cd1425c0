//! Conversations with real clients: tiberius, and Python's through `tests/test_second_client.py`.
//!
//! Source: \[MS-TDS\]; the conversations are in `threadwise_tds::conversations`.

#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

mod bulk;
mod encryption;
mod failures;
mod lab_engines;
mod queries;
mod raw;
mod support;
