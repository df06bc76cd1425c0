//! A dot for each machine, by kind, below the kind's mean and what the next machine will measure: a chart a comparison.

use crate::fleet::judged::{Judged, JudgedComparison, KindRatio, MachineValue};
use threadwise_document::chart::{RatioChart, RatioRow};
use threadwise_document::numbers::{self, counted, set_percent};
use threadwise_document::{Block, Cell, Chart, Column, Figure, Prose, Says, Section, Shown, Table};

/// Most comparisons that are drawn; tables have all.
const MAX_CHARTS: usize = 6;

/// The section; `None` without a comparison.
pub(super) fn section(judged: &Judged) -> Option<Section> {
    let drawn = judged.comparisons.iter().take(MAX_CHARTS);
    let figures = drawn.map(|comparison| Block::Figure(Box::new(figure(judged, comparison))));
    (!judged.comparisons.is_empty())
        .then(|| Section::new("machines-by-kind", "Machine by machine", figures.collect()))
}

fn figure(judged: &Judged, comparison: &JudgedComparison) -> Figure {
    let simulated = if judged.simulated { "SIMULATED · " } else { "" };
    let margin = 1.0 + judged.margin;
    Figure {
        wide: false,
        title: format!("{simulated}{}", comparison.name),
        description: format!(
            "A dot for each machine. Above the machines of a kind stand its mean with the interval over machines, and the \
             interval of what the next machine will measure. The band around 1 is the margin, ±{}.",
            set_percent(judged.margin)
        ),
        table: table(comparison),
        chart: Chart::Ratios(RatioChart {
            group: comparison.name.clone(),
            what: Some("ratio".to_owned()),
            margin_low: margin.recip(),
            margin_high: margin,
            rows: comparison.cells.iter().flat_map(rows).collect(),
        }),
    }
}

/// The rows of a kind: mean, next machine, machines.
fn rows(cell: &KindRatio) -> Vec<RatioRow> {
    let mut rows = Vec::new();
    if let Some(ratio) = &cell.mean {
        rows.push(RatioRow {
            label: cell.kind.clone(),
            against: format!("mean of {}", counted(cell.machines.len(), "machine")),
            value: ratio.value,
            low: ratio.low,
            high: ratio.high,
            mark: ratio.words(Says::Higher),
            is_different: ratio.is_different() && !ratio.is_same(),
            figures: Prose::from(ratio).to_string(),
        });
        rows.extend(cell.next_machine.map(|next| RatioRow {
            label: cell.kind.clone(),
            against: "next machine".to_owned(),
            value: ratio.value,
            low: next.low,
            high: next.high,
            mark: "what as many boots and repeats will measure",
            is_different: false,
            figures: super::words::range(&next, "ratio").to_string(),
        }));
    }
    rows.extend(cell.machines.iter().map(|machine| RatioRow {
        label: machine.node.clone(),
        against: cell.kind.clone(),
        value: machine.value,
        low: machine.value,
        high: machine.value,
        mark: "one machine",
        is_different: true,
        figures: format!(
            "{}, {}",
            numbers::value(machine.value, "ratio"),
            super::words::studies(machine.studies as usize)
        ),
    }));
    rows
}

fn table(comparison: &JudgedComparison) -> Table {
    let row = |(kind, machine): (&str, &MachineValue)| {
        vec![
            Cell::text(kind),
            Cell::text(&machine.node),
            Cell::Count(machine.boots.into()),
            Cell::Count(machine.studies.into()),
            Cell::Value { value: machine.value, unit: "ratio" },
        ]
    };
    let all =
        comparison.cells.iter().flat_map(|cell| cell.machines.iter().map(|one| (cell.kind.as_str(), one)));
    let columns = ["kind", "machine"]
        .map(Column::text)
        .into_iter()
        .chain(["boots", "studies", "ratio"].map(Column::figure));
    Table::new(comparison.name.clone(), columns.collect(), all.map(row)).shown(Shown::Page)
}
