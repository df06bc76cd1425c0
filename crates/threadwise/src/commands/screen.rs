//! A document on a terminal: its screen, or all of it.

use crate::output;
use std::ffi::OsString;
use std::path::Path;
use threadwise_analysis::of_document;
use threadwise_document::screen::Trust;
use threadwise_document::{Prose, prose};
use threadwise_report::{Document, terminal};

/// The answer on one screen, or everything.
pub fn shown(document: &Document, all: bool) -> String {
    match all {
        true => text(document),
        false => format!("{}\n", terminal::screen(&document.screen, output::style())),
    }
}

/// A document that is not one study's with a screen, for the terminal and the page.
pub fn with_screen(document: Document, trust: Trust, next: Prose) -> Document {
    let all = prose!("everything: {}", Prose::command(again("--all")));
    Document { screen: of_document(&document, trust, next, all), ..document }
}

/// This command again in another format: the same arguments without format options, and this option.
pub fn again(option: &str) -> String {
    again_of(std::env::args_os().skip(1), option)
}

fn again_of(words: impl Iterator<Item = OsString>, option: &str) -> String {
    let mut kept = vec!["threadwise".to_owned()];
    let mut words = words;
    while let Some(word) = words.next() {
        match word.to_str() {
            // An existing page is not overwritten.
            Some("--html" | "--format") => drop(words.next()),
            Some("--all" | "--json") => {}
            Some(word) if word.starts_with("--html=") || word.starts_with("--format=") => {}
            _ => kept.push(output::shell_word(Path::new(&word))),
        }
    }
    kept.push(option.to_owned());
    kept.join(" ")
}

/// Verdict and tables.
fn text(document: &Document) -> String {
    let style = output::style();
    format!("{}\n\n{}\n", terminal::verdict(document, style), terminal::sections(document, style))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_again_without_its_form() {
        let again = |words: &str| again_of(words.split(' ').map(OsString::from), "--all");
        assert_eq!(again("compare a b"), "threadwise compare a b --all");
        assert_eq!(again("compare --html p.html a b --json"), "threadwise compare a b --all");
        assert_eq!(again("compare a$b --html=p.html c --all"), "threadwise compare 'a$b' c --all");
    }
}
