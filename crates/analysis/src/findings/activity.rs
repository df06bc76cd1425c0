//! Waits and how they changed, cost of spinning, share of the client, duration of a fixed amount of work. Changes are
//! reported only if their adjusted intervals exclude no change.

use crate::Facts;
use crate::activity::{Locks, MIN_SAMPLES, OTHER, RUNNING, WaitShare, Waits};
use crate::spins::{EXPLAINED_SHARE, explained_at_most};
use crate::words::{finding, limited};
use crate::{Finding, FindingKind, Ratio, TreatmentSummary};
use threadwise_document::numbers::{counted, percent, set_percent};
use threadwise_document::{Prose, prose};
use threadwise_study::Role;

/// Share of all CPU time from which the client's part is reported.
const CLIENT_REPORTED_SHARE: f64 = 0.05;

/// Most treatments in one finding.
const MAX_SHOWN: usize = 4;

/// The same for waits in a verdict of queries, which has more to report.
const MAX_SHOWN_OF_QUERIES: usize = 1;

/// Longest name of a wait or counter in a sentence.
const MAX_NAME: usize = 40;

/// All findings of activity; empty if the engine reports nothing.
pub fn activity(facts: &Facts<'_>) -> Vec<Finding> {
    [elapsed(facts), waits(facts, MAX_SHOWN), locks(facts), client(facts)].into_iter().flatten().collect()
}

/// Findings for queries, whose times and rows other findings report.
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
        let tail = summary.metrics.get("idle_tail_share").filter(|tail| tail.mean > 0.0);
        let tail = tail.map(|tail| prose!(" (idle tail {})", tail)).unwrap_or_default();
        Some(prose!("{} {}{}", &summary.name, summary.metrics.get("elapsed_ns")?, tail))
    };
    let clauses = limited(known.iter().filter_map(clause), MAX_SHOWN)?;
    let is_idle = |summary: &&TreatmentSummary| {
        summary.metrics.get("idle_tail_share").is_some_and(|tail| tail.mean > 0.0)
    };
    let tail = match known.iter().any(is_idle) {
        true => " The idle tail is from a session's end to the last one's.",
        false => "",
    };
    let text = prose!("Fixed work, elapsed: {}.{}", clauses, tail);
    Some(finding(FindingKind::Elapsed, text, &names(&known)))
}

/// The longest waits, and what changed against the baseline.
fn waits(facts: &Facts<'_>, max_shown: usize) -> Option<Finding> {
    let sampled: Vec<(&TreatmentSummary, &Waits)> = measured(facts)
        .filter_map(|summary| Some((summary, summary.activity.waits.as_ref()?)))
        .filter(|(_, waits)| waits.samples > 0)
        .collect();
    let (_, most) = sampled.iter().max_by_key(|(_, waits)| waits.samples)?;
    if !sampled.iter().any(|(_, waits)| waits.enough) {
        let text = format!(
            "Waits: too few samples: at most {} of a treatment in {}, and {MIN_SAMPLES} in 2 blocks are needed.",
            most.samples,
            counted(most.blocks as usize, "block")
        );
        return Some(finding(FindingKind::Waits, text, &[]));
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
    let any = !texts.is_empty();
    sentences.push(against_baseline(limited(texts, max_shown)));
    let changes = enough.iter().flat_map(|(_, waits)| &waits.shares).filter_map(|wait| wait.change.as_ref());
    sentences.extend(together(changes).filter(|_| any));
    let few = sampled.len() - enough.len();
    if few > 0 {
        sentences.push(prose!("Too few samples: {}.", counted(few, "treatment")));
    }
    Some(finding(FindingKind::Waits, Prose::join(sentences, " "), &names(&evidence)))
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
    let running = running.map(|wait| prose!(", running {}", &wait.joint)).unwrap_or_default();
    match waits.shares.iter().filter(|wait| is_wait(wait) && wait.share.mean > 0.0).max_by(by_mean) {
        Some(wait) => prose!("{} most for {} {}{}", name, cut(&wait.name), &wait.joint, running),
        None => prose!("{} no wait seen{}", name, running),
    }
}

/// The wait whose share moved most, of those that are shown to have moved; then the treatment's longest wait, if that
/// is another.
fn change(facts: &Facts<'_>, summary: &TreatmentSummary, waits: &Waits) -> Option<Prose> {
    if role(facts, summary) != Some(Role::Compared) {
        return None;
    }
    let all = waits.shares.iter().filter(|wait| is_wait(wait));
    let shown =
        all.filter_map(|wait| Some((wait, wait.change.as_ref().filter(|change| change.is_different())?)));
    let moved = |change: &Ratio| change.value.abs();
    let (wait, change) = shown.max_by(|a, b| moved(a.1).total_cmp(&moved(b.1)))?;
    let most = waits.shares.iter().filter(|wait| is_wait(wait)).max_by(by_mean);
    let most = most
        .filter(|most| most.name != wait.name)
        .map(|most| prose!(" (most for {} {})", cut(&most.name), &most.joint))
        .unwrap_or_default();
    Some(prose!(
        "{} {} {}, {}{}",
        &summary.name,
        cut(&wait.name),
        &wait.joint,
        &change.decisive().interval(),
        most
    ))
}

/// Notes that intervals of changes hold together, if there is more than one change.
fn together<'a>(changes: impl IntoIterator<Item = &'a Ratio>) -> Option<Prose> {
    let family = changes.into_iter().map(|change| change.family).max().filter(|family| *family > 1)?;
    Some(prose!("Intervals of changes hold for all {} together.", family))
}

/// Spins per row, and the cost of a spin.
fn locks(facts: &Facts<'_>) -> Option<Finding> {
    let counted: Vec<(&TreatmentSummary, &Locks)> =
        measured(facts).filter_map(|summary| Some((summary, summary.activity.locks.as_ref()?))).collect();
    // An engine may count spins that never occur in a study.
    if !counted.iter().any(|(_, locks)| locks.spins_per_row.as_ref().is_some_and(|spins| spins.mean > 0.0)) {
        return None;
    }
    let tell = |(summary, locks): &(&TreatmentSummary, &Locks)| {
        let spins = locks.spins_per_row.as_ref()?;
        let measured = locks.cycles_per_spin.as_ref().zip(locks.spinning_share.as_ref());
        let measured = measured.map(|(cycles, spinning)| {
            prose!("{} of the time spinning, {} cycles per spin", spinning, cycles)
        });
        let bound = locks.cycles_per_spin_bound.as_ref();
        let bound = bound.map(|cycles| prose!("at most {} cycles", cycles));
        let cost = Prose::join(measured.into_iter().chain(bound), ", ");
        let cost = if cost.is_empty() { cost } else { prose!(" ({})", cost) };
        Some(prose!("{} {}{}", &summary.name, spins, cost))
    };
    let clauses = counted.iter().filter(|(s, _)| role(facts, s) != Some(Role::BaselineTwin)).filter_map(tell);
    let clauses = limited(clauses, MAX_SHOWN)?;
    let known = || {
        counted.iter().filter_map(|(summary, locks)| Some((*summary, locks.spins_per_row_change.as_ref()?)))
    };
    let shown = known().filter(|(_, change)| change.is_different());
    let shown: Vec<Prose> = shown.map(|(summary, change)| spins(summary, change)).collect();
    let together = together(known().map(|(_, change)| change)).filter(|_| !shown.is_empty());
    let mut text = prose!("Spins per row: {}. {}", clauses, against_baseline(limited(shown, MAX_SHOWN)));
    if let Some(together) = together {
        text.push(" ");
        text.push(together);
    }
    if let Some(unexplained) =
        limited(known().filter_map(|(summary, _)| unexplained(facts, summary)), MAX_SHOWN)
    {
        text.push(prose!(" Spins do not explain it: {}.", unexplained));
    }
    if let Some((_, locks)) = counted.iter().find(|(_, locks)| locks.clock_mhz.is_none()) {
        text.push(prose!(" Cycles per spin: unknown, {}.", &locks.clock));
    }
    let evidence: Vec<&TreatmentSummary> = counted.iter().map(|(summary, _)| *summary).collect();
    Some(finding(FindingKind::Locks, text, &names(&evidence)))
}

/// A treatment whose spins grew and that lost much more than they can have cost, by the upper ends of both intervals,
/// which hold for all treatments together (docs/METHODOLOGY.md, "Spins that explain nothing").
fn unexplained(facts: &Facts<'_>, summary: &TreatmentSummary) -> Option<Prose> {
    let locks = summary.activity.locks.as_ref()?;
    let change = locks.spins_per_row_change.as_ref().filter(|change| change.is_different())?;
    let grew = change.unit == "ratio" && change.value > 1.0;
    let ratio = &facts.ratio(&summary.name).filter(|estimate| estimate.ratio.is_lower())?.ratio;
    let (share, rate) = (locks.spinning_share_joint_high?, ratio.adjusted_high);
    let explained = explained_at_most(rate, share).filter(|_| grew)?;
    (explained < EXPLAINED_SHARE).then(|| {
        prose!(
            "{} spent at most {} of its time spinning, and lost at least {}",
            &summary.name,
            Prose::figure(percent(share)),
            Prose::figure(percent(1.0 - rate))
        )
    })
}

/// `P 515x [513, 517]`, or `P 5.1 [5.0, 5.2] more per row`.
fn spins(summary: &TreatmentSummary, change: &Ratio) -> Prose {
    let direction = match change.unit {
        "ratio" => "",
        _ if change.value > 0.0 => " more per row",
        _ => " per row",
    };
    prose!("{} {}{}", &summary.name, &change.decisive().interval(), direction)
}

/// The client's share of the CPU time, if it is large enough to matter.
fn client(facts: &Facts<'_>) -> Option<Finding> {
    let shares = measured(facts)
        .filter_map(|summary| Some((summary, summary.activity.cpu.as_ref()?.client_share.as_ref()?.mean)));
    let shares: Vec<(&TreatmentSummary, f64)> = shares.collect();
    let large = shares.iter().filter(|(_, share)| *share > CLIENT_REPORTED_SHARE).count();
    let (summary, _) = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| large > 0)?;
    let text = prose!(
        "The client's share of the CPU time was above {} on average with {} of {}, highest with {}: ratios are those \
         of engine and client together.",
        set_percent(CLIENT_REPORTED_SHARE),
        large,
        counted(shares.len(), "treatment"),
        &summary.name
    );
    Some(finding(FindingKind::ClientCpu, text, &[&summary.name]))
}

fn measured<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a TreatmentSummary> + use<'a> {
    facts.analysis.treatments.iter().filter(|summary| summary.runs > 0)
}

fn role(facts: &Facts<'_>, summary: &TreatmentSummary) -> Option<Role> {
    facts.study.treatment(&summary.name).map(|(_, treatment)| treatment.role)
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
