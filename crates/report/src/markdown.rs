//! The answer as Markdown, for issues and pull requests.

use crate::Document;
use crate::terminal::{self, Style};
use crate::text::plain;
use threadwise_document::screen::WIDTH;
use threadwise_document::{Class, Prose, Span};

/// A heading, the answer, and how far to trust it.
pub(crate) fn head(document: &Document) -> String {
    let screen = &document.screen;
    format!(
        "### {}\n\n{}\n\n**Trust: {}.** {}\n",
        escaped(&screen.subject),
        sentences(&screen.answer),
        screen.trust.level,
        sentences(&screen.trust.reasons)
    )
}

/// The answer as Markdown: its head, the table, what to set.
pub fn markdown(document: &Document) -> String {
    let screen = &document.screen;
    let mut text = head(document);
    let rows = terminal::table(screen, Style { color: false, unicode: true, width: WIDTH });
    if !rows.is_empty() {
        text.push_str(&format!("\n```\n{}\n```\n", rows.join("\n").replace("```", "'''")));
    }
    for line in &screen.set {
        text.push_str(&format!("\n**Set:** {}\n", sentences(std::slice::from_ref(line))));
    }
    if !screen.why.is_empty() {
        text.push_str(&format!("\n**Why:** {}\n", sentences(&screen.why)));
    }
    text.push_str(&format!("\n{}\n", plain(&document.footer, true)));
    text
}

/// One line of text with Markdown's signs escaped, in a cell of a table too; `[` only where a link would begin.
pub(crate) fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for sign in plain(text, true).chars() {
        let ends_link = sign == '(' && line.ends_with(']');
        if ends_link || matches!(sign, '\\' | '*' | '_' | '<' | '|' | '`' | '#' | '~' | '&') {
            line.push('\\');
        }
        line.push(sign);
    }
    line
}

/// Sentences joined with spaces, commands between backticks.
fn sentences(all: &[Prose]) -> String {
    let span = |span: &Span| match span.class {
        Class::Command => format!("`{}`", plain(&span.text, true).replace('`', "'")),
        _ => escaped(&span.text),
    };
    let one = |prose: &Prose| prose.spans().iter().map(span).collect::<String>();
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}
