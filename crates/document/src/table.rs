//! Tables whose columns say what they hold and how to narrow them, and whose cells are values, not text.

use crate::{Interval, Prose, Ratio, Says};

/// Where a part of a section is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shown {
    /// On every medium.
    #[default]
    Everywhere,
    /// On the page only: too much for a terminal.
    Page,
    /// On a terminal only: what charts show on the page.
    Terminal,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Heading; may be empty.
    pub caption: Prose,
    /// Columns from the left; the first names the row.
    pub columns: Vec<Column>,
    /// Rows from the top.
    pub rows: Vec<Row>,
    /// Whether a terminal needs no headings above its few columns: the caption explains them.
    pub is_plain: bool,
    /// Where it is shown.
    pub shown: Shown,
    /// Text below it if columns were left out to save room.
    pub when_narrow: Prose,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Column {
    /// Heading, including the unit.
    pub name: String,
    /// Whether it holds figures, which are right-aligned.
    pub is_figure: bool,
    /// How it is narrowed.
    pub narrow: Narrow,
    /// Where it is shown.
    pub shown: Shown,
}

/// A column with the cell that it has of a thing ([`Table::of`]).
pub type ColumnOf<'a, T> = (Column, &'a dyn Fn(&T) -> Cell);

/// How a column is narrowed if there is little room. Steps are taken together, from 1 on, until the table fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Narrow {
    /// Step at which its cells take their short form ([`Cell`]); 0 never.
    pub shorten_at: u8,
    /// Step at which it is left out; 0 never.
    pub drop_at: u8,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// A heading of the rows below it.
    Group(String),
    /// A cell for each column.
    Cells(Vec<Cell>),
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A name with an explanation; short: the name alone.
    Named {
        /// Name.
        name: String,
        /// Explanation, such as a placement; omitted if it is empty or equals the name.
        about: String,
    },
    /// A number of things.
    Count(u64),
    /// A value in a unit ([`crate::numbers::value`]).
    Value {
        /// The number.
        value: f64,
        /// Its unit.
        unit: &'static str,
    },
    /// A value with its interval; short: with the longer side as a share, `10.2 s ±1.0%`.
    Interval(Interval),
    /// A share of all with its interval, `24% [16, 33]`, however little room there is: a share of it would be read as
    /// percentage points.
    Share(Interval),
    /// The value of an interval alone, if there is no room for its ends anywhere.
    Mean(Interval),
    /// A ratio with its interval and its sign; short: `▲ 1.27x ±3.0%`.
    Ratio(Ratio, Says),
    /// A ratio without a judgement.
    BareRatio(Ratio),
    /// Bounds of an uncertain value: `1.2–1.9`; one figure if they are equal.
    Bounds {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
        /// Unit of both.
        unit: &'static str,
    },
    /// A bar next to a figure, on a terminal only.
    Bar {
        /// How much of it is filled, 0 to 1.
        share: f64,
        /// Its columns.
        columns: usize,
    },
    /// Several cells in one.
    Both(Box<Cell>, Box<Cell>),
    /// A gap and its reason: a dash, with its reason if there is room for one. The reason may be empty if it is
    /// obvious.
    Gap(String),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A dash that needs no reason.
    pub fn none() -> Self {
        Self::Gap(String::new())
    }

    /// A number of things.
    pub fn count(count: impl Into<u64>) -> Self {
        Self::Count(count.into())
    }

    /// A value in a unit; a dash without one.
    pub fn value(value: impl Into<Option<f64>>, unit: &'static str) -> Self {
        value.into().map_or_else(Self::none, |value| Self::Value { value, unit })
    }

    /// A name with an explanation.
    pub fn named(name: &str, about: &str) -> Self {
        Self::Named { name: name.to_owned(), about: about.to_owned() }
    }

    /// An interval; a dash without one.
    pub fn interval(interval: Option<&Interval>) -> Self {
        interval.cloned().map_or_else(Self::none, Self::Interval)
    }

    /// The value of an interval alone; a dash without one.
    pub fn mean(interval: Option<&Interval>) -> Self {
        interval.cloned().map_or_else(Self::none, Self::Mean)
    }

    /// A ratio; a dash without one.
    pub fn ratio(ratio: Option<&Ratio>, says: Says) -> Self {
        ratio.map_or_else(Self::none, |ratio| Self::Ratio(ratio.clone(), says))
    }
}

impl Column {
    /// A column of words.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// A column of figures.
    pub fn figure(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_figure: true, ..Self::default() }
    }

    /// A column of figures that is left out at a step of narrowing.
    pub fn drop_at(mut self, step: u8) -> Self {
        self.narrow.drop_at = step;
        self
    }

    /// The column, shortened at a step of narrowing.
    pub fn shorten_at(mut self, step: u8) -> Self {
        self.narrow.shorten_at = step;
        self
    }

    /// The column, on one medium only.
    pub fn shown(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }
}

impl Table {
    /// A table with rows of cells.
    pub fn new(
        caption: impl Into<Prose>,
        columns: Vec<Column>,
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> Self {
        Self {
            caption: caption.into(),
            columns,
            rows: rows.into_iter().map(Row::Cells).collect(),
            ..Self::default()
        }
    }

    /// A table whose rows bring the headings of their cells along; without rows it has no columns.
    pub fn headed(caption: impl Into<Prose>, rows: impl IntoIterator<Item = Vec<(Column, Cell)>>) -> Self {
        let (mut columns, rows): (Vec<Vec<Column>>, Vec<Vec<Cell>>) =
            rows.into_iter().map(|row| row.into_iter().unzip()).unzip();
        Self::new(caption, columns.pop().unwrap_or_default(), rows)
    }

    /// A table with a row for each of some things: columns, each with the cell that it has of one of them.
    pub fn of<T>(
        caption: impl Into<Prose>,
        all: impl IntoIterator<Item = T>,
        columns: &[ColumnOf<'_, T>],
    ) -> Self {
        let rows = all.into_iter().map(|one| columns.iter().map(|(_, cell)| cell(&one)).collect());
        Self::new(caption, columns.iter().map(|(column, _)| column.clone()).collect(), rows)
    }

    /// The table, if it has a row.
    pub fn filled(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }

    /// The table, on one medium only.
    pub fn shown(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }

    /// The table without headings on a terminal.
    pub fn plain(mut self) -> Self {
        self.is_plain = true;
        self
    }

    /// Indexes of the columns that a medium shows.
    pub fn places(&self, shows: fn(Shown) -> bool) -> Vec<usize> {
        (0..self.columns.len()).filter(|at| shows(self.columns[*at].shown)).collect()
    }

    /// Rows of cells, without the headings between them.
    pub fn cells(&self) -> impl Iterator<Item = &Vec<Cell>> {
        self.rows.iter().filter_map(|row| if let Row::Cells(cells) = row { Some(cells) } else { None })
    }
}
