//! What the machine did while a treatment ran. One sampler is one file in `samplers/` and one
//! line in [`samplers::all`]; the runner reads [`proc_stat`] around every slice, which is not a
//! sampler, since its numbers belong to the slice.

pub mod perf;
pub mod proc_pid;
pub mod proc_stat;
pub mod samplers;
pub mod switches;

use threadwise_machine::CpuSet;
use threadwise_study::Reading;

/// Whether a sampler can work here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It works.
    Ready,
    /// The machine or kernel does not have it.
    Unsupported {
        /// Why, in one line.
        why: String,
    },
    /// It exists, but this user may not read it.
    Denied {
        /// Why, in one line.
        why: String,
        /// What would allow it.
        remedy: String,
    },
}

/// A moment of a reading.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Nanoseconds since the study's start (CLOCK_MONOTONIC).
    pub now_ns: u64,
    /// Logical CPUs of the measured placement.
    pub cpus: &'a CpuSet,
    /// The measured processes.
    pub pids: &'a [u32],
}

/// Takes readings between two moments. Cheap: a few reads of pseudo-files, no thread.
///
/// A value is an amount that grew over the acquisition window (a time, a count, an energy), so that the
/// values of two windows can be added and a share of the window taken; other quantities are stored
/// multiplied by the window (for example `mhz_ns`), and their name shows it.
pub trait Sampler: Send {
    /// Name, as stored with its readings.
    fn name(&self) -> &'static str;

    /// Whether it can work here; called once.
    fn status(&self) -> Status;

    /// Records the state at the start of an acquisition window.
    fn start(&mut self, at: &Moment<'_>);

    /// Reads about ten times a second inside of longer windows: for counters that wrap, and for events
    /// between two readings. Most samplers need none.
    fn tick(&mut self, _at: &Moment<'_>) {}

    /// Appends the values since `start`; a missing value is a gap with its reason.
    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>);
}
