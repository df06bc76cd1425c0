//! The loop of a session: one step after the other, or as requests arrive.

use threadwise_study::SessionSlice;

use super::measure::{StepResult, closed_loop};
use super::open_loop::open_loop;
use crate::{EngineError, Window};

/// Runs steps until the window's end, one after the other or as requests arrive, and counts those of the window. It
/// works from the call on, so the time before `window.start_ns` is the re-warm. A step costs one clock reading and one
/// histogram entry; as requests arrive, two clock readings, the lock of the schedule and one entry. `counters` gives the
/// engine's own monotonic counters by name; it is called twice, or not at all if no step is counted. A window without
/// such a step gives a slice of zeros.
///
/// # Errors
/// The first error of a step or of `counters`.
pub fn step_loop<const N: usize>(
    window: &Window,
    step: impl FnMut() -> Result<StepResult, EngineError>,
    counters: impl FnMut() -> Result<[(&'static str, u64); N], EngineError>,
) -> Result<SessionSlice, EngineError> {
    match &window.arrivals {
        None => closed_loop(window, step, counters),
        Some(arrivals) => open_loop(window, arrivals, step, counters),
    }
}
