//! Tables of the scripted server: columns as CREATE TABLE names them, and rows.

use threadwise_tds::{Bulk, Column, Length, Type, Value};

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
    /// Whether it lies in memory.
    pub in_memory: bool,
    /// Indexes and constraints, by their names.
    pub indexes: Vec<String>,
}

/// A whole number.
pub fn int(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("{other:?} is no whole number"),
    }
}

/// A text.
pub fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

impl Table {
    /// The table of `(a int NOT NULL, …)` with what follows.
    pub fn new(definition: &str) -> Self {
        let (columns, after) = split(definition.trim_start().strip_prefix('(').unwrap());
        Self {
            columns: columns.iter().map(|column| self::column(column)).collect(),
            in_memory: after.contains("MEMORY_OPTIMIZED = ON"),
            ..Self::default()
        }
    }

    /// Place of a column.
    pub fn at(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column.name == name).unwrap()
    }

    /// The numbers of a column.
    pub fn numbers(&self, name: &str) -> impl Iterator<Item = i64> {
        let at = self.at(name);
        self.rows.iter().map(move |row| int(&row[at]))
    }

    /// Columns by their names, as `SELECT TOP 0` gives them.
    pub fn named(&self, list: &str) -> Vec<Column> {
        list.split(',').map(|name| self.columns[self.at(name.trim())].clone()).collect()
    }

    /// Adds the rows of a bulk load.
    pub fn add(&mut self, bulk: &Bulk) {
        let places: Vec<usize> = bulk.columns.iter().map(|column| self.at(&column.name)).collect();
        for values in &bulk.rows {
            let mut row = vec![Value::Null; self.columns.len()];
            for (place, value) in places.iter().zip(values) {
                row[*place] = value.clone();
            }
            self.rows.push(row);
        }
    }
}

/// Parts between commas up to the parenthesis that closes, and what follows it.
fn split(text: &str) -> (Vec<String>, String) {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for (at, c) in text.char_indices() {
        match c {
            ')' if depth == 0 => return (parts, text[at + 1..].to_owned()),
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth += i32::from(c == '(') - i32::from(c == ')');
                parts.last_mut().unwrap().push(c);
            }
        }
    }
    panic!("no end: {text}")
}

fn column(definition: &str) -> Column {
    let mut words = definition.split_whitespace();
    let (name, kind) = (words.next().unwrap(), words.next().unwrap());
    let (base, length) = kind.split_once('(').unwrap_or((kind, "0)"));
    let number = || length.trim_end_matches(')').parse::<u16>().unwrap();
    let kind = match (base, length) {
        ("int", _) => Type::Int,
        ("bigint", _) => Type::BigInt,
        ("float", _) => Type::Float,
        ("date", _) => Type::Date,
        ("datetime2", _) => Type::DateTime2(7),
        ("decimal", "15,2)") => Type::Decimal { precision: 15, scale: 2 },
        ("char", _) => Type::Char(number()),
        ("varchar", _) => Type::VarChar(Length::Limit(number())),
        ("nvarchar", "max)") => Type::NVarChar(Length::Max),
        _ => panic!("type {kind}"),
    };
    let column = Column::new(name, kind);
    if definition.contains("NOT NULL") { column.not_null() } else { column }
}
