//! Sanitising text from elsewhere (notes of workers, names in files, kernel files, paths): it must not act on a
//! terminal or change how the text around it is shown.
//!
//! Sources: ECMA-48 (terminal sequences begin with a control character), Unicode Technical Report 36
//! ("bidirectional text spoofing"), Unicode Standard 15.0, `DerivedGeneralCategory.txt`.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// Reads a value from its text, with serde. Errors have the text's own position, in lists too.
///
/// # Errors
/// It is not a text, or not one of such a value.
pub fn parsed<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Parsed<T>(PhantomData<T>);
    impl<T: FromStr<Err: Display>> Visitor<'_> for Parsed<T> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Parsed(PhantomData))
}

/// General category Cf: invisible characters that direct the text, hide in it, or, as tags, carry
/// another text (U+E0001, U+E0020 to U+E007F).
const FORMAT: [RangeInclusive<char>; 21] = [
    '\u{ad}'..='\u{ad}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{2064}',
    '\u{2066}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0001}'..='\u{e0001}',
    '\u{e0020}'..='\u{e007f}',
];

/// Whether a character can change how the text around it looks, or can hide in it: control
/// characters (Cc), format characters (Cf), the line and paragraph separators U+2028 and U+2029, and U+FFFE and U+FFFF,
/// which no XML may have (XML 1.0, `Char`).
pub fn is_deceptive(c: char) -> bool {
    let is_format = |c| FORMAT.iter().any(|range| range.contains(&c));
    c.is_control()
        || c >= '\u{ad}' && (matches!(c, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}') || is_format(c))
}

/// Prose on one line: deceptive characters and white space become single spaces; at most `limit`
/// characters, the last one `…` if the text was cut.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || is_deceptive(c)).filter(|word| !word.is_empty()) {
        for c in (!line.is_empty()).then_some(' ').into_iter().chain(word.chars()) {
            if count == limit {
                line.pop();
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// A name, with U+FFFD for each deceptive character, line ends and tabs included: different names differ at least in
/// length.
pub fn marked(text: &str) -> Cow<'_, str> {
    replaced(text, is_deceptive)
}

/// Lines of text, with U+FFFD for each deceptive character but line ends and tabs.
pub fn marked_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_deceptive(c) && !matches!(c, '\n' | '\t'))
}

fn replaced(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.contains(&hidden) {
        true => text.chars().map(|c| if hidden(c) { char::REPLACEMENT_CHARACTER } else { c }).collect(),
        false => Cow::Borrowed(text),
    }
}

/// A text that the reader must recognise exactly (a path, a command) on one line: deceptive characters
/// as escapes of Rust, such as `\n` and `\u{202e}`.
pub fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match is_deceptive(c) {
            // Those without a short escape become `\u{…}`.
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// The same JSON document with its deceptive characters as escapes, `\u202e` (RFC 8259, 7: any character of a
/// string may be escaped). Outside of strings only line ends and tabs can occur, which stay.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let hidden = |c| is_deceptive(c) && !matches!(c, '\n' | '\r' | '\t');
    if !json.contains(hidden) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match hidden(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }),
            false => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// A word that a POSIX shell reads as exactly this text (POSIX.1-2017, Shell Command Language, 2.2.2 Single-Quotes),
/// for commands that users copy.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape, CSI, bell, direction marks, nothing visible, a soft hyphen, a tag.
    const HOSTILE: &str = "a\u{1b}[31m\u{9b}2J\u{7}\u{202e}b\u{200b}\u{2066}c\u{ad}\u{2028}d\u{e0041}";

    #[test]
    fn deceptive_are_control_and_format_characters_separators_and_what_no_xml_has() {
        let said = regex::Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\x{FFFE}\x{FFFF}]$").unwrap();
        let differ =
            ('\0'..=char::MAX).filter(|&c| said.is_match(c.encode_utf8(&mut [0; 4])) != is_deceptive(c));
        assert_eq!(differ.collect::<Vec<char>>(), Vec::<char>::new());
    }

    #[test]
    fn prose_becomes_one_line_of_single_spaces() {
        assert_eq!(one_line(HOSTILE, 100), "a [31m 2J b c d");
        assert_eq!(one_line("  two\r\n lines\t", 100), "two lines");
        assert_eq!(one_line("äöü x", 5), "äöü x");
        assert_eq!(one_line("äöü x", 4), "äöü…");
        assert_eq!(one_line("äöü", 2), "ä…");
        assert_eq!(one_line("", 2), "");
    }

    #[test]
    fn names_keep_their_length_and_lines_stay_lines() {
        assert_eq!(marked(HOSTILE).chars().count(), HOSTILE.chars().count());
        assert!(!marked(HOSTILE).contains(is_deceptive));
        assert_eq!(marked("a\nb  c"), "a\u{fffd}b  c");
        assert_eq!(marked_lines("a\n\tb\u{1b}\r"), "a\n\tb\u{fffd}\u{fffd}");
        assert!(matches!(marked("größe"), Cow::Borrowed("größe")));
    }

    #[test]
    fn escapes_say_what_was_there() {
        assert_eq!(escaped("a\nb\x1b[2K\u{202e}c 'größe'"), "a\\nb\\u{1b}[2K\\u{202e}c 'größe'");
        assert_eq!(escaped_json("{\n\"\u{ad}\u{e0041}\u{9b}ö\"}"), "{\n\"\\u00ad\\udb40\\udc41\\u009bö\"}");
        assert_eq!(escaped_json("[1]"), "[1]");
    }
}
