//! `transaction` on Oracle: the user's statements on the user's server, in separate transactions.
//!
//! A session has the settings of the user's own clients, and nothing is made in the server. Source: SQL Language Reference
//! 19c, "SET TRANSACTION": in a read-only transaction the server refuses INSERT, UPDATE, DELETE, MERGE and SELECT … FOR
//! UPDATE (ORA-01456). It does not refuse what the functions of `outlive_rollback.txt` do, sequences (NEXTVAL) and autonomous
//! transactions (Database Language Reference 19c, "AUTONOMOUS_TRANSACTION Pragma") in functions of the user's own, which
//! are not looked into.
//!
//! The database that may be written to is the service of the address; a name with a link (`table@link`) is refused.

use threadwise_engine::workloads::burn;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{Quoting, Transaction};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::some_sessions;
use threadwise_study::Workload;

use crate::options;

/// Oracle's quoting.
const QUOTING: Quoting = Quoting {
    packages: true,
    backslashes: false,
    dollars: false,
    nested_comments: false,
    hash_comments: false,
    brackets: false,
};

/// Functions whose effect outlives a ROLLBACK.
const OUTLIVE_ROLLBACK: &str = include_str!("outlive_rollback.txt");

/// The unit of `burn`.
const BURN: &str = include_str!("sql/burn.sql");

/// Reads and checks the options of a request, and those of the server.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn parse(request: &LoadRequest) -> Result<Transaction, EngineError> {
    some_sessions(request)?;
    if request.workload == Workload::Burn {
        return burn::parse(&request.options, BURN, QUOTING);
    }
    let transaction = Transaction::parse(&request.options, QUOTING, OUTLIVE_ROLLBACK)?;
    let target = options::parse(&request.engine_options)?;
    if request.engine_options.contains_key("prefix") {
        return Err(refuse("prefix", "nothing is made in your server; leave it out".into()));
    }
    transaction.expect_database(&target.service).map(|()| transaction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::transaction::{MAY_WRITE, SQL};
    use threadwise_study::{OptionValue, Options, Workload};

    fn read(sql: &str, more: &[(&str, &str)]) -> Result<Transaction, String> {
        let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
        let (write, engine): (Vec<_>, Vec<_>) = more.iter().partition(|(name, _)| *name == MAY_WRITE);
        let mut options = Options::from([text(SQL, sql)]);
        options.extend(write.iter().map(|(name, value)| text(name, value)));
        let mut engine_options = Options::from([text("url", "oracle://me@db/SHOP")]);
        engine_options.extend(engine.iter().map(|(name, value)| text(name, value)));
        let (workload, data_dir, treatment) = (Workload::Transaction, "/nowhere".into(), "t".into());
        let request =
            LoadRequest { workload, options, engine_options, data_dir, treatment, sessions: 1, seed: 1 };
        parse(&request).map_err(|cause| cause.to_string())
    }

    #[test]
    fn functions_that_outlive_a_rollback_are_refused() {
        for call in [
            "dbms_pipe.send_message('a')",
            "SYS.DBMS_LOCK.REQUEST(1)",
            "utl_http.request('http://x')",
            "utl_file.f",
            "dbms_xmlgen . getxml('SELECT 1 FROM dual')",
            "httpuritype('x')",
        ] {
            let why = read(&format!("SELECT {call} FROM dual"), &[(MAY_WRITE, "SHOP")]).unwrap_err();
            assert!(why.contains("no ROLLBACK undoes"), "{call}: {why}");
        }
        let why = read("SELECT orders_seq.NEXTVAL FROM dual", &[]).unwrap_err();
        assert!(why.contains("--may-write DATABASE"), "{why}");
        assert!(read("SELECT orders_seq.NEXTVAL FROM dual", &[(MAY_WRITE, "SHOP")]).is_ok());
        for call in ["dbms_random.value", "dbms_lob.substr(c, 10)", "utl_raw.length(c)", "'utl_file.f'"] {
            assert!(read(&format!("SELECT {call} FROM t"), &[]).is_ok(), "{call}");
        }
    }

    #[test]
    fn the_service_is_the_database_that_may_be_written_to() {
        assert!(read("DELETE FROM t", &[]).unwrap_err().contains("read-only"));
        assert!(read("DELETE FROM t", &[(MAY_WRITE, "OTHER")]).unwrap_err().contains("'SHOP', not 'OTHER'"));
        assert!(read("DELETE FROM t", &[(MAY_WRITE, "SHOP")]).is_ok());
        assert!(read("SELECT 1 FROM t@far", &[]).unwrap_err().contains("another database"));
        assert!(read("SELECT 1 FROM dual", &[("prefix", "X_")]).unwrap_err().contains("nothing is made"));
    }
}
