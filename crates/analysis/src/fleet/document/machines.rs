//! Tables of kinds, odd machines and absent studies.

use crate::fleet::judged::{AbsentCell, Basis, Judged, OddMachine};
use crate::words::MAX_LISTED;
use threadwise_document::numbers::{self, p_value};
use threadwise_document::{Block, Cell, Column, Section, Shown, Table};

/// The sections: kinds with their machines, and what is absent.
pub(super) fn sections(judged: &Judged) -> Vec<Section> {
    let mut blocks = vec![Block::Table(kinds(judged))];
    if !judged.odd_machines.is_empty() {
        blocks.push(Block::Table(odd(judged)));
    }
    if !judged.unlike.is_empty() {
        blocks.push(Block::Table(unlike(judged)));
    }
    let mut sections = vec![Section::new("kinds", "Machines", blocks)];
    if !judged.absent.is_empty() {
        sections.push(Section::new(
            "absent",
            "Planned studies without a result",
            vec![Block::Table(absent(judged))],
        ));
    }
    sections
}

fn kinds(judged: &Judged) -> Table {
    let rows = judged.kinds.iter().map(|kind| {
        let planned = match kind.machines_planned {
            0 => Cell::none(),
            planned => Cell::Count(planned.into()),
        };
        let says = match kind.basis {
            Basis::None => "not measured",
            Basis::OneMachine => "nothing of others",
            Basis::TwoMachines => "points, no verdict",
            Basis::Intervals => "intervals",
        };
        vec![
            Cell::text(&kind.name),
            planned,
            Cell::Count(kind.machines.into()),
            Cell::Count(kind.boots.into()),
            Cell::Count(kind.studies.into()),
            Cell::text(says),
        ]
    });
    let figures = ["planned", "machines", "boots", "studies"].map(Column::figure);
    let columns =
        std::iter::once(Column::text("kind")).chain(figures).chain([Column::text("what it allows")]);
    Table::new("Machines by kind", columns.collect(), rows)
}

/// What an odd machine is odd in.
pub(super) fn odd_in(odd: &OddMachine) -> String {
    if odd.comparison.is_empty() { "rate over all treatments".to_owned() } else { odd.comparison.clone() }
}

/// `microcode 0x2c (others 0x2b)`; empty where nothing is known.
pub(super) fn differs_in(odd: &OddMachine) -> String {
    let shown = odd.differs_in.iter().take(MAX_LISTED);
    let parts = shown.map(|one| format!("{} {} (others {})", one.name, one.value, one.others));
    parts.collect::<Vec<_>>().join(", ")
}

fn odd(judged: &Judged) -> Table {
    let rows = judged.odd_machines.iter().map(|odd| {
        let differs = match differs_in(odd) {
            none if none.is_empty() => "nothing that is known".to_owned(),
            some => some,
        };
        vec![
            Cell::text(&odd.kind),
            Cell::text(&odd.node),
            Cell::Text(odd_in(odd)),
            Cell::Text(numbers::value(odd.over_others, "ratio")),
            Cell::Text(p_value(odd.adjusted_p)),
            Cell::Text(differs),
        ]
    });
    let columns =
        ["kind", "machine", "in", "over the others", "adjusted p", "it differs in"].map(Column::text);
    Table::new("Odd machines, which stay in all figures", columns.into(), rows)
}

fn unlike(judged: &Judged) -> Table {
    let rows = judged.unlike.iter().map(|unlike| {
        let values = unlike.values.iter().map(|one| format!("{} ({})", one.value, one.nodes.join(", ")));
        vec![
            Cell::text(&unlike.kind),
            Cell::text(&unlike.name),
            Cell::Text(values.collect::<Vec<_>>().join("; ")),
        ]
    });
    let columns = ["kind", "differs in", "values"].map(Column::text);
    Table::new("Machines of one kind that are unlike", columns.into(), rows).shown(Shown::Page)
}

fn absent(judged: &Judged) -> Table {
    let cell = |cell: &AbsentCell| {
        let node = if cell.node.is_empty() { "a machine of the pool" } else { &cell.node };
        let why = if cell.why.is_empty() { String::new() } else { format!(": {}", cell.why) };
        format!("{node} repeat {}{why}", cell.repeat)
    };
    let rows = judged.absent.iter().map(|group| {
        let cells: Vec<String> = group.cells.iter().map(cell).collect();
        vec![
            Cell::text(&group.kind),
            Cell::text(group.reason.word()),
            Cell::Count(group.cells.len() as u64),
            Cell::Text(cells.join("; ")),
        ]
    });
    let columns =
        vec![Column::text("kind"), Column::text("reason"), Column::figure("studies"), Column::text("which")];
    Table::new("Planned studies without a result", columns, rows)
}
