//! Mutations of texts (of tokens, lines, single bytes) and of values of JSON.
//!
//! A token is a number, a word, or one other byte, so that a mutant of a line keeps its form and most
//! mutants pass a parser's first check. The syntax of a mutated value stays valid, so that every mutant reaches the
//! checks of keys and types; TOML tables are mutated as such values too.

use crate::random::Random;
use serde_json::{Map, Value};
use std::ops::Range;

/// Boundary numbers: of types, of doubles, of JSON and TOML.
const NUMBERS: &str = "0 1 2 7 64 -1 -0 127 128 255 256 1000 65535 65536 2147483647 2147483648 4294967295 4294967296 \
    9007199254740993 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 \
    -9223372036854775808 340282366920938463463374607431768211456 0.5 1e-320 1.7976931348623157e308 1e309 NaN inf \
    0x7f 1_000 1,5";

/// Texts that break terminals, pages, shells, tables and comparisons of letters, between bars.
const HOSTILE: &str = "\0|\u{1b}[2J|\u{9b}31m|\u{7f}|\u{202e}|\u{2066}|\u{200b}|\u{feff}|\u{2028}|\u{fffd}|\u{e000}|é|\
    e\u{301}|ß|İ|𝔘|٣|👩‍👩‍👧|\r|\n|\t|'|\"|\\|</script><!--|&lt;|%s%n|../../..|$(id)`id`|{{7*7}}";

/// Longest input that repeating makes, bytes.
const LONGEST: usize = 256 << 10;

fn boundary(random: &mut Random) -> &'static str {
    let all: Vec<&str> = NUMBERS.split(' ').collect();
    all[random.below(all.len())]
}

fn hostile(random: &mut Random) -> &'static str {
    let all: Vec<&str> = HOSTILE.split('|').collect();
    all[random.below(all.len())]
}

/// One of the documents of JSON or TOML, changed as a value in most cases, else as a text.
pub fn document(random: &mut Random, corpus: &[String]) -> Vec<u8> {
    let (whole, donor, times) = (random.pick(corpus), random.pick(corpus), random.times(4));
    let value = |text: &String| serde_json::from_str(text).or_else(|_| toml::from_str::<Value>(text)).ok();
    if let Some(mut mutant) = value(whole).filter(|_| random.percent(75)) {
        json(random, &mut mutant, times, &value(donor).into_iter().collect::<Vec<_>>());
        if serde_json::from_str::<Value>(whole).is_ok() {
            return mutant.to_string().into_bytes();
        }
        // TOML has no null and requires an outer table: such a mutant is made of the text below.
        if let Ok(text) = toml::to_string(&mutant) {
            return text.into_bytes();
        }
    }
    let mut bytes = whole.clone().into_bytes();
    text(random, &mut bytes, times, &[donor.clone().into_bytes()]);
    bytes
}

/// Where the part of a text that has a place begins and ends.
type Part = fn(&[u8], usize) -> Range<usize>;

/// Mutates a text in place, `times` times; `donors` give lines and tokens.
pub fn text(random: &mut Random, bytes: &mut Vec<u8>, times: usize, donors: &[Vec<u8>]) {
    for _ in 0..times {
        let part: Part = match random.below(10) {
            0..6 => token_at,
            6..9 => line_at,
            _ => byte_at,
        };
        change(random, bytes, part, donors);
    }
}

fn byte_at(bytes: &[u8], at: usize) -> Range<usize> {
    at..bytes.len().min(at + 1)
}

fn token_at(bytes: &[u8], at: usize) -> Range<usize> {
    let inside = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || **byte >= 0x80;
    if !bytes.get(at).is_some_and(|byte| inside(&byte)) {
        return byte_at(bytes, at);
    }
    let before = bytes[..at].iter().rev().take_while(inside).count();
    at - before..at + bytes[at..].iter().take_while(inside).count()
}

fn line_at(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |found| at + found + 1);
    start..end
}

/// Some part; nothing of an empty text.
fn any_part(random: &mut Random, bytes: &[u8], part: Part) -> Range<usize> {
    // Most bytes of a table are spaces, so a few tries look for another one.
    let is_space = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
    let mut at = random.below(bytes.len());
    for _ in 0..4 {
        if is_space(at) {
            at = random.below(bytes.len());
        }
    }
    part(bytes, at)
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, part: Part, donors: &[Vec<u8>]) {
    let place = any_part(random, bytes, part);
    let old = bytes[place.clone()].to_vec();
    let new = match random.below(16) {
        0..4 if old.first().is_some_and(u8::is_ascii_digit) => number(random, &old),
        0..4 => {
            let is_own = random.percent(50) || donors.is_empty();
            let donor = if is_own { &*bytes } else { random.pick(donors) };
            donor[any_part(random, donor, part)].to_vec()
        }
        4..7 => Vec::new(),
        7 | 8 => old.repeat(2),
        9 => {
            let most = [2, 10, 200, 5000][random.below(4)];
            old.repeat(most.min(LONGEST.saturating_sub(bytes.len()) / old.len().max(1) + 1))
        }
        10 | 11 => {
            let other = any_part(random, bytes, part);
            if place.end <= other.start {
                let moved: Vec<u8> = bytes.splice(other, old).collect();
                bytes.splice(place, moved);
            }
            return;
        }
        12 => boundary(random).as_bytes().to_vec(),
        13 if random.percent(20) => return bytes.truncate(place.start),
        13 => old.iter().map(|byte| byte ^ (1 << random.below(8))).collect(),
        _ => [hostile(random).as_bytes(), &old].concat(),
    };
    bytes.splice(place, new);
}

/// A number beside another one, or one of [`NUMBERS`].
pub fn number(random: &mut Random, old: &[u8]) -> Vec<u8> {
    let value = std::str::from_utf8(old).ok().and_then(|text| text.parse::<u64>().ok());
    match (value, random.below(3)) {
        (Some(value), 0) => value.wrapping_add(1).to_string().into_bytes(),
        (Some(value), 1) => (random.next() % value.saturating_mul(2).max(2)).to_string().into_bytes(),
        _ => boundary(random).as_bytes().to_vec(),
    }
}

/// Mutates a value in place, `times` times; `donors` give parts.
pub fn json(random: &mut Random, value: &mut Value, times: usize, donors: &[Value]) {
    for _ in 0..times {
        let mut at = random.below(count(value));
        if let Some(place) = place(value, &mut at) {
            change_value(random, place, donors);
        }
    }
}

/// Number of values in it, including itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0,
    }
}

/// The value number `at`, in depth-first order.
fn place<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| place(item, at)),
        Value::Object(entries) => entries.values_mut().find_map(|item| place(item, at)),
        _ => None,
    }
}

fn change_value(random: &mut Random, value: &mut Value, donors: &[Value]) {
    match value {
        Value::Object(entries) if random.percent(85) => change_entries(random, entries, donors),
        Value::Array(items) if random.percent(85) => change_items(random, items, donors),
        Value::String(text) if random.percent(70) => *text = changed_text(random, text),
        Value::Number(_) if random.percent(70) => *value = any_number(random),
        _ => *value = any(random, donors),
    }
}

fn change_entries(random: &mut Random, entries: &mut Map<String, Value>, donors: &[Value]) {
    let key = |random: &mut Random| entries.keys().nth(random.below(entries.len())).cloned();
    let (Some(key), Some(other)) = (key(random), key(random)) else {
        return drop(entries.insert("x".to_owned(), any(random, donors)));
    };
    match random.below(4) {
        0 => drop(entries.remove(&key)),
        1 => drop(entries.insert(other, entries[&key].clone())),
        2 => drop(entries.insert(changed_text(random, &key), any(random, donors))),
        _ => drop(entries.insert(key, any(random, donors))),
    }
}

fn change_items(random: &mut Random, items: &mut Vec<Value>, donors: &[Value]) {
    let at = random.below(items.len());
    match (items.get(at).cloned(), random.below(4)) {
        (Some(_), 0) => drop(items.remove(at)),
        (Some(item), 1) => {
            let times = [1, 3, 30, 300][random.below(4)];
            items.splice(at..at, std::iter::repeat_n(item, times));
        }
        (Some(_), 2) => {
            let other = random.below(items.len());
            items.swap(at, other);
        }
        _ => items.insert(at, any(random, donors)),
    }
}

/// A text changed at one place, and rarely at more.
pub fn changed_text(random: &mut Random, old: &str) -> String {
    let (mut bytes, times) = (old.as_bytes().to_vec(), random.times(3));
    text(random, &mut bytes, times, &[]);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn any_number(random: &mut Random) -> Value {
    serde_json::from_str(boundary(random)).unwrap_or_else(|_| Value::from(random.next()))
}

/// A value of any type, or a part of a donor.
fn any(random: &mut Random, donors: &[Value]) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => Value::Bool(random.percent(50)),
        2..4 => any_number(random),
        4 => Value::String(hostile(random).to_owned()),
        5 => Value::Array(vec![any_number(random)]),
        6 => Value::Object(Map::new()),
        7 => (0..[1, 20, 120][random.below(3)]).fold(Value::Null, |inner, _| Value::Array(vec![inner])),
        _ if !donors.is_empty() => {
            let mut donor = random.pick(donors).clone();
            let mut at = random.below(count(&donor));
            place(&mut donor, &mut at).map_or(Value::Null, |found| found.take())
        }
        _ => Value::String("x".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_mutants_of_a_list_keep_its_form_and_few_are_what_they_were() {
        let corpus = b"0-3,8\n16-19:2,64\n".to_vec();
        let (mut same, mut form) = (0, 0);
        for number in 0..2000 {
            let mut mutant = corpus.clone();
            text(&mut Random::of(1, number), &mut mutant, 1, &[]);
            same += usize::from(mutant == corpus);
            form += usize::from(mutant.iter().all(|byte| b"0123456789-,:\n".contains(byte)));
            assert!(mutant.len() <= LONGEST);
        }
        assert!(same < 300 && form > 600, "{same} {form}");
    }

    #[test]
    fn nothing_is_a_text_too() {
        for number in 0..200 {
            let mut empty = Vec::new();
            text(&mut Random::of(2, number), &mut empty, 4, &[Vec::new()]);
        }
    }

    #[test]
    fn every_place_is_reached_and_mutants_differ() {
        let whole: Value = serde_json::from_str(r#"{"a": [1, {"b": "c"}], "d": null}"#).unwrap_or_default();
        assert_eq!(count(&whole), 6);
        for at in 0..6 {
            assert!(place(&mut whole.clone(), &mut { at }).is_some(), "{at}");
        }
        let mutants = (0..500).map(|number| {
            let mut mutant = whole.clone();
            json(&mut Random::of(1, number), &mut mutant, 1, &[]);
            mutant
        });
        assert!(mutants.filter(|mutant| *mutant != whole).count() > 400);
    }
}
