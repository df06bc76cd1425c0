//! That slices change the next ones, where it is shown: a word on how far to trust rates and ratios.

use crate::order::{After, Order, Shift};
use crate::words::{finding, share};
use crate::{Facts, Finding, Interval};
use threadwise_document::{Prose, prose};

/// Shifts up to this are said to be no more than it.
pub const LEAST_SHIFT: f64 = 0.001;

/// Carry-over, where it is shown.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let order = facts.analysis.order.as_ref()?;
    let largest = order.largest().filter(|after| after.shown)?;
    let more = order.after.iter().filter(|after| after.shown).count() - 1;
    let mut text = prose!(
        "Carry-over: after slices of {}, slices were {} than after others",
        name(facts, &largest.treatment),
        change(largest)
    );
    if more > 0 {
        text.push(prose!(" (it is shown for {} more)", more));
    }
    text.push(prose!(". {}; rates contain it.", consequence(order)));
    Some(finding("carry-over", text, &[&largest.treatment]))
}

/// `2.0% [1.6, 2.4] slower`, with the interval that allows for having been chosen.
fn change(after: &After) -> Prose {
    let shares = |mean: f64, low: f64, high: f64| Interval { mean, low, high, unit: "share".to_owned() };
    match after.value < 1.0 {
        true => prose!(
            "{} slower",
            &shares(1.0 - after.value, 1.0 - after.adjusted_high, 1.0 - after.adjusted_low)
        ),
        false => prose!(
            "{} faster",
            &shares(after.value - 1.0, after.adjusted_low - 1.0, after.adjusted_high - 1.0)
        ),
    }
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
