//! The interface between decisions and measurement: a short window in which some logical CPUs run
//! one kernel at the same time and all other threads of the probe are idle.

use crate::kernels::Kernel;
use threadwise_machine::pin::PinError;

/// Runs kernels on logical CPUs.
pub trait Bench {
    /// Runs `kernel` on all of `cpus` in one common window of about `window_ns`, after a short
    /// preheating; gives one timing per CPU, in the order of `cpus`.
    ///
    /// # Errors
    /// A CPU is not available, the clock is too coarse, or the user asked to stop.
    fn run(&mut self, kernel: Kernel, cpus: &[u32], window_ns: u64) -> Result<Vec<Timing>, ProbeError>;
}

/// What one logical CPU did in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// OS number.
    pub cpu: u32,
    /// Time of a step in nanoseconds while on a CPU: the median over chunks of a few microseconds,
    /// which interruptions of the whole thread do not affect.
    pub step_ns: f64,
    /// Steps a nanosecond of the window's wall-clock time; 1 / `step_ns` if nothing interrupted the thread.
    pub steps_per_ns: f64,
    /// Share of the window's wall-clock time in which the thread was on a CPU, seen by the thread: 1
    /// less the time of chunks that took much longer than the median.
    pub on_cpu_share: f64,
    /// Context switches that this system's scheduler forced on the thread inside the window; a hypervisor's
    /// do not count.
    pub involuntary_switches: u64,
}

/// Why a probe cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A thread could not be bound.
    #[error("cannot probe logical CPU {cpu}: {source}")]
    Pin {
        /// OS number.
        cpu: u32,
        /// The cause.
        source: PinError,
    },
    /// A requested logical CPU cannot be used.
    #[error("{0}")]
    Cpus(String),
    /// The clock's step is as long as what is measured.
    #[error(
        "the clock is too coarse to measure with: its steps are {step_ns} ns; check /sys/devices/system/clocksource/clocksource0/current_clocksource (tsc is fine enough)"
    )]
    CoarseClock {
        /// Smallest step seen.
        step_ns: u64,
    },
    /// Threads or memory are not available.
    #[error(
        "cannot start the probe: {0}; check the limits on threads, memory and open files (ulimit -u, -v, -n; pids.max)"
    )]
    Start(String),
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
}
