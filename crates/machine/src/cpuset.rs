//! A set of logical CPUs of any size, with the kernel's two text forms.
//!
//! Source of the forms: kernel `Documentation/admin-guide/cputopology.rst` (list `0-3,8`, mask
//! `ffff,ffffffff`, 32 bits a group, highest group first) and `lib/bitmap-str.c` (`0-30:2`).

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

/// A set of logical CPUs by OS number. Grows as needed; there is no upper limit of 1024.
#[derive(Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct CpuSet {
    /// Bit `i` of word `w` is logical CPU `64 * w + i`; never ends in a zero word.
    words: Vec<u64>,
}

/// Why a text is not a CPU list or mask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a CPU {form}: {why}")]
pub struct CpuSetError {
    /// The given text.
    pub text: String,
    /// `list` or `mask`.
    pub form: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// No Linux system has more logical CPUs than this (`CONFIG_NR_CPUS` is at most 8192); a larger number in a
/// file is damage, and would only allocate memory.
pub const MAX_CPUS: u32 = 1 << 16;

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Parses the kernel's list form: `0-3,8`, `0-30:2`, empty for none. Ignores trailing NUL and white
    /// space. Loses the order; see [`CpuSet::parse_ordered`].
    ///
    /// # Errors
    /// A text that is not a list, a descending range, a number above [`MAX_CPUS`], or more numbers
    /// than that.
    pub fn parse_list(text: &str) -> Result<Self, CpuSetError> {
        Ok(Self::parse_ordered(text)?.into_iter().collect())
    }

    /// Parses a list keeping its order and its duplicates: `4,0-2` is `[4, 0, 1, 2]`.
    ///
    /// # Errors
    /// As [`CpuSet::parse_list`].
    pub fn parse_ordered(text: &str) -> Result<Vec<u32>, CpuSetError> {
        let fail = |why: String| CpuSetError { text: text.trim().to_owned(), form: "list", why };
        let number = |part: &str| -> Result<u32, CpuSetError> {
            let value: u32 = part.parse().map_err(|_| fail(format!("'{part}' is not a number")))?;
            if value >= MAX_CPUS {
                return Err(fail(format!("{value} is above {MAX_CPUS}")));
            }
            Ok(value)
        };
        let mut cpus = Vec::new();
        let trimmed = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        if trimmed.is_empty() {
            return Ok(cpus);
        }
        for part in trimmed.split(',') {
            let (range, step) = match part.trim().split_once(':') {
                Some((range, step)) => (range, number(step)?.max(1)),
                None => (part.trim(), 1),
            };
            let (low, high) = match range.split_once('-') {
                Some((low, high)) => (number(low)?, number(high)?),
                None => (number(range)?, number(range)?),
            };
            if low > high {
                return Err(fail(format!("range {low}-{high} is descending")));
            }
            cpus.extend((low..=high).step_by(step as usize));
            if cpus.len() > MAX_CPUS as usize {
                return Err(fail(format!("it names more than {MAX_CPUS} logical CPUs, some of them twice")));
            }
        }
        Ok(cpus)
    }

    /// Parses the kernel's mask form, `ffff,ffffffff`; ignores trailing NUL and white space.
    ///
    /// # Errors
    /// A group that is not up to 8 hexadecimal digits, or a mask wider than [`MAX_CPUS`].
    pub fn parse_mask(text: &str) -> Result<Self, CpuSetError> {
        let fail = |why: String| CpuSetError { text: text.trim().to_owned(), form: "mask", why };
        let trimmed = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        let trimmed = trimmed.strip_prefix("0x").unwrap_or(trimmed);
        let groups: Vec<&str> = trimmed.split(',').collect();
        // A mask without commas may be one long number (some cgroup files, `taskset`).
        if groups.len() == 1 && trimmed.len() > 8 {
            return Self::from_hex_digits(trimmed).ok_or_else(|| fail("not hexadecimal".into()));
        }
        let mut digits = String::new();
        for group in groups {
            if group.is_empty() || group.len() > 8 {
                return Err(fail(format!("group '{group}' is not 1 to 8 digits")));
            }
            digits.push_str(&format!("{group:0>8}"));
        }
        Self::from_hex_digits(&digits).ok_or_else(|| fail("not hexadecimal".into()))
    }

    fn from_hex_digits(digits: &str) -> Option<Self> {
        if digits.len() as u64 * 4 > u64::from(MAX_CPUS) {
            return None;
        }
        let mut set = Self::new();
        for (position, digit) in digits.chars().rev().enumerate() {
            let value = digit.to_digit(16)?;
            for bit in (0..4).filter(|bit| value & (1 << bit) != 0) {
                set.insert(position as u32 * 4 + bit);
            }
        }
        Some(set)
    }

    /// What reading a list costs, in members and 64-bit words: 7 bytes (`0-65535`) are a set of 8 KiB. 0 for a text that
    /// is not a list as it prints.
    pub fn extent(text: &str) -> u64 {
        let Some(ranges) = ranges(text) else { return 0 };
        let members: u64 = ranges.iter().map(|range| u64::from(range.end() - range.start()) + 1).sum();
        members + ranges.last().map_or(0, |range| u64::from(range.end() / 64) + 1)
    }

    /// Adds a logical CPU.
    pub fn insert(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// Removes a logical CPU, if it was there.
    pub fn remove(&mut self, cpu: u32) {
        if let Some(word) = self.words.get_mut(cpu as usize / 64) {
            *word &= !(1 << (cpu % 64));
        }
        self.trim();
    }

    /// Whether the logical CPU is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| word & (1 << (cpu % 64)) != 0)
    }

    /// How many logical CPUs are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no logical CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The lowest logical CPU, if any.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The logical CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        // A set of few large numbers has many zero words: each word is left after its last bit.
        self.words.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(|(at, &word)| {
            let rest = |left: &u64| Some(left & (left - 1)).filter(|left| *left != 0);
            let bits = std::iter::successors(Some(word), rest).map(u64::trailing_zeros);
            bits.map(move |bit| at as u32 * 64 + bit)
        })
    }

    /// The union.
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// The intersection.
    pub fn intersection(&self, other: &Self) -> Self {
        self.iter().filter(|&cpu| other.contains(cpu)).collect()
    }

    /// This set without the other's logical CPUs.
    pub fn difference(&self, other: &Self) -> Self {
        self.iter().filter(|&cpu| !other.contains(cpu)).collect()
    }

    /// Whether every logical CPU of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|cpu| other.contains(cpu))
    }

    /// The bits as 64-bit words, lowest first, as `sched_setaffinity(2)` takes them.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// A set from 64-bit words, lowest first.
    pub fn from_words(words: &[u64]) -> Self {
        let mut set = Self { words: words.to_vec() };
        set.trim();
        set
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

/// The kernel's list form, `0-3,8`; empty for the empty set.
impl Serialize for CpuSet {
    /// Prints as the list form.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Reads only what [`Serialize`] writes, without escapes: a reader can bound the size of all sets in a text before it
/// makes any ([`CpuSet::extent`]).
impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(from)?;
        let ranges = ranges(text).ok_or_else(|| de::Error::custom("not a list of logical CPUs"))?;
        Ok(ranges.into_iter().flatten().collect())
    }
}

/// The ranges of a list as it prints: ascending, without overlaps or steps.
fn ranges(text: &str) -> Option<Vec<RangeInclusive<u32>>> {
    let cpu = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|cpu| is_number && *cpu < MAX_CPUS)
    };
    let mut next = 0;
    let parts = text.split(',').filter(|_| !text.is_empty());
    let ranges = parts.map(|part| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let range = cpu(low)?..=cpu(high)?;
        let is_after = *range.start() >= next && range.start() <= range.end();
        next = range.end() + 1;
        is_after.then_some(range)
    });
    ranges.collect()
}

impl JsonSchema for CpuSet {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "CpuSet".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus: Vec<u32> = self.iter().collect();
        let mut at = 0;
        while at < cpus.len() {
            let mut end = at;
            while end + 1 < cpus.len() && cpus[end + 1] == cpus[end] + 1 {
                end += 1;
            }
            let comma = if at > 0 { "," } else { "" };
            match end - at {
                0 => write!(f, "{comma}{}", cpus[at])?,
                _ => write!(f, "{comma}{}-{}", cpus[at], cpus[end])?,
            }
            at = end + 1;
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_and_mask_agree_and_print_back() {
        let list = CpuSet::parse_list("0-3,8,64-65\n").unwrap();
        assert_eq!(list.to_string(), "0-3,8,64-65");
        assert_eq!(CpuSet::parse_mask("3,00000000,0000010f\0\n").unwrap(), list);
        assert_eq!(CpuSet::parse_list("0-6:2").unwrap().to_string(), "0,2,4,6");
        assert_eq!(CpuSet::parse_list("").unwrap(), CpuSet::new());
        assert_eq!(CpuSet::parse_list("1500").unwrap().first(), Some(1500));
    }

    #[test]
    fn order_is_kept_where_it_matters() {
        assert_eq!(CpuSet::parse_ordered("4,0-2").unwrap(), [4, 0, 1, 2]);
    }

    #[test]
    fn damage_is_refused() {
        for text in ["3-1", "a", "1,,2", "0-99999999", "-1"] {
            assert!(CpuSet::parse_list(text).is_err(), "{text}");
        }
        for text in ["xyz", "123456789,0", "f,,f"] {
            assert!(CpuSet::parse_mask(text).is_err(), "{text}");
        }
        // 8 KB of such ranges were 262 MB of numbers.
        let error = CpuSet::parse_ordered("0-65535,0-65535").unwrap_err();
        assert!(error.why.contains("more than 65536"), "{error}");
    }

    #[test]
    fn set_operations() {
        let a = CpuSet::parse_list("0-3").unwrap();
        let b = CpuSet::parse_list("2-5").unwrap();
        assert_eq!(a.union(&b).to_string(), "0-5");
        assert_eq!(a.intersection(&b).to_string(), "2-3");
        assert_eq!(a.difference(&b).to_string(), "0-1");
        assert!(a.intersection(&b).is_subset(&a) && !a.is_subset(&b));
    }
}
