//! Why nothing is advised if settings lost unequal shares of their time to others, and what their ratio is without it.

use super::words;
use crate::Facts;
use crate::choices::{Candidate, Choice, LostTime};
use threadwise_document::numbers::percent;
use threadwise_document::{Prose, prose};

/// The line; `None` for a choice whose settings lost equal shares.
pub fn line(facts: &Facts<'_>, choice: &Choice) -> Option<Prose> {
    let all = || choice.candidates.iter().zip(&choice.lost);
    let share = |lost: &LostTime| lost.stolen_share + lost.others_share;
    let by_share = |one: &(&Candidate, &LostTime), other: &(&Candidate, &LostTime)| {
        f64::total_cmp(&share(one.1), &share(other.1))
    };
    let (most, lost) = all().max_by(by_share)?;
    let (least, kept) = all().min_by(by_share)?;
    let whom = match lost.stolen_share > lost.others_share {
        true => "the hypervisor",
        false => "other programs on its logical CPUs",
    };
    let named = |candidate: &Candidate| words::value(facts, choice, candidate);
    let figure = |lost: &LostTime| Prose::figure(percent(share(lost)));
    let first = choice.candidates.first()?;
    // The one whose ratio to the first was moved most.
    let moved = if most == first { least } else { most };
    let without =
        words::times(facts, moved, first).zip(moved.speed_on_cpu.as_ref()).map(|(speed, on_cpu)| {
            prose!(
                " {} is {} of {} as measured, and {} after correction for the time lost.",
                named(moved),
                speed,
                named(first),
                on_cpu
            )
        });
    Some(prose!(
        "No advice on {}: {} lost {} of its time to {}, and {} {}.{} Measure again when nothing else runs there, or on another machine.",
        words::question(facts, choice),
        named(most),
        figure(lost),
        whom,
        named(least),
        figure(kept),
        without.unwrap_or_default()
    ))
}
