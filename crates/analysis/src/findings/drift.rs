//! That the baseline's rate changed during the study, where it is shown: it explains spread, and drops nothing.

use crate::drift::Drift;
use crate::words::{MAX_LISTED, finding};
use crate::{Facts, Finding};
use threadwise_document::{Class, Prose, numbers, prose};

/// Changes of the baseline's rate, where they are shown.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let changed: Vec<&Drift> =
        facts.analysis.drift.iter().filter(|drift| !drift.changes.is_empty()).collect();
    let evidence: Vec<&str> = changed.iter().map(|drift| drift.baseline.as_str()).collect();
    let sentences = Prose::join(changed.iter().map(|drift| sentence(facts, drift)), "; ");
    let within = if facts.study.runs_whole() { "blocks" } else { "rounds" };
    let text = prose!(
        "Drift: {}. Ratios are taken within {}, so they hold; rates are means over its levels.",
        sentences,
        within
    );
    (!changed.is_empty()).then(|| finding("drift", text, &evidence))
}

/// `the baseline's rate fell in block 23, 4.2 min after the start, from 12.3 M/s [12.1, 12.5] to 11.6 M/s [11.4, 11.8]
/// (-5.4% [-7.2, -3.6])`.
fn sentence(facts: &Facts<'_>, drift: &Drift) -> Prose {
    let group = facts.group_words(&drift.group);
    let place = if group.is_empty() { String::new() } else { format!(" {group}") };
    let changes = drift.changes.iter().zip(drift.levels.windows(2)).take(MAX_LISTED);
    let clauses = changes.map(|(change, levels)| {
        prose!(
            "{} in block {}, {} after the start, from {} to {} ({} {})",
            if change.value > 1.0 { "rose" } else { "fell" },
            change.block as usize,
            Prose::figure(numbers::seconds(change.start_s)),
            &levels[0].rows_per_s,
            &levels[1].rows_per_s,
            Prose::figure(numbers::change(change.value)),
            Prose::of(Class::Interval, numbers::change_ends(change.low, change.high, change.value))
        )
    });
    let mut text = prose!("the baseline's rate{} {}", place, Prose::join(clauses, ", and "));
    if let more @ 1.. = drift.changes.len().saturating_sub(MAX_LISTED) {
        text.push(prose!(", and {} more", numbers::counted(more, "time")));
    }
    text
}
