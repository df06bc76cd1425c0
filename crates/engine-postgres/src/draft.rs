//! The draft of a mix from pg_stat_statements.
//!
//! Transactions of its connection are read-only. The types of parameters come from the server's own analysis of each
//! statement (message Parse, then Describe: "Message Flow", "Extended Query" of PostgreSQL's documentation), which
//! neither plans nor executes it, and leaves nothing behind.

use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Client, Row};
use threadwise_engine::EngineError;
use threadwise_engine::workloads::transaction::draft::{self, DraftRequest, Rules, TopStatement};
use threadwise_engine_sql::fill;

use crate::Server;
use crate::error::{failed, query, refuse, server_message};
use crate::transaction::{OUTLIVE_ROLLBACK, QUOTING};

/// The source of statistics, as its extension is called.
pub(crate) const SOURCE: &str = "pg_stat_statements";

/// What is read, for errors.
const ACTION: &str = "read pg_stat_statements";

/// Nothing can be written by this connection. Parsing takes locks on the tables of a statement, which another session may
/// hold.
const SETTINGS: &str = "SET default_transaction_read_only = on; RESET search_path; SET lock_timeout = '2s'; SET statement_timeout = '60s'";

/// The draft of a mix from a server's statistics.
///
/// # Errors
/// The extension is missing or not loaded, the role may not read it, or there is nothing in it.
pub(crate) fn write(server: &Server, request: &DraftRequest<'_>) -> Result<String, EngineError> {
    let mut client = server.connect("threadwise draft")?;
    client.batch_execute(SETTINGS).map_err(|cause| query("prepare a connection", &cause))?;
    let database: String = client
        .query_one("SELECT current_database()::text AS of_pg_stat_statements", &[])
        .and_then(|row| row.try_get(0))
        .map_err(|cause| query("ask for the name of the database", &cause))?;
    if let Some(named) = request.may_write.filter(|named| *named != database) {
        return Err(refuse("may_write", format!("the database is '{database}', not '{named}'")));
    }
    let found = found(&mut client, &database)?;
    let all_ms = found.first().map_or(0.0, |one| one.all_ms);
    let hidden: u64 = found.iter().filter(|one| one.text.is_none()).map(|one| one.calls).sum();
    let seen = found.into_iter().filter_map(|one| Some((one.text?, one.calls, one.total_ms)));
    let top: Vec<TopStatement> = seen
        .take(request.top)
        .map(|(text, calls, total_ms)| {
            let types = types(&mut client, &text);
            TopStatement { text, calls, total_ms, types }
        })
        .collect();
    let grant = format!("GRANT pg_read_all_stats TO {}", user(&mut client));
    match (top.is_empty(), hidden) {
        (true, 0) => Err(failed(
            ACTION,
            format!(
                "it has no statement of the database '{database}' yet: let your application run, and ask again"
            ),
        )),
        (true, _) => Err(failed(ACTION, format!("the statements of other roles are hidden: {grant}"))),
        (false, _) => {
            let rules = Rules {
                quoting: QUOTING,
                outlive_rollback: OUTLIVE_ROLLBACK,
                may_write: request.may_write.is_some(),
            };
            let mut text = draft::write(SOURCE, &top, all_ms, rules);
            if hidden > 0 {
                text += &format!("\n-- {hidden} calls of other roles are hidden: {grant}\n");
            }
            Ok(text)
        }
    }
}

/// Statements of one text.
struct StatementTotals {
    text: Option<String>,
    calls: u64,
    total_ms: f64,
    all_ms: f64,
}

fn found(client: &mut Client, database: &str) -> Result<Vec<StatementTotals>, EngineError> {
    let fail = |cause: postgres::Error| failed(ACTION, explained(&cause));
    let view = client.query_opt(&fill(include_str!("sql/statements_view.sql"), &[]), &[]).map_err(fail)?;
    let Some(view) = view else {
        return Err(failed(
            ACTION,
            format!(
                "the extension is not in the database '{database}': CREATE EXTENSION pg_stat_statements there, with \
                 shared_preload_libraries = 'pg_stat_statements' in the server"
            ),
        ));
    };
    let (name, has_exec, has_top): (String, bool, bool) =
        (view.try_get(0).map_err(fail)?, view.try_get(1).map_err(fail)?, view.try_get(2).map_err(fail)?);
    let places = [
        ("view", name.as_str()),
        ("total", if has_exec { "total_exec_time" } else { "total_time" }),
        ("toplevel", if has_top { "AND toplevel" } else { "" }),
    ];
    let rows = client.query(&fill(include_str!("sql/statements_top.sql"), &places), &[]).map_err(fail)?;
    let one = |row: &Row| -> Result<StatementTotals, postgres::Error> {
        let calls: i64 = row.try_get(1)?;
        Ok(StatementTotals {
            text: row.try_get(0)?,
            calls: u64::try_from(calls).unwrap_or(0),
            total_ms: row.try_get(2)?,
            all_ms: row.try_get(3)?,
        })
    };
    rows.iter().map(one).collect::<Result<_, _>>().map_err(fail)
}

/// The server's message, with what helps.
fn explained(cause: &postgres::Error) -> String {
    let message =
        cause.as_db_error().map_or_else(|| server_message(cause), |error| error.message().to_owned());
    match cause.code() {
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            format!("{message}: GRANT SELECT ON pg_stat_statements and GRANT pg_read_all_stats to this role")
        }
        Some(code) if *code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
            format!("{message}: set it in postgresql.conf, and restart the server")
        }
        _ => server_message(cause),
    }
}

/// Types of a statement's parameters, or why the server does not parse it.
fn types(client: &mut Client, text: &str) -> Result<Vec<String>, String> {
    let prepared = client.prepare(text).map_err(|cause| {
        cause.as_db_error().map_or_else(|| server_message(&cause), |error| error.message().to_owned())
    })?;
    let mut name = |kind: &Type| {
        let row = client.query_one("SELECT format_type($1, NULL) AS of_pg_stat_statements", &[&kind.oid()]);
        row.and_then(|row| row.try_get(0)).unwrap_or_else(|_| kind.name().to_owned())
    };
    Ok(prepared.params().iter().map(&mut name).collect())
}

/// The role, as it is written in a statement.
fn user(client: &mut Client) -> String {
    let row = client.query_one("SELECT quote_ident(current_user) AS of_pg_stat_statements", &[]);
    row.and_then(|row| row.try_get(0)).unwrap_or_else(|_| "this role".to_owned())
}
