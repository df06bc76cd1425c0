//! The texts of a dialect, filled in for one treatment.

use std::ops::RangeInclusive;
use threadwise_engine::workloads::insert::{CHECK_MODULUS, Durability, Insert, Key, TEXT_CHARS, Table};
use threadwise_engine::workloads::logical_io::{LogicalIo, range_sum};

use crate::dialect::{Dialect, Marks};
use crate::template::{Names, Template, fill};

/// A table of `logical-io`.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a> {
    /// Names of the treatment's objects.
    pub names: Names<'a>,
    /// Number of the table.
    pub number: u32,
    /// The workload's options.
    pub spec: &'a LogicalIo,
}

impl Blocks<'_> {
    /// Its full name.
    pub fn table(&self) -> String {
        self.names.blocks(self.number)
    }

    /// Its name without schema.
    pub fn bare(&self) -> String {
        self.names.bare_blocks(self.number)
    }
}

/// The table of `insert`.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Names of the treatment's objects.
    pub names: Names<'a>,
    /// The workload's options.
    pub spec: &'a Insert,
}

impl Rows<'_> {
    /// Its full name.
    pub fn table(&self) -> String {
        self.names.inserted()
    }
}

/// The call of a procedure with this many arguments and answers.
pub(crate) fn call_sql(dialect: &Dialect, procedure: &str, arguments: usize, answers: usize) -> String {
    let marks =
        |range: RangeInclusive<usize>| range.map(|at| dialect.mark(at)).collect::<Vec<_>>().join(", ");
    let answers = marks(arguments + 1..=arguments + answers);
    let arguments = marks(1..=arguments);
    fill(dialect.call, &[("procedure", procedure), ("arguments", &arguments), ("answers", &answers)])
}

/// The procedure for one table, without what the options do not need.
pub fn logical_io_loop_sql(dialect: &Dialect, blocks: &Blocks<'_>) -> String {
    let (names, spec) = (&blocks.names, blocks.spec);
    let unit = spec.work_unit;
    Template::default()
        .with("procedure", names.read_blocks(blocks.number))
        .with("table", blocks.table())
        .with("name", blocks.bare())
        .with("schema", names.schema)
        .with("unit", unit)
        .with("last", unit - 1)
        .with("starts", spec.blocks - unit + 1)
        .with("hot_starts", (spec.hot_blocks + 1).saturating_sub(unit))
        .with("hot_pct", format!("{:?}", spec.hot_pct))
        .with("update_pct", format!("{:?}", spec.update_pct))
        // range_sum(first, unit) = 7 · unit · first + range_sum(0, unit)
        .with("sum_per_key", 7 * unit)
        .with("sum_at_0", range_sum(0, unit))
        .with("think_us", spec.think_time_us)
        .with("think_ms", spec.think_time_us / 1000)
        .flag("hot", spec.hot_pct > 0.0)
        .flag("updates", spec.updates())
        .flag("shared", spec.shared)
        // Two sessions that hold rows of one table until later would deadlock.
        .flag("holds", spec.updates() && !spec.shared)
        .flag("pauses", spec.think_time_us > 0)
        .fill(dialect.blocks_loop)
}

/// Statements of the client's loop.
pub(crate) fn logical_io_step_sql(dialect: &Dialect, sql: &str, table: &str) -> String {
    fill(sql, &[("table", table), ("first", &dialect.mark(1)), ("last", &dialect.mark(2))])
}

/// Places, flags and rows of the texts of `insert`.
pub fn insert_template(rows: &Rows<'_>) -> Template {
    let (names, spec) = (&rows.names, rows.spec);
    Template::default()
        .with("procedure", names.insert_rows())
        .with("table", names.inserted())
        .with("name", format!("inserted{}", names.suffix))
        .with("schema", names.schema)
        .with("per_tx", spec.rows_per_tx)
        .with("text", "x".repeat(TEXT_CHARS))
        .with("modulus", CHECK_MODULUS)
        .flag("random", spec.key == Key::Random)
        .flag("relaxed", spec.durability == Durability::Relaxed)
        .flag("unlogged", spec.table == Table::Unlogged)
        .rows(spec.rows_per_tx.max(1))
}

/// The procedure for one number of rows a transaction.
pub fn insert_loop_sql(dialect: &Dialect, rows: &Rows<'_>) -> String {
    insert_template(rows).fill(dialect.rows_loop)
}

/// A parameter of the client's statement of `insert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The session's number + 1.
    Owner,
    /// The key of this row.
    Key(usize),
}

/// The client's statement, and the order of its parameters.
pub fn insert_step_sql(dialect: &Dialect, rows: &Rows<'_>) -> (String, Vec<Slot>) {
    let per_tx = rows.spec.rows_per_tx as usize;
    let sql = insert_template(rows).fill(&dialect.rows_step.replace("{key}", "{key {row}}"));
    let slot = |text: &str| match text.strip_prefix("key ") {
        Some(row) => row.parse().ok().map(Slot::Key),
        None => (text == "owner").then_some(Slot::Owner),
    };
    let (mut filled, mut rest, mut slots) = (String::new(), sql.as_str(), Vec::new());
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        filled.push_str(before);
        if let Some(slot) = slot(name) {
            slots.push(slot);
            let number = if let Slot::Key(row) = slot { row + 2 } else { 1 };
            filled.push_str(&dialect.mark(number));
        }
        rest = after;
    }
    filled.push_str(rest);
    match dialect.marks {
        Marks::Positional => (filled, slots),
        Marks::Numbered(_) => (filled, [Slot::Owner].into_iter().chain((0..per_tx).map(Slot::Key)).collect()),
    }
}
