//! The tests of this crate from outside, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Helpers of tests, not a library.

mod browser;
mod frozen;
mod report;
mod support;

/// The text without its colour escapes.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}
