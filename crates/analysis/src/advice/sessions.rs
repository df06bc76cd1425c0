//! How many busy sessions to run: for throughput, for latency, and the number from which p99 has doubled.

use super::words::{answer, headed, is_most_tried, of_numbers};
use crate::Facts;
use crate::Interval;
use crate::choices::{Axis, Candidate, Choice};
use crate::estimate::MIN_STEPS;
use crate::findings::sweep::{Sweep, sweeps};
use crate::words::change_decisive;
use threadwise_document::numbers::{count_word, grouped, nanoseconds};
use threadwise_document::{Prose, prose};
use threadwise_statistics::{MergedLatency, t_quantile};
use threadwise_study::Run;

/// The metric that a latency bound is about.
const P99: &str = "latency_ns_p99";

/// The line of a decided choice.
pub fn line(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    let sweeps = sweeps(facts);
    let sweep = sweeps.iter().find(|sweep| sweep.group == choice.group && !sweep.is_packed());
    let latency = sweep.and_then(|sweep| latency(sweep, choice, chosen)).unwrap_or_default();
    prose!(
        "{}: {}{}{}{}{}{}.",
        headed(facts, choice),
        answer(facts, choice, chosen),
        of_numbers(facts, choice, chosen),
        bounded(facts, choice).unwrap_or_default(),
        latency,
        in_all_instances(facts),
        more(facts, choice, chosen)
    )
}

/// The most sessions whose 99th percentile is shown to keep the requested bound; `None` without a bound.
///
/// Numbers of sessions are tested upwards until the first that is not shown to keep the bound, so no adjustment for
/// their number is needed (Maurer, Hothorn and Lehmacher, "Multiple comparisons in drug clinical trials", in *Biometrie
/// in der chemisch-pharmazeutischen Industrie* 6, 1995: fixed sequences).
pub fn most_within<'a>(
    facts: &Facts<'a>,
    choice: &'a Choice,
) -> Option<Option<(&'a Candidate, &'a Interval)>> {
    let bound = facts.asked.p99_ns?;
    let p99 = |candidate: &'a Candidate| {
        let summary = facts.summary(&candidate.treatment)?;
        Some((candidate, summary.metrics.get(P99)?, summary.runs))
    };
    let known: Vec<(&Candidate, &Interval, u32)> = choice.candidates.iter().map_while(p99).collect();
    let kept = keep(known.iter().map(|(_, p99, blocks)| (*p99, *blocks)), bound, 1.0 - facts.level());
    let last = kept.checked_sub(1).and_then(|last| known.get(last));
    Some(last.map(|(candidate, p99, _)| (*candidate, *p99)))
}

/// The candidate to use: the one with the most throughput, or under a latency bound the most sessions that keep it;
/// `None` if none is shown to.
pub fn to_use<'a>(facts: &Facts<'a>, choice: &'a Choice) -> Option<&'a Candidate> {
    let chosen = choice.chosen_candidate()?;
    match (choice.axis, most_within(facts, choice)) {
        (Axis::Sessions, Some(None)) => None,
        (Axis::Sessions, Some(Some((most, _)))) if most.number < chosen.number => Some(most),
        _ => Some(chosen),
    }
}

/// Share of `alpha` at which a bound is tested. The intervals of latencies ignore correlation of blocks: for neighbours
/// correlated by 0.6, three times as many claims would be wrong as at their level.
const BOUND_SHARE: f64 = 0.25;

/// How many of these intervals, each with its blocks, are shown to be within a bound, counted from the first; they are
/// geometric means at 1 − `alpha`, and are widened to the level that claims need.
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

/// What is known about a requested bound; `None` without one.
pub fn bounded(facts: &Facts<'_>, choice: &Choice) -> Option<Prose> {
    let bound = Prose::figure(nanoseconds(facts.asked.p99_ns?));
    let most = most_within(facts, choice)?;
    let unknown = not_measured(facts, choice, most.map(|(most, _)| most));
    Some(match (most, unknown) {
        (Some((most, p99)), unknown) => prose!(
            "; the most with p99 within {}: {} ({}){}",
            bound,
            count_word(most.number),
            p99,
            unknown.map_or_else(Prose::default, |unknown| prose!(", and {}", unknown))
        ),
        (None, Some(unknown)) => prose!("; whether any keeps p99 within {} is not known: {}", bound, unknown),
        (None, None) => prose!("; no number of sessions is shown to keep p99 within {}", bound),
    })
}

/// Says that the 99th percentile of the candidate after the most that keep a bound was not measured, and how to measure
/// it; `None` if it was, or if there is no such candidate. A percentile is of the steps of one block, so more blocks do
/// not help.
fn not_measured(facts: &Facts<'_>, choice: &Choice, most: Option<&Candidate>) -> Option<Prose> {
    let next = match most {
        Some(most) => choice.candidates.iter().skip_while(|one| *one != most).nth(1)?,
        None => choice.candidates.first()?,
    };
    if facts.summary(&next.treatment).is_some_and(|summary| summary.metrics.contains_key(P99)) {
        return None;
    }
    let needed = Prose::figure(grouped(MIN_STEPS));
    let design = &facts.study.design;
    let (steps, way) = match steps_of_a_block(facts, &next.treatment) {
        Some(0) => ("it has no steps".into(), Prose::default()),
        Some(steps) if steps < MIN_STEPS => {
            // With room for a block that is slower than others.
            let times = (1.5 * MIN_STEPS as f64 / steps as f64).ceil();
            let slice = format!("--slice {}ms", (times * design.slice_ns as f64 / 1e6).ceil());
            let rounds = format!("--rounds {}", (times * f64::from(design.rounds)).ceil());
            let way = prose!(
                ": longer slices ({}) or more of them ({})",
                Prose::command(slice),
                Prose::command(rounds)
            );
            (prose!("{} steps per block", Prose::figure(grouped(steps))), way)
        }
        _ => (
            "fewer steps in some blocks".into(),
            prose!(": longer slices ({})", Prose::command("--slice".to_owned())),
        ),
    };
    Some(prose!(
        "p99 of {} is not measured: {}, {} are needed{}",
        count_word(next.number),
        steps,
        needed,
        way
    ))
}

/// The steps of a treatment in the block that has the fewest; `None` if no run is known.
fn steps_of_a_block(facts: &Facts<'_>, treatment: &str) -> Option<u64> {
    let runs = facts.runs.iter().filter(|run| run.treatment == treatment && !run.slices.is_empty());
    let of_run = |run: &Run| {
        let mut merged = MergedLatency::new();
        let mut sessions = run.slices.iter().flat_map(|slice| &slice.sessions);
        sessions.try_for_each(|session| merged.add(&session.latency)).ok().map(|()| merged.steps())
    };
    runs.filter_map(of_run).min()
}

/// Connections are those of the engine: for a pool in each application instance, the number is divided among instances.
fn in_all_instances(facts: &Facts<'_>) -> &'static str {
    match ASK_FOR_CONNECTIONS.contains(&facts.study.name.as_str()) {
        true => "; these are connections of all application instances together",
        false => "",
    }
}

/// How to find out whether a larger number has more throughput, if the largest number tested is the best.
fn more(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Prose {
    if !is_most_tried(choice, chosen) {
        return Prose::default();
    }
    let twice = chosen.number.saturating_mul(2);
    let option = match ASK_FOR_CONNECTIONS.contains(&facts.study.name.as_str()) {
        true => format!("--connections-at-most {twice}"),
        false => format!("--sessions {},{twice}", chosen.number),
    };
    prose!("; more may do more, so that there is no line to paste: measure with {}", Prose::command(option))
}

/// Presets that ask how many connections a pool should have.
const ASK_FOR_CONNECTIONS: [&str; 2] = ["pool", "transaction"];

/// The lower number that latency favours, and where p99 has doubled.
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
