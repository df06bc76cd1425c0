//! What the account may do, point by point, for `threadwise check`; and the limits of its sessions. Changes nothing.
//!
//! Sources: Oracle Database Reference 19c, "V$RESOURCE_LIMIT", "USER_RESOURCE_LIMITS" (profile), "SESSION_PRIVS",
//! "USER_TS_QUOTAS", "V$BUFFER_POOL" (sizes in MB), "V$OPTION".

use threadwise_engine::connections::Limit;
use threadwise_engine::{EngineError, Point};
use threadwise_engine_sql::{self as sql, Connection, Template};

use crate::connection::OracleConnection;
use crate::driver::{has_own_sleep, may_sleep};
use crate::meter::{text, whole};
use crate::place::Identity;

/// Views: the name of the point, the views, and what is missing without them.
const VIEWS: &str = include_str!("views.txt");

/// Privileges without which nothing can be measured.
const PRIVILEGES: [[&str; 2]; 2] = [["make tables", "CREATE TABLE"], ["make procedures", "CREATE PROCEDURE"]];

const ACTION: &str = "ask the server about itself";

/// Numbers of sessions that the server does not exceed; those that are not set, or may not be read, are left out.
///
/// # Errors
/// An error of the server.
pub(crate) fn limits(connection: &mut OracleConnection) -> Result<Vec<Limit>, EngineError> {
    let mut rows = connection.maybe(ACTION, include_str!("sql/limits.sql"), &[])?.unwrap_or_default();
    for counts in [true, false] {
        let user = Template::default().flag("counts", counts).fill(include_str!("sql/limits_user.sql"));
        if let Some(found) = connection.maybe(ACTION, &user, &[])? {
            rows.extend(found);
            break;
        }
    }
    Ok(sql::limits(&rows))
}

/// All points; one that cannot be read says why, and the rest continues.
///
/// # Errors
/// An error of the server that is not one of rights.
pub(crate) fn points(connection: &mut OracleConnection) -> Result<Vec<Point>, EngineError> {
    let target = connection.server.target.clone();
    let login = format!("'{}' at {}, version {}", target.user, target.place(), connection.version);
    let mut points = vec![Point::works("login and version", login)];
    let mut add = |name: &str, found: Result<Point, EngineError>| {
        points.push(found.unwrap_or_else(|why| Point::lacks(name, why.to_string())));
    };
    add("encryption (TLS)", encryption(connection));
    for [name, privilege] in PRIVILEGES {
        let found = privileges(connection);
        add(name, found.map(|held| has(name, privilege, &held)));
    }
    add("quota", quota(connection));
    for line in VIEWS.lines().filter(|line| !line.starts_with('#')) {
        if let [name, views, lost] = line.split(" | ").collect::<Vec<_>>()[..] {
            add(name, readable(connection, name, views, lost));
        }
    }
    add("parallel query", parallel(connection));
    add("pauses (DBMS_SESSION.SLEEP)", sleep(connection));
    add("memory for data (V$BUFFER_POOL)", memory(connection));
    Ok(points)
}

fn encryption(connection: &mut OracleConnection) -> Result<Point, EngineError> {
    let name = "encryption (TLS)";
    Ok(match Identity::ask(connection)?.protocol.as_str() {
        "tcps" => Point::works(name, "in force"),
        _ => Point::lacks(
            name,
            "not in force: statements and rows go over the network unencrypted (the password does not); an address with \
             oracles:// asks for it",
        ),
    })
}

fn privileges(connection: &mut OracleConnection) -> Result<Vec<String>, EngineError> {
    let rows = connection.rows(ACTION, include_str!("sql/point_privileges.sql"), &[])?;
    Ok(rows.iter().filter_map(|row| text(row, 0).map(str::to_owned)).collect())
}

fn has(name: &str, privilege: &str, held: &[String]) -> Point {
    let in_any = privilege.replace("CREATE ", "CREATE ANY ");
    match held.iter().any(|one| one == privilege || *one == in_any) {
        true => Point::works(name, privilege),
        false => {
            let why = format!("GRANT {privilege} TO the account; without it no workload can be measured");
            Point::lacks(name, why)
        }
    }
}

fn quota(connection: &mut OracleConnection) -> Result<Point, EngineError> {
    let held = privileges(connection)?;
    let rows = connection.rows(ACTION, include_str!("sql/point_quota.sql"), &[])?;
    let row = rows.first().map_or(&[][..], Vec::as_slice);
    let space = text(row, 0).unwrap_or_default();
    let is_unlimited = held.iter().any(|one| one == "UNLIMITED TABLESPACE");
    Ok(match whole(row, 2).unwrap_or(0) {
        most if is_unlimited || most < 0 => Point::works("quota", format!("no limit on {space}")),
        0 => {
            let why = format!("ALTER USER … QUOTA … ON {space}; without it there is no space for data");
            Point::lacks("quota", why)
        }
        most => {
            let left = (most - whole(row, 1).unwrap_or(0)) >> 20;
            Point::works("quota", format!("{left} MiB are left on {space}"))
        }
    })
}

fn readable(
    connection: &mut OracleConnection,
    name: &str,
    views: &str,
    lost: &str,
) -> Result<Point, EngineError> {
    let mut missing = Vec::new();
    for view in views.split(' ') {
        let sql =
            Template::default().with("view", view.to_lowercase()).fill(include_str!("sql/point_view.sql"));
        if connection.maybe(ACTION, &sql, &[])?.is_none() {
            missing.push(format!("SYS.{}", view.replace("V$", "V_$")));
        }
    }
    Ok(match missing.is_empty() {
        true => Point::works(name, "may be read"),
        false => {
            let views = missing.join(" and ");
            let why = format!(
                "GRANT SELECT ON {views} TO the account; without it the following is missing: {lost}"
            );
            Point::lacks(name, why)
        }
    })
}

fn parallel(connection: &mut OracleConnection) -> Result<Point, EngineError> {
    let name = "parallel query";
    let option = connection.maybe(ACTION, include_str!("sql/point_option.sql"), &[])?.unwrap_or_default();
    if option.first().and_then(|row| text(row, 0)) == Some("FALSE") {
        let why = "not in this edition (V$OPTION): queries run with dop=1 alone";
        return Ok(Point::lacks(name, why));
    }
    Ok(match connection.attempt(include_str!("sql/session_parallel.sql"), &[]) {
        Ok(_) => Point::works(name, "ALTER SESSION ENABLE PARALLEL QUERY"),
        Err(cause) => {
            Point::lacks(name, format!("{}; without it queries run with dop=1 alone", cause.advice()))
        }
    })
}

fn sleep(connection: &mut OracleConnection) -> Result<Point, EngineError> {
    let name = "pauses (DBMS_SESSION.SLEEP)";
    let is_new = has_own_sleep(&connection.version);
    Ok(match (is_new, may_sleep(connection)?) {
        (true, _) => Point::works(name, "DBMS_SESSION.SLEEP, which every account has from 18c on"),
        (false, true) => Point::works(name, "DBMS_LOCK.SLEEP"),
        (false, false) => Point::lacks(
            name,
            "GRANT EXECUTE ON SYS.DBMS_LOCK TO the account; without it the following is missing: think_time_us with \
             loop=server",
        ),
    })
}

fn memory(connection: &mut OracleConnection) -> Result<Point, EngineError> {
    let name = "memory for data (V$BUFFER_POOL)";
    let Some(rows) = connection.maybe(ACTION, include_str!("sql/point_memory.sql"), &[])? else {
        return Ok(Point::lacks(
            name,
            "GRANT SELECT ON SYS.V_$BUFFER_POOL TO the account; without it it is unknown whether data fits into the buffer \
             cache",
        ));
    };
    let pool = |row: &Vec<sql::Value>| {
        let (block, size) = (whole(row, 1)?, whole(row, 2)?);
        Some(format!("{} {size} MiB of {block} bytes a block", text(row, 0)?))
    };
    let pools: Vec<String> = rows.iter().filter_map(pool).collect();
    let pools = if pools.is_empty() { "unknown".to_owned() } else { pools.join(", ") };
    Ok(Point::works(name, format!("buffer cache: {pools}; data is read through DEFAULT")))
}
