//! Firebird databases reloaded by Firebird's own programs, embedded; skipped, loudly, where there are none.

#![allow(clippy::unwrap_used)]

mod generated;
mod kills;
mod refused;
mod room;
mod same;
mod steps;
mod support;
mod whole;
