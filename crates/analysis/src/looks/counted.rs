//! Which looks are counted for the shares of states: those right before slices, or those during long ones.
//!
//! Looks around a slice of some minutes say nothing about the minutes between. Slices longer than [`LONG_NS`] have
//! repeated looks during them (docs/PROBE.md, "Looks"), each of which represents the same part of its slice.

use super::states::{Judged, LookedAt};
use threadwise_study::Moment;

/// Longer slices have looks during them at equal distances, nanoseconds.
pub const LONG_NS: u64 = 200_000_000;

/// The moment whose looks count: during slices if most of the measured time is that of long slices, else before them.
pub fn moment(slices: &[LookedAt<'_>]) -> Moment {
    let (mut long_ns, mut all_ns) = (0_u128, 0_u128);
    for window_ns in slices.iter().map(|one| one.slice.window_ns) {
        all_ns += u128::from(window_ns);
        long_ns += if window_ns > LONG_NS { u128::from(window_ns) } else { 0 };
    }
    if 2 * long_ns > all_ns { Moment::During } else { Moment::Before }
}

/// A look that counts, or a slice without one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted<'l, 'r> {
    /// The slice that it belongs to.
    pub(super) slice: &'l LookedAt<'r>,
    /// The look; `None` for a slice that counts without a look: its state is unknown.
    pub(super) judged: Option<&'l Judged<'r>>,
    /// Its weight in its block.
    pub(super) weight: f64,
}

/// Looks of a moment. Before slices it is the last one of each, all of equal weight; slices without one are left out.
/// During slices all looks of one slice together weigh its time, and so does a slice without one: short ones have none,
/// and the others must not represent them.
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
