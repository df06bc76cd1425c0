//! Readings of the samplers, by treatment: every stored reading is shown here, or named where it is shown.

use crate::Facts;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::{Block, Cell, Column, Section, Shown, Table, prose};
use threadwise_study::{command, pages, warmup, worklist};

/// Samplers whose readings other sections show: output of commands and lists, warm-ups, pages by NUMA node, and shared
/// cores.
const ELSEWHERE: [&str; 6] =
    [command::SAMPLER, worklist::SAMPLER, warmup::SAMPLER, pages::SAMPLER, pages::SERVER, "neighbour"];

/// Most metrics of one sampler with a column; perf may have many.
const MAX_METRICS: usize = 12;

/// By sampler, metric and treatment.
type Sums<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeMap<&'a str, f64>>>;

/// One table per sampler; `None` if nothing was read.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let mut sums = Sums::new();
    let mut gaps: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for run in facts.runs.iter().filter(|run| run.status.is_valid()) {
        for reading in run.readings.iter().filter(|reading| !ELSEWHERE.contains(&reading.sampler.as_str())) {
            let Some(value) = reading.value.filter(|value| value.is_finite()) else {
                if let Some(why) = &reading.gap {
                    gaps.entry(&reading.sampler).or_default().insert(why);
                }
                continue;
            };
            let metrics = sums.entry(&reading.sampler).or_default();
            *metrics.entry(&reading.metric).or_default().entry(run.treatment.as_str()).or_default() += value;
        }
    }
    let mut blocks: Vec<Block> =
        sums.iter().map(|(sampler, metrics)| Block::Table(table(facts, sampler, metrics))).collect();
    let lines = gaps.iter().map(|(sampler, why)| {
        let why: Vec<&str> = why.iter().copied().collect();
        prose!("{}: not read: {}", *sampler, why.join("; "))
    });
    let lines: Vec<_> = lines.collect();
    if !lines.is_empty() {
        blocks.push(Block::List(lines, Shown::Page));
    }
    (!blocks.is_empty()).then(|| {
        let about = prose!(
            "What the samplers read around each treatment's slices, over the time in which they read; readings of \
             logical CPUs are summed. docs/TELEMETRY.md describes each. `threadwise export --what runs --format \
             jsonl` writes every reading."
        );
        blocks.insert(0, Block::Text(about, Shown::Page));
        Section::new("readings", "Readings", blocks)
    })
}

/// Each sampler's own acquisition windows, which are not readings.
const WINDOW: &str = "window_ns";

/// A metric's sum over the sampler's windows: a heading, a factor, a unit. Amounts of time become CPUs, amounts of
/// bytes and events become rates, and a value multiplied by its window becomes itself again.
fn kind(metric: &str) -> (String, f64, &'static str) {
    let known = [
        ("_bytes_ns", " bytes", 1.0, "bytes"),
        ("_mhz_ns", " MHz", 1.0, "1"),
        ("_ns", " CPUs", 1.0, "1"),
        ("_uj", " W", 1e3, "1"),
        ("_bytes", " bytes/s", 1e9, "bytes"),
    ];
    for (suffix, words, factor, unit) in known {
        if let Some(name) = metric.strip_suffix(suffix) {
            return (format!("{}{words}", name.replace('_', " ")), factor, unit);
        }
    }
    (format!("{}/s", metric.replace('_', " ")), 1e9, "1")
}

fn table(facts: &Facts<'_>, sampler: &str, metrics: &BTreeMap<&str, BTreeMap<&str, f64>>) -> Table {
    let all = metrics.iter().filter(|(name, _)| **name != WINDOW);
    let shown: Vec<(&&str, &BTreeMap<&str, f64>)> = all.take(MAX_METRICS).collect();
    let windows = metrics.get(WINDOW);
    let columns = shown.iter().map(|(name, _)| Column::figure(kind(name).0));
    let columns = std::iter::once(Column::text("treatment")).chain(columns).collect();
    let rows = facts.study.treatments.iter().map(|treatment| {
        let cell = |(name, sums): &(&&str, &BTreeMap<&str, f64>)| {
            let (_, factor, unit) = kind(name);
            let sum = sums.get(treatment.name.as_str());
            let window_ns =
                windows.and_then(|windows| windows.get(treatment.name.as_str())).filter(|ns| **ns > 0.0);
            sum.zip(window_ns)
                .map_or_else(Cell::none, |(sum, ns)| Cell::Value { value: factor * sum / ns, unit })
        };
        std::iter::once(Cell::text(&treatment.name)).chain(shown.iter().map(cell)).collect()
    });
    let more = match metrics.len().saturating_sub(MAX_METRICS + 1) {
        0 => String::new(),
        more => format!(" (and {more} more, see the export)"),
    };
    Table::new(format!("{sampler}{more}"), columns, rows).shown(Shown::Page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_become_what_people_read() {
        let shown = |metric: &str, amount: f64| {
            let (heading, factor, _) = kind(metric);
            (heading, factor * amount / 2e9)
        };
        assert_eq!(shown("busy_ns", 1e9), ("busy CPUs".to_owned(), 0.5));
        assert_eq!(shown("package_0_energy_uj", 40e6), ("package 0 energy W".to_owned(), 20.0));
        assert_eq!(shown("resident_bytes_ns", 2e9 * 4096.0), ("resident bytes".to_owned(), 4096.0));
        assert_eq!(shown("major_faults", 6.0), ("major faults/s".to_owned(), 3.0));
    }
}
