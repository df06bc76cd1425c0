//! What a document is on a terminal: its screen, or all of it.

use crate::output;
use std::path::Path;
use threadwise_analysis::of_document;
use threadwise_document::Prose;
use threadwise_document::screen::Trust;
use threadwise_report::{Document, terminal};

/// The answer on one screen, or all that a terminal has room for.
pub fn shown(document: &Document, all: bool) -> String {
    match all {
        true => text(document),
        false => format!("{}\n", terminal::screen(&document.screen, output::style())),
    }
}

/// The same of a document that is not of one study; `command` is what shows it again.
pub fn shown_of(document: &mut Document, trust: Trust, next: &str, command: &str, all: bool) -> String {
    document.screen = of_document(document, trust, Prose::command(next), command);
    shown(document, all)
}

/// The words of a command line: how to run it again.
pub fn command_line() -> String {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| output::shell_word(Path::new(&word))).collect();
    format!("threadwise {}", words.join(" "))
}

/// Verdict and tables.
fn text(document: &Document) -> String {
    let style = output::style();
    format!("{}\n\n{}\n", terminal::verdict(document, style), terminal::sections(document, style))
}
