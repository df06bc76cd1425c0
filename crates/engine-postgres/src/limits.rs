//! Connection limits of the user's server, and the connections in use. Reads only.
//!
//! Source: PostgreSQL documentation, "Connections and Authentication" (`max_connections`,
//! `superuser_reserved_connections`; `reserved_connections` from 16 on), "CREATE ROLE" and "CREATE
//! DATABASE" (CONNECTION LIMIT, which superusers are exempt from), "The Cumulative Statistics System"
//! (`pg_stat_activity`, most of whose columns are empty in rows of other roles).

use threadwise_engine::EngineError;
use threadwise_engine::connections::Limit;

use crate::Server;
use crate::error::query;

/// Connections that count, without this one: those of clients, and before PostgreSQL 12 those of replicas. The kind of
/// another role's process may be hidden: then all processes that are in a database count.
const SQL: &str = "
WITH clients AS (
  SELECT usesysid, datid FROM pg_stat_activity
  WHERE pid <> pg_backend_pid()
    AND (backend_type = 'client backend'
         OR (backend_type = 'walsender' AND current_setting('server_version_num')::int < 120000)
         OR (backend_type IS NULL AND datid IS NOT NULL)))
SELECT current_setting('max_connections')::int,
       current_setting('superuser_reserved_connections')::int
         + COALESCE(current_setting('reserved_connections', true)::int, 0),
       (SELECT count(*) FROM clients)::int,
       CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END,
       (SELECT count(*) FROM clients WHERE usesysid = r.oid)::int,
       CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END,
       (SELECT count(*) FROM clients WHERE datid = d.oid)::int,
       r.rolname::text, d.datname::text
FROM pg_roles r, pg_database d
WHERE r.rolname = session_user AND d.datname = current_database()";

/// The limits of the server, of the connecting role, and of the database, without those that are not set.
///
/// # Errors
/// An error of the server.
pub(crate) fn ask(server: &Server) -> Result<Vec<Limit>, EngineError> {
    let mut client = server.connect("threadwise limits")?;
    let fail = |cause: postgres::Error| query("count its connections", &cause);
    let row = client.query_one(SQL, &[]).map_err(fail)?;
    let number = |column: usize| row.try_get::<_, i32>(column).map_err(fail);
    let name = |column: usize| row.try_get::<_, String>(column).map_err(fail);
    let all = [
        ("max_connections of the server".to_owned(), number(0)?, number(1)?, number(2)?),
        (format!("the CONNECTION LIMIT of role '{}'", name(7)?), number(3)?, 0, number(4)?),
        (format!("the CONNECTION LIMIT of database '{}'", name(8)?), number(5)?, 0, number(6)?),
    ];
    let count = |number: i32| u32::try_from(number).unwrap_or(0);
    Ok(all
        .into_iter()
        // -1 is no limit; an invalid database has -2 and accepts no connection.
        .filter(|(_, most, ..)| *most >= 0)
        .map(|(name, most, set_aside, in_use)| Limit {
            name,
            most: count(most),
            set_aside: count(set_aside),
            in_use: count(in_use),
        })
        .collect())
}
