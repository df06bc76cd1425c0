//! How many busy sessions to run: for throughput, for latency, and from where on p99 has doubled.

use super::words::{answer, headed, of_numbers};
use crate::Facts;
use crate::choices::{Candidate, Choice};
use crate::findings::sweep::{Sweep, sweeps};
use crate::words::change_decisive;
use threadwise_document::numbers::count_word;
use threadwise_document::{Prose, prose};

/// The line of a decided choice.
pub fn line(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    let sweeps = sweeps(facts);
    let sweep = sweeps.iter().find(|sweep| sweep.group == choice.group && !sweep.is_packed());
    let latency = sweep.and_then(|sweep| latency(sweep, choice, chosen)).unwrap_or_default();
    prose!(
        "{}: {}{}{}.",
        headed(facts, choice),
        answer(facts, choice, chosen),
        of_numbers(facts, choice, chosen),
        latency
    )
}

/// Where latency asks for fewer, and where p99 has doubled.
fn latency(sweep: &Sweep<'_>, choice: &Choice, chosen: &Candidate) -> Option<Prose> {
    let mut parts = Vec::new();
    if let Some((fewer, step)) = sweep.for_latency(chosen.number) {
        let rises = step.map_or_else(Prose::default, |step| prose!(" (p99 {})", change_decisive(step)));
        parts.push(prose!("for latency {}{}", count_word(fewer), rises));
    }
    if let Some((sessions, ratio)) = sweep.p99_doubled() {
        let first = choice.candidates.first().map_or(1, |first| first.number);
        parts.push(prose!(
            "from {} on p99 is over twice that of {}: {}",
            count_word(sessions),
            count_word(first),
            &ratio.decisive()
        ));
    }
    (!parts.is_empty()).then(|| prose!("; {}", Prose::join(parts, "; ")))
}
