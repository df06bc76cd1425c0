//! That the warm-up before slices is too short, where halves of slices show it.

use crate::findings::order::name;
use crate::halves::Halves;
use crate::words::{faster_or_slower, finding};
use crate::{Facts, Finding};
use threadwise_document::{Prose, numbers, prose};

/// A warm-up that is advised is at least so long, milliseconds.
const LEAST_ADVISED_MS: u64 = 30;

/// An advised warm-up is so many times the one that was too short.
const LONGER: u64 = 4;

/// A warm-up that is too short, where it is shown.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let halves = facts.analysis.halves.as_ref()?;
    let largest = halves.largest().filter(|shift| shift.too_short)?;
    let is_low = largest.change.value.mean > 1.0;
    let mut text = prose!(
        "Warm-up is too short for {}: second halves of its slices are {} than first ones, relative to the baseline; its \
         ratio is too {} by about half of that",
        name(facts, &largest.treatment),
        faster_or_slower(&largest.change),
        if is_low { "low" } else { "high" }
    );
    text.push(more(halves));
    text.push(prose!(". Use {}.", Prose::command(advised(facts))));
    Some(finding("warm-up", text, &[&largest.treatment]))
}

fn more(halves: &Halves) -> Prose {
    match halves.treatments.iter().filter(|shift| shift.too_short).count() - 1 {
        0 => Prose::default(),
        more => prose!(" (and for {} more)", numbers::counted(more, "treatment")),
    }
}

/// The option with a warm-up that may be long enough.
fn advised(facts: &Facts<'_>) -> String {
    let measured_ns = facts.analysis.warmups.iter().map(|warmup| warmup.warmup_ns).max();
    let warmup_ns = facts.study.design.rewarm_ns.or(measured_ns).unwrap_or(0);
    let milliseconds = warmup_ns.div_ceil(1_000_000);
    format!("--rewarm {}ms", (LONGER * milliseconds).max(LEAST_ADVISED_MS))
}
