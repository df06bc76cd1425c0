//! JSON of `threadwise headroom`: an object for each window.

use super::VERSION;
use serde_json::{Value, json};
use threadwise_headroom::{Bounds, Row, SmtYield};
use threadwise_machine::text::escaped_json;

/// What is said of a window beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadroomWindow<'a> {
    /// When it was over (RFC 3339); `None` of a recorded one.
    pub utc: Option<&'a str>,
    /// Its length in seconds.
    pub length_s: f64,
    /// The yield that capacity was counted with.
    pub smt_yield: SmtYield,
    /// Where that is from: `given`, `study`, `published`.
    pub yield_source: &'static str,
    /// Clock now over that with all busy; `None` where it is not counted.
    pub clock_ratio: Option<f64>,
}

/// A window, as one line without its end.
pub fn headroom(window: &HeadroomWindow<'_>, rows: &[Row]) -> String {
    let window_ns = (window.length_s * 1e9).round() as u64;
    let object = json!({
        "version": VERSION,
        "utc": window.utc,
        "window_ns": window_ns,
        "smt_yield_low": window.smt_yield.low(),
        "smt_yield_high": window.smt_yield.high(),
        "yield_source": window.yield_source,
        "clock_ratio": window.clock_ratio,
        "rows": rows.iter().map(row).collect::<Vec<Value>>(),
    });
    escaped_json(&object.to_string()).into_owned()
}

fn row(row: &Row) -> Value {
    let Bounds { low, high } = row.core_busy_share;
    json!({
        "scope": row.scope.kind(),
        "id": row.scope.id(),
        "method": if row.is_traced { "exact" } else { "bounds" },
        "logical_cpus": row.logical_cpus,
        "cores": row.cores,
        "busy_share": row.busy_share,
        "stolen_share": row.stolen_share,
        "core_busy_share_low": low,
        "core_busy_share_high": high,
        "core_seconds_low": row.core_seconds.low,
        "core_seconds_high": row.core_seconds.high,
        "capacity_used_share_low": row.capacity_used_share.low,
        "capacity_used_share_high": row.capacity_used_share.high,
        "headroom_share_low": row.headroom_share.low,
        "headroom_share_high": row.headroom_share.high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_headroom::Scope;

    #[test]
    fn a_window_is_one_line_that_json_readers_take() {
        let bounds = Bounds { low: 0.25, high: 0.5 };
        let row = Row {
            scope: Scope::Node(1),
            logical_cpus: 4,
            cores: 2,
            busy_share: 0.5,
            stolen_share: 0.0,
            core_busy_share: bounds,
            core_seconds: bounds,
            capacity_used_share: bounds,
            headroom_share: bounds,
            is_traced: false,
        };
        let window = HeadroomWindow {
            utc: Some("2026-01-01T00:00:00Z"),
            length_s: 1.5,
            smt_yield: SmtYield::new(1.2, 1.3).unwrap(),
            yield_source: "given",
            clock_ratio: None,
        };
        let text = headroom(&window, &[row]);
        assert!(!text.contains('\n'));
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&read["window_ns"], &read["clock_ratio"]), (&json!(1_500_000_000), &Value::Null));
        assert_eq!((&read["rows"][0]["scope"], &read["rows"][0]["id"]), (&json!("node"), &json!(1)));
        assert_eq!(read["rows"][0]["headroom_share_high"], json!(0.5));
    }
}
