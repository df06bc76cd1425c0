//! How many busy sessions a CPU quota holds, and what it costs beyond.

use crate::sections::quota::{beyond, periods_share};
use crate::words::{count_of, finding, judged};
use crate::{Estimate, Facts, Finding, TreatmentSummary};
use threadwise_document::{Prose, numbers, prose};
use threadwise_study::Quota;

/// The finding; `None` where slices were made for no quota.
///
/// The treatment that it tells of is that with the fewest sessions of those that were stopped, of the first
/// group that has any; the section has the others.
pub fn quota(facts: &Facts<'_>) -> Option<Finding> {
    let quota = facts.study.quota?;
    let mut text = holds(&quota);
    let stopped = beyond(facts);
    let Some(least) = stopped.iter().min_by_key(|summary| summary.sessions) else {
        text.push(prose!(" No treatment was stopped."));
        return Some(finding("quota", text, &[]));
    };
    let name = facts.label(&least.name, &least.group);
    text.push(prose!(" Beyond it, {} ({}) was stopped", name, count_of(least.sessions as usize, "session")));
    if let Some(share) = periods_share(&quota, least) {
        text.push(prose!(" in {} of the periods", &share));
    }
    if let Some(share) = least.metrics.get("throttled_share") {
        text.push(prose!(", for {} of the time of its logical CPUs", share));
    }
    text.push(prose!("{}.", longest(facts, least)));
    let whole = facts.throughput().find(|one| one.kind == "quota" && one.treatment == least.name);
    text.push(whole.map(|whole| on_whole(facts, &quota, whole)).unwrap_or_default());
    let evidence: Vec<&str> = whole.map(|whole| whole.name.as_str()).into_iter().collect();
    Some(finding("quota", text, &evidence))
}

/// What fits, by the quota's own size: runs within it that were stopped are invalid.
fn holds(quota: &Quota) -> Prose {
    let cpus = numbers::set_number(quota.cpus);
    // As many as it has leave nothing for the rest of the container.
    let fits = (quota.cpus.ceil() as usize).saturating_sub(1);
    let fits = match fits {
        0 => "no session that is always busy".to_owned(),
        1 => "one session that is always busy".to_owned(),
        more => format!("{} that are always busy", count_of(more, "session")),
    };
    prose!(
        "The quota of {} holds {}; rates of more say what the quota gives, not what the hardware does.",
        Prose::figure(format!("{cpus} CPU{}", if quota.cpus == 1.0 { "" } else { "s" })),
        fits
    )
}

/// The longest step beside that of the baseline: a stop is one long step among many short ones, which no
/// percentile of steps shows.
fn longest(facts: &Facts<'_>, stopped: &TreatmentSummary) -> Prose {
    let max = |summary: &TreatmentSummary| summary.metrics.get("latency_ns_max").cloned();
    let Some(longest) = max(stopped) else { return Prose::default() };
    let alone = facts.analysis.treatments.iter().find(|one| one.group == stopped.group);
    let alone = alone.filter(|alone| alone.name != stopped.name);
    let beside = alone.and_then(|alone| Some((facts.label(&alone.name, &alone.group), max(alone)?)));
    let beside = beside.map(|(name, max)| prose!(", that of {} {}", name, numbers::nanoseconds(max.mean)));
    let longest = numbers::nanoseconds(longest.mean);
    prose!("; its longest step took {}{}", longest, beside.unwrap_or_default())
}

/// The rate beyond the quota against that of the same sessions on whole CPUs.
fn on_whole(facts: &Facts<'_>, quota: &Quota, whole: &Estimate) -> Prose {
    let below = facts.analysis.treatments.iter().find(|one| one.name == whole.baseline);
    let name = facts.label(&whole.baseline, below.map_or("", |one| &one.group));
    // As many CPUs as a whole quota leave nothing for the rest of the container, which may stop them too.
    let stopped = below.and_then(|below| periods_share(quota, below)).filter(|share| share.mean > 0.0);
    let stopped = match &stopped {
        Some(share) => prose!("stopped in {} of the periods", share),
        None => "never stopped".into(),
    };
    prose!(
        " Its rate against the same sessions on {} ({}), which were {}: {}.",
        count_of(quota.whole_cpus() as usize, "whole CPU"),
        name,
        stopped,
        judged(whole)
    )
}
