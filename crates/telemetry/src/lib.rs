//! What the machine did while a treatment ran. One sampler is one file in `samplers/` and one
//! line in [`samplers::all`]; [`proc_stat`] is read by the runner around every slice and is no
//! sampler of its own, since its numbers belong to the slice.

pub mod proc_stat;
pub mod samplers;

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
    /// It exists, and this user may not read it.
    Denied {
        /// Why, in one line.
        why: String,
        /// What would allow it.
        remedy: String,
    },
}

/// Takes readings between two moments. Cheap: two reads of a pseudo-file, no thread.
///
/// A value is the amount by which a counter grew, so that the values of two windows may be added.
pub trait Sampler: Send {
    /// Name, as stored with its readings.
    fn name(&self) -> &'static str;

    /// Whether it can work here; asked once.
    fn status(&self) -> Status;

    /// Notes the state at the start of an acquisition window.
    fn start(&mut self, now_ns: u64);

    /// Appends what happened since `start`; a value that cannot be had is a gap with its reason.
    fn finish(&mut self, now_ns: u64, readings: &mut Vec<Reading>);
}
