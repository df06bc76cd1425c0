//! Making data structures on the node of their first session.

use std::thread;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::pin_current_thread;

use super::error::failed;
use crate::EngineError;

/// Runs a closure on a new thread bound to logical CPUs.
///
/// # Errors
/// The thread cannot be bound, or panicked.
pub(super) fn on<T: Send>(cpus: &CpuSet, task: impl FnOnce() -> T + Send) -> Result<T, EngineError> {
    let bound = || {
        pin_current_thread(cpus).map_err(|cause| EngineError::Pin {
            session: 0,
            cpus: cpus.to_string(),
            why: cause.to_string(),
        })?;
        Ok(task())
    };
    let ended = thread::scope(|scope| scope.spawn(bound).join());
    ended.unwrap_or_else(|_| Err(failed("make its table", "the thread that made it panicked")))
}
