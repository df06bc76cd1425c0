//! What sessions waited for, what the engine counted, CPU of engine and client, spinning, fixed work:
//! the words that the terminal and the page share. Empty where an engine tells nothing of it.

use crate::Document;
use crate::text::{compact, grouped, metric, nanoseconds, share, significant};
use crate::words::words;
use std::collections::BTreeSet;
use threadwise_analysis::activity::{CpuUse, Locks, Waits};
use threadwise_analysis::{Interval, TreatmentSummary};

/// Longest name of a wait or counter that is written out.
const MAX_NAME: usize = 40;

/// One subject: a line of parts for each treatment that has something to tell.
pub struct Subject<'a> {
    /// Heading.
    pub title: &'static str,
    /// Treatment name and its figures.
    pub lines: Vec<(&'a str, Vec<String>)>,
}

/// Whether a treatment has anything to tell.
pub fn has_any(document: &Document) -> bool {
    !subjects(document).is_empty() || !counted(document).is_empty()
}

/// Everything there is to tell, subject by subject; empty subjects are left out.
pub fn subjects<'a>(document: &Document<'a>) -> Vec<Subject<'a>> {
    let spun = has_spins(document);
    let locks = |own: &TreatmentSummary| own.activity.locks.as_ref().filter(|_| spun).map(lock_parts);
    type Parts<'p> = &'p dyn Fn(&TreatmentSummary) -> Option<Vec<String>>;
    let all: [(&'static str, Parts<'_>); 4] = [
        (fixed_title(document), &|own| fixed_parts(own).filter(|_| shows_fixed(document))),
        ("waits, shares of samples", &|own| own.activity.waits.as_ref().map(wait_parts)),
        ("spins", &locks),
        (cpu_title(document), &|own| own.activity.cpu.as_ref().map(cpu_parts)),
    ];
    let subjects = all.into_iter().map(|(title, parts)| {
        let known = document.analysis.treatments.iter();
        Subject { title, lines: known.filter_map(|own| Some((own.name.as_str(), parts(own)?))).collect() }
    });
    subjects.filter(|subject| !subject.lines.is_empty()).collect()
}

/// Whether elapsed times of a fixed amount of work are worth a table: those of single queries and of
/// commands are in tables of their own.
pub fn shows_fixed(document: &Document) -> bool {
    document.analysis.commands.is_none()
        && document.analysis.queries.as_ref().is_none_or(|queries| queries.is_throughput)
}

/// Heading of the elapsed times of a fixed amount of work.
pub fn fixed_title(document: &Document) -> &'static str {
    match words(document.study).session {
        "stream" => "streams, elapsed from the common start to the last stream's end",
        _ => "fixed work, elapsed from the common start to the last session's end",
    }
}

/// Heading of the CPU time of engine and client.
pub fn cpu_title(document: &Document) -> &'static str {
    match words(document.study).row {
        "query" => "CPU time per query",
        "run" => "CPU time per run",
        _ => "CPU time per row",
    }
}

/// Names of the engine counters that are above 0 in any treatment: the others tell nothing.
pub fn counted<'a>(document: &Document<'a>) -> BTreeSet<&'a str> {
    let all = document.analysis.treatments.iter().flat_map(|own| &own.activity.counters);
    let above = all.filter(|counter| counter.per_row.as_ref().is_some_and(|value| value.mean > 0.0));
    above.map(|counter| counter.name.as_str()).collect()
}

/// Whether any treatment spun: an engine may count spins that a study never has.
pub fn has_spins(document: &Document) -> bool {
    let mut locks = document.analysis.treatments.iter().filter_map(|own| own.activity.locks.as_ref());
    locks.any(|locks| locks.spins_per_row.as_ref().is_some_and(|spins| spins.mean > 0.0))
}

/// Why treatments have no percentiles of latency.
pub fn latency_gap(summary: &TreatmentSummary) -> &'static str {
    match summary.activity.server_loop {
        true => "no step latencies: the loop runs inside the server",
        false => "fewer than 1,000 steps a block",
    }
}

fn fixed_parts(summary: &TreatmentSummary) -> Option<Vec<String>> {
    let elapsed = figure(summary.metrics.get("elapsed_ns")?, nanoseconds);
    let tail =
        summary.metrics.get("idle_tail_share").map(|tail| format!("idle tail {}", figure(tail, share)));
    Some(std::iter::once(elapsed).chain(tail).collect())
}

fn wait_parts(waits: &Waits) -> Vec<String> {
    let samples = format!("{} samples", grouped(waits.samples));
    if !waits.enough {
        return vec![format!("{samples}: too few to tell")];
    }
    // Names without a sample here stand in the list because of other treatments.
    let seen = waits.shares.iter().filter(|wait| wait.share.mean > 0.0);
    let parts = seen.map(|wait| format!("{} {}", cut(&wait.name), figure(&wait.share, share)));
    parts.chain([samples]).collect()
}

fn cpu_parts(cpu: &CpuUse) -> Vec<String> {
    let per_row = |name: &str, value: &Option<Interval>| match value {
        Some(value) => format!("{name} {}", figure(value, nanoseconds)),
        None => format!("{name} unknown"),
    };
    let mut parts =
        vec![per_row("engine", &cpu.engine_ns_per_row), per_row("client", &cpu.client_ns_per_row)];
    parts.extend(cpu.client_share.as_ref().map(|value| format!("client's share {}", figure(value, share))));
    parts
}

fn lock_parts(locks: &Locks) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(locks.spins_per_row.as_ref().map(|spins| format!("{} a row", figure(spins, plain))));
    parts.extend(
        locks.spinning_share.as_ref().map(|own| format!("{} of the time spinning", figure(own, share))),
    );
    let cycles = |value: &Option<Interval>, words: &str| {
        value.as_ref().map(|cycles| format!("{} cycles a spin {words}", figure(cycles, cycles_words)))
    };
    parts.extend(cycles(&locks.cycles_per_spin, MEASURED));
    parts.extend(cycles(&locks.cycles_per_spin_bound, BOUND));
    parts.push(clock_words(locks));
    parts
}

/// What the two figures of cycles a spin are.
const MEASURED: &str = "by the measured time spinning";
/// The upper bound's.
const BOUND: &str = "at most, as if all time were spinning";

/// The clock with its source, or why there is none.
fn clock_words(locks: &Locks) -> String {
    match locks.clock_mhz {
        Some(mhz) => format!("clock {} MHz ({})", significant(mhz, 4), locks.clock),
        None => format!("cycles a spin unknown: {}", locks.clock),
    }
}

/// A value with its interval in the same words: `8.9% [8.5%, 9.3%]`.
pub fn figure(value: &Interval, words: impl Fn(f64) -> String) -> String {
    format!("{} {}", words(value.mean), bounds(value, words))
}

/// The interval alone.
pub fn bounds(value: &Interval, words: impl Fn(f64) -> String) -> String {
    match value.high.is_finite() {
        true => format!("[{}, {}]", words(value.low), words(value.high)),
        false => "(1 block, no interval)".to_owned(),
    }
}

/// A number of any unit, three digits.
pub fn plain(value: f64) -> String {
    compact(value, 3)
}

/// Cycles: whole ones from a thousand on, as `1,106`.
pub fn cycles_words(value: f64) -> String {
    if value.abs() < 999.5 { plain(value) } else { grouped(value.round() as u64) }
}

/// A value by its unit.
pub fn by_unit(value: &Interval) -> impl Fn(f64) -> String + '_ {
    |number| metric(number, &value.unit)
}

/// A name that fits into a line.
pub fn cut(name: &str) -> String {
    match name.chars().count() {
        0..=MAX_NAME => name.to_owned(),
        _ => name.chars().take(MAX_NAME - 1).chain(['…']).collect(),
    }
}
