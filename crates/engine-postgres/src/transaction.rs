//! `transaction` on PostgreSQL: the user's prepared statements in the user's database, in separate transactions.
//!
//! A session has the settings of the user's own clients, without those that other workloads set for their plans.
//! Nothing is made in the server.

use postgres::Client;
use threadwise_engine::workloads::transaction::{Quoting, STATEMENT_LIMIT_SECONDS, Transaction};
use threadwise_engine::{EngineError, LoadRequest};

use crate::Server;
use crate::error::{failed, query};

/// PostgreSQL's quoting.
pub(crate) const QUOTING: Quoting = Quoting {
    dollars: true,
    nested_comments: true,
    backslashes: false,
    hash_comments: false,
    brackets: false,
    packages: false,
};

/// Functions whose effect outlives a ROLLBACK.
const OUTLIVE_ROLLBACK: &str = include_str!("outlive_rollback.txt");

/// Reads and checks the options.
///
/// # Errors
/// See [`Transaction::parse`].
pub(crate) fn parse(load: &LoadRequest) -> Result<Transaction, EngineError> {
    Transaction::parse(&load.options, QUOTING, OUTLIVE_ROLLBACK)
}

/// A connection as the user's clients have it, checked to be in the database that may be written to, if one may. Its
/// server ends its statement after a time limit, or when the client is gone.
///
/// # Errors
/// It is in another one; or a backslash means something else there.
pub(crate) fn connect(
    server: &Server,
    application: &str,
    transaction: &Transaction,
) -> Result<Client, EngineError> {
    let mut client = server.connect(application)?;
    let prepared = format!("RESET search_path; SET statement_timeout = '{STATEMENT_LIMIT_SECONDS}s'");
    client.batch_execute(&prepared).map_err(|cause| query("prepare a connection", &cause))?;
    if server.version_num() >= 140_000 {
        // A server whose system cannot check its clients refuses it, and has the time limit.
        let _ = client.batch_execute("SET client_connection_check_interval = '1s'");
    }
    let action = "ask for the name of the database";
    let asked = "SELECT current_database()::text, current_setting('standard_conforming_strings')";
    let row = client.query_one(asked, &[]).map_err(|cause| query(action, &cause))?;
    let text = |column: usize| row.try_get::<_, String>(column).map_err(|cause| query(action, &cause));
    transaction.expect_database(&text(0)?)?;
    match backslash(transaction, &text(1)?) {
        Some(why) => Err(failed("parse the statements as the server does", why)),
        None => Ok(client),
    }
}

/// Why a backslash may have another meaning than it had when the file was split into statements.
fn backslash(transaction: &Transaction, standard_conforming_strings: &str) -> Option<String> {
    let has = |text: &str| text.contains('\\');
    let statement = transaction.statements.iter().find(|one| has(&one.text(|_| String::new())))?;
    (standard_conforming_strings != "on").then(|| {
        format!(
            "line {}: it has a backslash, which means something else while standard_conforming_strings is off: write it \
             without",
            statement.line
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::transaction::{MAY_WRITE, SQL};
    use threadwise_study::{OptionValue, Options};

    fn read(sql: &str, may_write: bool) -> Result<Transaction, String> {
        let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
        let mut options = Options::from([text(SQL, sql)]);
        options.extend(may_write.then(|| text(MAY_WRITE, "shop")));
        Transaction::parse(&options, QUOTING, OUTLIVE_ROLLBACK).map_err(|error| error.to_string())
    }

    #[test]
    fn functions_that_outlive_a_rollback_are_refused_however_they_are_written() {
        for call in [
            "pg_reload_conf()",
            "PG_Reload_Conf ()",
            "pg_reload_conf/* ( */ -- x\n\t()",
            "\"pg_reload_conf\"()",
            "pg_catalog . \"pg_reload_conf\" ()",
            "\"pg_catalog\".pg_reload_conf()",
            "coalesce(pg_reload_conf(), true)",
            "'a' -- x\r, pg_reload_conf()",
            "1 AS \u{1f600}$a$, pg_reload_conf() AS \u{1f600}$a$",
            "1x$a$, pg_reload_conf() AS x$a$",
            "$\u{1f600}$ ' $\u{1f600}$, pg_reload_conf(), ' '",
        ] {
            for may_write in [false, true] {
                let why = read(&format!("SELECT 1;\nSELECT {call}"), may_write).unwrap_err();
                assert!(why.contains("line 2: pg_reload_conf() makes the server"), "{call}: {why}");
                assert!(why.contains("leave it out"), "{why}");
            }
        }
        for call in ["U&\"pg_reload\\005fconf\"()", "u&\"pg_reload!005fconf\" UESCAPE '!' ()"] {
            assert!(read(&format!("SELECT {call}"), true).unwrap_err().contains("U&"), "{call}");
        }
        for call in [
            "'pg_reload_conf()'",
            "$$pg_reload_conf()$$",
            "pg_reload_conf",
            "/* pg_reload_conf() */ 1",
            "1 -- pg_reload_conf()\n",
            "pg_reload_config()",
            "E'\\'pg_reload_conf()'",
        ] {
            assert!(read(&format!("SELECT {call}"), false).is_ok(), "{call}");
        }
    }

    #[test]
    fn functions_of_extensions_are_refused_too() {
        for (call, what) in [
            ("http_get('http://x')", "sends a request"),
            ("http(('GET', 'x', NULL, NULL, NULL)::http_request)", "sends a request"),
            ("run_command_on_workers('SELECT 1')", "executes a text on other servers"),
            ("dbms_pipe.send_message('a')", "pipes between sessions"),
            ("utl_file.put_line(1, 'a')", "works on files of the server"),
        ] {
            let why = read(&format!("SELECT {call}"), true).unwrap_err();
            assert!(why.contains(what), "{call}: {why}");
        }
        // A function of the user's own may be called so.
        assert!(read("SELECT send_message('a'), http_header('a', 'b')", true).is_ok());
    }

    #[test]
    fn large_objects_need_leave_to_write() {
        for call in ["lo_unlink(5)", "pg_catalog.\"lo_put\"(5, 0, '')", "LO_CREATE(0)", "lowrite(0, '')"] {
            let why = read(&format!("SELECT {call}"), false).unwrap_err();
            assert!(why.contains("large object") && why.contains("--may-write DATABASE"), "{call}: {why}");
            assert!(read(&format!("SELECT {call}"), true).is_ok(), "{call}");
        }
        assert!(read("SELECT lo_export(5, '/x')", true).unwrap_err().contains("writes a file of the server"));
        assert!(read("SELECT lo_get(5)", false).is_ok());
    }

    #[test]
    fn a_backslash_needs_the_standard_setting() {
        let with = read("SELECT 1;\nSELECT '\\', pg_reload_config('')", false).unwrap();
        assert_eq!(backslash(&with, "on"), None);
        assert!(backslash(&with, "off").unwrap().contains("line 2"));
        assert_eq!(backslash(&read("SELECT 'a'", false).unwrap(), "off"), None);
    }
}
