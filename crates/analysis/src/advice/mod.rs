//! Which settings to use, from the choices of a study: the first lines of its verdict.
//!
//! A choice that the data decide is given as an instruction; any other as "not enough data", with the best guess, the
//! probability that it is within the margin of the best, and the expected loss if it is not.

mod locality;
mod lost;
mod paste;
mod sessions;
mod threads;
pub(crate) mod words;

pub(crate) use sessions::most_within;
pub use sessions::{keep, to_use};

use crate::Facts;
use crate::FindingKind;
use crate::choices::{Axis, Choice};
use crate::cost;
use crate::words::{finding, probability};
use threadwise_document::numbers::{percent, set_percent};
use threadwise_document::{Advice, Finding, Prose, prose};

/// Most choices of one kind in a line; the section has all.
const MOST_PARTS: usize = 2;

const MOST_LINES: usize = 4;

/// All advice of a study, the most important first.
pub fn advice(facts: &Facts<'_>) -> Vec<Advice> {
    // Such a study asks about what something outside switches, and its boots are not enough for another question.
    if facts.study.external.is_some() {
        return cost::advice(facts).into_iter().collect();
    }
    words::order(facts).filter_map(|axis| of_axis(facts, axis)).chain(cost::advice(facts)).collect()
}

/// Advice as findings of a verdict.
pub(crate) fn findings(advice: &[Advice]) -> Vec<Finding> {
    let line = |one: &Advice| {
        finding(
            FindingKind::Advice,
            one.line.clone(),
            &one.evidence.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    // What the user asked for is never left out.
    let (cost, rest): (Vec<&Advice>, Vec<&Advice>) = advice.iter().partition(|one| one.about == "cost");
    rest.into_iter().take(MOST_LINES).chain(cost).map(line).collect()
}

/// Advice on one axis, all of its choices in one line.
fn of_axis(facts: &Facts<'_>, axis: Axis) -> Option<Advice> {
    let all: Vec<&Choice> = facts.analysis.choices.iter().filter(|choice| choice.axis == axis).collect();
    let first = *all.first()?;
    let line = match all.as_slice() {
        [one] => single(facts, one),
        several => many(facts, axis, several),
    };
    let decided: Vec<&Choice> = all.iter().copied().filter(|choice| choice.chosen.is_some()).collect();
    // Lines that contradict each other are left out.
    let paste = match decided.as_slice() {
        [] => Vec::new(),
        [one, rest @ ..] => {
            let lines = paste::lines(facts, one);
            if rest.iter().all(|other| paste::lines(facts, other) == lines) { lines } else { Vec::new() }
        }
    };
    let evidence = all.iter().flat_map(|choice| &choice.candidates).map(|one| one.treatment.clone());
    Some(Advice {
        about: words::about(first.axis),
        line,
        is_decided: decided.len() == all.len(),
        paste,
        evidence: evidence.collect(),
    })
}

/// One choice in full.
fn single(facts: &Facts<'_>, choice: &Choice) -> Prose {
    if let Some(lost) = lost::line(facts, choice) {
        return lost;
    }
    let Some(chosen) = choice.chosen_candidate() else { return undecided(facts, choice) };
    match choice.axis {
        Axis::Sessions => sessions::line(facts, choice, chosen),
        Axis::Smt => threads::line(facts, choice, chosen),
        _ => words::line(facts, choice, chosen),
    }
}

/// "Not enough data", with the best guess.
fn undecided(facts: &Facts<'_>, choice: &Choice) -> Prose {
    let question = words::question(facts, choice);
    // Which numbers of sessions keep a bound is known separately from which have the highest throughput.
    let bounded = match choice.axis {
        Axis::Sessions => sessions::bounded(facts, choice).unwrap_or_default(),
        _ => Prose::default(),
    };
    match guessed(facts, choice) {
        Some(guess) => prose!("Not enough data to show {}: {}{}.", question, guess, bounded),
        None => {
            prose!("Not enough data to show {}: fewer than two blocks have all of it{}.", question, bounded)
        }
    }
}

/// `best guess four: probability 72% that it is within 3% of the best; if it is not, 4.1% less on average`.
fn guessed(facts: &Facts<'_>, choice: &Choice) -> Option<Prose> {
    let guess = choice.guess.as_ref()?;
    let candidate = choice.candidate(&guess.treatment)?;
    let mut text = prose!(
        "best guess {}, probability {} that it is within {} of the best",
        words::value(facts, choice, candidate),
        probability(guess.probability),
        Prose::figure(set_percent(facts.study.design.margin))
    );
    if guess.loss_share > 0.0 {
        text.push(prose!("; if it is not, {} less on average", Prose::figure(percent(guess.loss_share))));
    }
    Some(text)
}

/// Several choices of one axis: `Busy sessions to run: two inside L2; four beyond the LLC.`
fn many(facts: &Facts<'_>, axis: Axis, all: &[&Choice]) -> Prose {
    let answer = |choice: &Choice| match choice.chosen_candidate() {
        Some(chosen) => words::answer(facts, choice, chosen),
        None if !choice.lost.is_empty() => {
            prose!("no advice, since settings lost unequal shares of their time to others")
        }
        None => {
            let guess = guessed(facts, choice).map(|guess| prose!(" ({})", guess)).unwrap_or_default();
            prose!("not enough data{}", guess)
        }
    };
    let mut answers: Vec<(Prose, Vec<Prose>)> = Vec::new();
    for choice in all {
        let (answer, place) = (answer(choice), words::place(facts, choice));
        match answers.iter_mut().find(|(known, _)| *known == answer) {
            Some((_, places)) => places.push(place),
            None => answers.push((answer, vec![place])),
        }
    }
    let more = |count: usize| (count > MOST_PARTS).then(|| prose!("{} more", count - MOST_PARTS));
    let part = |(answer, places): &(Prose, Vec<Prose>)| {
        let named = places.iter().take(MOST_PARTS).cloned().chain(more(places.len()));
        prose!("{} {}", answer.clone(), Prose::list(named.collect()))
    };
    let parts = answers.iter().take(MOST_PARTS).map(part);
    let rest = more(answers.len()).map(|more| prose!("{} in the report", more));
    prose!("{}: {}.", words::heading(facts, axis), Prose::join(parts.chain(rest), "; "))
}

#[cfg(test)]
mod tests;
