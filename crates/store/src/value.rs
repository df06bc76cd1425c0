//! Values between SQLite and Rust, with the same limits for writing and reading: what is written is held to them by the
//! schema's CHECKs, whose messages name column and limits, or by functions here.
//!
//! SQLite's integers are signed 64-bit, and a file from elsewhere may hold anything in them, so
//! every number is checked against the bound that the schema states, and every text and blob
//! against a length, before anything is computed or allocated from it.

use crate::error::{Fault, one_line};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use threadwise_machine::cpuset::MAX_CPUS;

/// Counts and durations in nanoseconds: below 2^50 (13 days).
pub(crate) const COUNT_MAX: u64 = (1 << 50) - 1;
/// Moments in nanoseconds since the study's start: below 2^60 (36 years).
pub(crate) const MOMENT_MAX: u64 = (1 << 60) - 1;
/// Blocks, attempts, rounds and sessions: below 2^20. Readers make tables from them.
pub(crate) const ORDINAL_MAX: u64 = (1 << 20) - 1;
/// Bytes of memory and caches: any INTEGER.
pub(crate) const BYTES_MAX: u64 = i64::MAX as u64;
/// Ratios, times in nanoseconds, clocks and the like: from 0 to this.
pub(crate) const MEASURE_MAX: f64 = COUNT_MAX as f64;
/// Longest name (treatment, counter, sampler, metric, option, level) in bytes.
pub(crate) const NAME_BYTES: usize = 256;
/// Longest message, note or reason in bytes; longer ones are cut.
pub(crate) const TEXT_BYTES: usize = 64 << 10;
/// Longest histogram in bytes. HdrHistogram V2 of 3 digits from 1 ns to an hour is below 300 KB.
pub(crate) const BLOB_BYTES: usize = 1 << 20;

/// A name to store.
pub(crate) fn name<'t>(text: &'t str, what: &str) -> Result<&'t str, Fault> {
    fits(text.len(), NAME_BYTES, what)?;
    Ok(text)
}

/// A length to store.
pub(crate) fn fits(bytes: usize, max: usize, what: &str) -> Result<(), Fault> {
    if bytes > max {
        return Err(Fault::Unstorable(format!("{what} has {bytes} bytes, more than {max}")));
    }
    Ok(())
}

/// Seconds to store.
pub(crate) fn seconds(value: f64, what: &str) -> Result<f64, Fault> {
    if value.is_finite() { Ok(value) } else { Err(Fault::Unstorable(format!("{what} is {value}"))) }
}

/// A message, cut at [`TEXT_BYTES`], so that a long one does not lose its run.
pub(crate) fn message(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES)]
}

/// A row being read, with its table's name for messages.
pub(crate) struct Fields<'r, 's> {
    pub row: &'r Row<'s>,
    pub table: &'static str,
}

impl<'r> Fields<'r, '_> {
    /// That a column holds what threadwise does not write.
    pub fn damaged(&self, at: usize, why: &str) -> Fault {
        let column = self.row.as_ref().column_name(at).unwrap_or("?");
        Fault::Damaged(format!("{}.{column} {}", self.table, one_line(why)))
    }

    /// A number from 0 to `max`, or NULL.
    pub fn optional(&self, at: usize, max: u64) -> Result<Option<u64>, Fault> {
        let value = match self.row.get_ref(at)? {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(value) => value,
            _ => return Err(self.damaged(at, "is not a whole number")),
        };
        match u64::try_from(value) {
            Ok(value) if value <= max => Ok(Some(value)),
            _ => Err(self.damaged(at, &format!("is {value}, which is not between 0 and {max}"))),
        }
    }

    /// A number from 0 to `max`.
    pub fn number(&self, at: usize, max: u64) -> Result<u64, Fault> {
        self.optional(at, max)?.ok_or_else(|| self.damaged(at, "is missing"))
    }

    /// A number from 1 to `max`.
    pub fn positive(&self, at: usize, max: u64) -> Result<u64, Fault> {
        match self.number(at, max)? {
            0 => Err(self.damaged(at, "is 0")),
            value => Ok(value),
        }
    }

    /// A count or duration.
    pub fn count(&self, at: usize) -> Result<u64, Fault> {
        self.number(at, COUNT_MAX)
    }

    /// A block, attempt, round or session number.
    pub fn ordinal(&self, at: usize) -> Result<u32, Fault> {
        self.number(at, ORDINAL_MAX).map(|value| value as u32)
    }

    /// The next id of a dense series: exactly `expected`. This also ends a file whose pages
    /// form a loop, which would give rows without end.
    pub fn next_id(&self, at: usize, expected: u64) -> Result<(), Fault> {
        let found = self.number(at, BYTES_MAX)?;
        if found != expected {
            return Err(self.damaged(at, &format!("is {found} instead of {expected}")));
        }
        Ok(())
    }

    /// An index into something that has `len` entries, both counted from `first`.
    pub fn index(&self, at: usize, first: u64, len: usize) -> Result<usize, Fault> {
        let id = self.number(at, BYTES_MAX)?;
        match id.checked_sub(first) {
            Some(index) if index < len as u64 => Ok(index as usize),
            _ => Err(self.damaged(at, &format!("is {id}, but there are {len}"))),
        }
    }

    /// The same, or NULL.
    pub fn optional_index(&self, at: usize, first: u64, len: usize) -> Result<Option<usize>, Fault> {
        self.optional(at, BYTES_MAX)?.map(|_| self.index(at, first, len)).transpose()
    }

    /// The index of what a part belongs to, counted from 1; parts are in the order of what they belong to.
    pub fn owner(&self, at: usize, last: usize, len: usize) -> Result<usize, Fault> {
        let owner = self.index(at, 1, len)?;
        if owner < last { Err(self.damaged(at, "is out of order")) } else { Ok(owner) }
    }

    /// Yes or no.
    pub fn flag(&self, at: usize) -> Result<bool, Fault> {
        Ok(self.number(at, 1)? == 1)
    }

    /// A finite number, or NULL.
    pub fn optional_real(&self, at: usize) -> Result<Option<f64>, Fault> {
        match self.row.get_ref(at)? {
            ValueRef::Null => Ok(None),
            ValueRef::Real(value) if value.is_finite() => Ok(Some(value)),
            _ => Err(self.damaged(at, "is not a finite number")),
        }
    }

    /// A finite number.
    pub fn real(&self, at: usize) -> Result<f64, Fault> {
        self.optional_real(at)?.ok_or_else(|| self.damaged(at, "is missing"))
    }

    /// The number of a logical CPU, or NULL.
    pub fn optional_cpu(&self, at: usize) -> Result<Option<u32>, Fault> {
        Ok(self.optional(at, u64::from(MAX_CPUS) - 1)?.map(|cpu| cpu as u32))
    }

    /// A text of at most `max` bytes, or NULL.
    pub fn optional_text(&self, at: usize, max: usize) -> Result<Option<&'r str>, Fault> {
        match self.row.get_ref(at)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) if bytes.len() > max => {
                Err(self.damaged(at, &format!("has {} bytes, more than {max}", bytes.len())))
            }
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(self.damaged(at, "is not UTF-8")),
            },
            _ => Err(self.damaged(at, "is not text")),
        }
    }

    /// A text of at most `max` bytes.
    pub fn text(&self, at: usize, max: usize) -> Result<&'r str, Fault> {
        self.optional_text(at, max)?.ok_or_else(|| self.damaged(at, "is missing"))
    }

    /// Bytes, at most `max` of them.
    pub fn blob(&self, at: usize, max: usize) -> Result<&'r [u8], Fault> {
        match self.row.get_ref(at)? {
            ValueRef::Blob(bytes) if bytes.len() <= max => Ok(bytes),
            ValueRef::Blob(bytes) => {
                Err(self.damaged(at, &format!("has {} bytes, more than {max}", bytes.len())))
            }
            _ => Err(self.damaged(at, "is not a blob")),
        }
    }

    /// A word of a fixed vocabulary.
    pub fn word<T: Copy>(&self, at: usize, words: &[(&str, T)]) -> Result<T, Fault> {
        let text = self.text(at, NAME_BYTES)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.ok_or_else(|| self.damaged(at, &format!("is '{text}'")))
    }
}

/// All rows of a statement, each turned into a value; `id` is the number of values so far.
pub(crate) fn all<T>(
    connection: &Connection,
    table: &'static str,
    sql: &str,
    mut each: impl FnMut(&Fields<'_, '_>, u64) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        values.push(each(&Fields { row, table }, values.len() as u64)?);
    }
    Ok(values)
}

/// The first row of a statement, if there is one, turned into a value.
pub(crate) fn first<T>(
    connection: &Connection,
    table: &'static str,
    sql: &str,
    parameters: impl rusqlite::Params,
    each: impl FnOnce(&Fields<'_, '_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    rows.next()?.map(|row| each(&Fields { row, table })).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let text = "é".repeat(TEXT_BYTES);
        assert_eq!(message(&text).len(), TEXT_BYTES);
        assert_eq!(message("short"), "short");
        assert_eq!(message(&format!("x{text}")).len(), TEXT_BYTES - 1);
    }

    #[test]
    fn limits_in_the_schema_are_those_of_the_code() {
        let schema = crate::connection::SCHEMA;
        for limit in [COUNT_MAX, MOMENT_MAX, ORDINAL_MAX] {
            assert!(schema.contains(&format!(" {limit})")), "{limit}");
        }
        assert!(schema.contains(&format!(" BETWEEN 1 AND {})", threadwise_study::tpch::QUERIES)));
        assert!(schema.contains(&format!("from {} on", threadwise_study::plan::long::FIRST_BLOCK)));
    }
}
