//! Every estimate of a study as one flat list, and the answer as Markdown: for spreadsheets, issues and pull requests.
//! Raw runs and slices are exports ([`crate::csv`]).
//!
//! An estimate is anything in the JSON report with a value and the ends of its interval; its place there identifies it,
//! so that no question has code of its own here.

use crate::terminal::{self, Style};
use crate::{Document, Facts, json};
use serde_json::{Map, Value};
use threadwise_document::screen::{TrustLevel, WIDTH};
use threadwise_document::{Class, Prose, Span};

/// Fields of an object that identify the estimates inside it.
const CONTEXT: [&str; 8] = ["name", "treatment", "baseline", "comparison", "group", "metric", "query", "arm"];

/// Fields of an estimate besides its value.
const FIGURES: [&str; 10] =
    ["low", "high", "unit", "adjusted_low", "adjusted_high", "level", "blocks", "p", "adjusted_p", "answer"];

/// All estimates, in the order of the JSON report: `family` (the question), `figure` (its place there), its identity,
/// and its numbers.
pub fn results(facts: &Facts<'_>) -> Vec<Value> {
    let mut rows = Vec::new();
    if let Value::Object(fields) = json::figures(facts) {
        for (family, value) in &fields {
            collect(family, family, value, &Map::new(), &mut rows);
        }
    }
    rows
}

fn collect(family: &str, figure: &str, value: &Value, context: &Map<String, Value>, rows: &mut Vec<Value>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| collect(family, figure, one, context, rows)),
        Value::Object(fields) => {
            let mut context = context.clone();
            let known =
                fields.iter().filter(|(name, value)| CONTEXT.contains(&name.as_str()) && value.is_string());
            context.extend(known.map(|(name, value)| (name.clone(), value.clone())));
            if let Some(value) =
                fields.get("value").or_else(|| fields.get("mean")).filter(|_| fields.contains_key("low"))
            {
                let mut row = context.clone();
                row.insert("family".to_owned(), family.into());
                row.insert("figure".to_owned(), figure.into());
                row.insert("value".to_owned(), value.clone());
                let figures =
                    FIGURES.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone())));
                row.extend(figures);
                rows.push(Value::Object(row));
            }
            for (name, inner) in fields.iter().filter(|(_, inner)| inner.is_object() || inner.is_array()) {
                collect(family, &format!("{figure}.{name}"), inner, &context, rows);
            }
        }
        _ => {}
    }
}

/// The answer as Markdown: a heading, the answer, how far to trust it, the table, what to set.
pub fn markdown(document: &Document) -> String {
    let screen = &document.screen;
    let plain = |text: &str| crate::text::plain(text, true);
    let mut text = format!("### {}\n\n{}\n", plain(&screen.subject), sentences(&screen.answer));
    if screen.trust.level != TrustLevel::None {
        text.push_str(&format!(
            "\n**Trust: {}.** {}\n",
            screen.trust.level,
            sentences(&screen.trust.reasons)
        ));
    }
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
    text.push_str(&format!("\n{}\n", plain(&document.footer)));
    text
}

/// Sentences joined with spaces, commands between backticks, Markdown's own characters escaped.
fn sentences(all: &[Prose]) -> String {
    let span = |span: &Span| {
        let text = crate::text::plain(&span.text, true);
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
