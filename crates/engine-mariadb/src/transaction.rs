//! `transaction` on MariaDB and MySQL: the user's prepared statements on the user's server, in separate transactions.
//!
//! A session has the settings of the user's own clients. Nothing is made in the server, so nothing has to be dropped.
//!
//! Tests on 10.11 and 11.4 showed what a read-only transaction of MariaDB refuses: writing to tables of every storage
//! engine, also by stored functions, to sequences (`NEXTVAL`, `SETVAL`), new temporary tables, and `FOR UPDATE`. It
//! does not refuse DDL, which commits it first, files (`INTO OUTFILE`), nor `LOCK IN SHARE MODE`: no file of statements
//! may contain these, nor the functions of `outlive_rollback.txt`. What remains is what a stored function does besides
//! writing to tables: `GET_LOCK`, `SET GLOBAL`, `SELECT … INTO OUTFILE`, and functions of shared libraries. All of
//! these but GET_LOCK need rights that readers do not have.

use mysql::Conn;
use mysql::prelude::Queryable;
use threadwise_engine::workloads::burn;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{Quoting, Transaction, needs_users_data};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::some_sessions;
use threadwise_study::Workload;

use crate::Server;
use crate::connect::target;
use crate::options::Which;
use crate::product::Product;

/// MariaDB's quoting.
pub(crate) const QUOTING: Quoting = Quoting {
    backslashes: true,
    hash_comments: true,
    dollars: false,
    nested_comments: false,
    brackets: false,
    packages: false,
};

/// Functions whose effect outlives a ROLLBACK.
const OUTLIVE_ROLLBACK: &str = include_str!("outlive_rollback.txt");

/// The unit of `burn`.
const BURN: &str = include_str!("sql/burn.sql");

/// Reads and checks the options of a request, and those of the server.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn parse(product: &Product, request: &LoadRequest) -> Result<Transaction, EngineError> {
    some_sessions(request)?;
    if request.workload == Workload::Burn {
        return burn::parse(&request.options, BURN, QUOTING);
    }
    let how = format!(
        "give the address of your server with its database, --engine {}://USER@HOST/DATABASE",
        product.engine()
    );
    let transaction = Transaction::parse(&request.options, QUOTING, OUTLIVE_ROLLBACK)?;
    let Which::External(external) = crate::options::parse(&request.engine_options)? else {
        return needs_users_data(&how);
    };
    if request.engine_options.contains_key("schema") {
        return Err(refuse("schema", "nothing is made in your server; leave it out".into()));
    }
    match target(&external.url)?.database {
        // Checked before a server is asked: two names that differ are a mistake.
        Some(database) => transaction.expect_database(&database).map(|()| transaction),
        None => Err(refuse("url", format!("it names no database: {how}"))),
    }
}

/// A connection, checked to be in the database that may be written to, if one may.
///
/// # Errors
/// It is in another one; or a backslash means something else there.
pub(crate) fn connect(server: &Server, transaction: &Transaction) -> Result<Conn, EngineError> {
    let mut connection =
        server.connect_as_client(transaction.statements().chain(transaction.queries()).count())?;
    let (action, product) = ("ask for the name of the database", server.product());
    // Without a name in the address there is not one, which is enough for statements that read no table.
    let asked: Option<(Option<String>, String)> = connection
        .query_first("SELECT DATABASE(), @@SESSION.sql_mode")
        .map_err(|cause| product.query(action, &cause))?;
    let (database, sql_mode) = asked.ok_or_else(|| product.failed(action, "it returned none"))?;
    transaction.expect_database(&database.unwrap_or_default())?;
    match backslash(transaction, &sql_mode) {
        Some(why) => Err(product.failed("parse the statements as the server does", why)),
        None => Ok(connection),
    }
}

/// Why a backslash may have another meaning than it had when the file was split into statements.
fn backslash(transaction: &Transaction, sql_mode: &str) -> Option<String> {
    let mode = ["NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"]
        .into_iter()
        .find(|mode| sql_mode.split(',').any(|one| one == *mode))?;
    let has = |text: &str| text.contains('\\');
    let statement = transaction
        .statements()
        .chain(transaction.queries())
        .find(|one| has(&one.text(|_| String::new())))?;
    Some(format!(
        "{}: it has a backslash, which means something else under the server's sql_mode {mode}: write it without",
        statement.place
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::{MARIADB, MYSQL};
    use threadwise_study::{OptionValue, Options};

    fn request(sql: &str, url: Option<&str>) -> LoadRequest {
        let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
        LoadRequest {
            workload: threadwise_study::Workload::Transaction,
            options: Options::from([text("sql", sql)]),
            engine_options: url.map(|url| text("url", url)).into_iter().collect(),
            data_dir: "/nowhere".into(),
            treatment: "t".into(),
            sessions: 1,
            seed: 1,
        }
    }

    #[test]
    fn a_server_of_the_users_and_a_database_are_needed() {
        let why = |request: &LoadRequest| parse(&MARIADB, request).unwrap_err().to_string();
        assert!(why(&request("SELECT 1", None)).contains("--engine mariadb://USER@HOST/DATABASE"));
        let message = why(&request("SELECT 1", Some("mariadb://me@db/")));
        assert!(message.contains("names no database"), "{message}");
        let mut with_schema = request("SELECT 1", Some("mariadb://me@db/shop"));
        assert!(parse(&MARIADB, &with_schema).is_ok());
        with_schema.engine_options.insert("schema".into(), OptionValue::Text("tw".into()));
        assert!(why(&with_schema).contains("nothing is made"));
        with_schema.sessions = 0;
        assert!(why(&with_schema).contains("0 sessions"));
    }

    #[test]
    fn the_unit_of_burn_is_one_statement_for_both_products_and_needs_no_database() {
        for (product, url) in
            [(&MARIADB, None), (&MARIADB, Some("mariadb://me@db/")), (&MYSQL, Some("mysql://me@db/"))]
        {
            let mut load = request("", url);
            (load.workload, load.options) = (Workload::Burn, Options::new());
            let parsed = parse(product, &load).unwrap();
            let [script] = &parsed.scripts[..] else { panic!("{} scripts", parsed.scripts.len()) };
            let [statement] = &script.statements[..] else { panic!("{:?}", script.statements) };
            assert_eq!(statement.text(|name| panic!("{name}")).trim_end(), BURN.trim_end());
            assert!(parsed.may_write.is_none() && script.parameters.is_empty());
            assert_eq!((parsed.answer, parsed.is_read_only()), (Some(burn::ANSWER), true));
            assert_eq!(backslash(&parsed, "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"), None);
        }
    }

    #[test]
    fn functions_that_outlive_a_rollback_are_refused() {
        for call in
            ["GET_LOCK('a', 1)", "get_lock /* x */ ('a', 1)", "1 + `sys_exec`('x')", "shop.memc_set('a')"]
        {
            let why = parse(&MARIADB, &request(&format!("SELECT {call}"), Some("mariadb://me@db/shop")))
                .unwrap_err();
            assert!(why.to_string().contains("no ROLLBACK undoes"), "{call}: {why}");
        }
        for call in ["'GET_LOCK()'", "\"get_lock\"", "get_lock", "1 # get_lock()"] {
            assert!(
                parse(&MARIADB, &request(&format!("SELECT {call}"), Some("mariadb://me@db/shop"))).is_ok()
            );
        }
    }

    #[test]
    fn a_backslash_needs_the_usual_mode() {
        let parsed =
            |sql: &str| Transaction::parse(&request(sql, None).options, QUOTING, OUTLIVE_ROLLBACK).unwrap();
        let with = parsed("SELECT 1;\nSELECT '\\''");
        assert_eq!(backslash(&with, "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"), None);
        for mode in ["ANSI_QUOTES", "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES"] {
            assert!(backslash(&with, mode).unwrap().contains("line 2"), "{mode}");
            assert_eq!(backslash(&parsed("SELECT 1"), mode), None);
        }
    }
}
