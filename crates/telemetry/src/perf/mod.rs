//! Hardware counters of whole logical CPUs, whichever process runs there, through perf events.
//!
//! Source: `perf_event_open(2)`; kernel `Documentation/ABI/testing/sysfs-bus-event_source-devices-format`
//! and `-events` (what a PMU calls its events); `tools/power/x86/turbostat/turbostat.8` (what a clock is).
//! The system call itself is made by the crate `perf-event2`.

pub mod cores;
pub mod kept;
pub mod msr;
pub mod open;
pub mod pmu;
pub mod turbostat;
