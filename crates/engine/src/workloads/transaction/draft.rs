//! A draft of a mix from a server's own statistics of its statements: a text that the user completes. Nothing of it is
//! executed.

use super::declaration::MOST_WEIGHT;
use super::lexer::{Kind, Quoting, Token};
use super::script::{MOST_BYTES, Parameter, Source};
use super::sql::{SourceText, trimmed};
use super::statement::SourceLine;

/// Most characters of a statement in a comment.
const SHOWN_CHARS: usize = 300;

/// A statement in a server's statistics.
#[derive(Debug, Clone, PartialEq)]
pub struct TopStatement {
    /// Its text, with `$1`, `$2`, … for constants and parameters.
    pub text: String,
    /// How often it was executed.
    pub calls: u64,
    /// The time of all executions, milliseconds.
    pub total_ms: f64,
    /// Types of its parameters, `$1` first, or why the server does not prepare it.
    pub types: Result<Vec<String>, String>,
}

/// What a draft is asked for.
#[derive(Debug, Clone, Copy)]
pub struct DraftRequest<'a> {
    /// Where the statistics come from, one of the engine's [`sources`](crate::Engine::statement_sources).
    pub source: &'a str,
    /// How many statements are looked at, those with the most time first.
    pub top: usize,
    /// The database that transactions may write to, if any.
    pub may_write: Option<&'a str>,
}

/// How an engine reads statements.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// How it quotes.
    pub quoting: Quoting,
    /// What outlives a ROLLBACK there.
    pub outlive_rollback: &'a str,
    /// Whether statements that write are drafted too.
    pub may_write: bool,
}

/// The draft. Statements that cannot be taken stand in it as comments, with the reason. `source` says where the
/// statistics come from, and `all_ms` is the time of all statements there.
pub fn write(source: &str, top: &[TopStatement], all_ms: f64, rules: Rules<'_>) -> String {
    let judged: Vec<(&TopStatement, Result<Taken, String>)> =
        top.iter().map(|statement| (statement, take(statement, rules))).collect();
    let most = judged.iter().filter(|(_, taken)| taken.is_ok()).map(|(one, _)| one.calls).max().unwrap_or(1);
    let fill = judged.iter().any(|(_, taken)| matches!(taken, Ok(Taken { types, .. }) if !types.is_empty()));
    let mut draft = format!("-- A draft from {source}; nothing of it was executed.\n");
    draft += match fill {
        true => {
            "-- Write the values of each parameter where FILL IN stands: a range, such as 1..1000, a query, such as from\n\
             -- SELECT name FROM cities, or a file, such as in cities.csv column 2.\n"
        }
        false => "",
    };
    for (number, (statement, taken)) in judged.iter().enumerate() {
        let share = if all_ms > 0.0 { 100.0 * statement.total_ms / all_ms } else { 0.0 };
        let facts = format!(
            "{share:.1}% of the time, {} calls, {:.3} ms each",
            statement.calls,
            statement.total_ms / statement.calls.max(1) as f64
        );
        let section = match taken {
            Ok(taken) => taken.section(number + 1, weight(statement.calls, most), &facts),
            Err(why) => {
                let text: String = statement.text.chars().take(SHOWN_CHARS).collect();
                let lines: Vec<String> = text.lines().map(|line| format!("-- | {}\n", plain(line))).collect();
                format!("\n-- Left out: {facts}: {}\n{}", plain(why), lines.concat())
            }
        };
        if draft.len() + section.len() > MOST_BYTES {
            draft += "\n-- More statements would be more than a text may have: take fewer with --top\n";
            break;
        }
        draft += &section;
    }
    draft
}

/// A weight in proportion to calls.
fn weight(calls: u64, most: u64) -> u64 {
    let limit = u64::from(MOST_WEIGHT);
    match most <= limit {
        true => calls.max(1),
        false => (u128::from(calls) * u128::from(limit) / u128::from(most)).max(1) as u64,
    }
}

/// One line without characters that end a line or change a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|next| if next.is_control() { ' ' } else { next }).collect()
}

/// A statement as it stands in the draft.
struct Taken {
    text: String,
    /// Number and type of each parameter.
    types: Vec<(usize, String)>,
}

impl Taken {
    fn section(&self, number: usize, weight: u64, facts: &str) -> String {
        let mut section = format!("\n-- :transaction statement-{number} weight {weight}\n-- {facts}\n");
        for (number, kind) in &self.types {
            section += &format!("-- :p{number} FILL IN ({})\n", plain(kind));
        }
        section + &format!("{};\n", self.text)
    }
}

fn begins_with_digit(token: &Token<'_>) -> bool {
    token.text.starts_with(|first: char| first.is_ascii_digit())
}

/// The statement with `:p1` for `$1`.
///
/// # Errors
/// Why it is not taken.
fn take(statement: &TopStatement, rules: Rules<'_>) -> Result<Taken, String> {
    let Rules { quoting, outlive_rollback, may_write } = rules;
    let part = |text| SourceText { text, file: None, first_line: 1, quoting, outlive_rollback };
    let (mut text, mut numbers) = (String::new(), Vec::new());
    let source = part(statement.text.trim());
    let tokens = source.tokens()?;
    let last = tokens.iter().rposition(|token| !matches!(token.kind, Kind::Space | Kind::Semicolon));
    let tokens = trimmed(&tokens[..last.map_or(0, |last| last + 1)]);
    for (at, token) in tokens.iter().enumerate() {
        let after = |at: usize| tokens.get(at).filter(|next| next.kind == Kind::Other);
        let number = |at: usize| after(at).and_then(|next| next.text.parse::<usize>().ok());
        match token.kind {
            Kind::Parameter => {
                return Err(format!("{} in it would be taken for a parameter", token.text));
            }
            Kind::Other if token.text == "$" && number(at + 1).is_some() => {
                // A colon before it would be the begin of a cast, as in a[$1:$2].
                text.push_str(if text.ends_with(':') { " :" } else { ":" });
            }
            Kind::Other if at > 0 && tokens[at - 1].text == "$" && number(at).is_some() => {
                text += &format!("p{}", token.text);
                numbers.extend(number(at));
            }
            Kind::Other if token.text == "$" && after(at + 1).is_some_and(begins_with_digit) => {
                return Err("its parameters cannot be written as names".into());
            }
            _ => text.push_str(token.text),
        }
    }
    let places = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    let place = SourceLine { file: None, line: 1 };
    let parameter = |number: &usize| Parameter {
        name: format!("p{number}"),
        place: place.clone(),
        source: Source::Session,
    };
    let parameters: Vec<Parameter> = numbers.iter().map(parameter).collect();
    let written = part(&text);
    let tokens = written.tokens()?;
    if let Some(token) = tokens.iter().find(|token| token.kind == Kind::Semicolon) {
        return Err(format!("several statements: {} ends one of them", token.text));
    }
    let without_place = |why: String| why.strip_prefix("line 1: ").map_or(why.clone(), str::to_owned);
    let parsed = written.statement(&tokens, &parameters, &|name| format!(":{name} is unknown"));
    let parsed = parsed.map_err(without_place)?;
    if parsed.parameters().len() != places {
        return Err("its parameters cannot be written as names".into());
    }
    if let (Some(why), false) = (parsed.writes(), may_write) {
        return Err(format!("{why}; --may-write DATABASE takes it too"));
    }
    let types = statement.types.as_ref().map_err(|why| format!("the server does not prepare it: {why}"))?;
    let kind = |number: usize| {
        types.get(number.saturating_sub(1)).cloned().unwrap_or_else(|| "unknown type".to_owned())
    };
    Ok(Taken {
        text: text.clone(),
        types: numbers.into_iter().map(|number| (number, kind(number))).collect(),
    })
}
