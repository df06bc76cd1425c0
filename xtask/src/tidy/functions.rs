//! Length of functions, by their braces.

use super::Violation;
use super::source::{SourceFile, body, closing_brace, in_word, line_of, words};

/// A function with this many lines, from `fn` to its closing brace, is too long.
const TOO_LONG: usize = 70;

/// Functions outside of tests that are too long.
pub fn check(file: &SourceFile) -> Vec<Violation> {
    let long = functions(&file.shipped).into_iter().filter(|function| function.lines >= TOO_LONG);
    long.map(|function| {
        let what =
            format!("function {} has {} lines; under {TOO_LONG} are allowed", function.name, function.lines);
        Violation::new(file.path, function.line, what)
    })
    .collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// All functions with a body.
fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let rest = &code[at + 2..];
        let start = at + 2 + (rest.len() - rest.trim_start().len());
        let name: String =
            code[start..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '#')).collect();
        // `fn(u32)` is a type.
        if !name.bytes().next().is_some_and(in_word) {
            continue;
        }
        if let Some(open) = body(code, start) {
            let line = line_of(code, at);
            found.push(Function { name, line, lines: line_of(code, closing_brace(code, open)) - line + 1 });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_lines(lines: usize) -> String {
        format!("//! Purpose.\n\npub fn long(\n{}) {{}}\n", "    a: u8,\n".repeat(lines - 2))
    }

    #[test]
    fn seventy_lines_are_too_many() {
        let short = of_lines(TOO_LONG - 1);
        assert!(check(&SourceFile::new("crates/x/src/a.rs", &short)).is_empty());
        let long = of_lines(TOO_LONG);
        let found = check(&SourceFile::new("crates/x/src/a.rs", &long));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 3);
        assert!(found[0].what.contains("function long has 70 lines"));
        assert!(check(&SourceFile::new("crates/x/tests/a.rs", &long)).is_empty());
    }

    #[test]
    fn braces_in_literals_do_not_count() {
        let text =
            format!("fn a() {{\n b(\"}}\", '{{', r#\"}}\"#); // }}\n{}}}\nfn c() {{}}\n", "x();\n".repeat(3));
        let file = SourceFile::new("crates/x/src/a.rs", &text);
        let lengths: Vec<usize> = functions(&file.shipped).iter().map(|function| function.lines).collect();
        assert_eq!(lengths, [6, 1]);
    }

    #[test]
    fn declarations_and_types_are_no_functions() {
        let code = "trait T { fn a(&self) -> [u8; 4]; fn b() { } } type F = fn(u32) -> u8; fn c<const N: usize>() where [u8; N]: Sized { fn d() {} }";
        let names: Vec<String> = functions(code).into_iter().map(|function| function.name).collect();
        assert_eq!(names, ["b", "c", "d"]);
    }
}
