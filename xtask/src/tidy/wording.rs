//! Words and forms that the project's English avoids, in comments, messages and documents.
//!
//! The list grows when a form has been replaced everywhere (CONTRIBUTING.md, "Rules"). Code is not checked, nor
//! what belongs to the past (`CHANGELOG.md`, `evidence/`).

use super::Violation;
use super::source::SourceFile;

/// A form, and its replacement. A `*` at its end matches the rest of the word.
const FORMS: [(&str, &str); 21] = [
    ("somebody*", "name what acts: another process, a user"),
    ("anybody*", "name what acts: any user, any process"),
    ("nobody*", "say what does not happen: no process, no user"),
    ("everybody*", "all users, all processes"),
    ("anew", "again"),
    ("to be had", "available"),
    ("cannot be had", "is not available, is not possible"),
    ("of ours", "our"),
    ("of yours", "your"),
    ("mend", "repair"),
    ("mends", "repairs"),
    ("mended", "repaired"),
    ("at the least", "at least"),
    ("at the most", "at most"),
    ("no news", "say what has not changed"),
    ("known no better", "uncertain by"),
    ("came to lie", "lies"),
    ("in vain", "without effect"),
    ("told", "said, reported, shown"),
    ("last words", "last message"),
    ("is none of", "is not one of"),
];

/// Lists of words, and the account `nobody`.
const EXEMPT: [&str; 3] =
    ["xtask/src/tidy/wording.rs", "xtask/src/tidy/bindings.rs", "crates/process/src/users.rs"];

/// Such forms in a file of Rust, of a document or of data.
pub fn check(path: &str, text: &str) -> Vec<Violation> {
    let is_read = [".rs", ".md", ".toml", ".py"].iter().any(|end| path.ends_with(end));
    let is_past = path == "CHANGELOG.md" || path.starts_with("evidence/") || EXEMPT.contains(&path);
    if !is_read || is_past {
        return Vec::new();
    }
    let prose = match path.ends_with(".rs") {
        true => SourceFile::new(path, text).prose(),
        false => text.to_owned(),
    };
    let lines = (1..).zip(prose.lines());
    lines.flat_map(|(number, line)| of_line(path, number, &line.to_lowercase())).collect()
}

fn of_line(path: &str, number: usize, line: &str) -> Vec<Violation> {
    let found = FORMS.iter().filter(|(form, _)| has(line, form));
    let what = |(form, instead): &(&str, &str)| format!("'{}': {instead}", form.trim_end_matches('*'));
    found.map(|form| Violation::new(path, number, what(form))).collect()
}

/// Whether a line has a form as whole words.
fn has(line: &str, form: &str) -> bool {
    let (word, is_open) = form.strip_suffix('*').map_or((form, false), |word| (word, true));
    let in_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(in_word) && (is_open || !after.is_some_and(in_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_found_in_prose_and_not_in_code() {
        let found = |path: &str, text: &str| check(path, text).iter().map(|one| one.line).collect::<Vec<_>>();
        assert_eq!(found("a.rs", "let somebody = 1;\n// Somebody else.\nfail(\"somebody\");"), [2, 3]);
        assert_eq!(found("a.md", "Fine.\nHe is somebody's"), [2]);
        assert!(found("CHANGELOG.md", "somebody").is_empty());
        assert!(has("as mended here", "mend*") && !has("recommended", "mend*") && !has("told-off", "told"));
    }
}
