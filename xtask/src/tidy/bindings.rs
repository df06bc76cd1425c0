//! A variable is named after its contents: not `own`, `of` or `work`, which meant a treatment here and a ratio
//! there.
//!
//! Source: The Rust Reference, chapters "Patterns", "Functions" and "Closure expressions". A name counts where `let`,
//! `for`, a function or a closure binds it; arms of `match` are not checked.

use super::Violation;
use super::source::{SourceFile, in_word, line_of, words};
use std::ops::Range;

/// Meaningless names.
const NAMES: [&str; 4] = ["of", "own", "told", "work"];

/// A variable with such a name: its file, line and name.
struct Binding<'a> {
    path: &'a str,
    line: usize,
    name: &'static str,
}

/// Such variables of all crates and of xtask.
pub fn check(files: &[SourceFile<'_>]) -> Vec<Violation> {
    let is_checked = |file: &&SourceFile<'_>| {
        ["crates/", "xtask/"].iter().any(|start| file.path.starts_with(start)) && file.path.contains("/src/")
    };
    files.iter().filter(is_checked).flat_map(bindings).map(|found| violation(&found)).collect()
}

fn violation(found: &Binding<'_>) -> Violation {
    let what = format!("a variable is called `{}`: name what it holds", found.name);
    Violation::new(found.path, found.line, what)
}

/// Variables with such names in a file's code without tests, in the order of their lines.
fn bindings<'a>(file: &SourceFile<'a>) -> Vec<Binding<'a>> {
    let code = file.shipped.as_str();
    let patterns = patterns(code);
    let bound = |name: &'static str| {
        let places = words(code, name).filter(|at| is_bound(code, &patterns, *at, name));
        places.map(|at| Binding { path: file.path, line: line_of(code, at), name }).collect::<Vec<_>>()
    };
    let mut found: Vec<Binding<'a>> = NAMES.into_iter().flat_map(bound).collect();
    found.sort_by_key(|binding| binding.line);
    found
}

/// Whether the word at a place is a variable of one of the patterns, not a field, path or call.
fn is_bound(code: &str, patterns: &[Range<usize>], at: usize, name: &str) -> bool {
    let (before, after) = (code[..at].trim_end(), code[at + name.len()..].trim_start());
    let is_other = before.ends_with(['.', '\'']) || before.ends_with("::");
    let is_path = after.starts_with('(') || after.starts_with("::");
    let holds = |pattern: &&Range<usize>| pattern.contains(&at);
    // `S { own: x }` binds x, `own: &S` binds own.
    let is_field = |pattern: &Range<usize>| {
        let count = |brace: char| code[pattern.start..at].matches(brace).count();
        after.starts_with(':') && count('{') > count('}')
    };
    // Patterns of closures are inside of those around them.
    let innermost = patterns.iter().filter(holds).min_by_key(|pattern| pattern.len());
    !is_other && !is_path && innermost.is_some_and(|pattern| !is_field(pattern))
}

/// The text between `let` and `=`, `for` and `in`, in brackets of a function, between bars of a closure.
fn patterns(code: &str) -> Vec<Range<usize>> {
    let lets = words(code, "let").map(|at| at + 3..end(code, at + 3, is_equals));
    let loops = words(code, "for").filter_map(|at| {
        let end = end(code, at + 3, is_in);
        code[end..].starts_with("in").then_some(at + 3..end)
    });
    let functions = words(code, "fn").filter_map(|at| {
        let open = parameters(code, at + 2)?;
        Some(open + 1..end(code, open + 1, |_, _| false))
    });
    let bars = code.match_indices('|').map(|(at, _)| at).filter(|at| is_closure(code, *at));
    let closures = bars.map(|at| at + 1..end(code, at + 1, |code, at| code[at..].starts_with('|')));
    lets.chain(loops).chain(functions).chain(closures).collect()
}

/// First place outside of brackets that is so, or where a statement or a bracket ends.
fn end(code: &str, from: usize, is_so: fn(&str, usize) -> bool) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' | b';' if depth == 0 => return at,
            b')' | b']' | b'}' => depth -= 1,
            _ if depth == 0 && code.is_char_boundary(at) && is_so(code, at) => return at,
            _ => {}
        }
    }
    code.len()
}

fn is_equals(code: &str, at: usize) -> bool {
    code[at..].starts_with('=')
}

fn is_in(code: &str, at: usize) -> bool {
    let is_whole = code[..at].ends_with(char::is_whitespace);
    is_whole && code[at..].strip_prefix("in").is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

/// The bracket that opens a function's parameters, after its name and generics; none for a type `fn(…)`.
fn parameters(code: &str, from: usize) -> Option<usize> {
    let rest = &code[from..];
    if rest.trim_start().starts_with('(') {
        return None;
    }
    let mut depth = 0_i64;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if !rest[..at].ends_with('-') => depth -= 1,
            b'(' if depth == 0 => return Some(from + at),
            b'{' | b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Whether a bar opens a closure: nothing before it could be its left operand.
fn is_closure(code: &str, at: usize) -> bool {
    let before = code[..at].trim_end();
    let is_start = before.ends_with(['(', '[', '{', ',', ';', '=', '&']) || before.ends_with("=>");
    let is_word = ["move", "return", "else", "in"].iter().any(|word| {
        before.strip_suffix(word).is_some_and(|rest| !rest.bytes().next_back().is_some_and(in_word))
    });
    (is_start || is_word) && !code[at + 1..].starts_with('|')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the bindings in a file of some crate.
    fn lines(text: &str) -> Vec<usize> {
        let files = [SourceFile::new("crates/x/src/a.rs", text)];
        check(&files).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn what_let_for_functions_and_closures_bind_is_found() {
        for text in [
            "let own = 1;",
            "let mut work: Vec<u8> = x;",
            "let (a, of) = x;",
            "let S { own, .. } = x else { return };",
            "let S { a: own } = x;",
            "if let Some(own) = x {}",
            "while let Some(of) = x.next() {}",
            "for own in x {}",
            "for (at, own) in x.iter().enumerate() {}",
            "fn f(own: &T) {}",
            "fn f<T: Fn(u8) -> u8>(a: [u8; 4], of: T) {}",
            "x.map(|own| f)",
            "x.map(move |(_, own)| f)",
            "let a = |of: fn(&T) -> u8, b| f;",
            "x.filter(a, |&&work| f)",
            "match x { y => |own| f }",
        ] {
            assert_eq!(lines(&format!("\n{text}\n")), [2], "{text}");
        }
    }

    #[test]
    fn fields_paths_calls_and_uses_are_not() {
        for text in [
            "let a = own;",
            "let S { own: a } = x;",
            "let own::S(a) = x;",
            "let a = S { own: 1 };",
            "f(own.of, of(work), T::of(a))",
            "fn of(a: T) {}",
            "struct S { own: T }",
            "a | own | b",
            "x || own || y",
            "x.map(|a| own)",
            "impl own for S { const A: u8 = work; }",
            "type F = for<'own> fn(&'own T) -> T;",
            "for a in own {}",
            "let of_run = |is_own| f;",
            "// let own = 1;",
            "#[cfg(test)]\nmod tests { fn f(own: T) {} }",
        ] {
            assert!(lines(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn every_crate_and_xtask_is_looked_at_and_tests_are_not() {
        let found = |path: &str| check(&[SourceFile::new(path, "fn f(own: T) {}")]).len();
        assert_eq!((found("crates/x/src/a/b.rs"), found("xtask/src/a.rs")), (1, 1));
        assert_eq!((found("crates/x/src/a/tests.rs"), found("crates/x/tests/a.rs")), (0, 0));
    }
}
