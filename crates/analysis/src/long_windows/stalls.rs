//! Steps that took longer than a slice, which slices cannot show whole.

use super::types::Stalls;
use threadwise_statistics::MergedLatency;
use threadwise_study::Slice;

/// Of the windows of a treatment; `None` where there is no step with a latency, or where histograms cannot be read.
pub fn stalls<'a>(windows: impl Iterator<Item = &'a Slice>, slice_ns: u64) -> Option<Stalls> {
    let mut merged = MergedLatency::new();
    let (mut windows_ns, mut session_ns) = (0_u64, 0.0);
    for window in windows {
        windows_ns = windows_ns.saturating_add(window.window_ns);
        session_ns += window.window_ns as f64 * window.sessions.len() as f64;
        window.sessions.iter().try_for_each(|session| merged.add(&session.latency)).ok()?;
    }
    let (steps, in_steps_ns) = merged.above(slice_ns)?;
    let (longest_ns, p99_ns) = (merged.quantile(1.0)?, merged.quantile(0.99)?);
    // A step that began before the window's start may end inside it.
    let share = (in_steps_ns / session_ns).min(1.0);
    Some(Stalls { steps, share, longest_ns, p99_ns, windows_ns })
}
