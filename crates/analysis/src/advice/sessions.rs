//! How many busy sessions to run: for throughput, for latency, and from where on p99 has doubled.

use super::words::{answer, headed, of_numbers};
use crate::Facts;
use crate::Interval;
use crate::choices::{Axis, Candidate, Choice};
use crate::findings::sweep::{Sweep, sweeps};
use crate::statistics::t_quantile;
use crate::words::change_decisive;
use threadwise_document::numbers::{count_word, nanoseconds};
use threadwise_document::{Prose, prose};

/// The line of a decided choice.
pub fn line(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    let sweeps = sweeps(facts);
    let sweep = sweeps.iter().find(|sweep| sweep.group == choice.group && !sweep.is_packed());
    let latency = sweep.and_then(|sweep| latency(sweep, choice, chosen)).unwrap_or_default();
    prose!(
        "{}: {}{}{}{}.",
        headed(facts, choice),
        answer(facts, choice, chosen),
        of_numbers(facts, choice, chosen),
        bounded(facts, choice).unwrap_or_default(),
        latency
    )
}

/// The most sessions whose 99th percentile is shown to keep the bound that was asked for: `None` where none was.
///
/// Numbers of sessions are tested upwards, and the first that is not shown to keep it ends that, so that no adjustment is
/// needed for their number (Maurer, Hothorn and Lehmacher, "Multiple comparisons in drug clinical trials", in *Biometrie
/// in der chemisch-pharmazeutischen Industrie* 6, 1995: fixed sequences).
pub fn most_within<'a>(
    facts: &Facts<'a>,
    choice: &'a Choice,
) -> Option<Option<(&'a Candidate, &'a Interval)>> {
    let bound = facts.asked.p99_ns?;
    let p99 = |candidate: &'a Candidate| {
        let summary = facts.summary(&candidate.treatment)?;
        Some((candidate, summary.metrics.get("latency_ns_p99")?, summary.runs))
    };
    let known: Vec<(&Candidate, &Interval, u32)> = choice.candidates.iter().map_while(p99).collect();
    let kept = keep(known.iter().map(|(_, p99, blocks)| (*p99, *blocks)), bound, 1.0 - facts.level());
    let last = kept.checked_sub(1).and_then(|last| known.get(last));
    Some(last.map(|(candidate, p99, _)| (*candidate, *p99)))
}

/// The candidate that is to be used: the one that does most, and of sessions that have to keep a bound for latency the most
/// that keep it; `None` where none is shown to.
pub fn to_use<'a>(facts: &Facts<'a>, choice: &'a Choice) -> Option<&'a Candidate> {
    let chosen = choice.chosen_candidate()?;
    match (choice.axis, most_within(facts, choice)) {
        (Axis::Sessions, Some(None)) => None,
        (Axis::Sessions, Some(Some((most, _)))) if most.number < chosen.number => Some(most),
        _ => Some(chosen),
    }
}

/// Share of `alpha` at which a bound is tested. The intervals of latencies know nothing of correlated blocks: of
/// neighbours that are correlated by 0.6 three times as many claims would be wrong as at their level.
const BOUND_SHARE: f64 = 0.25;

/// How many of these intervals, each with its blocks, are shown to be within a bound, from the first on; they are geometric
/// means at 1 − `alpha`, and are widened to the level that claims need.
pub fn keep<'a>(intervals: impl Iterator<Item = (&'a Interval, u32)>, bound: f64, alpha: f64) -> usize {
    let is_kept = |(one, blocks): &(&Interval, u32)| {
        let degrees = f64::from(blocks.saturating_sub(1));
        let quantile = |alpha: f64| t_quantile(1.0 - alpha / 2.0, degrees);
        let wider = quantile(BOUND_SHARE * alpha).zip(quantile(alpha)).map(|(wider, shown)| wider / shown);
        let high = |wider: f64| one.mean * (one.high / one.mean).powf(wider);
        wider.map(high).is_some_and(|high| high.is_finite() && high <= bound)
    };
    intervals.take_while(is_kept).count()
}

/// What is known of a bound that was asked for; `None` where none was.
pub fn bounded(facts: &Facts<'_>, choice: &Choice) -> Option<Prose> {
    let bound = Prose::figure(nanoseconds(facts.asked.p99_ns?));
    Some(match most_within(facts, choice)? {
        Some((most, p99)) => {
            prose!("; the most with p99 within {}: {} ({})", bound, count_word(most.number), p99)
        }
        None => prose!("; no number of sessions is shown to keep p99 within {}", bound),
    })
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
