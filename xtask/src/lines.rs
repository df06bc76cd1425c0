//! `cargo xtask lines`: the amount of text to read. Lines of Rust without tests, comments and blank lines, by crate;
//! also lines of tests, and of data (SQL, TOML, Python).

use crate::tidy::{self, SourceFile};
use std::collections::BTreeMap;

/// Columns of the table.
const COLUMNS: [&str; 6] = ["files", "lines", "tests", "SQL", "TOML", "Python"];

/// Numbers of a crate, one for each of [`COLUMNS`].
#[derive(Debug, Default, PartialEq, Eq)]
struct Count([usize; COLUMNS.len()]);

impl Count {
    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, number)| *sum += number);
    }

    /// Of one file.
    fn of(path: &str, text: &str) -> Self {
        let filled = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
        let is_counted = |line: &str, mark: &str| !line.is_empty() && !line.starts_with(mark);
        let without = |mark: &str| text.lines().filter(|line| is_counted(line.trim(), mark)).count();
        match path.rsplit_once('.').map(|(_, end)| end) {
            Some("rs") => {
                let file = SourceFile::new(path, text);
                let lines = filled(&file.shipped_text());
                let tests = filled(&file.without_comments()) - lines;
                Self([usize::from(lines > 0), lines, tests, 0, 0, 0])
            }
            Some("sql") => Self([0, 0, 0, without("--"), 0, 0]),
            Some("toml") if !path.ends_with("Cargo.toml") => Self([0, 0, 0, 0, without("#"), 0]),
            Some("py") => Self([0, 0, 0, 0, 0, without("#")]),
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
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(count.0[1]));
    let mut all = Count::default();
    rows.iter().for_each(|(_, count)| all.add(count));
    rows.push(("all".to_owned(), all));
    let line = |name: &str, cells: [String; COLUMNS.len()]| {
        println!("{name:<26}{}", cells.map(|cell| format!("{cell:>9}")).concat());
    };
    line("", COLUMNS.map(str::to_owned));
    rows.iter().for_each(|(name, count)| line(name, count.0.map(|number| number.to_string())));
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
        assert_eq!(count, Count([1, 4, 4, 0, 0, 0]));
        let tests = Count::of("crates/x/tests/it/a.rs", "fn a() {}\n");
        assert_eq!(tests, Count([0, 0, 1, 0, 0, 0]));
        assert_eq!(Count::of("a.sql", "-- what\nselect 1\n"), Count([0, 0, 0, 1, 0, 0]));
        assert_eq!((place("crates/x/src/a.rs"), place("docs/a.md"), place("a.rs")), ("x", "docs", "(top)"));
    }
}
