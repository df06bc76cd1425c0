//! That slices change the next ones, where it is shown: a word on how far to trust rates and ratios.

use crate::order::{Order, Shift};
use crate::words::{faster_or_slower, finding, share};
use crate::{Facts, Finding};
use threadwise_document::{Prose, prose};

/// Shifts up to this are said to be no more than it.
pub const LEAST_SHIFT: f64 = 0.001;

/// Carry-over, where it is shown.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let order = facts.analysis.order.as_ref()?;
    let largest = order.largest().filter(|after| after.change.shown)?;
    let more = order.after.iter().filter(|after| after.change.shown).count() - 1;
    let mut text = prose!(
        "Carry-over: after slices of {}, slices were {} than after others",
        name(facts, &largest.treatment),
        faster_or_slower(&largest.change)
    );
    if more > 0 {
        text.push(prose!(" (it is shown for {} more)", more));
    }
    text.push(prose!(". {}; rates contain it.", consequence(order)));
    Some(finding("carry-over", text, &[&largest.treatment]))
}

/// What it does to ratios.
fn consequence(order: &Order) -> Prose {
    match &order.shift {
        None => "How far that shifts ratios is not known".into(),
        Some(Shift { share: most, .. }) if *most <= LEAST_SHIFT => prose!(
            "Each treatment came after each about as often, so that no ratio is shifted by more than {}",
            share(LEAST_SHIFT)
        ),
        Some(Shift { share: most, .. }) => {
            prose!(
                "By how often each treatment came after each, ratios may be shifted by up to {}",
                share(*most)
            )
        }
    }
}

/// A treatment's name, inside its group where there is one group.
pub fn name<'a>(facts: &Facts<'a>, treatment: &'a str) -> &'a str {
    match facts.study.groups().len() {
        0 | 1 => facts.label(treatment, facts.group_of(treatment)),
        _ => treatment,
    }
}
