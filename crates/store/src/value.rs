//! Values between Rust and SQLite, with the same limits for writing and reading.
//!
//! SQLite's integers are signed 64-bit, and a file from elsewhere may hold anything in them, so
//! every number is checked against the bound that the schema states, and every text and blob
//! against a length, before anything is computed or allocated from it.

use crate::error::{Fault, one_line};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use threadwise_machine::CpuSet;
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
/// Longest resolved study and longest list of CPUs in bytes.
pub(crate) const TOML_BYTES: usize = 4 << 20;

/// A number to store.
pub(crate) fn bounded(value: u64, max: u64, what: &str) -> Result<i64, Fault> {
    match i64::try_from(value) {
        Ok(signed) if value <= max => Ok(signed),
        _ => Err(Fault::Unstorable(format!("{what} is {value}, more than {max}"))),
    }
}

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

/// A measure to store.
pub(crate) fn measure(value: f64, what: &str) -> Result<f64, Fault> {
    match (0.0..=MEASURE_MAX).contains(&value) {
        true => Ok(value),
        false => Err(Fault::Unstorable(format!("{what} is {value}, which is not from 0 to {MEASURE_MAX}"))),
    }
}

/// A share to store. CPU time and wall-clock time are read a moment apart, so that
/// their ratio may slightly exceed 0 and 1; the excess is cut.
pub(crate) fn share(value: f64, what: &str) -> Result<f64, Fault> {
    match (-0.01..=1.01).contains(&value) {
        true => Ok(value.clamp(0.0, 1.0)),
        false => Err(Fault::Unstorable(format!("{what} is {value}, which is not from 0 to 1"))),
    }
}

/// The number of a logical CPU to store.
pub(crate) fn logical_cpu(cpu: u32) -> Result<u32, Fault> {
    if cpu < MAX_CPUS {
        Ok(cpu)
    } else {
        Err(Fault::Unstorable(format!("logical CPU {cpu} is above the limit of {MAX_CPUS}")))
    }
}

/// A message, cut at [`TEXT_BYTES`], so that a long one does not lose its run.
pub(crate) fn message(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A row being read, with its table's name for messages.
pub(crate) struct Fields<'r, 's> {
    pub row: &'r Row<'s>,
    pub table: &'static str,
}

impl<'r> Fields<'r, '_> {
    fn damaged(&self, at: usize, why: &str) -> Fault {
        let column = self.row.as_ref().column_name(at).unwrap_or("?").to_owned();
        Fault::Damaged(format!("{}.{column} {why}", self.table))
    }

    fn integer(&self, at: usize) -> Result<Option<i64>, Fault> {
        match self.row.get_ref(at)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value)),
            _ => Err(self.damaged(at, "is not a whole number")),
        }
    }

    /// A signed number, as the system's own ids are.
    pub fn signed(&self, at: usize) -> Result<Option<i64>, Fault> {
        self.integer(at)
    }

    /// A number from 0 to `max`, or NULL.
    pub fn optional(&self, at: usize, max: u64) -> Result<Option<u64>, Fault> {
        let Some(value) = self.integer(at)? else { return Ok(None) };
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

    /// An index into something that has `len` entries, or NULL.
    pub fn optional_index(&self, at: usize, len: usize) -> Result<Option<u32>, Fault> {
        match self.optional(at, BYTES_MAX)? {
            None => Ok(None),
            Some(index) if index < len as u64 => Ok(Some(index as u32)),
            Some(index) => Err(self.damaged(at, &format!("is {index}, but there are {len}"))),
        }
    }

    /// An index into something that has `len` entries, both counted from `first`.
    pub fn index(&self, at: usize, first: u64, len: usize) -> Result<usize, Fault> {
        let id = self.number(at, BYTES_MAX)?;
        match id.checked_sub(first) {
            Some(index) if index < len as u64 => Ok(index as usize),
            _ => Err(self.damaged(at, &format!("is {id}, but there are {len}"))),
        }
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

    /// A number from 0 to `max`, or NULL.
    pub fn optional_measure(&self, at: usize, max: f64) -> Result<Option<f64>, Fault> {
        match self.optional_real(at)? {
            Some(value) if !(0.0..=max).contains(&value) => {
                Err(self.damaged(at, &format!("is {value}, which is not between 0 and {max}")))
            }
            value => Ok(value),
        }
    }

    /// A number from 0 to `max`.
    pub fn measure(&self, at: usize, max: f64) -> Result<f64, Fault> {
        self.optional_measure(at, max)?.ok_or_else(|| self.damaged(at, "is missing"))
    }

    /// The number of a logical CPU.
    pub fn logical_cpu(&self, at: usize) -> Result<u32, Fault> {
        self.number(at, u64::from(MAX_CPUS) - 1).map(|cpu| cpu as u32)
    }

    /// A number that 32 bits hold.
    pub fn small(&self, at: usize) -> Result<u32, Fault> {
        self.number(at, u64::from(u32::MAX)).map(|value| value as u32)
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
        found.ok_or_else(|| self.damaged(at, &format!("is '{}'", one_line(text))))
    }

    /// A word that the value's own type knows.
    pub fn known_word<T>(&self, at: usize, of_word: fn(&str) -> Option<T>) -> Result<T, Fault> {
        let text = self.text(at, NAME_BYTES)?;
        of_word(text).ok_or_else(|| self.damaged(at, &format!("is '{}'", one_line(text))))
    }

    /// CPUs in order of use, `4,0,1`.
    pub fn cpus(&self, at: usize) -> Result<Vec<u32>, Fault> {
        ordered(self.text(at, TOML_BYTES)?).ok_or_else(|| self.damaged(at, "is not a list of CPUs"))
    }

    /// A set of CPUs, `0-3,8`, or NULL.
    pub fn optional_set(&self, at: usize, budget: &mut SetBudget) -> Result<Option<CpuSet>, Fault> {
        let Some(text) = self.optional_text(at, TOML_BYTES)? else { return Ok(None) };
        match set(text, budget) {
            Some(set) => Ok(Some(set)),
            None => Err(self.damaged(at, "is not a list of CPUs")),
        }
    }

    /// A set of CPUs, `0-3,8`.
    pub fn set(&self, at: usize, budget: &mut SetBudget) -> Result<CpuSet, Fault> {
        self.optional_set(at, budget)?.ok_or_else(|| self.damaged(at, "is missing"))
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

/// Limit for all CPU sets of a file together, in members and 64-bit words: 7 bytes of text
/// (`0-65535`) are 8 KiB of set, so that the size of the file is not a bound. A machine of
/// 8,192 logical CPUs, the most that Linux can be built for, needs 3 million.
pub(crate) struct SetBudget(pub u64);

/// The budget for one machine.
pub(crate) const SET_BUDGET: u64 = 16 << 20;

/// Reads only the form that `CpuSet` prints, ascending and without overlaps.
fn set(text: &str, budget: &mut SetBudget) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let mut next = 0;
    if text.is_empty() {
        return Some(set);
    }
    for part in text.split(',') {
        let (low, high) = match part.split_once('-') {
            Some((low, high)) => (cpu(low)?, cpu(high)?),
            None => (cpu(part)?, cpu(part)?),
        };
        if low < next || high < low {
            return None;
        }
        budget.0 = budget.0.checked_sub(u64::from(high - low + 1))?;
        for member in low..=high {
            set.insert(member);
        }
        next = high + 1;
    }
    budget.0 = budget.0.checked_sub(u64::from(next / 64 + 1))?;
    Some(set)
}

fn ordered(text: &str) -> Option<Vec<u32>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(cpu).collect()
}

fn cpu(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&number| digits && number < MAX_CPUS)
}

/// CPUs in order of use as text.
pub(crate) fn cpus_text(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Checks that pairs are strictly ascending.
#[derive(Default)]
pub(crate) struct Ascending(Option<(usize, usize)>);

impl Ascending {
    pub(crate) fn next(&mut self, table: &str, major: usize, minor: usize) -> Result<(), Fault> {
        let pair = Some((major, minor));
        if pair <= self.0 {
            return Err(Fault::Damaged(format!("{table} has rows out of order")));
        }
        self.0 = pair;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_come_back_as_they_print() {
        for text in ["", "0", "0-3,8", "1,3,5-7,64-65", "65535"] {
            let mut budget = SetBudget(SET_BUDGET);
            assert_eq!(set(text, &mut budget).unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["3-1", "1,1", "0-3,2", "0-65536", "a", "0,", "+1", "0-6:2", "-1", " 1", "1-2-3"] {
            assert!(set(text, &mut SetBudget(SET_BUDGET)).is_none(), "{text}");
        }
        assert!(ordered("4,0,0,1").is_some() && ordered("4,,1").is_none() && ordered("0-3").is_none());
    }

    #[test]
    fn sets_cannot_grow_without_end() {
        let mut budget = SetBudget(100_000);
        assert!(set("0-65535", &mut budget).is_some());
        assert!(set("0-65535", &mut budget).is_none());
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let text = "é".repeat(TEXT_BYTES);
        assert_eq!(message(&text).len(), TEXT_BYTES);
        assert_eq!(message("short"), "short");
        assert_eq!(message(&format!("x{text}")).len(), TEXT_BYTES - 1);
    }
}
