//! Connection limits of the user's server, and the connections in use. Reads only.
//!
//! Source: MariaDB Knowledge Base, "Server System Variables" (`max_connections`; the session's value of
//! `max_user_connections` is the account's own limit if it has one), "Server Status Variables"
//! (`Threads_connected`), "Information Schema PROCESSLIST Table" (without the privilege PROCESS it shows
//! the account's own connections).

use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
use threadwise_engine::connections::Limit;

use crate::Server;
use crate::error::query;

const SETTINGS: &str = "SELECT @@GLOBAL.max_connections, @@SESSION.max_user_connections";
const ALL: &str = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
const OF_ACCOUNT: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST
     WHERE USER = SUBSTRING_INDEX(USER(), '@', 1)";

/// The limits of the server and of the connecting account, without those that are not set.
///
/// # Errors
/// An error of the server.
pub(crate) fn ask(server: &Server) -> Result<Vec<Limit>, EngineError> {
    let mut connection = server.connect()?;
    let fail = |cause: mysql::Error| query("count its connections", &cause);
    let (most, of_account): (i64, i64) = connection.query_first(SETTINGS).map_err(fail)?.unwrap_or_default();
    let (_, in_use): (String, i64) = connection.query_first(ALL).map_err(fail)?.unwrap_or_default();
    let used_by_account: i64 = connection.query_first(OF_ACCOUNT).map_err(fail)?.unwrap_or_default();
    // This connection is one of them.
    let others = |number: i64| u32::try_from(number.saturating_sub(1)).unwrap_or(0);
    let limit = |name: String, most: i64, in_use: i64| {
        let most = u32::try_from(most).unwrap_or(0);
        Limit { name, most, set_aside: 0, in_use: others(in_use) }
    };
    let mut limits = vec![limit("max_connections of the server".to_owned(), most, in_use)];
    if of_account > 0 {
        let name = format!("max_user_connections of account '{}'", server.user());
        limits.push(limit(name, of_account, used_by_account));
    }
    Ok(limits)
}
