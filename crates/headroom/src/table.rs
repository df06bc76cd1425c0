//! Rows as lines of a table, a block of lines for each window, as in mpstat.
//!
//! Source: [`Row`]; docs/HEADROOM.md explains the columns.

use crate::layout::Scope;
use crate::rows::{Bounds, Row};
use std::fmt::Write;

/// The width of the column of times, `12:25:01`.
const TIME: usize = 8;

/// The names of the columns, as a line. `has_stolen` is whether time can be stolen here.
pub fn header(has_stolen: bool) -> String {
    let stolen = if has_stolen { "  stolen" } else { "" };
    let time = "time";
    format!("{time:TIME$}  of            busy{stolen}       cores busy    capacity used         headroom\n")
}

/// A line for each row, the time on the first one.
pub fn lines(time: &str, rows: &[Row], has_stolen: bool) -> String {
    let mut text = String::with_capacity(rows.len() * 100);
    for (at, row) in rows.iter().enumerate() {
        let time = if at == 0 { time } else { "" };
        let stolen = if has_stolen { format!("  {:>6}", percent(row.stolen_share)) } else { String::new() };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{time:TIME$}  {:<10}  {:>6}{stolen}  {:>15}  {:>15}  {:>15}",
            name(row.scope),
            percent(row.busy_share),
            span(row.core_busy_share),
            span(row.capacity_used_share),
            span(row.headroom_share),
        );
    }
    text
}

/// `machine`, `package 0`, `node 1`.
pub fn name(scope: Scope) -> String {
    scope.id().map_or_else(|| scope.kind().to_owned(), |id| format!("{} {id}", scope.kind()))
}

/// `62.0%`, of a share.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// `62.0 to 79.0%`, or one number if both ends print the same.
pub fn span(bounds: Bounds) -> String {
    let (low, high) = (percent(bounds.low), percent(bounds.high));
    if low == high { high } else { format!("{} to {high}", low.trim_end_matches('%')) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row with figures that are easy to know again.
    pub(crate) fn row(scope: Scope) -> Row {
        Row {
            scope,
            logical_cpus: 16,
            cores: 8,
            busy_share: 0.5,
            stolen_share: 0.015,
            core_busy_share: Bounds { low: 0.5, high: 1.0 },
            core_seconds: Bounds { low: 4.0, high: 8.0 },
            capacity_used_share: Bounds { low: 0.5, high: 0.82 },
            headroom_share: Bounds { low: 0.18, high: 0.5 },
            is_traced: false,
        }
    }

    #[test]
    fn columns_stand_below_their_names() {
        let rows = [row(Scope::Machine), row(Scope::Package(1))];
        let text = header(false) + &lines("12:25:01", &rows, false);
        assert_eq!(
            text,
            "time      of            busy       cores busy    capacity used         headroom\n\
             12:25:01  machine      50.0%   50.0 to 100.0%    50.0 to 82.0%    18.0 to 50.0%\n          \
                       package 1    50.0%   50.0 to 100.0%    50.0 to 82.0%    18.0 to 50.0%\n"
        );
        let wide: Vec<usize> =
            (header(true) + &lines("12:25:01", &rows, true)).lines().map(str::len).collect();
        assert!(wide.iter().all(|width| *width == wide[0]), "{wide:?}");
    }

    #[test]
    fn a_span_without_width_is_one_number() {
        assert_eq!(span(Bounds { low: 0.5, high: 0.5000001 }), "50.0%");
        assert_eq!(span(Bounds { low: 0.0, high: 0.1234 }), "0.0 to 12.3%");
    }
}
