//! Result files, read through the whole path of `report`: store, analysis, terminal, HTML, JSON, CSV.
//!
//! The corpus is the frozen studies of `report`'s tests, one or more of each kind, with hostile ones among them.
//! Mutants change values of rows by SQL, bypassing the checks of the schema, and bytes of pages.

use crate::mutate;
use crate::random::Random;
use crate::target::{Target, plain, space, write};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_analysis::card::Card;
use threadwise_analysis::compare::change::{self, Sides};
use threadwise_analysis::{Facts, compare, document, verdict};
use threadwise_machine::text::{escaped, is_deceptive};
use threadwise_report::terminal::Style;
use threadwise_report::{Document, ReportError, csv, html, json as forms, terminal};
use threadwise_store::Store;

// The tests' reading of a file, which is the program's.
#[allow(missing_docs, dead_code, clippy::unwrap_used)]
#[path = "../../../report/tests/it/frozen/opened.rs"]
mod opened;
use opened::Opened;

/// A table and one of its columns.
type Column = (String, String);

/// Files of SQLite that mutants are made of.
pub(super) struct Mutants {
    space: TempDir,
    /// Complete files, and the columns that have rows.
    files: Vec<(Vec<u8>, Vec<Column>)>,
}

/// Where the corpus is.
const STUDIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/it/frozen/studies");
/// The first bytes of a page after the header of a file.
const FIRST_PAGE: usize = 512;
/// For texts of a file that another program or machine provides: an escape, a CSI in one character, direction
/// marks, nothing visible, a soft hyphen, a tag, a Unicode line separator.
const DECEPTIVE: &str = "\u{1b}[31m\u{9b}2J\u{202e}b\u{200b}\u{2066}c\u{ad}\u{e0041}\u{2028}e";

/// The target.
pub fn make() -> Target {
    let entries = fs::read_dir(STUDIES).expect("the folder of studies").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "threadwise"));
    paths.sort();
    for path in &paths {
        judge_file(path, &[]);
    }
    assert!(paths.len() >= 20, "{} studies in {STUDIES}", paths.len());
    Target::with(Mutants::new(&paths), Mutants::mutant, |mutants, input| {
        judge_file(&mutants.file(input), &[FORMS[turn(input)]])
    })
}

fn columns(path: &Path) -> rusqlite::Result<Vec<Column>> {
    let connection = Connection::open(path)?;
    let sql = "SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
               WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1, 2";
    let mut statement = connection.prepare(sql)?;
    let all: Vec<Column> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let has_rows =
        |table: &str| connection.query_row(&format!("SELECT 1 FROM {table}"), [], |_| Ok(())).is_ok();
    Ok(all.into_iter().filter(|(table, _)| has_rows(table)).collect())
}

/// Another value to replace one.
fn changed(random: &mut Random, value: Value) -> Value {
    let number = |random: &mut Random, old: String| {
        let new = String::from_utf8(mutate::number(random, old.as_bytes())).unwrap_or_default();
        new.parse().map(Value::Integer).or_else(|_| new.parse().map(Value::Real)).unwrap_or(Value::Null)
    };
    match value {
        Value::Integer(old) if random.percent(90) => number(random, old.to_string()),
        Value::Real(old) if random.percent(30) => Value::Real(old * [-1.0, 1e3, 1e-3][random.below(3)]),
        Value::Real(old) if random.percent(90) => number(random, old.to_string()),
        Value::Text(text) => {
            // The study is stored as its TOML.
            let changed = mutate::document(random, &[text]);
            Value::Text(String::from_utf8_lossy(&changed).into_owned())
        }
        Value::Blob(mut bytes) => {
            mutate::text(random, &mut bytes, 2, &[]);
            Value::Blob(bytes)
        }
        _ => [Value::Null, Value::Integer(0), Value::Real(f64::INFINITY), Value::Text("x".to_owned())]
            [random.below(4)]
        .clone(),
    }
}

/// Changes a value, copies one from another row, or removes rows. Values that the columns' types or a unique
/// index refuse cannot be in a file.
fn change_rows(random: &mut Random, connection: &Connection, columns: &[Column]) -> rusqlite::Result<()> {
    let (table, column) = random.pick(columns);
    let rows: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    let at = |random: &mut Random| random.below(usize::try_from(rows).unwrap_or(0)) as i64;
    let chosen = format!("{column} IS (SELECT {column} FROM {table} LIMIT 1 OFFSET ?1)");
    let first = at(random);
    match random.below(11) {
        10 => {
            let is_text = format!("typeof({column}) = 'text' AND length({column}) < 200");
            let sql = format!("UPDATE OR IGNORE {table} SET {column} = {column} || ?1 WHERE {is_text}");
            connection.execute(&sql, [DECEPTIVE])?
        }
        0 => connection.execute(&format!("DELETE FROM {table} WHERE {chosen}"), [first])?,
        1 | 2 => {
            let other = at(random);
            let value = format!("(SELECT {column} FROM {table} LIMIT 1 OFFSET ?2)");
            connection.execute(
                &format!("UPDATE OR IGNORE {table} SET {column} = {value} WHERE {chosen}"),
                [first, other],
            )?
        }
        _ => {
            let select = format!("SELECT {column} FROM {table} LIMIT 1 OFFSET ?1");
            let value: Value = connection.query_row(&select, [first], |row| row.get(0))?;
            let set = format!("UPDATE OR IGNORE {table} SET {column} = ?2 WHERE {chosen}");
            connection.execute(&set, rusqlite::params![first, changed(random, value)])?
        }
    };
    Ok(())
}

impl Mutants {
    /// Of complete files.
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        let read = |path: &PathBuf| (fs::read(path).expect("a file"), columns(path).expect("its columns"));
        Self { space: space(), files: paths.iter().map(read).collect() }
    }

    /// A file with these bytes.
    pub(super) fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.space.path().join("mutant.threadwise");
        write(&path, bytes);
        path
    }

    /// One of them, changed.
    pub(super) fn mutant(&self, random: &mut Random) -> Vec<u8> {
        let (whole, columns) = random.pick(&self.files);
        let path = self.file(whole);
        if random.percent(85) {
            let connection = Connection::open(&path).expect("a whole file");
            let settings =
                "PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF; PRAGMA synchronous=OFF;
                            PRAGMA journal_mode=MEMORY;";
            connection.execute_batch(settings).expect("settings");
            for _ in 0..random.times(5) {
                // A change that the file cannot hold is ignored.
                let _ = change_rows(random, &connection, columns);
            }
        }
        let mut bytes = fs::read(&path).expect("the mutant");
        if random.percent(20) {
            let times = random.times(4);
            let first = if random.percent(90) { FIRST_PAGE } else { 0 };
            let first = first.min(bytes.len());
            for _ in 0..times {
                let (at, any) = (first + random.below(bytes.len() - first), random.next() as u8);
                bytes[at] = *random.pick(&[0, 1, 127, 128, 255, bytes[at].wrapping_add(1), any]);
            }
        }
        bytes
    }
}

/// The form in which an input is shown: writing all of them takes several times as long as reading a file.
fn turn(input: &[u8]) -> usize {
    let sum = input.iter().fold(0_usize, |sum, byte| sum.wrapping_add(usize::from(*byte)));
    sum % FORMS.len()
}

fn judge_file(path: &Path, forms: &[Form]) -> bool {
    let store = Store::open(path);
    let opened = store.as_ref().map(|store| Opened::read(store, path.display().to_string()));
    match opened {
        Ok(Ok(opened)) => shown(&opened.facts(), forms),
        Ok(Err(error)) => plain("an error", &error.to_string()),
        Err(error) => plain("an error", &error.to_string()),
    }
    store.is_ok()
}

/// A form of showing a study, and its required properties.
type Form = fn(&Facts<'_>, Style);
/// Those of `report`, `compare` and `export`.
const FORMS: [Form; 7] =
    [in_terminal, as_json, as_page, compared, compared_on_page, exported_as_lines, exported_as_tables];

/// A writer of one export.
type Export = fn(&Facts<'_>, &mut dyn std::io::Write) -> Result<(), ReportError>;

fn shown(facts: &Facts<'_>, forms: &[Form]) {
    let unicode = facts.runs.len().is_multiple_of(2);
    let style = Style { color: false, unicode, width: 60 + facts.notes.len() % 100 };
    let findings = verdict(facts);
    assert!(!findings.is_empty(), "a report without a verdict");
    for finding in findings {
        let text = finding.text();
        let wrong = ["NaN", "inf"]
            .into_iter()
            .find(|word| words(text.as_bytes()).any(|found| found == word.as_bytes()));
        // A text of the file may have the word itself, before the next text; its numbers are binary.
        let is_number = |word: &str| {
            let file = fs::read(facts.source).expect("the file");
            !words(&file).any(|found| found.starts_with(word.as_bytes()))
        };
        assert!(!wrong.is_some_and(is_number), "not a number: {}", escaped(&text));
    }
    forms.iter().for_each(|form| form(facts, style));
}

fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| !byte.is_ascii_alphanumeric())
}

pub(super) fn on_terminal(document: &Document, style: Style) -> String {
    format!("{}\n{}", terminal::verdict(document, style), terminal::sections(document, style))
}

fn in_terminal(facts: &Facts<'_>, style: Style) {
    let text = on_terminal(&document(facts), style);
    assert!(!text.trim().is_empty(), "an empty report");
    assert!(style.unicode || text.is_ascii(), "an ASCII report with other characters");
    is_clean("a terminal", &text);
}

fn as_json(facts: &Facts<'_>, _: Style) {
    is_json("report", &forms::report(facts, &document(facts)));
}

fn as_page(facts: &Facts<'_>, _: Style) {
    is_page(&html::render(&document(facts)).expect("HTML"));
}

fn compared(facts: &Facts<'_>, style: Style) {
    let both = [*facts; 2];
    is_clean("a comparison", &on_terminal(&compare::document(&both, "0.1.0"), style));
    is_json("comparison", &forms::compare(&both));
    is_json("card", &forms::card_line(&Card::of(facts, document(facts).screen.trust.level, None)));
    let after = [Facts { source: "after", created_utc: "later", ..*facts }];
    let sides = Sides { before: &both[..1], after: &after, is_paired: false };
    if let Ok(change) = change::change(sides, None) {
        is_clean("a change", &on_terminal(&change::document(&change, "0.1.0"), style));
        is_json("change", &forms::changed(&change));
    }
}

fn compared_on_page(facts: &Facts<'_>, _: Style) {
    is_page(&html::render(&compare::document(&[*facts; 2], "0.1.0")).expect("HTML"));
}

fn exported_as_lines(facts: &Facts<'_>, _: Style) {
    let exports: [Export; 4] =
        [forms::runs_jsonl, forms::slices_jsonl, forms::queries_jsonl, forms::items_jsonl];
    for export in exports {
        exported(facts, export).lines().for_each(|line| is_json("line", line));
    }
}

fn exported_as_tables(facts: &Facts<'_>, _: Style) {
    let exports: [Export; 4] = [csv::runs_csv, csv::slices_csv, csv::queries_csv, csv::items_csv];
    exports.into_iter().for_each(|export| is_clean("a table", &exported(facts, export)));
}

fn exported(facts: &Facts<'_>, export: Export) -> String {
    let mut out = Vec::new();
    export(facts, &mut out).expect("an export");
    String::from_utf8(out).expect("an export that is text")
}

#[track_caller]
pub(super) fn is_json(what: &str, text: &str) {
    let read = serde_json::from_str::<serde_json::Value>(text);
    assert!(read.is_ok(), "{what} is not JSON: {read:?}");
    is_clean(what, text);
}

#[track_caller]
pub(super) fn is_page(page: &str) {
    let (open, closed) = (page.matches("<script").count(), page.matches("</script").count());
    assert_eq!(open, closed, "scripts that begin and end");
    // The chart libraries are one line each, and contain such characters.
    page.lines().filter(|line| !line.starts_with("!function(t,")).for_each(|line| is_clean("HTML", line));
}

/// Nothing in it acts on a terminal or deceives its reader.
#[track_caller]
pub(super) fn is_clean(what: &str, text: &str) {
    let wrong = text.lines().find(|line| line.contains(|c| is_deceptive(c) && c != '\t'));
    let shown = |line: &str| escaped(&line.chars().take(200).collect::<String>());
    assert!(wrong.is_none(), "{what} deceives: {}", wrong.map(shown).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_deceives_is_found_but_for_the_libraries_of_a_page() {
        let is_found =
            |check: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err();
        is_clean("x", "a\tb\r\nc\n");
        for text in ["a\rb", "\u{1b}[2J", "x\ny\u{202e}", "\u{2028}", "\u{ad}"] {
            assert!(is_found(&|| is_clean("x", text)), "{text:?}");
        }
        is_page("<script>\n!function(t,e){'\u{200b}'}\n</script>");
        assert!(is_found(&|| is_page("<p>\n\u{200b}</p>")) && is_found(&|| is_page("<script>")));
        assert!(is_found(&|| is_json("x", "[\"\u{ad}\"]")) && is_found(&|| is_json("x", "[")));
    }

    #[test]
    fn each_form_has_its_turn() {
        let turns: std::collections::BTreeSet<usize> = (0..100_u8).map(|byte| turn(&[byte, 7])).collect();
        assert_eq!(turns.len(), FORMS.len());
    }
}
