//! What the login may do, point by point, for `threadwise check`. Changes nothing on the server.

use threadwise_engine::{DELAYED_DURABILITY, DURABLE_COMMITS, EngineError, Point};

use super::affinity;
use super::connect::{Connection, Fault, Server};
use super::error::advice;
use super::observe::{may_look, why_not};
use super::statements::{fill, text, whole};
use crate::IN_MEMORY;

/// A view or statement to try: its name, a statement, and what does not work without it.
const TRIED: [(&str, &str, &str); 5] = [
    ("sys.dm_os_spinlock_stats", include_str!("../sql/spinlocks.sql"), "spins of the server's locks"),
    ("sys.dm_os_wait_stats", include_str!("../sql/waits.sql"), "waits of the server"),
    ("sys.dm_os_latch_stats", include_str!("../sql/latches.sql"), "waits for latches"),
    (
        "sys.dm_exec_query_stats",
        "SELECT TOP (1) last_dop FROM sys.dm_exec_query_stats",
        "observed degrees of parallelism",
    ),
    (
        "sys.allocation_units",
        "SELECT TOP (1) data_pages FROM sys.allocation_units",
        "proofs that each row of logical-io has its own page",
    ),
];

/// Rights on the database that a study needs.
const RIGHTS: [&str; 3] = ["CREATE SCHEMA", "CREATE TABLE", "CREATE PROCEDURE"];

/// Tries all of them.
///
/// # Errors
/// The server does not answer at all.
pub(super) fn look(server: &Server) -> Result<Vec<Point>, EngineError> {
    let mut connection = server.connect("threadwise check")?;
    let mut points = vec![
        Point::works("login", format!("'{}' in database '{}'", server.target().user, server.database())),
        Point::works("TLS", server.target().tls_line()),
    ];
    points.extend(RIGHTS.map(|right| has_right(&mut connection, server, right)));
    points.push(usage(&mut connection));
    for (name, sql, without) in TRIED {
        points.push(match connection.rows(sql) {
            Ok(_) => Point::works(name, "can be read"),
            Err(cause) => {
                Point::lacks(name, format!("{}; without it there are no {without}", why_not(&cause)))
            }
        });
    }
    points.push(match may_look(&mut connection) {
        Ok(()) => Point::works("sys.dm_exec_requests", "shows what sessions wait for"),
        Err(why) => Point::lacks("sys.dm_exec_requests", why),
    });
    points.push(showplan(&mut connection));
    points.extend(durability(&mut connection));
    points.push(memory(&mut connection));
    points.push(cold(&mut connection));
    points.push(affinity(server)?);
    points.push(clock(&mut connection));
    Ok(points)
}

fn has_right(connection: &mut Connection, server: &Server, right: &str) -> Point {
    let sql = fill(include_str!("../sql/has_right.sql"), &[("right", right)]);
    match connection.rows(&sql).map(|rows| rows.first().and_then(|row| whole(row, 0))) {
        Ok(Some(1)) => Point::works(right, "granted"),
        Ok(_) => Point::lacks(
            right,
            format!(
                "not granted in database '{}': GRANT {right} TO the login's user; no study runs without",
                server.database()
            ),
        ),
        Err(cause) => Point::lacks(right, format!("cannot be asked: {}", advice(&cause))),
    }
}

/// CPU time and reads of threadwise's own session.
fn usage(connection: &mut Connection) -> Point {
    let name = "sys.dm_exec_sessions";
    let lacks = |why: String| {
        Point::lacks(name, format!("{why}; without it there are no CPU times and no logical reads"))
    };
    match connection.rows(include_str!("../sql/usage.sql")) {
        Ok(rows) => {
            let counts = [0, 1].map(|at| rows.first().and_then(|row| whole(row, at)).unwrap_or(0));
            match counts.iter().any(|count| *count > 0) {
                true => Point::works(name, "counts CPU time and reads of threadwise's sessions"),
                false => lacks("it lists this session and counts nothing".to_owned()),
            }
        }
        Err(cause) => lacks(why_not(&cause)),
    }
}

fn showplan(connection: &mut Connection) -> Point {
    let name = "SET SHOWPLAN_XML";
    let mut ask = || -> Result<bool, Fault> {
        connection.run("SET SHOWPLAN_XML ON")?;
        let shown = connection.rows("SELECT 1 AS one");
        connection.run("SET SHOWPLAN_XML OFF")?;
        Ok(shown?.first().and_then(|row| text(row, 0)).is_some_and(|xml| xml.starts_with('<')))
    };
    match ask() {
        Ok(true) => Point::works(name, "shows plans"),
        Ok(false) => {
            Point::lacks(name, "the server answers it with rows; without it there are no plans of queries")
        }
        Err(cause) => {
            Point::lacks(name, format!("{}; without it there are no plans of queries", advice(&cause)))
        }
    }
}

/// Whether commits may be delayed, and whether all of them are.
fn durability(connection: &mut Connection) -> Vec<Point> {
    let name = DELAYED_DURABILITY;
    let found = connection.rows(include_str!("../sql/delayed_durability.sql"));
    let found = found.map(|rows| rows.first().and_then(|row| text(row, 0)).unwrap_or_default());
    let delayed = match &found {
        Ok(state) if ["ALLOWED", "FORCED"].contains(&state.trim()) => Point::works(name, state.trim()),
        Ok(state) if !state.trim().is_empty() => Point::lacks(
            name,
            format!(
                "{}: ALTER DATABASE … SET DELAYED_DURABILITY = ALLOWED, for inserts with durability=relaxed",
                state.trim()
            ),
        ),
        Ok(_) | Err(_) => Point::lacks(name, "the server has none; inserts run with durability=full"),
    };
    let all_are = found.is_ok_and(|state| state.trim() == "FORCED").then(|| {
        let how =
            "FORCED: ALTER DATABASE … SET DELAYED_DURABILITY = ALLOWED, for inserts with durability=full";
        Point::lacks(DURABLE_COMMITS, how)
    });
    std::iter::once(delayed).chain(all_are).collect()
}

fn memory(connection: &mut Connection) -> Point {
    let name = IN_MEMORY;
    let found = connection.rows(include_str!("../sql/memory_filegroup.sql"));
    match found.map(|rows| rows.first().and_then(|row| text(row, 0))) {
        Ok(Some(filegroup)) => Point::works(name, format!("filegroup {filegroup}")),
        Ok(None) => Point::lacks(
            name,
            "the database has no filegroup for them (CONTAINS MEMORY_OPTIMIZED_DATA), which storage=memory-optimised needs",
        ),
        Err(cause) => Point::lacks(name, why_not(&cause)),
    }
}

fn cold(connection: &mut Connection) -> Point {
    let name = "DBCC DROPCLEANBUFFERS";
    match connection.rows("SELECT IS_SRVROLEMEMBER('sysadmin')").map(|rows| whole(rows.first()?, 0)) {
        Ok(Some(1)) => Point::works(name, "the login is sysadmin; tpch with cache=cold uses it"),
        _ => Point::lacks(name, "it needs the role sysadmin; without it there is no tpch with cache=cold"),
    }
}

/// Whether the server can be bound to placements.
fn affinity(server: &Server) -> Result<Point, EngineError> {
    let name = "PROCESS AFFINITY";
    let found = affinity::ask(server)?;
    Ok(match found.why_not {
        Some(why) => Point::lacks(name, format!("not placed: {why}")),
        None => Point::works(
            name,
            format!(
                "may be set: {} logical CPUs {}, {}",
                if found.is_auto { "the server chooses among" } else { "set to" },
                found.online,
                match found.others {
                    0 => "no other client is connected".to_owned(),
                    others => format!("sessions of others: {others}, beside which it is not set"),
                }
            ),
        ),
    })
}

/// Resolution of the server's clock: the smallest step between its times.
fn clock(connection: &mut Connection) -> Point {
    let name = "SYSUTCDATETIME";
    let sql = include_str!("../sql/now.sql");
    let mut times = Vec::new();
    for _ in 0..50 {
        match connection.rows(sql).map(|rows| rows.first().and_then(|row| whole(row, 0))) {
            Ok(Some(us)) => times.push(us),
            Ok(None) => return Point::lacks(name, "it returned no time; no loop runs inside the server"),
            Err(cause) => return Point::lacks(name, advice(&cause)),
        }
    }
    let steps = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0);
    match steps.min() {
        Some(us) => Point::works(
            name,
            format!("loops inside the server read it; smallest step of 50 readings {us} us"),
        ),
        None => Point::lacks(name, "it did not move in 50 readings; loops inside the server would not end"),
    }
}
