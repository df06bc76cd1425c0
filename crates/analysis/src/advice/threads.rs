//! Whether second threads of cores pay off: for throughput, and for each session.

use crate::choices::{Candidate, Choice, ONE_CORE};
use crate::findings::smt;
use crate::shape::Shape;
use crate::words::{answered, judged};
use crate::{Facts, Ratio};
use threadwise_document::{Prose, prose};

/// The line of a decided choice.
pub fn line(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    let is_both = choice.candidates.last() == Some(chosen);
    let found = smt::both_over_one(facts, choice);
    let figures = found.map(|found| &found.ratio);
    let scope = scope(choice);
    let mut text = match (is_both, figures) {
        (true, Some(ratio)) => {
            prose!("Keep SMT for throughput: both threads of {} do {} of one.", scope, &ratio.decisive())
        }
        (true, None) => prose!("Keep SMT for throughput: both threads of {} do more than one.", scope),
        (false, ratio) => without(scope, ratio),
    };
    if let Some(price) = price(facts, choice) {
        text.push(prose!(" {}", price));
    }
    text
}

/// One thread of a core is within the margin of both, or ahead.
fn without(scope: &str, ratio: Option<&Ratio>) -> Prose {
    let figures = ratio
        .map_or_else(Prose::default, |ratio| prose!(" ({} of one{})", &ratio.decisive(), answered(ratio)));
    match ratio {
        Some(ratio) if ratio.is_lower() => prose!(
            "Leave the second threads of cores idle: both threads of {} do less than one{}.",
            scope,
            figures
        ),
        _ => prose!(
            "Second threads of cores add nothing that matters here: one thread of {} does as much as both{}; keep or \
             disable SMT as licences and latency require.",
            scope,
            figures
        ),
    }
}

fn scope(choice: &Choice) -> &'static str {
    if choice.place == ONE_CORE { "a core" } else { "every core" }
}

/// Throughput of each session with its sibling busy.
fn price(facts: &Facts<'_>, choice: &Choice) -> Option<Prose> {
    let each = facts
        .shapes(&choice.group, Shape::SameCore, Shape::Alone, "rows_per_s_per_session")
        .filter(|_| choice.place == ONE_CORE)?;
    let alone = match facts.alone("") {
        alone if alone.is_empty() => "one alone".to_owned(),
        alone => format!("each of {alone}"),
    };
    Some(prose!("Each session with a busy sibling does {} of {}.", judged(each), alone))
}
