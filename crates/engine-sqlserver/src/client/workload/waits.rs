//! Waits of sessions, sampled from a control connection, 20 times a second.
//!
//! Source: sys.dm_exec_requests.wait_type is the current wait of a request; NULL is work. A login without VIEW
//! SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE) sees its own request alone.

use std::fmt::Write as _;
use threadwise_engine::clock::{monotonic_ns, sleep_until_ns};
use threadwise_engine::servers::Samples;
use threadwise_engine::{EngineError, Window};

use super::server_counters::why_not;
use crate::client::connect::{Connection, Fault};
use crate::client::error::query;
use crate::client::statements::{text, whole};

/// Time between two looks.
const PERIOD_NS: u64 = 50_000_000;

/// Whether requests of other sessions are visible; otherwise the reason.
pub(crate) fn may_look(control: &mut Connection) -> Result<(), String> {
    let lacks = "waits of sessions are not sampled: the login lacks VIEW SERVER STATE (from 2022 on VIEW SERVER \
                 PERFORMANCE STATE)";
    let cannot = |cause: Fault| format!("waits of sessions are not sampled: {}", why_not(&cause));
    let rows = control.rows(include_str!("../../sql/may_look.sql")).map_err(cannot)?;
    match rows.first().and_then(|row| whole(row, 0)) {
        Some(1) => control.rows(&statement(&[0])).map(drop).map_err(cannot),
        _ => Err(lacks.to_owned()),
    }
}

/// Samples during a window, starting at a phase of `phase` (0 to 1) of the period, until the window ends or all
/// sessions are done. With `client` a session without a request waits for its client.
///
/// # Errors
/// An error of the server.
pub(super) fn sample(
    control: &mut Connection,
    sessions: &[i64],
    client: bool,
    window: &Window,
    phase: f64,
    all_done: &dyn Fn() -> bool,
) -> Result<Samples, EngineError> {
    let mut samples = Samples::default();
    let sql = statement(sessions);
    let mut at_ns = window.start_ns + (phase * PERIOD_NS as f64) as u64;
    while at_ns < window.end_ns {
        sleep_until_ns(at_ns);
        if all_done() {
            break;
        }
        let rows = control.rows(&sql).map_err(|cause| query("sample the waits of sessions", &cause))?;
        let now_ns = monotonic_ns();
        // A late answer is about the time between windows.
        if now_ns < window.end_ns && !all_done() {
            for row in &rows {
                let wait = text(row, 1).map(|wait| wait.trim().to_owned()).filter(|wait| !wait.is_empty());
                samples.add(wait.unwrap_or_else(|| "running".to_owned()));
            }
            let idle = if client { sessions.len().saturating_sub(rows.len()) } else { 0 };
            (0..idle).for_each(|_| samples.add("client".to_owned()));
        }
        at_ns = (at_ns + PERIOD_NS).max(now_ns);
    }
    Ok(samples)
}

fn statement(sessions: &[i64]) -> String {
    let mut sql =
        "SELECT CAST(session_id AS int), CAST(wait_type AS nvarchar(60)) FROM sys.dm_exec_requests WHERE \
                   session_id IN ("
            .to_owned();
    for (place, id) in sessions.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(sql, "{}{id}", if place == 0 { "" } else { ", " });
    }
    sql + ")"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_named_by_their_numbers() {
        assert!(statement(&[51, 52]).ends_with("IN (51, 52)"));
    }
}
