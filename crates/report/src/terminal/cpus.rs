//! Neighbours and clocks by logical CPU; in ranges if there are many.

use super::lines::{Aligned, SMALL, cut, first};
use super::pairs::hanging;
use super::{BOLD, DIM, Style, YELLOW};
use crate::hardware::{Clocks, clocks, extent, mhz, source_words};
use crate::text::plain;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_analysis::Finding;
use threadwise_document::numbers::{counted, cpu_list, percent, significant};
use threadwise_machine::CpuSet;
use threadwise_study::probe::{ClockReading, ClockSource, Neighbour, Probe};

/// Busy share of a sibling from which it is coloured.
const BUSY: f64 = 0.1;
/// Most different reasons for an unknown share.
const MAX_REASONS: usize = 3;
/// Logical CPUs named as the busiest.
const MAX_NAMED: usize = 6;

/// Neighbours and clocks. A reason that the verdict gives is not repeated.
pub fn cpus(probe: &Probe, verdict: &[Finding], style: Style) -> Vec<String> {
    if probe.neighbours.is_empty() && probe.clocks.is_empty() {
        return vec![];
    }
    if probe.cpus.len() <= SMALL {
        let mut lines = table(probe, style);
        lines.extend(reasons(&probe.neighbours, verdict, style));
        return lines;
    }
    let mut lines = Vec::new();
    if !probe.neighbours.is_empty() {
        lines.extend(neighbours(&probe.neighbours, style));
        lines.extend(reasons(&probe.neighbours, verdict, style));
    }
    lines.extend(clock_ranges(probe, style));
    lines
}

const HEADERS: [&str; 8] =
    ["CPU", "adds/step p10", "p50", "p90", "sibling busy", "off CPU", "MHz alone", "MHz all busy"];

fn table(probe: &Probe, style: Style) -> Vec<String> {
    let clocks = clocks(probe);
    let crowds: BTreeSet<u32> =
        clocks.values().filter_map(|clock| clock.crowded).map(|reading| reading.busy_cpus).collect();
    let mut headers = HEADERS.map(str::to_owned).to_vec();
    if let (1, Some(crowd)) = (crowds.len(), crowds.first()) {
        headers[7] = format!("{crowd} busy");
    }
    let mut rows = vec![headers];
    let mut busy = Vec::new();
    for cpu in probe.cpus.iter() {
        let neighbour = probe.neighbours.iter().find(|neighbour| neighbour.cpu == cpu);
        busy.push(neighbour.and_then(|neighbour| neighbour.busy_share).is_some_and(|share| share >= BUSY));
        rows.push(row(cpu, neighbour, clocks.get(&cpu).copied().unwrap_or_default()));
    }
    let aligned = Aligned::new(rows, &[], style.width);
    let mut lines = Vec::new();
    for (at, cells) in aligned.rows.iter().enumerate() {
        let line = cut(&cells.join(aligned.gap), style);
        lines.push(match at {
            0 => style.paint(BOLD, &line),
            _ if busy[at - 1] => style.paint(YELLOW, &line),
            _ => line,
        });
    }
    lines.extend(clock_note(probe, style));
    lines
}

fn row(cpu: u32, neighbour: Option<&Neighbour>, clocks: Clocks<'_>) -> Vec<String> {
    let none = || "-".to_owned();
    let adds = |quantile: fn(&Neighbour) -> Option<f64>| {
        neighbour.and_then(quantile).map_or_else(none, |adds| significant(adds, 3))
    };
    let busy =
        neighbour.map_or_else(none, |neighbour| neighbour.busy_share.map_or("unknown".to_owned(), percent));
    let clock =
        |reading: Option<&ClockReading>| reading.and_then(mhz).map_or_else(none, |mhz| significant(mhz, 3));
    vec![
        cpu.to_string(),
        adds(|neighbour| neighbour.adds_per_step_p10),
        adds(|neighbour| neighbour.adds_per_step_p50),
        adds(|neighbour| neighbour.adds_per_step_p90),
        busy,
        neighbour.map_or_else(none, |neighbour| percent(neighbour.off_cpu_share)),
        clock(clocks.alone),
        clock(clocks.crowded),
    ]
}

fn clock_note(probe: &Probe, style: Style) -> Option<String> {
    let mut sources: Vec<ClockSource> = Vec::new();
    for reading in probe.clocks.iter().filter(|reading| mhz(reading).is_some()) {
        if !sources.contains(&reading.source) {
            sources.push(reading.source);
        }
    }
    let words: Vec<&str> = sources.into_iter().map(source_words).collect();
    let text = format!("MHz while not idle, by {}", words.join(" and "));
    (!words.is_empty()).then(|| style.paint(DIM, &cut(&text, style)))
}

/// Why shares are unknown: equal reasons once, with their logical CPUs.
fn reasons(neighbours: &[Neighbour], verdict: &[Finding], style: Style) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, CpuSet> = BTreeMap::new();
    for neighbour in neighbours.iter().filter(|neighbour| neighbour.busy_share.is_none()) {
        let why = neighbour.why.trim().trim_end_matches('.');
        if verdict.iter().any(|finding| finding.line.to_string().contains(why)) {
            continue;
        }
        by_reason.entry(&neighbour.why).or_default().insert(neighbour.cpu);
    }
    let more = by_reason.len().saturating_sub(MAX_REASONS);
    let mut lines = Vec::new();
    for (why, cpus) in by_reason.into_iter().take(MAX_REASONS) {
        let line = format!("unknown on {}: {}", cpu_list(&cpus), plain(why, style.unicode));
        lines.extend(first(hanging(&line, 2, style), 2, "line", style));
    }
    lines.extend((more > 0).then(|| format!("and {}; `probe --json` has all", counted(more, "more reason"))));
    lines
}

/// Neighbours of a large machine.
fn neighbours(all: &[Neighbour], style: Style) -> Vec<String> {
    let mut parts = vec![format!("{} watched", counted(all.len(), "logical CPU"))];
    if let Some((least, middle, most)) =
        extent(all.iter().filter_map(|neighbour| neighbour.adds_per_step_p50))
    {
        let [least, middle, most] = [least, middle, most].map(|value| significant(value, 3));
        parts.push(format!("adds/step p50 {least} to {most}, middle {middle}"));
    }
    let mut known: Vec<(f64, u32)> =
        all.iter().filter_map(|neighbour| Some((neighbour.busy_share?, neighbour.cpu))).collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    if let (Some((most, _)), Some((middle, _))) = (known.first(), known.get(known.len() / 2)) {
        parts.push(format!("sibling busy: middle {}, most {}", percent(*middle), percent(*most)));
    }
    let unknown = all.len() - known.len();
    parts.extend((unknown > 0).then(|| format!("{unknown} unknown")));
    let mut lines = hanging(&format!("neighbours {}", parts.join("; ")), 11, style);
    let busy: Vec<String> = known
        .iter()
        .filter(|(busy, _)| *busy >= 0.01)
        .take(MAX_NAMED)
        .map(|(busy, cpu)| format!("{cpu} ({})", percent(*busy)))
        .collect();
    if !busy.is_empty() {
        let line = format!("           busiest: {}", busy.join(", "));
        lines.extend(hanging(&line, 11, style).iter().map(|line| style.paint(YELLOW, line)));
    }
    lines
}

/// Clocks of a large machine: one line for each source and number of busy CPUs.
fn clock_ranges(probe: &Probe, style: Style) -> Vec<String> {
    let mut ranges: BTreeMap<(u32, &str), Vec<f64>> = BTreeMap::new();
    for reading in &probe.clocks {
        let key = (reading.busy_cpus, source_words(reading.source));
        ranges.entry(key).or_default().extend(mhz(reading));
    }
    let lines = ranges.iter().enumerate().filter_map(|(at, ((busy, source), values))| {
        let (least, middle, most) = extent(values.iter().copied())?;
        let head = if at == 0 { "clocks" } else { "" };
        let [least, middle, most] = [least, middle, most].map(|value| significant(value, 3));
        let text = format!(
            "{head:11}{busy} busy: {least} to {most} MHz, middle {middle} ({}, {source})",
            counted(values.len(), "reading")
        );
        Some(cut(&text, style))
    });
    lines.take(6).collect()
}
