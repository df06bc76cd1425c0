//! `transaction` on SQL Server: the user's parameterised statements (`sp_executesql`) in the user's database, in separate
//! transactions. Nothing is made in the server.
//!
//! It has no read-only transactions. Instead no text may contain a word that begins another statement than a query
//! (`outlive_rollback.txt`), and each transaction is rolled back. Functions of T-SQL may not change the state of a
//! database ("Create user-defined functions", limitations). What remains is what functions of CLR assemblies and
//! extended procedures do, for which an administrator has to give them unsafe or external access.

use threadwise_engine::workloads::burn;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{Quoting, Transaction};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_study::Workload;

use crate::url;

/// T-SQL's quoting ("Delimited identifiers", "Slash star (block comment)").
pub(crate) const QUOTING: Quoting = Quoting {
    brackets: true,
    packages: false,
    nested_comments: true,
    backslashes: false,
    dollars: false,
    hash_comments: false,
};

/// What no ROLLBACK undoes, and words that begin statements.
const OUTLIVE_ROLLBACK: &str = include_str!("outlive_rollback.txt");

/// The unit of `burn`.
const BURN: &str = include_str!("sql/burn.sql");

/// Reads and checks the options of a request.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn parse(request: &LoadRequest) -> Result<Transaction, EngineError> {
    threadwise_engine_sql::some_sessions(request)?;
    if request.workload == Workload::Burn {
        return burn::parse(&request.options, BURN, QUOTING);
    }
    let transaction = Transaction::parse(&request.options, QUOTING, OUTLIVE_ROLLBACK)?;
    if request.engine_options.contains_key("schema") {
        return Err(refuse("schema", "nothing is made in your server; leave it out".into()));
    }
    let server = crate::options::parse(&request.engine_options)?;
    match url::parse(&server.url)?.database {
        // Checked before a server is asked: two names that differ are a mistake.
        Some(database) => transaction.expect_database(&database).map(|()| transaction),
        None => {
            let why = "it names no database: give the address of your server with its database, --engine \
                       sqlserver://USER@HOST/DATABASE";
            Err(refuse("url", why.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::transaction::{MAY_WRITE, SQL};
    use threadwise_study::{OptionValue, Options, Workload};

    fn read(sql: &str, may_write: bool) -> Result<Transaction, String> {
        let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
        let mut options = Options::from([text(SQL, sql)]);
        options.extend(may_write.then(|| text(MAY_WRITE, "shop")));
        let request = LoadRequest {
            workload: Workload::Transaction,
            options,
            engine_options: Options::from([text("url", "sqlserver://me@db/shop")]),
            data_dir: "/nowhere".into(),
            treatment: "t".into(),
            sessions: 1,
            seed: 1,
        };
        parse(&request).map_err(|error| error.to_string())
    }

    #[test]
    fn a_second_statement_needs_no_semicolon_and_is_found() {
        for more in [
            "EXEC dbo.pay 1",
            "execute('DROP TABLE t')",
            "DROP TABLE t",
            "COMMIT",
            "BEGIN TRAN",
            "DBCC FREEPROCCACHE",
            "USE other",
            "TRUNCATE TABLE t",
            "KILL 52",
            "WAITFOR DELAY '1'",
            "SHUTDOWN",
            "/* a /* b */ */ EXEC x",
        ] {
            for may_write in [false, true] {
                let why = read(&format!("SELECT 1 {more}"), may_write).unwrap_err();
                assert!(why.contains("line 1: ") && why.contains("leave it out"), "{more}: {why}");
            }
        }
        for more in ["UPDATE t SET a = 1", "SET LOCK_TIMEOUT 1", "DELETE t", "INSERT t VALUES (1)"] {
            let why = read(&format!("SELECT 1 {more}"), false).unwrap_err();
            assert!(why.contains("--may-write DATABASE"), "{more}: {why}");
            assert!(read(&format!("SELECT 1 {more}"), true).is_ok(), "{more}");
        }
        assert!(read("EXEC dbo.pay 1", true).unwrap_err().contains("begins with 'EXEC'"));
    }

    #[test]
    fn what_reaches_other_servers_or_holds_locks_is_found() {
        for call in ["* FROM OPENROWSET(BULK 'f', SINGLE_CLOB) a", "* FROM openquery ([x], 'DELETE t')"] {
            let why = read(&format!("SELECT {call}"), true).unwrap_err();
            assert!(why.contains("no ROLLBACK undoes") || why.contains("BULK"), "{why}");
        }
        for locks in ["* FROM t WITH (UPDLOCK)", "NEXT VALUE FOR s", "* FROM t WITH (holdlock)"] {
            assert!(read(&format!("SELECT {locks}"), false).unwrap_err().contains("--may-write"), "{locks}");
            assert!(read(&format!("SELECT {locks}"), true).is_ok(), "{locks}");
        }
    }

    #[test]
    fn queries_that_only_look_so_are_allowed() {
        for sql in [
            "SELECT [exec], \"drop\", 'EXEC x', a.[set] FROM t AS a -- EXEC x\n",
            "SELECT CASE WHEN a = 1 THEN 2 END FROM t ORDER BY a OFFSET 5 ROWS FETCH NEXT 10 ROWS ONLY",
            "WITH x AS (SELECT 1 AS a) SELECT a, ROW_NUMBER() OVER (ORDER BY a) FROM x OPTION (USE HINT ('X'), MAXDOP 1)",
            "SELECT value FROM OPENJSON('[1]')",
        ] {
            assert!(read(sql, false).is_ok(), "{sql}: {:?}", read(sql, false));
        }
    }
}
