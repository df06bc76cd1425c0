//! The answer as Markdown, for issues and pull requests.

use crate::Document;
use crate::terminal::{self, Style};
use crate::text::plain;
use threadwise_document::screen::{TrustLevel, WIDTH};
use threadwise_document::{Class, Prose, Span};

/// A heading, the answer, and how far to trust it.
pub(crate) fn head(document: &Document) -> String {
    let screen = &document.screen;
    let mut text = format!("### {}\n\n{}\n", plain(&screen.subject, true), sentences(&screen.answer));
    if screen.trust.level != TrustLevel::None {
        text.push_str(&format!(
            "\n**Trust: {}.** {}\n",
            screen.trust.level,
            sentences(&screen.trust.reasons)
        ));
    }
    text
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

/// Sentences joined with spaces, commands between backticks, Markdown's own characters escaped.
fn sentences(all: &[Prose]) -> String {
    let span = |span: &Span| {
        let text = plain(&span.text, true);
        match span.class {
            Class::Command => format!("`{}`", text.replace('`', "'")),
            _ => text
                .chars()
                .flat_map(|sign| {
                    matches!(sign, '*' | '_' | '<' | '|' | '`' | '#')
                        .then_some('\\')
                        .into_iter()
                        .chain([sign])
                })
                .collect(),
        }
    };
    let one = |prose: &Prose| prose.spans().iter().map(span).collect::<String>();
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}
