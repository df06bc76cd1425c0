//! What moves with a ratio from block to block, or that nothing that was measured does.

use crate::changed_with::words::{interval, name};
use crate::changed_with::{ChangedWith, Compared, Explained};
use crate::words::{finding, limited, list};
use crate::{Facts, Finding};
use threadwise_document::numbers::counted;
use threadwise_document::{Prose, prose};

/// Most comparisons that are named.
const MAX_SHOWN: usize = 2;
/// Most quantities of a comparison that are named.
const MAX_NAMED: usize = 2;

/// The finding; none where nothing moves with any ratio and blocks are too few to say so.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let changed = facts.analysis.changed_with.as_ref()?;
    let moved: Vec<&Compared> = with(changed, Explained::Moves);
    let unexplained: Vec<&Compared> = with(changed, Explained::Unexplained);
    let mut sentences: Vec<Prose> =
        limited(moved.iter().map(|one| clause(one)), MAX_SHOWN).into_iter().collect();
    if !unexplained.is_empty() {
        let names: Vec<String> =
            unexplained.iter().take(MAX_SHOWN).map(|one| one.treatment.clone()).collect();
        let more = unexplained.len().saturating_sub(MAX_SHOWN);
        let more = if more > 0 { format!(" and {more} more in the table") } else { String::new() };
        let most = unexplained.iter().map(|one| tested(one)).max().unwrap_or(0);
        sentences.push(prose!(
            "{}{} unexplained (of {} that could be tested none moves with the ratio)",
            list(&names),
            more,
            counted(most, "figure")
        ));
    }
    let evidence: Vec<&str> = moved.iter().chain(&unexplained).map(|one| one.comparison.as_str()).collect();
    let text = prose!("Why, from block to block: {}.", Prose::join(sentences, "; "));
    (!evidence.is_empty()).then(|| finding("why", text, &evidence))
}

fn with(changed: &ChangedWith, answer: Explained) -> Vec<&Compared> {
    changed.comparisons.iter().filter(|one| one.answer == answer).collect()
}

fn tested(one: &Compared) -> usize {
    one.quantities.iter().filter(|quantity| quantity.link.is_some()).count()
}

/// `the ratio of T rises with clock (rank correlation 0.83 [0.64, 0.93])`.
fn clause(one: &Compared) -> Prose {
    let shown = one.quantities.iter().filter_map(|quantity| {
        let link = quantity.link.as_ref().filter(|link| link.shown)?;
        Some((quantity.metric.as_str(), link))
    });
    let named = shown.map(|(metric, link)| {
        let how = if link.correlation > 0.0 { "rises with" } else { "falls with more" };
        prose!("{} {} (rank correlation {})", how, name(metric), &interval(link))
    });
    prose!("the ratio of {} {}", &one.treatment, limited(named, MAX_NAMED).unwrap_or_default())
}
