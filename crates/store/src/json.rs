//! Values that are kept as JSON in one column: serde's form of their types, and the bounds within which others compute
//! with them, the same for writing and reading.
//!
//! A file from elsewhere may have anything in them: a text's length is checked before it is read, what its CPU sets
//! would take ([`SetBudget`]) before they are made, and every number after it. The types are of bounded depth, and
//! `serde_json` refuses what is nested deeper.

use crate::error::{Fault, one_line};
use crate::value::{COUNT_MAX, Fields, MEASURE_MAX, MOMENT_MAX, NAME_BYTES, TEXT_BYTES};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use threadwise_machine::cpuset::MAX_CPUS;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::asked::Asked;
use threadwise_study::probe::Probe;
use threadwise_study::{Boot, Counters, CpuTimes, CpuTimesSum, Look, Treatment};

/// Longest machine, probe and resolved study in bytes.
pub(crate) const DOCUMENT_BYTES: usize = 4 << 20;
/// Longest of the other values: times of 8,192 logical CPUs have 800 KB.
const VALUE_BYTES: usize = 1 << 20;

/// A value that is kept as JSON.
pub(crate) trait Kept {
    /// Its name in messages.
    const NAME: &'static str;
    /// Longest text.
    const BYTES: usize = VALUE_BYTES;

    /// What others could not compute with.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// Text of a value to store.
pub(crate) fn text<T: Kept + Serialize>(value: &T) -> Result<String, Fault> {
    let refused = |why: String| Fault::Unstorable(format!("{}: {why}", T::NAME));
    if let Some(why) = value.fault() {
        return Err(refused(why));
    }
    let text = serde_json::to_string(value).map_err(|error| refused(error.to_string()))?;
    match text.len() > T::BYTES {
        true => Err(refused(format!("it has {} bytes, more than {}", text.len(), T::BYTES))),
        false => Ok(text),
    }
}

/// The value in a column; its type has no sets of CPUs.
pub(crate) fn value<T: Kept + DeserializeOwned>(row: &Fields<'_, '_>, at: usize) -> Result<T, Fault> {
    let damaged = |why: String| row.damaged(at, &format!("is not valid: {why}"));
    let value: T =
        serde_json::from_str(row.text(at, T::BYTES)?).map_err(|error| damaged(error.to_string()))?;
    value.fault().map_or(Ok(value), |why| Err(damaged(why)))
}

/// The value in a column, with sets of CPUs.
pub(crate) fn value_with_sets<T: Kept + DeserializeOwned>(
    row: &Fields<'_, '_>,
    at: usize,
    budget: &mut SetBudget,
) -> Result<T, Fault> {
    let is_within = budget.spend(row.text(at, T::BYTES)?).is_some();
    if is_within { value(row, at) } else { Err(row.damaged(at, "has larger CPU sets than any machine")) }
}

/// The first difference of two values of a type, as text; a place in it is named as in its JSON.
pub(crate) fn difference<T: Serialize>(what: &str, then: &T, now: &T) -> Option<String> {
    let json = |value: &T| serde_json::to_value(value).unwrap_or_default();
    differ(&format!("the {what}"), "", &json(then), &json(now))
}

fn differ(whole: &str, place: &str, then: &Value, now: &Value) -> Option<String> {
    let below = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    match (then, now) {
        _ if then == now => None,
        (Value::Object(was), Value::Object(is)) => was.keys().chain(is.keys()).find_map(|key| {
            let [then, now] = [was, is].map(|map| map.get(key).unwrap_or(&Value::Null));
            differ(whole, &below(key), then, now)
        }),
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            let mut pairs = was.iter().zip(is).enumerate();
            pairs.find_map(|(at, (then, now))| differ(whole, &below(&at.to_string()), then, now))
        }
        (Value::Array(was), Value::Array(is)) => {
            Some(format!("the number of {whole}'s {place} was {} and is {}", was.len(), is.len()))
        }
        _ => Some(format!(
            "{whole}'s {place} was {} and is {}",
            one_line(&then.to_string()),
            one_line(&now.to_string())
        )),
    }
}

/// Limit for all CPU sets of a column together ([`CpuSet::extent`]): 7 bytes of text (`0-65535`) are 8 KiB of set, so that
/// the size of the file is not a bound. A machine of 8,192 logical CPUs needs 3 million.
pub(crate) struct SetBudget(u64);

impl SetBudget {
    /// The budget for one machine, or for all probes.
    pub fn new() -> Self {
        Self(16 << 20)
    }

    /// Takes off what the sets in a JSON text need. Each is a string without escapes, as [`CpuSet`] reads them, and so
    /// stands whole between two quotes.
    fn spend(&mut self, text: &str) -> Option<()> {
        let needed = text.split('"').skip(1).map(CpuSet::extent).fold(0, u64::saturating_add);
        self.0 = self.0.checked_sub(needed)?;
        Some(())
    }
}

/// The first number that is not from 0 to `most`.
fn beyond(numbers: impl IntoIterator<Item = f64>, most: f64, what: &str) -> Option<String> {
    let wrong = numbers.into_iter().find(|number| !(0.0..=most).contains(number))?;
    Some(format!("{what} is {wrong}, which is not from 0 to {most}"))
}

/// The first count above `most`.
fn above(counts: impl IntoIterator<Item = u64>, most: u64, what: &str) -> Option<String> {
    counts.into_iter().find(|count| *count > most).map(|count| format!("{what} is {count}, more than {most}"))
}

fn no_cpu(cpus: impl IntoIterator<Item = u32>) -> Option<String> {
    above(cpus.into_iter().map(u64::from), u64::from(MAX_CPUS) - 1, "the number of a logical CPU")
}

/// Whether numbers ascend without repetition.
fn ascend(numbers: impl IntoIterator<Item = u32>) -> bool {
    let mut least = 0;
    numbers.into_iter().all(|number| {
        let is_next = number >= least;
        least = number.saturating_add(1);
        is_next
    })
}

impl Kept for Counters {
    const NAME: &'static str = "counters";

    fn fault(&self) -> Option<String> {
        let long = self.keys().find(|name| name.len() > NAME_BYTES);
        long.map(|name| format!("a name has {} bytes, more than {NAME_BYTES}", name.len()))
            .or_else(|| self.iter().find_map(|(name, count)| above([*count], COUNT_MAX, name)))
    }
}

/// Rows by piece of a window.
impl Kept for Vec<u64> {
    const NAME: &'static str = "rows by piece";

    fn fault(&self) -> Option<String> {
        above(self.iter().copied(), COUNT_MAX, "a number of rows")
    }
}

/// Logical CPUs in order of use.
impl Kept for Vec<u32> {
    const NAME: &'static str = "logical CPUs of the run";

    fn fault(&self) -> Option<String> {
        no_cpu(self.iter().copied())
    }
}

impl Kept for Vec<CpuTimes> {
    const NAME: &'static str = "times of logical CPUs";

    fn fault(&self) -> Option<String> {
        let times = || self.iter().flat_map(|one| [one.busy_ns, one.steal_ns, one.total_ns]);
        no_cpu(self.iter().map(|one| one.cpu))
            .or_else(|| (!ascend(self.iter().map(|one| one.cpu))).then(|| "they are out of order".to_owned()))
            .or_else(|| above(times(), COUNT_MAX, "a time in ns"))
    }
}

impl Kept for CpuTimesSum {
    const NAME: &'static str = "times of other logical CPUs";

    fn fault(&self) -> Option<String> {
        above([u64::from(self.cpus)], u64::from(MAX_CPUS), "their number")
            .or_else(|| above([self.busy_ns, self.steal_ns, self.total_ns], MOMENT_MAX, "a time in ns"))
    }
}

impl Kept for Look {
    const NAME: &'static str = "a look";

    fn fault(&self) -> Option<String> {
        let tested = self.alone.iter().map(|two| (two.a, two.b));
        let mut pairs = self.pairs.iter().map(|pair| (pair.a, pair.b)).chain(tested);
        let cpus = self.cpus.iter().flat_map(|one| [one.chain_ns, one.adds_per_step]);
        let lines = self.pairs.iter().map(|pair| pair.line_ns);
        let alone = self.alone.iter().flat_map(|two| [Some(two.a_adds_per_step), Some(two.b_adds_per_step)]);
        let is_ordered = ascend(self.cpus.iter().map(|one| one.cpu))
            && ascend(self.pairs.iter().map(|pair| pair.a))
            && pairs.all(|(a, b)| a < b && b < MAX_CPUS);
        above([self.start_ns], MOMENT_MAX, "start_ns")
            .or_else(|| above([self.took_ns], COUNT_MAX, "took_ns"))
            .or_else(|| no_cpu(self.cpus.iter().map(|one| one.cpu)))
            .or_else(|| (!is_ordered).then(|| "its logical CPUs or pairs are out of order".to_owned()))
            .or_else(|| beyond(cpus.chain(lines).chain(alone).flatten(), MEASURE_MAX, "a figure"))
    }
}

/// It is only written: readers take the study's text.
impl Kept for Treatment {
    const NAME: &'static str = "a treatment";
}

impl Kept for Asked {
    const NAME: &'static str = "what was asked";

    fn fault(&self) -> Option<String> {
        let prices = self.prices.iter().flat_map(|prices| [prices.machine_per_h, prices.licence_per_h]);
        beyond(prices.chain(self.p99_ns), MEASURE_MAX, "a price or latency")
            .or_else(|| (self.p99_ns == Some(0.0)).then(|| "p99_ns is 0".to_owned()))
    }
}

impl Kept for Boot {
    const NAME: &'static str = "a boot";
    const BYTES: usize = TEXT_BYTES;

    fn fault(&self) -> Option<String> {
        let count = self.online_cpus.filter(|count| !(1..=MAX_CPUS).contains(count))?;
        Some(format!("online_cpus is {count}, which is not from 1 to {MAX_CPUS}"))
    }
}

impl Kept for Topology {
    const NAME: &'static str = "the machine";
    const BYTES: usize = DOCUMENT_BYTES;

    fn fault(&self) -> Option<String> {
        self.fault()
    }
}

impl Kept for Probe {
    const NAME: &'static str = "the probe";
    const BYTES: usize = DOCUMENT_BYTES;

    fn fault(&self) -> Option<String> {
        self.fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_cannot_grow_without_end_and_none_is_overlooked() {
        let mut budget = SetBudget(67_000 + 3);
        assert!(budget.spend(r#"{"cpu_model":"a\"0-65535","cpus":"0"}"#).is_some());
        assert!(budget.spend(r#"["0-65535"]"#).is_none());
        let escaped = serde_json::from_str::<CpuSet>(r#""\u0030-65535""#);
        assert!(escaped.is_err(), "a budget does not see it");
        assert_eq!(serde_json::from_str::<CpuSet>(r#""0-3,8""#).unwrap().to_string(), "0-3,8");
    }

    #[test]
    fn long_and_deep_texts_are_refused() {
        let counters: Counters = (0..60_000).map(|at| (format!("{at:>20}"), 1)).collect();
        assert!(matches!(text(&counters), Err(Fault::Unstorable(why)) if why.contains("more than 1048576")));
        assert!(serde_json::from_str::<Vec<u64>>(&"[".repeat(100_000)).is_err());
    }
}
