//! Statements for a number of rows a transaction.

use std::fmt::Write as _;
use threadwise_engine::workloads::insert::{CHECK_MODULUS, Insert, Key, TEXT_CHARS};

use crate::workload::sql::fill;

/// Keeps 62 bits: never negative, as the keys of the load.
const KEY_MASK: i64 = (1 << 62) - 1;

/// The procedure of the server's loop, for one INSERT of `rows_per_tx` rows a transaction.
pub(super) fn procedure_sql(schema: &str, table: &str, insert: &Insert) -> String {
    let [mut declarations, mut keys, mut rows, mut sum] = [const { String::new() }; 4];
    let mut separator = ("", "");
    for row in 0..insert.rows_per_tx {
        let key = match insert.key {
            Key::Sequential => format!("next_key + {row}"),
            Key::Random => format!("hashint8extended(next_key + {row}, seed) & {KEY_MASK}"),
        };
        // Writing to a String cannot fail.
        let _ = write!(declarations, "key_{row} bigint; ");
        let _ = write!(keys, "key_{row} := {key}; ");
        let _ = write!(rows, "{}(key_{row}, stamp, filler, mark, {row}, next_key)", separator.0);
        let _ = write!(sum, "{}key_{row} % {CHECK_MODULUS}", separator.1);
        separator = (", ", " + ");
    }
    let per_tx = insert.rows_per_tx.to_string();
    let values = [
        ("schema", schema),
        ("table", table),
        ("rows_per_tx", &per_tx),
        ("declarations", &declarations),
        ("keys", &keys),
        ("rows", &rows),
        ("key_sum", &sum),
    ];
    fill(include_str!("procedure.sql"), &values)
}

/// The client's statement: `rows_per_tx` keys are its parameters.
pub(super) fn step_sql(schema: &str, table: &str, insert: &Insert, mark: i32) -> String {
    let mut rows = String::new();
    for row in 0..insert.rows_per_tx {
        let (comma, place) = (if row == 0 { "" } else { ", " }, row + 1);
        // Writing to a String cannot fail.
        let _ = write!(
            rows,
            "{comma}(${place}, clock_timestamp(), repeat('x', {TEXT_CHARS}), {mark}, {row}, ${place})"
        );
    }
    fill(include_str!("step.sql"), &[("schema", schema), ("table", table), ("client_rows", &rows)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::{OptionValue, Options};

    fn insert(key: &str, rows: i64) -> Insert {
        let options = [
            ("key".to_owned(), OptionValue::Text(key.into())),
            ("rows_per_tx".to_owned(), OptionValue::Integer(rows)),
        ];
        Insert::parse(&Options::from(options), &[]).unwrap()
    }

    #[test]
    fn statements_have_as_many_rows_as_asked_for() {
        for (key, rows) in [("sequential", 1), ("random", 3)] {
            let insert = insert(key, rows);
            let procedure = procedure_sql("s", "t", &insert);
            assert_eq!(procedure.matches(", stamp, filler, mark, ").count() as i64, rows);
            assert_eq!(procedure.matches("% 1000000007").count() as i64, rows);
            assert_eq!(procedure.matches("hashint8extended(").count() > 0, key == "random");
            let step = step_sql("s", "t", &insert, 4);
            assert_eq!(step.matches("clock_timestamp()").count() as i64, rows);
            assert!(!procedure.contains('{') && !step.contains('{'), "{procedure}\n{step}");
        }
    }
}
