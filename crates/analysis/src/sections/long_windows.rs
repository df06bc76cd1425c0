//! Long windows beside slices: ratios by both, stalls, and how rates change within a window.

use crate::Facts;
use crate::estimate::Change;
use crate::long_windows::{LongTreatment, LongWindows};
use threadwise_document::{Block, Cell, Column, Prose, Row, Says, Section, Shown, Table, numbers, prose};

/// The section; `None` in a study without long windows.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let long = facts.analysis.long_windows.as_ref()?;
    let mut blocks = vec![Block::Text(about(facts, long), Shown::Everywhere)];
    let ratios = ratios(facts);
    if !ratios.rows.is_empty() {
        blocks.push(Block::Table(ratios));
    }
    blocks.push(Block::Table(steps(facts, long)));
    blocks.push(Block::Text(within(facts, long), Shown::Everywhere));
    if !long.left_out.is_empty() {
        blocks.push(Block::Text(prose!("Left out: {}.", long.left_out.join("; ")), Shown::Page));
    }
    Some(Section::new("long-windows", "Long windows", blocks))
}

/// What they are and what they could show.
fn about(facts: &Facts<'_>, long: &LongWindows) -> Prose {
    let count = match long.blocks == long.planned {
        true => numbers::counted(long.blocks as usize, "long window"),
        false => format!("{} of {}", long.blocks, numbers::counted(long.planned as usize, "long window")),
    };
    let time = |ns: u64| Prose::figure(numbers::nanoseconds(ns as f64));
    let mut text = prose!(
        "Beside slices of {}, {} of {} of each treatment, in a drawn order, for what slices miss: stalls, limits of \
         turbo clocks, work in the background. They are no part of other figures.",
        time(facts.study.design.slice_ns),
        count,
        time(long.window_ns)
    );
    let detectable = long.treatments.iter().filter_map(|one| one.compared.as_ref()?.detectable);
    if let Some(least) = detectable.max_by(f64::total_cmp) {
        text.push(prose!(
            " What four of five such studies would find in every treatment is a ratio that differs from that by slices by \
             {} or more: that less is not found says nothing.",
            Prose::figure(detectable_words(least))
        ));
    }
    text
}

/// `±21%`; a factor from 2 on, where the same distance downwards is another percentage.
fn detectable_words(change: f64) -> String {
    match change < 1.0 {
        true => format!("±{}", numbers::percent(change)),
        false => format!("a factor of {}", numbers::ratio(1.0 + change)),
    }
}

/// A treatment's name inside its group.
fn name<'a>(facts: &Facts<'a>, one: &'a LongTreatment) -> Cell {
    Cell::text(facts.label(&one.treatment, facts.group_of(&one.treatment)))
}

/// The rows of treatments by group.
fn rows(facts: &Facts<'_>, table: &mut Table, row: impl Fn(&LongTreatment) -> Option<Vec<Cell>>) {
    let Some(long) = &facts.analysis.long_windows else { return };
    for group in facts.study.groups() {
        let members = long.treatments.iter().filter(|one| facts.group_of(&one.treatment) == group);
        let rows: Vec<Row> = members.filter_map(&row).map(Row::Cells).collect();
        let words = facts.group_words(group);
        table.rows.extend((!words.is_empty() && !rows.is_empty()).then_some(Row::Group(words)));
        table.rows.extend(rows);
    }
}

fn ratios(facts: &Facts<'_>) -> Table {
    let mut table = Table::new(
        format!("Ratio to {} by long windows and by slices", facts.common_baseline()),
        vec![
            Column::text("treatment"),
            Column::figure("long windows"),
            Column::figure("slices").drop_at(1),
            Column::figure("long over slices"),
            Column::figure("detectable").drop_at(2),
        ],
        [],
    );
    rows(facts, &mut table, |one| {
        let by = one.compared.as_ref()?;
        let detectable = by.detectable.map_or_else(Cell::none, |change| Cell::text(detectable_words(change)));
        Some(vec![
            name(facts, one),
            Cell::BareRatio(by.by_long_windows.clone()),
            Cell::BareRatio(by.by_slices.clone()),
            Cell::Ratio(by.difference.clone(), Says::Higher),
            detectable,
        ])
    });
    table
}

fn steps(facts: &Facts<'_>, long: &LongWindows) -> Table {
    let slice = numbers::nanoseconds(facts.study.design.slice_ns as f64);
    let tenth = numbers::nanoseconds(long.window_ns as f64 / 10.0);
    let mut table = Table::new(
        format!(
            "In long windows: steps longer than a slice of {slice}, and the rate of the end over the first {tenth}"
        ),
        vec![
            Column::text("treatment"),
            Column::figure("windows").drop_at(2),
            Column::figure("long steps"),
            Column::figure("of the time"),
            Column::figure("longest step"),
            Column::figure("p99").drop_at(1),
            Column::figure("p99 in slices").drop_at(1),
            Column::figure("end over start"),
        ],
        [],
    );
    let time = |ns: u64| Cell::Value { value: ns as f64, unit: "ns" };
    rows(facts, &mut table, |one| {
        let gap = || Cell::Gap("no latencies of steps".to_owned());
        let stalls = one.stalls;
        let summary = facts.summary(&one.treatment);
        Some(vec![
            name(facts, one),
            Cell::Count(u64::from(one.windows)),
            stalls.map_or_else(gap, |stalls| Cell::Count(stalls.steps)),
            stalls.map_or_else(gap, |stalls| Cell::Value { value: stalls.share, unit: "share" }),
            stalls.map_or_else(gap, |stalls| time(stalls.longest_ns)),
            stalls.map_or_else(gap, |stalls| time(stalls.p99_ns)),
            Cell::mean(summary.and_then(|summary| summary.metrics.get("latency_ns_p99"))),
            match &one.fall {
                Some(fall) => Cell::Interval(fall.value.clone()),
                None => Cell::Gap("rows were not counted by piece".to_owned()),
            },
        ])
    });
    table
}

/// Whether rates change within windows, and what is not known.
fn within(facts: &Facts<'_>, long: &LongWindows) -> Prose {
    let known: Vec<(&LongTreatment, &Change)> =
        long.treatments.iter().filter_map(|one| Some((one, one.fall.as_ref()?))).collect();
    let shown: Vec<String> = known
        .iter()
        .filter(|(one, _)| one.changes)
        .map(|(one, fall)| {
            let label = facts.label(&one.treatment, facts.group_of(&one.treatment));
            format!("{label} ({})", numbers::change(fall.value.mean))
        })
        .collect();
    let mut text = match (known.is_empty(), shown.is_empty()) {
        (true, _) => prose!(
            "Whether rates fall within a window is not known: the engine does not count rows by piece of a window."
        ),
        (false, true) => prose!(
            "No rate is shown to change by more than the margin from the first tenth of a window to its last three."
        ),
        (false, false) => prose!(
            "From the first tenth of a window to its last three the rate changes by more than the margin: {}.",
            shown.join(", ")
        ),
    };
    if long.treatments.iter().all(|one| one.stalls.is_none()) {
        text.push(" Stalls are not counted: the engine has no latencies of steps.");
    }
    text
}
