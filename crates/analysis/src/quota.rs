//! Studies under a CPU quota: how often treatments were stopped, for how long, and the effect on their rates.

use crate::estimate::THROUGHPUT;
use crate::words::{count_of, finding, judged};
use crate::{Estimate, Facts, Finding, FindingKind, Interval, TreatmentSummary};
use threadwise_document::{Block, Cell, Column, Prose, Section, numbers, prose};
use threadwise_study::{ComparisonKind, Quota};

/// The section; `None` if slices were not made for a quota.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let quota = facts.study.quota?;
    let metric = |one: &TreatmentSummary, name: &str| Cell::interval(one.metrics.get(name));
    let table = facts.table_by_group(
        "Stopped in: share of the periods",
        &facts.analysis.treatments,
        |one| &one.name,
        &[
            (Column::text("treatment").shorten_at(3), &|one| {
                Cell::named(facts.label(&one.name, &one.group), one.placement.as_str())
            }),
            (Column::figure("sessions"), &|one| Cell::count(one.sessions)),
            (Column::figure("rate").drop_at(1), &|one| metric(one, THROUGHPUT)),
            (Column::figure("stopped in"), &|one| Cell::interval(periods_share(&quota, one).as_ref())),
            (Column::figure("time stopped"), &|one| metric(one, "throttled_share")),
            (Column::figure("p99").drop_at(2), &|one| metric(one, "latency_ns_p99")),
            (Column::figure("longest step"), &|one| Cell::mean(one.metrics.get("latency_ns_max"))),
        ],
    );
    let blocks = vec![Block::text(about(facts, &quota)), Block::Table(table)];
    Some(Section::new("quota", "Under the CPU quota", blocks))
}

/// The method, in a few sentences.
fn about(facts: &Facts<'_>, quota: &Quota) -> Prose {
    let period = numbers::nanoseconds(quota.period_ns as f64);
    let mut text = prose!(
        "{} CPUs in periods of {}: if the CPU time is used up before a period ends, all threads stop until the next.",
        Prose::figure(numbers::set_number(quota.cpus)),
        &period
    );
    if quota.burst_ns > 0 {
        let burst = numbers::nanoseconds(quota.burst_ns as f64);
        text.push(prose!(" {} of CPU time may be saved up, and is used up before windows begin.", burst));
    }
    if !facts.study.is_fixed_work() {
        let design = &facts.study.design;
        let periods = |ns: u64| numbers::counted((ns / quota.period_ns) as usize, "period");
        text.push(prose!(
            " Slices are {} long; before each nothing runs for {}, and its load runs uncounted for {}.",
            periods(design.slice_ns),
            periods(quota.idle_ns()),
            periods(design.rewarm_ns.unwrap_or(0))
        ));
    }
    text.push(prose!(
        " A stop is one long step of each session among many short ones, so p99 of steps hardly shows it; a request \
         that arrives at a random moment meets it with the probability of the share of time stopped."
    ));
    text
}

/// Treatments that the quota stopped. Runs within the quota that were stopped are invalid, so they are not included.
pub fn beyond<'a>(facts: &Facts<'a>) -> Vec<&'a TreatmentSummary> {
    let stopped = |summary: &&TreatmentSummary| {
        summary.metrics.get("throttled_periods_per_s").is_some_and(|rate| rate.mean > 0.0)
    };
    facts.analysis.treatments.iter().filter(stopped).collect()
}

/// Share of the periods in which a treatment was stopped.
pub fn periods_share(quota: &Quota, summary: &TreatmentSummary) -> Option<Interval> {
    let rate = summary.metrics.get("throttled_periods_per_s")?;
    // A period that ends in the window's first moments counts there.
    Some(rate.each(|rate| (rate * (quota.period_ns as f64 / 1e9)).min(1.0), "share"))
}

/// The finding; `None` if slices were not made for a quota.
///
/// It reports the treatment with the fewest sessions of those that were stopped, in the first group that has any; the
/// section has the others.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let quota = facts.study.quota?;
    let mut text = holds(&quota);
    let stopped = beyond(facts);
    let Some(least) = stopped.iter().min_by_key(|summary| summary.sessions) else {
        text.push(prose!(" No treatment was stopped."));
        return Some(finding(FindingKind::Quota, text, &[]));
    };
    let name = facts.label(&least.name, &least.group);
    text.push(prose!(" Above it, {} ({}) was stopped", name, count_of(least.sessions as usize, "session")));
    if let Some(share) = periods_share(&quota, least) {
        text.push(prose!(" in {} of the periods", &share));
    }
    if let Some(share) = least.metrics.get("throttled_share") {
        text.push(prose!(", for {} of the time of its logical CPUs", share));
    }
    text.push(prose!("{}.", longest(facts, least)));
    let whole =
        facts.throughput().find(|one| one.kind == ComparisonKind::Quota && one.treatment == least.name);
    text.push(whole.map(|whole| on_whole(facts, &quota, whole)).unwrap_or_default());
    let evidence: Vec<&str> = whole.map(|whole| whole.name.as_str()).into_iter().collect();
    Some(finding(FindingKind::Quota, text, &evidence))
}

/// What fits, by the quota's own size: runs within it that were stopped are invalid.
fn holds(quota: &Quota) -> Prose {
    let cpus = numbers::set_number(quota.cpus);
    // As many sessions as the quota has CPUs leave nothing for the rest of the container.
    let fits = (quota.cpus.ceil() as usize).saturating_sub(1);
    let fits = match fits {
        0 => "no session that is always busy".to_owned(),
        1 => "one session that is always busy".to_owned(),
        more => format!("{} that are always busy", count_of(more, "session")),
    };
    prose!(
        "The quota of {} holds {}; rates of more show the quota, not the hardware.",
        Prose::figure(format!("{cpus} CPU{}", if quota.cpus == 1.0 { "" } else { "s" })),
        fits
    )
}

/// The longest step with that of the baseline: a stop is one long step among many short ones, which no percentile of
/// steps shows.
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

/// The rate above the quota against that of the same sessions on whole CPUs.
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
