//! Requests of a run at a rate: sums of what its slices and sessions counted of them.

use threadwise_statistics::{Clusters, MergedLatency, per};
use threadwise_study::arrivals::{BEGUN_LATE, DUE, UNSERVED};
use threadwise_study::{Run, Slice};

/// Latencies of all slices and sessions of a run; none if one cannot be read.
pub(crate) fn merged(run: &Run) -> MergedLatency {
    let mut merged = MergedLatency::new();
    let mut all = run.slices.iter().flat_map(|slice| &slice.sessions);
    match all.try_for_each(|session| merged.add(&session.latency)) {
        Ok(()) => merged,
        Err(_) => MergedLatency::new(),
    }
}

/// Sum of a counter of sessions.
pub(crate) fn of_sessions(run: &Run, counter: &str) -> f64 {
    let of_slice = |slice: &Slice| {
        slice
            .sessions
            .iter()
            .filter_map(|one| one.counters.get(counter))
            .map(|count| *count as f64)
            .sum::<f64>()
    };
    run.slices.iter().map(of_slice).sum()
}

/// Sum of a counter of slices.
pub(crate) fn of_slices(run: &Run, counter: &str) -> f64 {
    run.slices.iter().filter_map(|slice| slice.counters.get(counter)).map(|count| *count as f64).sum()
}

/// Requests that were due in its windows.
pub(crate) fn due(run: &Run) -> f64 {
    of_slices(run, DUE)
}

/// Requests that were answered.
pub(crate) fn steps(run: &Run) -> f64 {
    run.slices.iter().flat_map(|slice| &slice.sessions).map(|session| session.steps as f64).sum()
}

/// Share of a run's requests that had not begun at the end of their window; `None` of a run that is not at a rate.
pub(crate) fn waiting_share(run: &Run) -> Option<f64> {
    per(of_sessions(run, BEGUN_LATE) + of_slices(run, UNSERVED), due(run))
}

/// Mean latency of all steps.
pub(crate) fn mean_latency_ns(merged: &MergedLatency) -> Option<f64> {
    Clusters::of(std::slice::from_ref(merged))?.means_ns().next()
}
