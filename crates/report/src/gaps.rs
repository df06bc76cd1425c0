//! Why a table has dashes: one line per reason, with a letter if a column has several.

use std::borrow::Cow;
use std::collections::BTreeSet;
use threadwise_document::{Cell, Row, Table};

/// The displayed table, and the reasons of its dashes by displayed column: `p99 -: too few steps`. If a column has
/// several, dashes and reasons have letters: `- a: not asked`.
pub fn explained<'a>(table: &'a Table, shown: &[usize]) -> (Cow<'a, Table>, Vec<String>) {
    let mut lines: Vec<String> = Vec::new();
    for &at in shown {
        let reasons: BTreeSet<&str> = table.cells().filter_map(|cells| reason(cells.get(at)?)).collect();
        if reasons.len() > 1 {
            return lettered(table, shown);
        }
        lines.extend(reasons.iter().map(|why| format!("{} -: {why}", table.columns[at].name)));
    }
    (Cow::Borrowed(table), lines)
}

fn lettered<'a>(table: &'a Table, shown: &[usize]) -> (Cow<'a, Table>, Vec<String>) {
    let mut reasons: Vec<&str> = Vec::new();
    let cells = table.cells().flat_map(|cells| shown.iter().filter_map(|at| cells.get(*at)));
    for why in cells.filter_map(reason) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    let cell = |cell: &Cell| {
        let at = reason(cell).and_then(|why| reasons.iter().position(|known| *known == why));
        at.map_or_else(|| cell.clone(), |at| Cell::Text(format!("- {}", letter(at))))
    };
    let row = |row: &Row| match row {
        Row::Cells(cells) => Row::Cells(cells.iter().map(cell).collect()),
        group => group.clone(),
    };
    let lines = reasons.iter().enumerate().map(|(at, why)| format!("- {}: {why}", letter(at)));
    let rows = table.rows.iter().map(row).collect();
    (Cow::Owned(Table { rows, ..table.clone() }), lines.collect())
}

/// Why a cell is empty, unless it is obvious.
fn reason(cell: &Cell) -> Option<&str> {
    if let Cell::Gap(why) = cell { Some(why.as_str()).filter(|why| !why.is_empty()) } else { None }
}

/// `a`, `b`, … `z`, then `a1`, `b1`, …: more than fit on a terminal.
pub fn letter(at: usize) -> String {
    let letter = char::from(b'a' + (at % 26) as u8);
    if at < 26 { letter.to_string() } else { format!("{letter}{}", at / 26) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_document::Column;

    fn table(rows: &[&[&str]]) -> Table {
        let gaps = |row: &&[&str]| {
            let gaps = row.iter().map(|why| Cell::Gap((*why).to_owned()));
            std::iter::once(Cell::text("row")).chain(gaps).collect()
        };
        Table::new(
            "",
            vec![Column::text(""), Column::figure("x"), Column::figure("y")],
            rows.iter().map(gaps),
        )
    }

    #[test]
    fn dashes_have_letters_where_a_column_has_two_reasons() {
        let one = table(&[&["far", "late"], &["far", ""]]);
        let (shown, reasons) = explained(&one, &[0, 1, 2]);
        assert_eq!((&*shown, reasons), (&one, vec!["x -: far".to_owned(), "y -: late".to_owned()]));
        let two = table(&[&["far", "late"], &["late", ""]]);
        let (_, reasons) = explained(&two, &[0, 2]);
        assert_eq!(reasons, ["y -: late"], "of the columns that are left");
        let (shown, reasons) = explained(&two, &[0, 1, 2]);
        assert_eq!(reasons, ["- a: far", "- b: late"]);
        let texts: Vec<&Cell> = shown.cells().flatten().filter(|cell| **cell != Cell::text("row")).collect();
        assert_eq!(texts, [&Cell::text("- a"), &Cell::text("- b"), &Cell::text("- b"), &Cell::none()]);
    }
}
