//! Statements against the texts that they are made from: what stands in the places of a text.
//!
//! Source: `src/sql` of this crate, and `statements::fill`, which leaves comments out.

use std::collections::BTreeMap;

/// What stands in the places of a statement, by their names.
pub type Places = BTreeMap<&'static str, String>;

/// A text without its comments.
pub fn bare(sql: &str) -> String {
    let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The places of a template such as `SELECT {a} FROM {b}` in a statement; `None` where it is another one, or where a
/// place that occurs twice differs.
pub fn places(template: &'static str, sql: &str) -> Option<Places> {
    let pattern = bare(template);
    let mut found = Places::new();
    let (mut parts, mut rest) = (pattern.split('{'), sql.trim_end());
    rest = rest.strip_prefix(parts.next()?)?;
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let (name, literal) = part.split_once('}')?;
        let end = match (parts.peek(), literal) {
            (None, "") => rest.len(),
            (None, _) => rest.strip_suffix(literal)?.len(),
            (Some(_), _) => rest.find(literal)?,
        };
        let value = rest[..end].to_owned();
        rest = &rest[end + literal.len()..];
        let name = name_in(template, name)?;
        if found.insert(name, value.clone()).is_some_and(|before| before != value) {
            return None;
        }
    }
    rest.is_empty().then_some(found)
}

/// A name as a part of the template that lives as long.
fn name_in(template: &'static str, name: &str) -> Option<&'static str> {
    let start = template.find(&format!("{{{name}}}"))? + 1;
    template.get(start..start + name.len())
}

#[test]
fn places_are_found_and_have_to_agree() {
    let found = places("-- what\nDROP {kind} [{s}].[{n}]", "DROP table [a].[b]").unwrap();
    assert_eq!(found, [("kind", "table"), ("s", "a"), ("n", "b")].map(|(k, v)| (k, v.to_owned())).into());
    assert_eq!(places("{a} = {a}", "x = y"), None);
    assert_eq!(places("SELECT 1", "SELECT 12"), None);
    assert!(places("SELECT 1\n-- end\n", "SELECT 1").is_some());
}
