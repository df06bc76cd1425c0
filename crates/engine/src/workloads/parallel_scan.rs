//! The workload `parallel-scan`: one query over one table in memory, which a leader and its workers scan together,
//! and which reports how many rows each of them aggregated.
//!
//! The table has the rows 1 to N with a value each ([`value`]). Every answer is checked against its closed form: the
//! number of rows of the table, and the sum of [`term`] over them.

use threadwise_machine::CpuSet;
use threadwise_study::parallel::USUAL_ROWS;
use threadwise_study::{Options, Workload};

use super::options::{only, refuse, whole};
use crate::EngineError;

/// Options of the workload.
pub const OPTIONS: [&str; 3] = ["rows", "rows_per_session", "dop"];

/// Fewest rows, so that each process gets some.
const LEAST_ROWS: u64 = 10_000;

/// Most rows of the table: 4.5 GB on PostgreSQL.
const MOST_ROWS: u64 = 100_000_000;

/// Most rows of a slice.
const MOST_ROWS_PER_SESSION: u64 = 1_000_000_000_000;

/// Factor and modulus of the values, and those of the arithmetic over them: small primes, so that nothing overflows.
const VALUE: (u64, u64) = (7919, 1_000_003);
const TERM: (u64, u64, u64) = (1009, 31, 257);

/// The workload's options, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParallelScan {
    /// Rows of the table.
    pub rows: u64,
    /// Rows that a session scans in a slice, in whole scans; `None` for a fixed time.
    pub rows_per_session: Option<u64>,
    /// Requested degree of parallelism; `None` for the number of logical CPUs of the placement.
    pub dop: Option<u32>,
}

impl ParallelScan {
    /// Reads and checks the options. `most_dop` is the engine's maximum.
    ///
    /// # Errors
    /// The first option that is unknown, of the wrong type or impossible.
    pub fn parse(options: &Options, most_dop: u32) -> Result<Self, EngineError> {
        only(options, Workload::ParallelScan, &OPTIONS)?;
        let rows = whole(options, "rows", LEAST_ROWS, MOST_ROWS)?.unwrap_or(USUAL_ROWS);
        let rows_per_session = whole(options, "rows_per_session", 1, MOST_ROWS_PER_SESSION)?;
        if let Some(asked) = rows_per_session.filter(|asked| asked % rows != 0) {
            let why = format!("{asked} is not a whole number of scans of {rows} rows (rows)");
            return Err(refuse("rows_per_session", why));
        }
        let dop = whole(options, "dop", 1, u64::from(most_dop))?.map(|dop| dop as u32);
        Ok(Self { rows, rows_per_session, dop })
    }

    /// The requested degree of parallelism on a placement.
    pub fn dop_on(&self, placement: &CpuSet) -> u32 {
        self.dop.unwrap_or_else(|| u32::try_from(placement.len()).unwrap_or(u32::MAX).max(1))
    }

    /// The correct sum over all rows.
    pub fn sum(&self) -> u64 {
        (1..=self.rows).map(term).sum()
    }
}

/// The value of a row.
pub fn value(row: u64) -> u64 {
    row * VALUE.0 % VALUE.1
}

/// A row's term in the sum.
pub fn term(row: u64) -> u64 {
    (value(row) * value(row) + row) % TERM.0 * TERM.1 % TERM.2
}

/// SQL of [`value`] over the column `id`.
pub fn value_sql() -> String {
    format!("id * {} % {}", VALUE.0, VALUE.1)
}

/// SQL of [`term`] over the columns `id` and `v`.
pub fn term_sql() -> String {
    format!("(v * v + id) % {} * {} % {}", TERM.0, TERM.1, TERM.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    fn parse(pairs: &[(&str, i64)]) -> Result<ParallelScan, EngineError> {
        let options = pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Integer(*value)));
        ParallelScan::parse(&options.collect(), 1025)
    }

    #[test]
    fn options_have_bounds_and_slices_are_whole_scans() {
        let usual = parse(&[]).unwrap();
        assert_eq!((usual.rows, usual.rows_per_session, usual.dop), (1_000_000, None, None));
        assert_eq!(usual.dop_on(&[0, 2, 5].into_iter().collect()), 3);
        let slices = parse(&[("rows", 20_000), ("rows_per_session", 60_000), ("dop", 2)]).unwrap();
        assert_eq!((slices.rows_per_session, slices.dop_on(&CpuSet::new())), (Some(60_000), 2));
        for (option, value) in
            [("rows", 1), ("rows_per_session", 1_500_000), ("dop", 0), ("dop", 1026), ("x", 1)]
        {
            let message = parse(&[(option, value)]).unwrap_err().to_string();
            assert!(message.contains(&format!("option '{option}'")), "{message}");
        }
    }

    /// Worked by hand: row 1 has the value 7919, 7919² + 1 = 62,710,562 leaves 203 by 1009, 203 · 31 = 6293 leaves
    /// 125 by 257.
    #[test]
    fn a_row_adds_what_its_value_says() {
        assert_eq!((value(1), term(1)), (7919, 125));
        assert_eq!(parse(&[("rows", 10_000)]).unwrap().sum(), (1..=10_000).map(term).sum::<u64>());
        assert!((0..100).map(term).all(|term| term < 257));
    }
}
