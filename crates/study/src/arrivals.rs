//! Load at a rate: requests arrive at moments of their own, whether earlier ones are done or not, and wait until a
//! session is free.
//!
//! A loop that sends its next request when the last one is done sends fewer while the server is slow, and so leaves out
//! the waits that its users would have (coordinated omission: G. Tene, "How NOT to Measure Latency", 2013; an open
//! system model: B. Schroeder, A. Wierman, M. Harchol-Balter, NSDI 2006). Latency here begins when a request is due.

use crate::{Options, Study, Treatment};

/// Option of a workload: requests that arrive a second, for all sessions of a treatment together.
pub const RATE: &str = "rate_per_s";

/// Option of a workload: how they arrive, one of [`WAYS`].
pub const ARRIVALS: &str = "arrivals";

/// Ways to arrive, the default first: `poisson`, independently of each other, as those of many users do; `constant`, at
/// equal distances.
pub const WAYS: [&str; 2] = ["poisson", "constant"];

/// Rates that are accepted, a second.
pub const RATES_PER_S: std::ops::RangeInclusive<f64> = 0.01..=10_000_000.0;

/// Counter of a slice: requests that were due inside its window.
pub const DUE: &str = "arrivals_due";

/// Counter of a slice: those of them that were given up, since the load was too high.
pub const UNSERVED: &str = "arrivals_unserved";

/// Counter of a session: requests due inside the window that it began after the window's end.
pub const BEGUN_LATE: &str = "arrivals_begun_after_end";

/// Counter of a session: nanoseconds that its counted requests waited for a free session.
pub const QUEUED_NS: &str = "arrivals_queued_ns";

/// Counter of a session: nanoseconds by which its client woke up after requests were due that no other one delayed. It
/// is part of their latency, and none of the server's.
pub const WOKEN_LATE_NS: &str = "client_woken_late_ns";

/// All of these counters: the worker sets them, not the engine.
pub const OF_ARRIVALS: [&str; 5] = [DUE, UNSERVED, BEGUN_LATE, QUEUED_NS, WOKEN_LATE_NS];

/// The rate among a treatment's options; `None` for a closed loop.
pub fn rate_per_s(options: &Options) -> Option<f64> {
    options.get(RATE)?.number()
}

impl Treatment {
    /// Requests that arrive a second; `None` if its sessions work in a closed loop.
    pub fn rate_per_s(&self) -> Option<f64> {
        rate_per_s(&self.options)
    }
}

impl Study {
    /// Whether all its treatments have a rate at which requests arrive: throughput is then what arrives, and the question
    /// is latency.
    pub fn is_at_a_rate(&self) -> bool {
        !self.treatments.is_empty() && self.treatments.iter().all(|one| one.rate_per_s().is_some())
    }
}
