//! Names of figures for people.

use super::Link;
use crate::Interval;

/// A correlation with its interval.
pub fn interval(link: &Link) -> Interval {
    Interval { mean: link.correlation, low: link.low, high: link.high, unit: "1".to_owned() }
}

/// A quantity's name for people.
pub fn name(metric: &str) -> String {
    let words = [
        ("cpu_ns_per_row", "CPU time per row"),
        ("cpu_share", "time with a CPU"),
        ("run_queue_wait_share", "time waiting for a CPU"),
        ("clock_mhz", "clock"),
        ("instructions_per_cycle", "instructions per cycle"),
        ("instructions_per_row", "instructions per row"),
        ("llc_misses_per_row", "LLC misses per row"),
        ("l2_misses_per_row", "L2 misses per row"),
        ("other_node_pages_per_row", "pages from other NUMA nodes per row"),
        ("power_w", "power"),
        ("rows_per_joule", "rows per joule"),
        ("spins_per_row", "spins per row"),
        ("spinning_share", "time spinning"),
        ("context_switches_per_row", "context switches per row"),
        ("steal_share", "stolen time"),
        ("co_runner_share", "time with a co-runner"),
        ("straggler_share", "time with stragglers"),
        ("left_over_busy_share", "idle siblings busy"),
    ];
    let known = words.iter().find(|(known, _)| *known == metric);
    match (known, metric.strip_prefix("waits/")) {
        (Some((_, words)), _) => (*words).to_owned(),
        (None, Some(wait)) => format!("wait {wait}"),
        (None, None) => metric.to_owned(),
    }
}
