//! What a CPU quota did to each treatment.
//!
//! Source of the counts: `cpu.stat` of the control group (docs/TELEMETRY.md), around each slice with the load
//! that runs before it.

use crate::estimate::THROUGHPUT;
use crate::{Facts, Interval, TreatmentSummary};
use threadwise_document::{Block, Cell, Column, Prose, Row, Section, Shown, Table, numbers, prose};
use threadwise_study::Quota;

/// The section; `None` where slices were made for no quota.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let quota = facts.study.quota?;
    let mut table = Table::new(
        "Stopped in: share of the periods",
        vec![
            Column::text("treatment").shorten_at(3),
            Column::figure("sessions"),
            Column::figure("rate").drop_at(1),
            Column::figure("stopped in"),
            Column::figure("time stopped"),
            Column::figure("p99").drop_at(2),
            Column::figure("longest step"),
        ],
        [],
    );
    for (group, members) in facts.groups() {
        let words = facts.group_words(group);
        table.rows.extend((!words.is_empty()).then_some(Row::Group(words)));
        table.rows.extend(members.into_iter().map(|summary| row(facts, &quota, group, summary)));
    }
    let blocks = vec![Block::Text(about(facts, &quota), Shown::Everywhere), Block::Table(table)];
    Some(Section::new("quota", "Under the CPU quota", blocks))
}

fn row(facts: &Facts<'_>, quota: &Quota, group: &str, summary: &TreatmentSummary) -> Row {
    let metric = |name: &str| Cell::interval(summary.metrics.get(name));
    Row::Cells(vec![
        Cell::named(facts.label(&summary.name, group), summary.placement.trim()),
        Cell::Count(summary.sessions.into()),
        metric(THROUGHPUT),
        Cell::interval(periods_share(quota, summary).as_ref()),
        metric("throttled_share"),
        metric("latency_ns_p99"),
        Cell::mean(summary.metrics.get("latency_ns_max")),
    ])
}

/// How it was measured, in a few sentences.
fn about(facts: &Facts<'_>, quota: &Quota) -> Prose {
    let period = numbers::nanoseconds(quota.period_ns as f64);
    let mut text = prose!(
        "{} CPUs in periods of {}: CPU time that is used up before a period ends stops all threads until the next.",
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
        " A stop is one long step of each session among many short ones, so p99 of steps hardly sees it; a request \
         that comes at any moment meets it in the share of time stopped."
    ));
    text
}

/// Treatments that the quota stopped. Runs within it that were stopped are invalid, so none of theirs is here.
pub fn beyond<'a>(facts: &Facts<'a>) -> Vec<&'a TreatmentSummary> {
    let stopped = |summary: &&TreatmentSummary| {
        summary.metrics.get("throttled_periods_per_s").is_some_and(|rate| rate.mean > 0.0)
    };
    facts.analysis.treatments.iter().filter(stopped).collect()
}

/// Share of the periods in which a treatment was stopped.
pub fn periods_share(quota: &Quota, summary: &TreatmentSummary) -> Option<Interval> {
    let rate = summary.metrics.get("throttled_periods_per_s")?;
    let share = rate.scaled(quota.period_ns as f64 / 1e9, "share");
    // A period that ends in the window's first moments counts there.
    Some(Interval { mean: share.mean.min(1.0), low: share.low.min(1.0), high: share.high.min(1.0), ..share })
}
