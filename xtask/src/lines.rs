//! `cargo xtask lines`: the amount of text to read. Lines of Rust without tests, comments and blank lines, by crate;
//! also lines of tests, and of data (SQL, TOML, Python).

use crate::tidy::{self, SourceFile};
use std::collections::BTreeMap;

/// Lines of a crate.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    files: usize,
    lines: usize,
    tests: usize,
    sql: usize,
    toml: usize,
    python: usize,
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.tests += other.tests;
        self.sql += other.sql;
        self.toml += other.toml;
        self.python += other.python;
    }

    /// Of one file.
    fn of(path: &str, text: &str) -> Self {
        let filled = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
        let is_counted = |line: &str, mark: &str| !line.is_empty() && !line.starts_with(mark);
        let without = |mark: &str| text.lines().filter(|line| is_counted(line.trim(), mark)).count();
        match path.rsplit_once('.').map(|(_, end)| end) {
            Some("rs") => {
                let file = SourceFile::new(path, text);
                let lines = filled(&file.shipped_strings());
                let tests = filled(&file.without_comments()) - lines;
                Self { files: usize::from(lines > 0), lines, tests, ..Self::default() }
            }
            Some("sql") => Self { sql: without("--"), ..Self::default() },
            Some("toml") if !path.ends_with("Cargo.toml") => Self { toml: without("#"), ..Self::default() },
            Some("py") => Self { python: without("#"), ..Self::default() },
            _ => Self::default(),
        }
    }
}

/// Prints the table.
pub fn run() -> Result<(), String> {
    let mut crates: BTreeMap<String, Count> = BTreeMap::new();
    for path in tidy::project_files()? {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        crates.entry(place(&path).to_owned()).or_default().add(&Count::of(&path, &text));
    }
    let mut rows: Vec<(String, Count)> =
        crates.into_iter().filter(|(_, count)| *count != Count::default()).collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(count.lines));
    let mut all = Count::default();
    rows.iter().for_each(|(_, count)| all.add(count));
    rows.push(("all".to_owned(), all));
    println!("{:<26}{:>7}{:>9}{:>9}{:>7}{:>7}{:>8}", "", "files", "lines", "tests", "SQL", "TOML", "Python");
    for (name, count) in &rows {
        let Count { files, lines, tests, sql, toml, python } = count;
        println!("{name:<26}{files:>7}{lines:>9}{tests:>9}{sql:>7}{toml:>7}{python:>8}");
    }
    Ok(())
}

/// The crate of a file, or its top-level folder.
fn place(path: &str) -> &str {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.split_once('/').map_or("(top)", |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_comments_and_blank_lines_are_not_lines() {
        let text = "//! Purpose.\n\nfn a() {\n    b(\"// no comment\n    \")\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        let count = Count::of("crates/x/src/a.rs", text);
        assert_eq!(count, Count { files: 1, lines: 4, tests: 4, ..Count::default() });
        let tests = Count::of("crates/x/tests/it/a.rs", "fn a() {}\n");
        assert_eq!(tests, Count { tests: 1, ..Count::default() });
        assert_eq!(Count::of("a.sql", "-- what\nselect 1\n").sql, 1);
        assert_eq!((place("crates/x/src/a.rs"), place("docs/a.md"), place("a.rs")), ("x", "docs", "(top)"));
    }
}
