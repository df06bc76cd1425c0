//! Plans as canonical text (docs/WORKER.md, "Canonical plan").
//!
//! Source: Oracle Database Reference 19c, "V$SQL_PLAN" (DEPTH, OPERATION, OPTIONS, OBJECT_NAME, CARDINALITY); SQL Tuning
//! Guide 19c, "Reading Execution Plans". Operations that begin with PX move rows between parallel execution servers. Names
//! that a plan generates (`:TQ10001`, `:BF0000`, `SYS_TEMP_0FD9D6601_…`, `VW_NSO_1`) are left out, and so is the prefix.

use std::fmt::Write as _;
use threadwise_engine_sql::Value;

use crate::meter::{text, whole};

/// Beginnings of names that are generated for one plan.
const MADE_UP: [&str; 4] = [":", "SYS_TEMP_", "VW_", "INDEX$_"];

/// The text of a plan, whose rows come in the order of their numbers: depth, operation, options, name, cardinality.
pub(super) fn canonical(rows: &[Vec<Value>], prefix: &str) -> String {
    let mut plan = String::new();
    // Of each level: operation and options of the operator that is there.
    let mut above: Vec<[&str; 2]> = Vec::new();
    for row in rows {
        let depth = whole(row, 0).and_then(|depth| usize::try_from(depth).ok()).unwrap_or_default();
        let [operation, options] = [1, 2].map(|at| text(row, at).unwrap_or_default().trim());
        above.truncate(depth);
        let moves = operation.starts_with("PX ");
        let mark = if moves || is_partial([operation, options], &above) { "~ " } else { "" };
        above.push([operation, options]);
        let is_made_up = |name: &&str| MADE_UP.iter().any(|begins| name.to_uppercase().starts_with(begins));
        let name = text(row, 3).filter(|name| !moves && !name.is_empty() && !is_made_up(name));
        let name = name.map(|name| name.strip_prefix(prefix).unwrap_or(name));
        let words: Vec<&str> = [Some(operation), Some(options), name]
            .into_iter()
            .flatten()
            .filter(|word| !word.is_empty())
            .collect();
        let rows = whole(row, 4).map(|rows| format!(" # rows={rows}")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(plan, "{:indent$}{mark}{}{rows}", "", words.join(" "), indent = 2 * depth);
    }
    plan
}

fn aggregates([operation, options]: [&str; 2]) -> bool {
    ["SORT", "HASH"].contains(&operation)
        && ["AGGREGATE", "GROUP BY", "UNIQUE"].iter().any(|begins| options.starts_with(begins))
}

/// Whether an aggregate feeds another one, with nothing but movements of rows between them.
fn is_partial(operator: [&str; 2], above: &[[&str; 2]]) -> bool {
    let mut has_moved = false;
    for other in above.iter().rev().filter(|_| aggregates(operator)) {
        if other[0].starts_with("PX ") {
            has_moved = true;
        } else if other[0] != "BUFFER" {
            return has_moved && aggregates(*other);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(depth: i64, operation: &str, options: &str, name: &str, rows: Option<i64>) -> Vec<Value> {
        let text = |text: &str| if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) };
        let rows = rows.map_or(Value::Null, Value::Whole);
        vec![Value::Whole(depth), text(operation), text(options), text(name), rows]
    }

    #[test]
    fn names_that_a_plan_makes_up_are_left_out() {
        let rows = [
            row(0, "TABLE ACCESS", "FULL", "SYS_TEMP_0FD9D6601_1", None),
            row(0, "JOIN FILTER", "CREATE", ":BF0000", Some(3)),
            row(0, "VIEW", "", "VW_NSO_1", None),
            row(0, "INDEX", "UNIQUE SCAN", "TW_ORDERS_K", Some(1)),
        ];
        assert_eq!(
            canonical(&rows, "TW_"),
            "TABLE ACCESS FULL\nJOIN FILTER CREATE # rows=3\nVIEW\nINDEX UNIQUE SCAN ORDERS_K # rows=1\n"
        );
    }

    #[test]
    fn operators_that_move_rows_and_partial_aggregates_are_marked() {
        let rows = [
            row(0, "PX COORDINATOR", "", "", None),
            row(1, "HASH", "GROUP BY", "", Some(4)),
            row(2, "PX RECEIVE", "", "", Some(4)),
            row(3, "PX SEND", "HASH", ":TQ10000", Some(4)),
            row(4, "HASH", "GROUP BY", "", Some(4)),
            row(5, "TABLE ACCESS", "FULL", "TW_NATION", Some(25)),
        ];
        let plan = canonical(&rows, "TW_");
        let lines: Vec<&str> = plan.lines().map(str::trim_start).collect();
        assert_eq!(lines[..3], ["~ PX COORDINATOR", "HASH GROUP BY # rows=4", "~ PX RECEIVE # rows=4"]);
        assert_eq!(
            lines[3..],
            ["~ PX SEND HASH # rows=4", "~ HASH GROUP BY # rows=4", "TABLE ACCESS FULL NATION # rows=25"]
        );
    }
}
