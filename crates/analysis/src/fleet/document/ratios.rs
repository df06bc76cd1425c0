//! Tables of comparisons: means of kinds, what the next machine will measure, kinds against each other, and where the
//! spread comes from.

use super::words;
use crate::fleet::judged::{Between, Judged, JudgedKind, KindRatio};
use threadwise_document::numbers::{self, counted};
use threadwise_document::{Block, Cell, Column, Mark, Prose, Row, Says, Section, Shown, Table, prose};

/// The section of all comparisons.
pub(super) fn section(judged: &Judged) -> Section {
    if judged.comparisons.is_empty() {
        let none = Block::Text("No study has a usable comparison.".into(), Shown::Everywhere);
        return Section::new("comparisons", "Comparisons by kind of machine", vec![none]);
    }
    let mut blocks = vec![Block::Table(means(judged))];
    if judged.comparisons.iter().any(|one| one.cells.iter().any(|cell| cell.next_machine.is_some())) {
        blocks.push(Block::Table(next_machine(judged)));
        let text = prose!(
            "Next machine: as many boots and repeats as these had, averaged. A single study there varies more, the \
             machine's truth less."
        );
        blocks.push(Block::Text(text, Shown::Everywhere));
    }
    blocks.push(Block::Legend(Mark::ALL.into_iter().map(Prose::sign).collect(), Shown::Terminal));
    let between = judged.comparisons.iter().map(|one| (one.name.as_str(), one.between.as_slice()));
    let caption = "Kinds against each other";
    blocks.extend(between_kinds(caption, "comparison", between.collect()).map(Block::Table));
    blocks.extend(spread(judged).map(Block::Table));
    Section::new("comparisons", "Comparisons by kind of machine", blocks)
}

/// The heading of a kind's column.
fn heading(kind: &JudgedKind) -> String {
    format!("{}, {}", kind.name, counted(kind.machines as usize, "machine"))
}

fn columns(judged: &Judged, more: &str) -> Vec<Column> {
    let of_kind = |kind: &JudgedKind| Column::text(format!("{}{more}", heading(kind))).shorten_at(1);
    std::iter::once(Column::text("comparison")).chain(judged.kinds.iter().map(of_kind)).collect()
}

/// A row a comparison, a column a kind.
fn means(judged: &Judged) -> Table {
    let rows = judged.comparisons.iter().map(|comparison| {
        let cells = comparison.cells.iter().zip(&judged.kinds).map(|(cell, kind)| mean(cell, kind));
        std::iter::once(Cell::text(&comparison.name)).chain(cells).collect()
    });
    Table::new("Mean of the kind, with its interval over machines", columns(judged, ""), rows)
}

/// The mean; of one machine or two their points.
fn mean(cell: &KindRatio, kind: &JudgedKind) -> Cell {
    let count = cell.machines.len();
    match &cell.mean {
        Some(ratio) => {
            let cell = Cell::Ratio(ratio.clone(), Says::Higher);
            match count == kind.machines as usize {
                true => cell,
                false => Cell::Both(Box::new(cell), Box::new(Cell::Text(format!("({count})")))),
            }
        }
        None if count == 0 => Cell::Gap(cell.reason.clone().unwrap_or_default()),
        None => {
            let points = cell.machines.iter().map(|machine| numbers::value(machine.value, "ratio"));
            Cell::Text(points.collect::<Vec<_>>().join(" and "))
        }
    }
}

fn next_machine(judged: &Judged) -> Table {
    let cell = |cell: &KindRatio| match &cell.next_machine {
        Some(range) => Cell::Bounds { low: range.low, high: range.high, unit: "ratio" },
        None => Cell::Gap(cell.reason.clone().unwrap_or_default()),
    };
    let rows = judged.comparisons.iter().map(|comparison| {
        std::iter::once(Cell::text(&comparison.name)).chain(comparison.cells.iter().map(cell)).collect()
    });
    Table::new("What the next machine of the kind will measure", columns(judged, ""), rows)
}

/// Ratios between kinds, row by row; `None` where no two kinds have intervals.
pub(super) fn between_kinds(caption: &str, what: &str, all: Vec<(&str, &[Between])>) -> Option<Table> {
    let is_any = all.iter().any(|(_, between)| !between.is_empty());
    let rows = all.into_iter().flat_map(|(name, between)| {
        between.iter().map(move |one| {
            vec![
                Cell::text(name),
                Cell::Text(format!("{} / {}", one.kind, one.other)),
                Cell::Ratio(one.ratio.clone(), Says::Higher),
                Cell::Text(format!(
                    "[{}, {}]",
                    numbers::ratio(one.ratio.holm_low),
                    numbers::ratio(one.ratio.holm_high)
                )),
            ]
        })
    });
    let columns = vec![
        Column::text(what),
        Column::text("kinds"),
        Column::text("ratio of means").shorten_at(1),
        Column::text("adjusted, which decides").drop_at(2),
    ];
    is_any.then(|| Table::new(caption, columns, rows))
}

/// Where the spread comes from, and what would narrow intervals; of the page.
fn spread(judged: &Judged) -> Option<Table> {
    let mut rows = Vec::new();
    for comparison in &judged.comparisons {
        rows.push(Row::Group(comparison.name.clone()));
        let known = comparison.cells.iter().filter_map(|cell| Some((cell, cell.spread.as_ref()?)));
        let first = rows.len();
        rows.extend(known.map(|(cell, spread)| {
            let sds = spread
                .components
                .iter()
                .map(|one| format!("{} {}", one.levels.join(" and "), numbers::percent(one.sd)));
            let half = |width: Option<f64>| {
                width.map_or_else(Cell::none, |width| Cell::Text(words::half(width).to_string()))
            };
            let machines = spread.machines_for_margin.map_or_else(Cell::none, |needed| {
                Cell::Text(format!("{} ({} to {})", needed.about, needed.least, needed.most))
            });
            Row::Cells(vec![
                Cell::text(&cell.kind),
                Cell::Text(sds.collect::<Vec<_>>().join(", ")),
                half(Some(spread.half_width)),
                half(Some(spread.with_twice_the_machines)),
                half(spread.with_twice_the_boots),
                half(spread.with_twice_the_repeats),
                machines,
            ])
        }));
        if rows.len() == first {
            rows.pop();
        }
    }
    let columns = [Column::text("kind"), Column::text("standard deviations")].into_iter().chain(
        ["interval", "twice the machines", "twice the boots", "twice the repeats", "machines for the margin"]
            .map(Column::figure),
    );
    let caption = "Where the spread comes from, and about what would narrow the interval";
    let table = Table { rows, ..Table::new(caption, columns.collect(), []) };
    (!table.rows.is_empty()).then(|| table.shown(Shown::Page))
}
