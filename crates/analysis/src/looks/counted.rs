//! Which looks the shares of states are counted from: those right before slices, or those during long ones.
//!
//! Looks around a slice of some minutes say nothing of the minutes between. Slices that are longer than
//! [`LONG_NS`] have looks during them again and again (docs/PROBE.md, "Looks"), of which each stands for the same
//! part of its slice.

use super::states::{Judged, LookedAt};
use threadwise_study::Moment;

/// Slices that are longer have looks during them at equal distances, nanoseconds.
pub const LONG_NS: u64 = 200_000_000;

/// The moment whose looks count: during slices where most of the measured time is that of long slices, else before
/// them.
pub fn moment(slices: &[LookedAt<'_>]) -> Moment {
    let (mut long_ns, mut all_ns) = (0_u128, 0_u128);
    for window_ns in slices.iter().map(|one| one.slice.window_ns) {
        all_ns += u128::from(window_ns);
        long_ns += if window_ns > LONG_NS { u128::from(window_ns) } else { 0 };
    }
    if 2 * long_ns > all_ns { Moment::During } else { Moment::Before }
}

/// A look that counts, or a slice of which no look tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted<'l, 'r> {
    /// The slice that it belongs to.
    pub(super) slice: &'l LookedAt<'r>,
    /// The look; `None` for a slice that counts and has none: nothing is known of it.
    pub(super) judged: Option<&'l Judged<'r>>,
    /// How much it counts in its block.
    pub(super) weight: f64,
}

/// Looks of a moment. Before slices it is the last one of each, and all count alike; slices without one are left
/// out. During slices all looks of one slice together count by its time, and a slice without one does, too: short
/// ones have none, and to leave them out would make the others stand for them.
pub(super) fn counted<'l, 'r>(slices: &'l [LookedAt<'r>], moment: Moment) -> Vec<Counted<'l, 'r>> {
    let mut all = Vec::new();
    for slice in slices {
        if moment == Moment::Before {
            let last = slice.looks.iter().rev().find(|one| one.moment == Moment::Before);
            all.extend(last.map(|last| Counted { slice, judged: Some(last), weight: 1.0 }));
            continue;
        }
        let during = || slice.looks.iter().filter(|one| one.moment == moment);
        let time_ns = slice.slice.window_ns.max(1) as f64;
        match during().count() {
            0 => all.push(Counted { slice, judged: None, weight: time_ns }),
            count => all.extend(during().map(|judged| Counted {
                slice,
                judged: Some(judged),
                weight: time_ns / count as f64,
            })),
        }
    }
    all
}
