//! The workload `transaction`: the user's statements, executed again and again as transactions, on the user's own data.
//! Its latency is the client's wait for a transaction; answers are read and not checked.
//!
//! ```sql
//! -- :customer 1..150000
//! SELECT name, balance FROM customers WHERE id = :customer;
//! ```
//!
//! A text has one transaction, or a mix of several with weights (module `mix`), or scripts of pgbench (module
//! `pgbench`). A line `-- :NAME …` in the head of a transaction says where a parameter's values come from (module
//! `declaration`). They are drawn for each transaction.
//!
//! A measurement that runs thousands of times a second must not change a user's data. This module refuses statements
//! by words and by function names. Each transaction is also begun read-only and rolled back, since engines refuse
//! some writes in a read-only transaction, and commit others (PostgreSQL 11 to 15: large objects).

mod answer;
mod column;
mod declaration;
mod distribution;
pub mod draft;
mod draws;
mod expression;
pub(crate) mod lexer;
mod mix;
mod outlive;
mod pgbench;
mod script;
mod sql;
mod statement;
mod tally;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;
use threadwise_study::arrivals::{ARRIVALS, RATE};
use threadwise_study::transaction::{MAY_WRITE, SQL};
use threadwise_study::vcpus::VCPUS;
use threadwise_study::{OptionValue, Options, Workload};

use super::options::{only, refuse};
use super::rate;
use crate::EngineError;
use crate::clock::{monotonic_ns, sleep_until_ns};
pub use answer::AnswerSize;
use column::List;
pub use column::{ColumnValues, Lists, SharedLists};
pub use draws::{Drawn, Draws};
pub use lexer::Quoting;
pub use mix::{MixFile, join, pin_files};
pub use script::{Parameter, Script, Sleep, Step, Think};
pub use statement::{SourceLine, Statement};
pub use tally::ScriptTally;
pub use value::BindValue;

/// Statement timeout in a server of the user, which continues a statement after its client was killed; the server
/// enforces it.
pub const STATEMENT_LIMIT_SECONDS: u32 = 600;

/// A note in every report of transactions.
pub const ANSWERS: &str = "transactions are those of a file: their answers are read and not checked, and each is begun \
                           and ended by statements of its own";

/// The workload's options, checked. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// Transactions, in the order of the text; at least one.
    pub scripts: Arc<[Script]>,
    /// The database that may be written to; transactions are read-only without it.
    pub may_write: Option<String>,
    /// The number in the one row of each answer, if it is known: it is then checked.
    pub answer: Option<i64>,
    lists: Arc<[List]>,
}

impl Transaction {
    /// Reads and checks the options. `loop` may be `client`, the only place of this loop. The list of the engine's
    /// functions whose effect outlives a ROLLBACK has the format that the module `outlive` describes.
    ///
    /// # Errors
    /// An option that is unknown or missing; text that is not a file of statements, or writes without permission.
    pub fn parse(options: &Options, quoting: Quoting, outlive_rollback: &str) -> Result<Self, EngineError> {
        only(options, Workload::Transaction, &[SQL, MAY_WRITE, "loop", RATE, ARRIVALS, VCPUS])?;
        let at_a_rate = rate::of(options)?;
        super::options::check_vcpus(options)?;
        if options.get("loop").is_some_and(|value| value.to_string() != "client") {
            return Err(refuse(
                "loop",
                "the client calls each transaction: leave it out, or give client".into(),
            ));
        }
        let text = |name: &str| match options.get(name) {
            None => Ok(None),
            Some(OptionValue::Text(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(refuse(name, "it is not text".into())),
        };
        let why = "there are no statements: give their file with --transaction FILE.sql";
        let sql = text(SQL)?.ok_or_else(|| refuse(SQL, why.into()))?;
        let mix = mix::parse(sql, quoting, outlive_rollback).map_err(|why| refuse(SQL, why))?;
        let may_write = text(MAY_WRITE)?.map(str::to_owned);
        let parsed = Self { scripts: mix.scripts.into(), may_write, lists: mix.lists.into(), answer: None };
        let writing = parsed.statements().find_map(|statement| Some((&statement.place, statement.writes()?)));
        if let (Some((place, why)), None) = (writing, &parsed.may_write) {
            let why = format!(
                "{place}: {why}, and transactions are read-only; --may-write DATABASE lets them write to the \
                 database of that name, again and again"
            );
            return Err(refuse(SQL, why));
        }
        if at_a_rate.is_some() && parsed.has_think_time() {
            let why = "sessions think after a transaction, and --rate says when requests begin: leave one of them out";
            return Err(refuse(SQL, why.into()));
        }
        Ok(parsed)
    }

    /// One statement of threadwise's, outside of a transaction, whose answer is one row with this number.
    ///
    /// # Errors
    /// It is not one statement that reads.
    pub fn of_statement(sql: &str, quoting: Quoting, answer: i64) -> Result<Self, EngineError> {
        let mut mix = mix::parse(sql, quoting, "").map_err(|why| refuse(SQL, why))?;
        for script in &mut mix.scripts {
            script.steps.retain(|step| matches!(step, Step::Statement(_)));
        }
        Ok(Self { scripts: mix.scripts.into(), may_write: None, lists: Arc::default(), answer: Some(answer) })
    }

    /// The statements of all transactions.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.scripts.iter().flat_map(|script| &script.statements)
    }

    /// The queries that give values of parameters.
    pub fn queries(&self) -> impl Iterator<Item = &Statement> {
        self.lists.iter().filter_map(|list| match list {
            List::Query(statement) => Some(statement),
            List::Csv(_) => None,
        })
    }

    /// Whether parameters are drawn from a query or a file.
    pub fn has_lists(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Whether sessions pause after some of the transactions, so that their number limits the rate.
    pub fn has_think_time(&self) -> bool {
        self.scripts.iter().any(|script| script.think.is_some())
    }

    /// Reads the lists that parameters are drawn from: files here, and queries by `query`.
    ///
    /// # Errors
    /// A file that cannot be read or has changed, a list that is empty or too long, or an error of `query`.
    pub fn read_lists(
        &self,
        query: impl FnMut(&Statement) -> Result<ColumnValues, EngineError>,
    ) -> Result<Lists, EngineError> {
        Lists::read(&self.lists, query, |why| refuse(SQL, why))
    }

    /// Whether each transaction is begun read-only.
    pub fn is_read_only(&self) -> bool {
        self.may_write.is_none()
    }

    /// The statement that ends each transaction: COMMIT only if it may write.
    pub fn ending(&self) -> &'static str {
        if self.is_read_only() { "ROLLBACK" } else { "COMMIT" }
    }

    /// Refuses to write to another database than the named one.
    ///
    /// # Errors
    /// Both names.
    pub fn expect_database(&self, found: &str) -> Result<(), EngineError> {
        match &self.may_write {
            Some(named) if named != found => {
                let why = format!(
                    "the database is '{found}', not '{named}': nothing was written; name the same \
                     database in both places"
                );
                Err(refuse(MAY_WRITE, why))
            }
            _ => Ok(()),
        }
    }

    /// Notes for the report if the database itself is measured.
    pub fn notes(&self) -> Vec<String> {
        if self.answer.is_some() {
            return Vec::new();
        }
        let mut notes = vec![ANSWERS.to_owned()];
        notes.extend(
            self.may_write.as_ref().map(|name| format!("transactions wrote to the database '{name}'")),
        );
        notes
    }
}

/// Waits as long as a script's `\\sleep` says.
///
/// # Errors
/// A variable that is no length.
pub fn pause(sleep: &Sleep, values: &[BindValue]) -> Result<(), EngineError> {
    let length_ns = sleep.length_ns(values).map_err(|why| refuse(SQL, why))?;
    sleep_until_ns(monotonic_ns() + length_ns);
    Ok(())
}

/// The error of an engine that has this workload only on the user's own data.
///
/// # Errors
/// Always: how to name the data.
pub fn needs_users_data<T>(how: &str) -> Result<T, EngineError> {
    Err(refuse("engine", format!("a transaction file needs your own data: {how}")))
}
