//! What sessions waited for and how that changed, what spinning cost, what the client took, how long
//! a fixed amount of work took. Changes are reported only where two intervals have no point in common.

use crate::Facts;
use crate::activity::{Locks, MIN_SAMPLES, OTHER, RUNNING, WaitShare, Waits};
use crate::words::{finding, limited};
use crate::{Finding, Interval, TreatmentSummary};
use threadwise_document::numbers::counted;
use threadwise_document::{Prose, prose};
use threadwise_study::Role;

/// From this share of all CPU time on the client's part is reported.
const CLIENT_REPORTED_SHARE: f64 = 0.05;

/// Most treatments that one finding names.
const MAX_SHOWN: usize = 4;

/// The same of waits in a verdict of queries, which has more to tell.
const MAX_SHOWN_OF_QUERIES: usize = 1;

/// Longest name of a wait or counter inside a sentence.
const MAX_NAME: usize = 40;

/// All of it; nothing where the engine tells nothing.
pub fn activity(facts: &Facts<'_>) -> Vec<Finding> {
    [elapsed(facts), waits(facts, MAX_SHOWN), locks(facts), client(facts)].into_iter().flatten().collect()
}

/// The same of queries, whose times and rows other findings tell of.
pub fn of_queries(facts: &Facts<'_>) -> Vec<Finding> {
    [waits(facts, MAX_SHOWN_OF_QUERIES), client(facts)].into_iter().flatten().collect()
}

/// A fixed amount of work: how long it took, and how long sessions idled at its end.
fn elapsed(facts: &Facts<'_>) -> Option<Finding> {
    let known = |summary: &&TreatmentSummary| {
        summary.metrics.contains_key("elapsed_ns") && role(facts, summary) != Some(Role::BaselineTwin)
    };
    let known: Vec<&TreatmentSummary> = measured(facts).filter(known).collect();
    let clause = |summary: &&TreatmentSummary| {
        Some(prose!("{} {}", &summary.name, summary.metrics.get("elapsed_ns")?))
    };
    let clauses = limited(known.iter().filter_map(clause), MAX_SHOWN)?;
    let tails = known.iter().filter_map(|summary| Some((summary, summary.metrics.get("idle_tail_share")?)));
    let tail = tails.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let tail = tail.map(|(summary, tail)| {
        prose!(" Idle tail, from a session's end to the last one's: at most {} ({}).", tail, &summary.name)
    });
    let text = prose!("Fixed work, elapsed: {}.{}", clauses, tail.unwrap_or_default());
    Some(finding("elapsed", text, &names(&known)))
}

/// What sessions waited for most, and what changed against the baseline.
fn waits(facts: &Facts<'_>, max_shown: usize) -> Option<Finding> {
    let sampled: Vec<(&TreatmentSummary, &Waits)> = measured(facts)
        .filter_map(|summary| Some((summary, summary.activity.waits.as_ref()?)))
        .filter(|(_, waits)| waits.samples > 0)
        .collect();
    let (_, most) = sampled.iter().max_by_key(|(_, waits)| waits.samples)?;
    if !sampled.iter().any(|(_, waits)| waits.enough) {
        let text = format!(
            "Waits: too few samples to tell: at most {} of a treatment in {}, and {MIN_SAMPLES} in 2 blocks are \
             needed.",
            most.samples,
            counted(most.blocks as usize, "block")
        );
        return Some(finding("waits", text, &[]));
    }
    let enough: Vec<(&TreatmentSummary, &Waits)> =
        sampled.iter().copied().filter(|(_, waits)| waits.enough).collect();
    let baselines = enough.iter().filter(|(summary, _)| role(facts, summary) == Some(Role::Baseline));
    let base = baselines.map(|(summary, waits)| top(&summary.name, waits));
    let changed =
        enough.iter().filter_map(|(summary, waits)| Some((*summary, change(facts, summary, waits)?)));
    let (evidence, texts): (Vec<&TreatmentSummary>, Vec<Prose>) = changed.unzip();
    let mut sentences = Vec::new();
    sentences.extend(limited(base, max_shown).map(|text| prose!("Waits, shares of samples: {}.", text)));
    sentences.push(against_baseline(limited(texts, max_shown)));
    let few = sampled.len() - enough.len();
    if few > 0 {
        sentences.push(prose!("Too few samples to tell: {}.", counted(few, "treatment")));
    }
    Some(finding("waits", Prose::join(sentences, " "), &names(&evidence)))
}

fn against_baseline(changed: Option<Prose>) -> Prose {
    match changed {
        Some(text) => prose!("Against the baseline: {}.", text),
        None => "No change against the baseline is shown.".into(),
    }
}

/// `alone: WALWrite 34% [30, 38], running 50% [47, 53]`.
fn top(name: &str, waits: &Waits) -> Prose {
    let running = waits.shares.iter().find(|wait| wait.name == RUNNING);
    let running = running.map(|wait| prose!(", running {}", &wait.share)).unwrap_or_default();
    match waits.shares.iter().filter(|wait| is_wait(wait) && wait.share.mean > 0.0).max_by(by_mean) {
        Some(wait) => prose!("{} most for {} {}{}", name, cut(&wait.name), &wait.share, running),
        None => prose!("{} no wait seen{}", name, running),
    }
}

/// The wait whose share moved most from the baseline's, where their intervals are apart; then what
/// the treatment waits for most, where that is another.
fn change(facts: &Facts<'_>, summary: &TreatmentSummary, waits: &Waits) -> Option<Prose> {
    if role(facts, summary) != Some(Role::Compared) {
        return None;
    }
    let below = baseline_of(facts, &summary.group)?.activity.waits.as_ref().filter(|below| below.enough)?;
    let pairs = waits.shares.iter().filter(|wait| is_wait(wait)).filter_map(|wait| {
        let before = below.shares.iter().find(|before| before.name == wait.name)?;
        Some((wait, &before.share))
    });
    let moved = |(wait, before): &(&WaitShare, &Interval)| (wait.share.mean - before.mean).abs();
    let (wait, before) = pairs
        .filter(|(wait, before)| wait.share.is_apart_from(before))
        .max_by(|a, b| moved(a).total_cmp(&moved(b)))?;
    let most = waits.shares.iter().filter(|wait| is_wait(wait)).max_by(by_mean);
    let most = most
        .filter(|most| most.name != wait.name)
        .map(|most| prose!(" (most for {} {})", cut(&most.name), &most.share))
        .unwrap_or_default();
    Some(prose!("{} {} {}, was {}{}", &summary.name, cut(&wait.name), &wait.share, before, most))
}

/// Spins a row, and what a spin costs.
fn locks(facts: &Facts<'_>) -> Option<Finding> {
    let counted: Vec<(&TreatmentSummary, &Locks)> =
        measured(facts).filter_map(|summary| Some((summary, summary.activity.locks.as_ref()?))).collect();
    // An engine may count spins that a study never has.
    if !counted.iter().any(|(_, locks)| locks.spins_per_row.as_ref().is_some_and(|spins| spins.mean > 0.0)) {
        return None;
    }
    let tell = |(summary, locks): &(&TreatmentSummary, &Locks)| {
        let spins = locks.spins_per_row.as_ref()?;
        let measured = locks.cycles_per_spin.as_ref().zip(locks.spinning_share.as_ref());
        let measured = measured
            .map(|(cycles, spinning)| prose!("{} of the time spinning, {} cycles a spin", spinning, cycles));
        let bound = locks.cycles_per_spin_bound.as_ref();
        let bound = bound.map(|cycles| prose!("{} cycles at most", cycles));
        let cost = Prose::join(measured.into_iter().chain(bound), ", ");
        let cost = if cost.is_empty() { cost } else { prose!(" ({})", cost) };
        Some(prose!("{} {}{}", &summary.name, spins, cost))
    };
    let clauses = counted.iter().filter(|(s, _)| role(facts, s) != Some(Role::BaselineTwin)).filter_map(tell);
    let clauses = limited(clauses, MAX_SHOWN)?;
    let changed = counted.iter().filter_map(|(summary, locks)| {
        let below = baseline_of(facts, &summary.group)?.activity.locks.as_ref()?.spins_per_row.as_ref()?;
        let spins = locks.spins_per_row.as_ref()?;
        let direction = if spins.mean > below.mean { "more" } else { "fewer" };
        (role(facts, summary) == Some(Role::Compared) && spins.is_apart_from(below))
            .then(|| prose!("{} {}", &summary.name, direction))
    });
    let changed = against_baseline(limited(changed, MAX_SHOWN));
    let mut text = prose!("Spins per row: {}. {}", clauses, changed);
    if let Some((_, locks)) = counted.iter().find(|(_, locks)| locks.clock_mhz.is_none()) {
        text.push(prose!(" Cycles a spin: unknown, {}.", &locks.clock));
    }
    let evidence: Vec<&TreatmentSummary> = counted.iter().map(|(summary, _)| *summary).collect();
    Some(finding("locks", text, &names(&evidence)))
}

/// The client's part of the CPU time, where it is large enough to be part of the answer.
fn client(facts: &Facts<'_>) -> Option<Finding> {
    let shares = measured(facts)
        .filter_map(|summary| Some((summary, summary.activity.cpu.as_ref()?.client_share.as_ref()?)));
    let (summary, most) = shares.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    (most.mean > CLIENT_REPORTED_SHARE).then(|| {
        let text = prose!(
            "The client used {} of the CPU time with {}, the most of all treatments: ratios are those of engine \
             and client together.",
            most,
            &summary.name
        );
        finding("client-cpu", text, &[&summary.name])
    })
}

fn measured<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a TreatmentSummary> + use<'a> {
    facts.analysis.treatments.iter().filter(|summary| summary.runs > 0)
}

fn role(facts: &Facts<'_>, summary: &TreatmentSummary) -> Option<Role> {
    facts.study.treatment(&summary.name).map(|(_, treatment)| treatment.role)
}

fn baseline_of<'a>(facts: &Facts<'a>, group: &str) -> Option<&'a TreatmentSummary> {
    measured(facts).find(|summary| summary.group == group && role(facts, summary) == Some(Role::Baseline))
}

fn is_wait(wait: &WaitShare) -> bool {
    wait.name != RUNNING && wait.name != OTHER
}

fn by_mean(a: &&WaitShare, b: &&WaitShare) -> std::cmp::Ordering {
    // Of equal shares the first name, as in the table.
    a.share.mean.total_cmp(&b.share.mean).then(b.name.cmp(&a.name))
}

fn names<'a>(summaries: &[&'a TreatmentSummary]) -> Vec<&'a str> {
    summaries.iter().map(|summary| summary.name.as_str()).collect()
}

fn cut(name: &str) -> String {
    match name.chars().count() {
        0..=MAX_NAME => name.to_owned(),
        _ => name.chars().take(MAX_NAME - 1).chain(['…']).collect(),
    }
}
