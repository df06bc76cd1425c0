//! The first rows of a kind's own table that fit on a screen.

use threadwise_document::numbers;
use threadwise_document::{Block, Cell, Column, Prose, Row, Section, Shown, Table};

/// The first table of a terminal that has ratios, else the first one, without headings of groups.
pub fn first(sections: &[Section], answer: &[Prose]) -> Option<Table> {
    let tables = tables(sections);
    let has_ratios = |table: &&&Table| {
        table.cells().flatten().any(|cell| matches!(cell, Cell::Ratio(..) | Cell::BareRatio(..)))
    };
    let table = tables.iter().find(has_ratios).or_else(|| tables.first())?;
    Some(of_screen(table, answer))
}

/// The first table of a terminal.
pub fn leading(sections: &[Section], answer: &[Prose]) -> Option<Table> {
    tables(sections).first().map(|table| of_screen(table, answer))
}

fn tables(sections: &[Section]) -> Vec<&Table> {
    let blocks = sections.iter().flat_map(|section| &section.blocks);
    let of_terminal = blocks.filter_map(|block| match block {
        Block::Table(table) if table.shown != Shown::Page && !table.is_plain => Some(table),
        _ => None,
    });
    of_terminal.collect()
}

fn of_screen(table: &Table, answer: &[Prose]) -> Table {
    let given = answer.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let columns =
        table.columns.iter().filter(|column| column.shown != Shown::Page).cloned().collect::<Vec<Column>>();
    let places = table.places(Shown::on_terminal);
    let rows = table.rows.iter().filter_map(|row| match row {
        Row::Group(_) => None,
        Row::Cells(cells) => Some(row_of(&places, cells, &given)),
    });
    Table::new("", columns, rows.collect::<Vec<Vec<Cell>>>())
}

/// A row's cells; of several ratios the first one has its interval.
fn row_of(places: &[usize], cells: &[Cell], given: &str) -> Vec<Cell> {
    let mut has_ratio = false;
    let cell = |at: &usize| match cells.get(*at) {
        None => Cell::none(),
        Some(Cell::Ratio(ratio, _)) if std::mem::replace(&mut has_ratio, true) => {
            plain(&Cell::BareRatio(ratio.clone()), given)
        }
        Some(cell) => plain(cell, given),
    };
    places.iter().map(cell).collect()
}

/// A cell without what a screen has no room for: intervals of rates, and intervals that the answer gives.
fn plain(cell: &Cell, given: &str) -> Cell {
    match cell {
        Cell::Interval(interval) | Cell::Share(interval) => Cell::Mean(interval.clone()),
        Cell::Ratio(ratio, says) => {
            let decisive = ratio.decisive();
            // An answer in speeds gives what a table in times has.
            let is_given = [decisive.clone(), decisive.inverse()]
                .iter()
                .any(|one| given.contains(&Prose::from(one).to_string()));
            match is_given {
                true => Cell::text(format!("{}x", numbers::ratio(decisive.value))),
                false => Cell::Ratio(decisive, *says),
            }
        }
        Cell::BareRatio(ratio) => Cell::text(format!("{}x", numbers::ratio(ratio.value))),
        Cell::Named { name, .. } => Cell::text(name.clone()),
        Cell::Both(first, _) => plain(first, given),
        other => other.clone(),
    }
}
