//! The workload `transaction`: a file of the user's statements, executed again and again as one transaction, on the
//! user's own data. Its latency is the client's wait for a transaction; answers are read and not checked.
//!
//! ```sql
//! -- :customer 1..150000
//! SELECT name, balance FROM customers WHERE id = :customer;
//! ```
//!
//! A line `-- :NAME LOW..HIGH` in the head of the file gives the range of whole numbers from which a parameter is drawn
//! for each transaction, evenly, both ends included.
//!
//! A measurement that runs thousands of times a second must not change a user's data. This module refuses statements
//! by words and by function names. Each transaction is also begun read-only and rolled back, since engines refuse
//! some writes in a read-only transaction, and commit others (PostgreSQL 11 to 15: large objects).

mod answer;
mod file;
pub(crate) mod lexer;
mod outlive;
mod statement;
#[cfg(test)]
mod tests;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use threadwise_study::transaction::{MAY_WRITE, SQL};
use threadwise_study::{OptionValue, Options, Workload};

use super::options::{only, refuse};
use crate::EngineError;
pub use answer::AnswerSize;
pub use lexer::Quoting;
pub use statement::{Parameter, Statement};

/// Statement timeout in a server of the user, which continues a statement after its client was killed; the server
/// enforces it.
pub const STATEMENT_LIMIT_SECONDS: u32 = 600;

/// A note in every report of transactions.
pub const ANSWERS: &str = "transactions are those of a file: their answers are read and not checked, and each is begun \
                           and ended by statements of its own";

/// The workload's options, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Parameters, in the order of the file's head.
    pub parameters: Vec<Parameter>,
    /// Statements, in the order of the file; at least one.
    pub statements: Vec<Statement>,
    /// The database that may be written to; transactions are read-only without it.
    pub may_write: Option<String>,
}

impl Transaction {
    /// Reads and checks the options. `loop` may be `client`, the only place of this loop. The list of the engine's
    /// functions whose effect outlives a ROLLBACK has the format that the module `outlive` describes.
    ///
    /// # Errors
    /// An option that is unknown or missing; text that is not a file of statements, or writes without permission.
    pub fn parse(options: &Options, quoting: Quoting, outlive_rollback: &str) -> Result<Self, EngineError> {
        only(options, Workload::Transaction, &[SQL, MAY_WRITE, "loop"])?;
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
        let (parameters, statements) =
            file::parse(sql, quoting, outlive_rollback).map_err(|why| refuse(SQL, why))?;
        let may_write = text(MAY_WRITE)?.map(str::to_owned);
        let writing = statements.iter().find_map(|statement| Some((statement.line, statement.writes()?)));
        if let (Some((line, why)), None) = (writing, &may_write) {
            let why = format!(
                "line {line}: {why}, and transactions are read-only; --may-write DATABASE lets them write to the \
                 database of that name, again and again"
            );
            return Err(refuse(SQL, why));
        }
        Ok(Self { parameters, statements, may_write })
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
        let mut notes = vec![ANSWERS.to_owned()];
        notes.extend(
            self.may_write.as_ref().map(|name| format!("transactions wrote to the database '{name}'")),
        );
        notes
    }
}

/// The error of an engine that has this workload only on the user's own data.
///
/// # Errors
/// Always: how to name the data.
pub fn needs_users_data<T>(how: &str) -> Result<T, EngineError> {
    Err(refuse("engine", format!("a transaction file needs your own data: {how}")))
}

/// Values of the parameters, transaction by transaction: a pure function of the block's seed and the session.
#[derive(Debug, Clone)]
pub struct Draws {
    ranges: Vec<(i64, u128)>,
    random: ChaCha8Rng,
}

impl Draws {
    /// The values of one session in one block.
    pub fn new(transaction: &Transaction, block_seed: u64, session: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(block_seed);
        random.set_stream(u64::from(session));
        let range = |one: &Parameter| (one.low, (i128::from(one.high) - i128::from(one.low) + 1) as u128);
        Self { ranges: transaction.parameters.iter().map(range).collect(), random }
    }

    /// The values of the next transaction, in the order of the file's head.
    pub fn draw(&mut self) -> Vec<i64> {
        let Self { ranges, random } = self;
        // Multiply and shift (Lemire, ACM TOMACS 29, 2019) without rejection: the bias is at most the range over 2^64.
        let draw = |(low, count): &(i64, u128)| {
            let offset = (u128::from(random.next_u64()) * count) >> 64;
            (i128::from(*low) + offset as i128) as i64
        };
        ranges.iter().map(draw).collect()
    }
}
