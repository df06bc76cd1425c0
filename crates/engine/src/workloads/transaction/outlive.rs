//! Functions whose effect a ROLLBACK does not undo, or that a read-only transaction does not refuse: by name, from a
//! list of the engine.
//! A line of a list has a pattern, white space, and what the function does, in words that follow its name. `*` stands
//! for any letters; a pattern with a dot is a name with its schema or package. Patterns below a line `[always]` are
//! always refused, those below `[without --may-write]` if transactions are read-only. A line that begins with `#` is a
//! comment.

use super::lexer::{Kind, Token};

/// The line above patterns that are always refused.
const ALWAYS: &str = "[always]";

/// The line above patterns that are refused in read-only transactions.
const READ_ONLY: &str = "[without --may-write]";

/// Section of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// The function is never called.
    Always(String),
    /// The function writes.
    Writes(String),
}

/// The first function of a list that a statement calls; any name with a dot before it may be called if `may_lack_parentheses`.
pub(super) fn find(tokens: &[Token<'_>], list: &str, may_lack_parentheses: bool) -> Option<Found> {
    let tokens: Vec<&Token<'_>> =
        tokens.iter().filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment)).collect();
    let mut found = None;
    for (at, token) in tokens.iter().enumerate() {
        let Some(called) = name(token) else { continue };
        let has_parentheses = tokens.get(at + 1).is_some_and(|next| next.text == "(");
        let schema = at.checked_sub(2).filter(|_| tokens[at - 1].text == ".").and_then(|at| name(tokens[at]));
        let is_call = has_parentheses || may_lack_parentheses && schema.is_some();
        if !is_call {
            continue;
        }
        match judge(list, &called, schema.as_deref()) {
            Some(Found::Writes(why)) => found = found.or(Some(Found::Writes(why))),
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

fn judge(list: &str, called: &str, schema: Option<&str>) -> Option<Found> {
    let in_full = schema.map(|schema| format!("{schema}.{called}"));
    let mut section = ALWAYS;
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if [ALWAYS, READ_ONLY].contains(&line) {
            section = line;
            continue;
        }
        let (pattern, what) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let is_called = match pattern.contains('.') {
            true => in_full.as_deref().is_some_and(|name| matches(pattern, name)),
            false => matches(pattern, called),
        };
        if is_called {
            let why = format!("{called}() {}", what.trim());
            return Some(if section == ALWAYS { Found::Always(why) } else { Found::Writes(why) });
        }
    }
    None
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
