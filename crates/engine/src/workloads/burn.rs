//! The workload `burn`: one statement that computes inside the server and reads no table, again and again. Its answer is
//! known and checked. It needs no right but to connect, and nothing is made in the server.
//!
//! A unit is the sum of i² mod 10007 over the 10,000 numbers from 0 on: some milliseconds of one CPU on every database, and
//! too long for the round trip to matter.

use threadwise_study::arrivals::{ARRIVALS, RATE};
use threadwise_study::vcpus::VCPUS;
use threadwise_study::{Options, Workload};

use super::options::{only, refuse};
use super::rate;
use super::transaction::{Quoting, Transaction};
use crate::EngineError;

/// The answer of a unit.
pub const ANSWER: i64 = answer();

const fn answer() -> i64 {
    let (mut sum, mut number) = (0, 0);
    while number < 10_000 {
        sum += number * number % 10_007;
        number += 1;
    }
    sum
}

/// The workload's options, checked, with the statement of a database.
///
/// # Errors
/// An option that is unknown, or a loop that is not the client's.
pub fn parse(options: &Options, sql: &str, quoting: Quoting) -> Result<Transaction, EngineError> {
    only(options, Workload::Burn, &["loop", RATE, ARRIVALS, VCPUS])?;
    rate::of(options)?;
    super::options::check_vcpus(options)?;
    if options.get("loop").is_some_and(|value| value.to_string() != "client") {
        return Err(refuse("loop", "the client sends each statement: leave it out, or give client".into()));
    }
    Transaction::of_statement(sql, quoting, ANSWER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    #[test]
    fn a_unit_is_one_statement_with_a_known_answer() {
        // By the pigeonhole principle the squares of 0 to 10006 mod 10007, a prime, are 0 once and each residue twice.
        let residues: std::collections::BTreeSet<i64> =
            (0..10_007).map(|one: i64| one * one % 10_007).collect();
        let all: i64 = 2 * residues.iter().sum::<i64>();
        let rest: i64 = (10_000..10_007).map(|one: i64| one * one % 10_007).sum();
        assert_eq!(ANSWER, all - rest);
        let parsed = parse(&Options::new(), "SELECT 1", Quoting::default()).unwrap();
        assert_eq!((parsed.scripts.len(), parsed.scripts[0].round_trips()), (1, 1));
        assert_eq!(parsed.answer, Some(ANSWER));
        for (name, value) in
            [("loop", "server"), ("sql", "SELECT 1"), ("arrivals", "poisson"), ("vcpus", "two")]
        {
            let options = Options::from([(name.to_owned(), OptionValue::Text(value.to_owned()))]);
            assert!(parse(&options, "SELECT 1", Quoting::default()).is_err(), "{name}");
        }
    }
}
