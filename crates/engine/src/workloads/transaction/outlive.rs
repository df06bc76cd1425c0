//! What a statement must not call or contain: functions whose effect a ROLLBACK does not undo, or that a read-only
//! transaction does not refuse, and words, from a list of the engine.
//!
//! A line of a list has a pattern, white space, and what it does, in words that follow its name. In a pattern of a
//! function `*` stands for any letters, and one with a dot is a name with its schema or package. Below a line `[words …]`
//! the patterns are words in a row, joined by `+`, that stand anywhere outside of quotes: for a language in which one
//! statement follows another without a semicolon. Patterns below `[always]` and `[words always]` are always refused,
//! those below `[without --may-write]` and `[words without --may-write]` if transactions are read-only. A line that
//! begins with `#` is a comment. The first pattern of a list that fits decides; one without a meaning is allowed.

use super::lexer::{Kind, Token};

/// The lines above patterns: of functions and of words, that are always refused, and that write.
const SECTIONS: [&str; 4] =
    ["[always]", "[without --may-write]", "[words always]", "[words without --may-write]"];

/// The effect of a function or word in a list, in words that follow the name of the statement's part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LastingEffect {
    /// It is always refused.
    Always(String),
    /// It writes.
    Writes(String),
}

/// The first of a list that a statement calls or contains; one that is always refused before one that writes. A name after
/// a dot may be a call without parentheses if `may_lack_parentheses`.
pub(super) fn find(tokens: &[Token<'_>], list: &str, may_lack_parentheses: bool) -> Option<LastingEffect> {
    let tokens: Vec<&Token<'_>> =
        tokens.iter().filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment)).collect();
    let mut found = None;
    for (at, token) in tokens.iter().enumerate() {
        let called = |at: usize| {
            let schema =
                at.checked_sub(2).filter(|_| tokens[at - 1].text == ".").and_then(|at| name(tokens[at]));
            Some((name(tokens[at])?, schema))
        };
        let judged = match (token.kind, token.text) {
            (_, "(") => at.checked_sub(1).and_then(called),
            _ if may_lack_parentheses => called(at).filter(|(_, schema)| schema.is_some()),
            _ => None,
        };
        let judged = judged.and_then(|(called, schema)| of_function(list, &called, schema.as_deref()));
        let words = || if token.kind == Kind::Word { of_words(list, &tokens[at..]) } else { None };
        match judged.or_else(words) {
            Some(LastingEffect::Writes(why)) => found = found.or(Some(LastingEffect::Writes(why))),
            Some(always) => return Some(always),
            None => {}
        }
    }
    found
}

/// A name in lower case, without its quotes. Accepts more as a name than engines do, which does no harm.
fn name(token: &Token<'_>) -> Option<String> {
    let text = token.text;
    let inside = |quote: &str| text.get(1..text.len() - 1).map(|text| text.replace(&quote.repeat(2), quote));
    let name = match token.kind {
        Kind::Word => Some(text.to_owned()),
        Kind::Quoted if text.starts_with('"') => inside("\""),
        Kind::Quoted if text.starts_with('`') => inside("`"),
        Kind::Quoted if text.starts_with('[') => inside("]"),
        _ => None,
    };
    name.map(|name| name.to_lowercase())
}

/// Section, pattern and meaning of each line of a list.
fn lines(list: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut section = 0;
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(move |line| match SECTIONS.iter().position(|begins| *begins == line) {
        Some(begins) => {
            section = begins;
            None
        }
        None => {
            let (pattern, what) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            Some((section, pattern, what.trim()))
        }
    })
}

fn of_function(list: &str, called: &str, schema: Option<&str>) -> Option<LastingEffect> {
    let in_full = schema.map(|schema| format!("{schema}.{called}"));
    let is_called = |pattern: &str| match pattern.contains('.') {
        true => in_full.as_deref().is_some_and(|name| matches(pattern, name)),
        false => matches(pattern, called),
    };
    let (section, _, what) = lines(list).find(|(section, pattern, _)| *section < 2 && is_called(pattern))?;
    Some(match section {
        0 => LastingEffect::Always(format!("{called}() {what}, which no ROLLBACK undoes")),
        _ => LastingEffect::Writes(format!("{called}() {what}")),
    })
}

/// What the words that the tokens begin with are in a list.
fn of_words(list: &str, tokens: &[&Token<'_>]) -> Option<LastingEffect> {
    let begin = |pattern: &str| {
        let is = |(at, word): (usize, &str)| {
            tokens
                .get(at)
                .is_some_and(|token| token.kind == Kind::Word && token.text.eq_ignore_ascii_case(word))
        };
        pattern.split('+').enumerate().all(is)
    };
    let (section, pattern, what) = lines(list)
        .find(|(section, pattern, _)| *section >= 2 && begin(pattern))
        .filter(|(.., what)| !what.is_empty())?;
    let why = format!("{} {what}", pattern.replace('+', " ").to_uppercase());
    Some(if section == 2 { LastingEffect::Always(why) } else { LastingEffect::Writes(why) })
}

/// Whether a name matches a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(begin) else { return false };
    name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| matches(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, is) in [
            ("lo_put", "lo_put", true),
            ("lo_put", "lo_puts", false),
            ("dblink*", "dblink", true),
            ("dblink*", "dblink_exec", true),
            ("pg_*_reset*", "pg_stat_reset", true),
            ("pg_*_reset*", "pg_stat_reset_shared", true),
            ("pg_*_reset*", "pg_stat_statements_reset", true),
            ("pg_*_reset*", "pg_reset", false),
            ("cron.*", "cron.schedule", true),
            ("*", "ü", true),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }
}
