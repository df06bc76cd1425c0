//! Checking answers by comparison with another engine's on the same data and parameters.
//!
//! Source: TPC-H specification, clause 2.1.3.5. It lets sums differ by $100 and averages and ratios
//! by 1%, which hides lost rows. Here values may differ only as much as engines need that compute the same
//! rows in another arithmetic; see [`tolerance`].

mod columns;
mod file;
mod number;

use columns::OrderKey;
use number::{exact_number, number};
use std::cmp::Ordering;
use std::collections::BTreeSet;
pub use threadwise_study::Answer;

pub use columns::{Column, Kind, Shape, shape_of};
pub use file::FileError;

/// A reference answer, and its engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The engine that gave it.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// The rows.
    pub answer: Answer,
}

/// The first difference of an answer. Rows are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// There is no such query.
    #[error("there is no query {0} whose answer could be compared")]
    Unknown(u8),
    /// Another number of columns.
    #[error("q{query:02}: row {row} of {whose} has {columns} columns, the query has {expected}")]
    Columns {
        /// The query.
        query: u8,
        /// The row.
        row: usize,
        /// Source of the row: `the answer`, or the other engine.
        whose: String,
        /// Its number of columns.
        columns: usize,
        /// Columns of the query.
        expected: usize,
    },
    /// Another number of rows.
    #[error("q{query:02}: the answer has {rows} rows, that of {whose} has {expected}")]
    Rows {
        /// The query.
        query: u8,
        /// Rows of the answer.
        rows: usize,
        /// The other engine.
        whose: String,
        /// Rows of its answer.
        expected: usize,
    },
    /// A value that is not of its kind.
    #[error("q{query:02}: row {row}, column {column} of {whose}: '{value}' is not a number")]
    NoNumber {
        /// The query.
        query: u8,
        /// The row.
        row: usize,
        /// The column.
        column: &'static str,
        /// Source of the value.
        whose: String,
        /// The value.
        value: String,
    },
    /// Rows are not in the query's order.
    #[error(
        "q{query:02}: row {row} stands before row {next}, against the query's ORDER BY (column {column})"
    )]
    Order {
        /// The query.
        query: u8,
        /// The row.
        row: usize,
        /// The one after it.
        next: usize,
        /// The key that shows it.
        column: &'static str,
    },
    /// Another value.
    #[error("q{query:02}: row {row}, column {column}: {value}, while {whose} gives {expected}")]
    Value {
        /// The query.
        query: u8,
        /// The row of the answer.
        row: usize,
        /// The column.
        column: &'static str,
        /// The value.
        value: String,
        /// The other engine.
        whose: String,
        /// Its value.
        expected: String,
    },
}

/// Largest difference of two values of a kind: absolute, and as a fraction of the larger.
///
/// The fraction, 1e-9, covers sums in doubles: adding 10^9 positive numbers one by one loses 1e-7 of
/// the sum at the very worst (n x 1.1e-16, Higham, *Accuracy and Stability of Numerical Algorithms*,
/// section 4.2) and about 4e-12 in practice, where errors have either sign. A missing row is detected if
/// it is more than a billionth of its sum; counts, which are exact, always show it.
/// The absolute part covers rounding of the result: a sum has whole hundredths of cents or finer and is
/// not rounded; DataFusion truncates averages of decimals after 6 digits and ratios after 8.
pub const fn tolerance(kind: Kind) -> (f64, f64) {
    match kind {
        Kind::Integer | Kind::Decimal | Kind::Text | Kind::Date => (0.0, 0.0),
        Kind::Sum => (1e-6, 1e-9),
        Kind::Average => (1.01e-6, 1e-9),
        Kind::Ratio => (1.01e-8, 1e-9),
    }
}

/// Compares an answer with a reference.
///
/// Rows are paired by their exact columns and not by position, since an order may leave equal rows
/// open; the order itself is checked by the ORDER BY's keys. If LIMIT cuts among rows of equal
/// keys, an engine may return any of them: a row there that the other engine did not return is
/// accepted, but a row that both returned must agree.
///
/// # Errors
/// The first difference.
pub fn compare(query: u8, reference: &Reference, answer: &Answer) -> Result<(), Mismatch> {
    let shape = shape_of(query).ok_or(Mismatch::Unknown(query))?;
    let whose = reference.whose();
    let expected = cells(query, shape, &reference.answer, &whose)?;
    let given = cells(query, shape, answer, "the answer")?;
    if given.len() != expected.len() {
        return Err(Mismatch::Rows { query, rows: given.len(), whose, expected: expected.len() });
    }
    check_order(query, shape, &given)?;
    let pairing = Pairing { query, shape, reference, answer };
    if shape.open_cut.is_some() {
        check_keys(&pairing, &given, &expected)?;
    }
    let (given, expected) = without_open_rows(shape, given, expected);
    if given.len() != expected.len() {
        return Err(Mismatch::Rows { query, rows: given.len(), whose, expected: expected.len() });
    }
    for (ours, theirs) in sorted(given).iter().zip(&sorted(expected)) {
        pairing.check(ours, theirs, 0..shape.columns.len())?;
    }
    Ok(())
}

/// Input of a message about two rows.
struct Pairing<'a> {
    query: u8,
    shape: &'a Shape,
    reference: &'a Reference,
    answer: &'a Answer,
}

impl Pairing<'_> {
    /// Compares two rows in these columns.
    fn check(&self, ours: &Row, theirs: &Row, columns: impl Iterator<Item = usize>) -> Result<(), Mismatch> {
        for column in columns {
            let Column { name, kind } = self.shape.columns[column];
            if !same(kind, &ours.cells[column], &theirs.cells[column]) {
                return Err(Mismatch::Value {
                    query: self.query,
                    row: ours.number,
                    column: name,
                    value: shown(&self.answer[ours.number - 1][column]),
                    whose: self.reference.whose(),
                    expected: shown(&self.reference.answer[theirs.number - 1][column]),
                });
            }
        }
        Ok(())
    }
}

/// Compares the keys of the order, position by position: those are fixed even if rows are not.
fn check_keys(pairing: &Pairing<'_>, given: &[Row], expected: &[Row]) -> Result<(), Mismatch> {
    let columns = || pairing.shape.order.iter().map(|key| key.column);
    given.iter().zip(expected).try_for_each(|(ours, theirs)| pairing.check(ours, theirs, columns()))
}

impl Reference {
    fn whose(&self) -> String {
        format!("{} {}", self.engine, self.version)
    }
}

/// A value ready for comparison.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    /// Must agree exactly; numbers in one form.
    Exact(String),
    Number(f64),
}

struct Row {
    /// From 1, as it was returned.
    number: usize,
    cells: Vec<Cell>,
}

fn cells(query: u8, shape: &Shape, answer: &Answer, whose: &str) -> Result<Vec<Row>, Mismatch> {
    let rows = answer.iter().zip(1..).map(|(row, number)| {
        let expected = shape.columns.len();
        if row.len() != expected {
            let whose = whose.to_owned();
            return Err(Mismatch::Columns { query, row: number, whose, columns: row.len(), expected });
        }
        let cells = row.iter().zip(shape.columns).map(|(value, column)| {
            cell(column.kind, value.as_deref()).ok_or_else(|| Mismatch::NoNumber {
                query,
                row: number,
                column: column.name,
                whose: whose.to_owned(),
                value: shown(value),
            })
        });
        Ok(Row { number, cells: cells.collect::<Result<_, _>>()? })
    });
    rows.collect()
}

fn cell(kind: Kind, value: Option<&str>) -> Option<Cell> {
    let Some(value) = value else { return Some(Cell::Null) };
    match kind {
        Kind::Text | Kind::Date => Some(Cell::Exact(value.trim_end_matches(' ').to_owned())),
        Kind::Integer | Kind::Decimal => exact_number(value).map(Cell::Exact),
        Kind::Sum | Kind::Average | Kind::Ratio => number(value).map(Cell::Number),
    }
}

fn same(kind: Kind, one: &Cell, other: &Cell) -> bool {
    match (one, other) {
        (Cell::Number(one), Cell::Number(other)) => are_close(kind, *one, *other),
        _ => one == other,
    }
}

fn are_close(kind: Kind, one: f64, other: f64) -> bool {
    let (absolute, fraction) = tolerance(kind);
    (one - other).abs() <= absolute + fraction * one.abs().max(other.abs())
}

fn check_order(query: u8, shape: &Shape, rows: &[Row]) -> Result<(), Mismatch> {
    for pair in rows.windows(2) {
        let differs =
            shape.order.iter().find_map(|key| match by_key(shape, key, &pair[0].cells, &pair[1].cells) {
                Ordering::Equal => None,
                order => Some((key, order)),
            });
        if let Some((key, Ordering::Greater)) = differs {
            let column = shape.columns[key.column].name;
            return Err(Mismatch::Order { query, row: pair[0].number, next: pair[1].number, column });
        }
    }
    Ok(())
}

/// Order of two rows by one key; equal if the difference is within the tolerance.
fn by_key(shape: &Shape, key: &OrderKey, one: &[Cell], other: &[Cell]) -> Ordering {
    let (one, other) = if key.is_descending { (other, one) } else { (one, other) };
    let kind = shape.columns[key.column].kind;
    match (&one[key.column], &other[key.column]) {
        (Cell::Number(one), Cell::Number(other)) if are_close(kind, *one, *other) => Ordering::Equal,
        (Cell::Number(one), Cell::Number(other)) => one.total_cmp(other),
        (Cell::Exact(one), Cell::Exact(other)) if matches!(kind, Kind::Integer | Kind::Decimal) => {
            number(one).partial_cmp(&number(other)).unwrap_or(Ordering::Equal)
        }
        (Cell::Exact(one), Cell::Exact(other)) => by_text(one, other),
        // No key can be NULL; if one is, the values are compared below.
        _ => Ordering::Equal,
    }
}

/// Order of texts: by bytes, or only by letters and digits, as a server sorts with the collation of a
/// language (`en_US.UTF-8` and similar ones skip blanks and punctuation at first).
fn by_text(one: &str, other: &str) -> Ordering {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    match one.cmp(other) {
        Ordering::Greater if letters(one) <= letters(other) => Ordering::Less,
        order => order,
    }
}

/// Leaves out rows of equal keys at the LIMIT that only one side has.
fn without_open_rows(shape: &Shape, mut given: Vec<Row>, mut expected: Vec<Row>) -> (Vec<Row>, Vec<Row>) {
    let cut = shape.open_cut.filter(|(limit, _)| expected.len() == *limit);
    let last = expected.last().map(|row| row.cells.clone());
    let (Some((_, identity)), Some(last)) = (cut, last) else { return (given, expected) };
    let name = |row: &Row| format!("{:?}", row.cells[identity]);
    let names = |rows: &[Row]| -> BTreeSet<String> { rows.iter().map(name).collect() };
    let (ours, theirs) = (names(&given), names(&expected));
    let is_open = |row: &Row, others: &BTreeSet<String>| {
        let ties = shape.order.iter().all(|key| by_key(shape, key, &row.cells, &last) == Ordering::Equal);
        ties && !others.contains(&name(row))
    };
    given.retain(|row| !is_open(row, &theirs));
    expected.retain(|row| !is_open(row, &ours));
    (given, expected)
}

/// Rows by their exact columns, which identify rows in every answer.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    let exact = |row: &Row| -> Vec<Option<String>> {
        let text = |cell: &Cell| if let Cell::Exact(text) = cell { Some(text.clone()) } else { None };
        row.cells.iter().map(text).collect()
    };
    rows.sort_by_cached_key(exact);
    rows
}

fn shown(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| "NULL".to_owned())
}

#[cfg(test)]
mod tests;
