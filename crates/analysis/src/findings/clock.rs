//! Whether the clock explains a ratio: the same in all treatments within a bound, or other in some.

use crate::cpus::{ClockChange, differs, furthest};
use crate::words::{finding, limited};
use crate::{Facts, Finding};
use threadwise_document::numbers::percent;
use threadwise_document::prose;

/// Most comparisons that are named.
const MAX_SHOWN: usize = 3;

/// The finding; none where the clock is not known by the processor's own counters, or nothing can be said.
///
/// The adjusted intervals of all comparisons hold together, so that the furthest end of any of them bounds all
/// (docs/METHODOLOGY.md, "Clock and power of each treatment").
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let clock = &facts.analysis.cpus.as_ref()?.clock;
    let margin = facts.study.design.margin.ln_1p();
    let evidence: Vec<&str> = clock.iter().map(|one| one.comparison.as_str()).collect();
    let is_of_all =
        facts.study.comparisons.iter().all(|comparison| evidence.contains(&comparison.name.as_str()));
    let bound = furthest(clock.iter().map(|one| &one.ratio))?;
    if is_of_all && bound <= margin {
        let text = prose!(
            "Clock: that of the busy logical CPUs was the same in all treatments within {}, so it explains no more than \
             that of any ratio.",
            percent(bound.exp_m1())
        );
        return Some(finding("clock", text, &evidence));
    }
    let different: Vec<&ClockChange> = clock.iter().filter(|one| differs(&one.ratio, margin)).collect();
    let clauses = different.iter().map(|one| {
        let below = one.baseline.split(" and ").next().unwrap_or(&one.baseline);
        prose!("{} {} of that of {}", &one.treatment, &one.ratio.adjusted(), below)
    });
    let text = prose!("Clock of the busy logical CPUs: {}.", limited(clauses, MAX_SHOWN)?);
    Some(finding("clock", text, &different.iter().map(|one| one.comparison.as_str()).collect::<Vec<_>>()))
}
