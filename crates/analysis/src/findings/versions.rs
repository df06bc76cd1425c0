//! Two versions of a program: the second over the first, placement by placement, within blocks.

use crate::commands::ELAPSED;
use crate::words::{answered, finding, names};
use crate::{Estimate, Facts, Finding, FindingKind};
use threadwise_document::{Prose, prose};
use threadwise_study::version;

/// `B takes 0.89x [0.87, 0.91] of A's time, better`, `B does 1.12x [1.05, 1.19] of A, better`; `None` for other
/// studies, or if no ratio of the headline is known.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let is_judged = facts.analysis.commands.as_ref().is_none_or(|commands| commands.fixed_time.is_none());
    let compared = facts.study.comparisons.iter().filter(|one| version::is_compared(facts.study, one));
    let headline = facts.analysis.headline();
    let found: Vec<&Estimate> = compared
        .filter_map(|comparison| {
            let mut all = facts.analysis.estimates.iter();
            all.find(|one| one.name == comparison.name && one.metric == headline)
        })
        .filter(|_| is_judged)
        .collect();
    let clauses: Vec<Prose> = found.iter().map(|one| clause(facts, one, found.len() > 1)).collect();
    let text = prose!("{}.", Prose::join(clauses, "; "));
    (!found.is_empty()).then(|| finding(FindingKind::Versions, text, &names(&found)))
}

fn clause(facts: &Facts<'_>, estimate: &Estimate, is_placed: bool) -> Prose {
    let placement = facts.study.treatment(&estimate.treatment).map(|(_, top)| top.placement.text.as_str());
    let group = facts.group_words(facts.group_of(&estimate.treatment));
    let mut place = placement.filter(|_| is_placed).map_or(String::new(), |place| format!(" on {place}"));
    if !group.is_empty() {
        place.push_str(&format!(" {group}"));
    }
    let ratio = &estimate.ratio;
    let meaning = match estimate.ratio.is_different() {
        true => format!(", {}", estimate.ratio.meaning()),
        false => String::new(),
    };
    // A rate is what it does, a time what it takes; for a metric of a command only its name is known.
    let quantity = facts.analysis.commands.as_ref().and_then(|commands| commands.headline());
    match quantity.filter(|quantity| quantity.is_said || quantity.metric == ELAPSED) {
        Some(quantity) if quantity.is_said => {
            prose!("B has {} of A's {}{}{}{}", ratio, &quantity.name, place, meaning, answered(ratio))
        }
        Some(_) => prose!("B takes {} of A's time{}{}{}", ratio, place, meaning, answered(ratio)),
        None => prose!("B does {} of A{}{}{}", ratio, place, meaning, answered(ratio)),
    }
}
