//! Warm-ups and halves of slices in the method section: how long the warm-up was, and whether that was enough.

use crate::Facts;
use crate::findings::order::name;
use crate::halves::{Halves, Shift};
use crate::words::changed;
use threadwise_document::{Prose, numbers, prose};

/// The warm-ups that were measured; `None` where the re-warm is fixed.
pub fn warm_up(facts: &Facts<'_>) -> Option<Prose> {
    let all = &facts.analysis.warmups;
    let longest = all.iter().rev().max_by_key(|warmup| warmup.warmup_ns)?;
    let shortest = all.iter().map(|warmup| warmup.warmup_ns).min()?;
    let time = |ns: u64| Prose::figure(numbers::nanoseconds(ns as f64));
    let mut text = match shortest == longest.warmup_ns {
        true => prose!(
            "Warm-up before each slice, measured before the first block: {} for every treatment.",
            time(shortest)
        ),
        false => prose!(
            "Warm-up before each slice, measured before the first block: {} to {}, longest of {}.",
            time(shortest),
            time(longest.warmup_ns),
            name(facts, &longest.treatment)
        ),
    };
    let limits: Vec<String> = all
        .iter()
        .filter_map(|warmup| Some(format!("{} ({})", name(facts, &warmup.treatment), warmup.gap.as_deref()?)))
        .collect();
    if !limits.is_empty() {
        text.push(prose!(" Not seen for {}.", limits.join(", ")));
    }
    Some(text)
}

/// The paragraph; `None` where there are no slices of a rate.
pub fn paragraph(facts: &Facts<'_>) -> Option<Prose> {
    let halves = facts.analysis.halves.as_ref()?;
    Some(match (halves.largest(), &halves.gap) {
        (Some(largest), _) => compared(facts, halves, largest),
        (None, gap) => {
            prose!("Halves of slices are not compared: {}.", gap.as_deref().unwrap_or("no block has both"))
        }
    })
}

fn compared(facts: &Facts<'_>, halves: &Halves, largest: &Shift) -> Prose {
    let too_short = halves.treatments.iter().filter(|shift| shift.too_short).count();
    let is_shown = match too_short {
        0 => "no warm-up is shown to be too short".to_owned(),
        1 => "the warm-up is too short for it alone".to_owned(),
        more => format!("the warm-up is too short for {more}"),
    };
    let of_how_many = match halves.treatments.len() {
        1 => String::new(),
        many => format!(", the largest of {many} treatments"),
    };
    prose!(
        "Halves of slices: the rate of second halves over that of first ones of {}, relative to the baseline, is {}{}; \
         by more than the margin {}.",
        name(facts, &largest.treatment),
        changed(&largest.change),
        of_how_many,
        is_shown
    )
}
