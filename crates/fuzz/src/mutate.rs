//! Mutations of text and bytes (of lines, of tokens, of single bytes) and of values of JSON.
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

fn boundary(random: &mut Random) -> &'static str {
    let all: Vec<&str> = NUMBERS.split(' ').collect();
    all[random.below(all.len())]
}

fn hostile(random: &mut Random) -> &'static str {
    let all: Vec<&str> = HOSTILE.split('|').collect();
    all[random.below(all.len())]
}

/// Longest input that repeating makes, bytes.
const LONGEST: usize = 256 << 10;

/// Mutates a text in place, `times` times; `donors` give lines and tokens.
pub fn text(random: &mut Random, bytes: &mut Vec<u8>, times: usize, donors: &[Vec<u8>]) {
    for _ in 0..times {
        match random.below(10) {
            0..6 => token(random, bytes, donors),
            6..9 => line(random, bytes, donors),
            _ => flip(random, bytes),
        }
    }
}

/// Mutates binary bytes in place, `times` times.
pub fn binary(random: &mut Random, bytes: &mut Vec<u8>, times: usize) {
    for _ in 0..times {
        flip(random, bytes);
    }
}

/// Changes one byte, a few, or the end.
fn flip(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return bytes.push(random.next() as u8);
    }
    let at = random.below(bytes.len());
    let end = bytes.len().min(at + 1 + random.below(8));
    match random.below(8) {
        0..3 => bytes[at] ^= 1 << random.below(8),
        3 => bytes[at] = random.next() as u8,
        4 => bytes[at..end].fill(*random.pick(&[0, 0x7f, 0x80, 0xff])),
        5 => drop(bytes.drain(at..end)),
        6 => bytes.insert(at, random.next() as u8),
        _ if random.percent(10) => bytes.truncate(at),
        _ => bytes[at] = bytes[at].wrapping_add(1),
    }
}

/// Where the token at `at` begins and ends.
fn token_at(bytes: &[u8], at: usize) -> Range<usize> {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || byte >= 0x80;
    if !bytes.get(at).is_some_and(|byte| inside(*byte)) {
        return at..bytes.len().min(at + 1);
    }
    let before = bytes[..at].iter().rev().take_while(|byte| inside(**byte)).count();
    let after = bytes[at..].iter().take_while(|byte| inside(**byte)).count();
    at - before..at + after
}

fn any_token(random: &mut Random, bytes: &[u8]) -> Range<usize> {
    // Most bytes of a table are spaces, so a few tries look for another one.
    for _ in 0..4 {
        let found = token_at(bytes, random.below(bytes.len()));
        if bytes.get(found.start).is_some_and(|byte| !byte.is_ascii_whitespace()) {
            return found;
        }
    }
    token_at(bytes, random.below(bytes.len()))
}

fn is_number(token: &[u8]) -> bool {
    token.first().is_some_and(u8::is_ascii_digit)
}

fn token(random: &mut Random, bytes: &mut Vec<u8>, donors: &[Vec<u8>]) {
    if bytes.is_empty() {
        return bytes.extend_from_slice(hostile(random).as_bytes());
    }
    let place = any_token(random, bytes);
    let old = bytes[place.clone()].to_vec();
    match random.below(16) {
        0..6 if is_number(&old) => {
            let number = number(random, &old);
            bytes.splice(place, number);
        }
        0..4 => {
            let donor = if random.percent(50) || donors.is_empty() {
                bytes.clone()
            } else {
                random.pick(donors).clone()
            };
            let other = if donor.is_empty() { 0..0 } else { any_token(random, &donor) };
            bytes.splice(place, donor[other].to_vec());
        }
        4..7 => drop(bytes.drain(place)),
        7..9 => drop(bytes.splice(place.start..place.start, old)),
        9 => repeat(random, bytes, place),
        10..12 => {
            let other = any_token(random, bytes);
            swap(bytes, place, other);
        }
        12..14 => drop(bytes.splice(place, boundary(random).bytes())),
        _ => drop(bytes.splice(place.start..place.start, hostile(random).bytes())),
    }
}

/// A number beside another one, or one of [`NUMBERS`].
fn number(random: &mut Random, old: &[u8]) -> Vec<u8> {
    let value = std::str::from_utf8(old).ok().and_then(|text| text.parse::<u64>().ok());
    match (value, random.below(3)) {
        (Some(value), 0) => value.wrapping_add(1).to_string().into_bytes(),
        (Some(value), 1) => (random.next() % value.saturating_mul(2).max(2)).to_string().into_bytes(),
        _ => boundary(random).as_bytes().to_vec(),
    }
}

/// The same many times, with its separator from the next one.
fn repeat(random: &mut Random, bytes: &mut Vec<u8>, place: Range<usize>) {
    let end = bytes.len().min(place.end + 1 + random.below(16));
    let piece = bytes[place.start..end].to_vec();
    let most = [2, 10, 200, 5000][random.below(4)].min(LONGEST / piece.len().max(1));
    if bytes.len() + most * piece.len() <= LONGEST {
        bytes.splice(end..end, piece.repeat(most));
    }
}

fn line_at(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |found| at + found + 1);
    start..end
}

fn line(random: &mut Random, bytes: &mut Vec<u8>, donors: &[Vec<u8>]) {
    if bytes.is_empty() {
        return;
    }
    let place = line_at(bytes, random.below(bytes.len()));
    let old = bytes[place.clone()].to_vec();
    match random.below(12) {
        0..3 => drop(bytes.drain(place)),
        3..5 => drop(bytes.splice(place.end..place.end, old)),
        5..7 => {
            let other = line_at(bytes, random.below(bytes.len()));
            swap(bytes, place, other);
        }
        7..9 if !donors.is_empty() => {
            let donor = random.pick(donors);
            let other = if donor.is_empty() { 0..0 } else { line_at(donor, random.below(donor.len())) };
            bytes.splice(place, donor[other].to_vec());
        }
        9 if random.percent(30) => bytes.truncate(place.start + random.below(old.len().max(1))),
        10 => repeat(random, bytes, place),
        _ => drop(bytes.splice(place.end..place.end, [hostile(random).as_bytes(), b"\n"].concat())),
    }
}

/// Swaps two places, of which the second lies behind the first.
fn swap(bytes: &mut Vec<u8>, first: Range<usize>, second: Range<usize>) {
    if first.end <= second.start {
        let (before, moved) = (bytes[first.clone()].to_vec(), bytes[second.clone()].to_vec());
        bytes.splice(second, before);
        bytes.splice(first, moved);
    }
}

/// Mutates a value in place, `times` times; `donors` give parts.
pub fn json(random: &mut Random, value: &mut Value, times: usize, donors: &[Value]) {
    for _ in 0..times {
        let places = count(value);
        let mut at = random.below(places);
        if let Some(place) = place(value, &mut at) {
            change(random, place, donors);
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

fn change(random: &mut Random, value: &mut Value, donors: &[Value]) {
    match value {
        Value::Object(entries) if random.percent(85) => change_entries(random, entries, donors),
        Value::Array(items) if random.percent(85) => change_items(random, items, donors),
        Value::String(text) if random.percent(70) => change_text(random, text),
        Value::Number(_) if random.percent(70) => *value = any_number(random),
        _ => *value = any(random, donors),
    }
}

fn change_entries(random: &mut Random, entries: &mut Map<String, Value>, donors: &[Value]) {
    let keys: Vec<String> = entries.keys().cloned().collect();
    let key = if keys.is_empty() { String::new() } else { random.pick(&keys).clone() };
    match random.below(4) {
        0 => drop(entries.remove(&key)),
        1 => {
            let other = if keys.is_empty() { "x".to_owned() } else { random.pick(&keys).clone() };
            if let Some(moved) = entries.get(&key).cloned() {
                entries.insert(other, moved);
            }
        }
        2 => {
            let mut name = key;
            change_text(random, &mut name);
            entries.insert(name, any(random, donors));
        }
        _ => drop(entries.insert(key, any(random, donors))),
    }
}

fn change_items(random: &mut Random, items: &mut Vec<Value>, donors: &[Value]) {
    let at = random.below(items.len());
    match (items.get(at).cloned(), random.below(5)) {
        (Some(_), 0) => drop(items.remove(at)),
        (Some(item), 1) => items.insert(at, item),
        (Some(item), 2) => {
            let times = [3, 30, 300][random.below(3)];
            items.splice(at..at, std::iter::repeat_n(item, times));
        }
        (Some(_), 3) => {
            let other = random.below(items.len());
            items.swap(at, other);
        }
        _ => items.insert(at, any(random, donors)),
    }
}

fn change_text(random: &mut Random, text: &mut String) {
    let at =
        (0..=text.len()).filter(|at| text.is_char_boundary(*at)).nth(random.below(text.chars().count() + 1));
    let at = at.unwrap_or(0);
    match random.below(7) {
        0 => text.truncate(at),
        1 => text.insert_str(at, boundary(random)),
        2 => text.clear(),
        3 => *text = text.repeat([2, 40, 2000][random.below(3)].min((64 << 10) / text.len().max(1))),
        4 => *text = boundary(random).to_owned(),
        _ => text.insert_str(at, hostile(random)),
    }
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
            binary(&mut Random::of(3, number), &mut empty, 4);
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
