//! Mutations of text and bytes: of lines, of tokens, of single bytes.
//!
//! A token is a number, a word, or one other byte, so that a mutant of a line keeps its form and most
//! mutants pass a parser's first check.

use crate::random::Random;
use std::ops::Range;

/// Boundary numbers: of types, of doubles, of JSON and TOML.
pub const NUMBERS: [&str; 34] = [
    "0",
    "1",
    "2",
    "7",
    "64",
    "-1",
    "-0",
    "127",
    "128",
    "255",
    "256",
    "1000",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "340282366920938463463374607431768211456",
    "0.5",
    "1e-320",
    "1.7976931348623157e308",
    "1e309",
    "NaN",
    "inf",
    "0x7f",
    "1_000",
    "1,5",
];

/// Texts that break terminals, pages, shells, tables and comparisons of letters.
pub const HOSTILE: [&str; 30] = [
    "\0",
    "\u{1b}[2J",
    "\u{9b}31m",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{fffd}",
    "\u{e000}",
    "é",
    "e\u{301}",
    "ß",
    "İ",
    "𝔘",
    "٣",
    "👩‍👩‍👧",
    "\r",
    "\n",
    "\t",
    "'",
    "\"",
    "\\",
    "</script><!--",
    "&lt;",
    "%s%n",
    "../../..",
    "$(id)`id`",
    "{{7*7}}",
];

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
        return bytes.extend_from_slice(random.pick(&HOSTILE).as_bytes());
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
            if place.end <= other.start {
                let moved = bytes[other.clone()].to_vec();
                bytes.splice(other, old);
                bytes.splice(place, moved);
            }
        }
        12..14 => drop(bytes.splice(place, random.pick(&NUMBERS).bytes())),
        _ => drop(bytes.splice(place.start..place.start, random.pick(&HOSTILE).bytes())),
    }
}

/// A number beside another one, or one of [`NUMBERS`].
fn number(random: &mut Random, old: &[u8]) -> Vec<u8> {
    let value = std::str::from_utf8(old).ok().and_then(|text| text.parse::<u64>().ok());
    match (value, random.below(3)) {
        (Some(value), 0) => value.wrapping_add(1).to_string().into_bytes(),
        (Some(value), 1) => (random.next() % value.saturating_mul(2).max(2)).to_string().into_bytes(),
        _ => random.pick(&NUMBERS).as_bytes().to_vec(),
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
            if place.end <= other.start {
                let moved = bytes[other.clone()].to_vec();
                bytes.splice(other, old);
                bytes.splice(place, moved);
            }
        }
        7..9 if !donors.is_empty() => {
            let donor = random.pick(donors);
            let other = if donor.is_empty() { 0..0 } else { line_at(donor, random.below(donor.len())) };
            bytes.splice(place, donor[other].to_vec());
        }
        9 if random.percent(30) => bytes.truncate(place.start + random.below(old.len().max(1))),
        10 => repeat(random, bytes, place),
        _ => drop(bytes.splice(place.end..place.end, [random.pick(&HOSTILE).as_bytes(), b"\n"].concat())),
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
}
