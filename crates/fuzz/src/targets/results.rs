//! Result files, read through the whole path of `report`: store, analysis, terminal, HTML, JSON, CSV.
//!
//! The corpus is the frozen studies of `report`'s tests, one or more of each kind, with hostile ones among them.
//! Mutants change values of rows by SQL, bypassing the checks of the schema, and bytes of pages.

use crate::mutate;
use crate::random::Random;
use crate::target::{Judged, Target, hold, space, write};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::fs;
use std::path::Path;
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

struct Results {
    space: TempDir,
    mutants: Mutants,
}

/// Files of SQLite that mutants are made of.
pub(super) struct Mutants {
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
pub fn make() -> Result<Target, String> {
    let failed = |error: std::io::Error| format!("{STUDIES}: {error}");
    let mut paths = fs::read_dir(STUDIES)
        .map_err(failed)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "threadwise"));
    paths.sort();
    for path in &paths {
        judge_file(path, &[]).map_err(|why| format!("{}, unchanged: {why}", path.display()))?;
    }
    hold(paths.len() >= 20, || format!("{} studies in {STUDIES}", paths.len()))?;
    let mutants = Mutants::of(&paths.iter().map(|path| path.as_path()).collect::<Vec<_>>())?;
    Ok(Target::with(Results { space: space()?, mutants }, Results::input, Results::judge))
}

fn columns(path: &Path) -> rusqlite::Result<Vec<(String, String)>> {
    let connection = Connection::open(path)?;
    let sql = "SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
               WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1, 2";
    let mut statement = connection.prepare(sql)?;
    let all: Vec<(String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let has_rows =
        |table: &str| connection.query_row(&format!("SELECT 1 FROM {table}"), [], |_| Ok(())).is_ok();
    Ok(all.into_iter().filter(|(table, _)| has_rows(table)).collect())
}

/// Another value to replace one.
fn changed(random: &mut Random, value: Value) -> Value {
    const ENDS: [i64; 12] =
        [0, 1, -1, 2, 255, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 53, i64::MAX, i64::MIN, 3_600_000_000_000];
    const REALS: [f64; 12] =
        [0.0, -0.0, 1.0, -1.0, 1e-300, 5e-324, 1e308, f64::MAX, f64::INFINITY, 0.95, 1e9, f64::NEG_INFINITY];
    let times = random.times(3);
    match value {
        Value::Integer(number) if random.percent(40) => {
            Value::Integer(number.wrapping_add(1 - 2 * random.below(2) as i64))
        }
        Value::Integer(_) if random.percent(90) => Value::Integer(*random.pick(&ENDS)),
        Value::Real(number) if random.percent(30) => Value::Real(number * [-1.0, 1e3, 1e-3][random.below(3)]),
        Value::Real(_) if random.percent(90) => Value::Real(*random.pick(&REALS)),
        Value::Text(text) => Value::Text(changed_text(random, text, times)),
        Value::Blob(mut bytes) => {
            mutate::binary(random, &mut bytes, times);
            Value::Blob(bytes)
        }
        _ => [Value::Null, Value::Integer(0), Value::Real(f64::INFINITY), Value::Text("x".to_owned())]
            [random.below(4)]
        .clone(),
    }
}

fn changed_text(random: &mut Random, text: String, times: usize) -> String {
    if random.percent(70)
        && let Ok(mut value) = serde_json::from_str::<serde_json::Value>(&text)
    {
        mutate::json(random, &mut value, times, &[]);
        return value.to_string();
    }
    // The study is stored as its TOML.
    if random.percent(70)
        && text.lines().count() > 5
        && let Ok(mut value) = toml::from_str::<serde_json::Value>(&text)
    {
        mutate::json(random, &mut value, times, &[]);
        if let Ok(text) = toml::to_string(&value) {
            return text;
        }
    }
    let mut bytes = text.into_bytes();
    mutate::text(random, &mut bytes, times, &[]);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Changes a value, copies one from another row, or removes rows. Values that the columns' types or a unique
/// index refuse cannot be in a file.
fn change_rows(
    random: &mut Random,
    connection: &Connection,
    columns: &[(String, String)],
) -> rusqlite::Result<()> {
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
    pub(super) fn of(paths: &[&Path]) -> Result<Self, String> {
        let read = |path: &&Path| {
            let columns = columns(path).map_err(|error| error.to_string())?;
            Ok((fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?, columns))
        };
        Ok(Self { files: paths.iter().map(read).collect::<Result<_, String>>()? })
    }

    /// One of them, changed.
    pub(super) fn mutant(&self, random: &mut Random, space: &Path) -> Result<Vec<u8>, String> {
        let (whole, columns) = random.pick(&self.files);
        let path = space.join("mutant");
        write(&path, whole)?;
        if random.percent(85) {
            let connection = Connection::open(&path).map_err(|error| error.to_string())?;
            let settings =
                "PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF; PRAGMA synchronous=OFF;
                            PRAGMA journal_mode=MEMORY;";
            connection.execute_batch(settings).map_err(|error| error.to_string())?;
            for _ in 0..random.times(5) {
                // A change that the file cannot hold is ignored.
                let _ = change_rows(random, &connection, columns);
            }
        }
        let mut bytes = fs::read(&path).map_err(|error| error.to_string())?;
        if random.percent(20) {
            let times = random.times(4);
            let first = if random.percent(90) { FIRST_PAGE } else { 0 };
            let mut rest = bytes.split_off(first.min(bytes.len()));
            for _ in 0..times {
                let (at, any) = (random.below(rest.len()), random.next() as u8);
                rest[at] = *random.pick(&[0, 1, 127, 128, 255, rest[at].wrapping_add(1), any]);
            }
            bytes.extend(rest);
        }
        Ok(bytes)
    }
}

impl Results {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        self.mutants.mutant(random, self.space.path()).unwrap_or_default()
    }

    fn judge(&self, input: &[u8]) -> Judged {
        let path = self.space.path().join("result.threadwise");
        write(&path, input)?;
        judge_file(&path, &[FORMS[turn(input)]])
    }
}

/// The form in which an input is shown: writing all of them takes several times as long as reading a file.
fn turn(input: &[u8]) -> usize {
    let sum = input.iter().fold(0_usize, |sum, byte| sum.wrapping_add(usize::from(*byte)));
    sum % FORMS.len()
}

fn judge_file(path: &Path, forms: &[Form]) -> Result<bool, String> {
    let one_line = |error: threadwise_store::StoreError| {
        let text = error.to_string();
        hold(!text.contains(is_deceptive), || format!("an error deceives: {}", escaped(&text)))
    };
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(error) => return one_line(error).map(|()| false),
    };
    match Opened::read(&store, path.display().to_string()) {
        Ok(opened) => shown(&opened.facts(), forms).map(|()| true),
        Err(error) => one_line(error).map(|()| true),
    }
}

/// A form of showing a study, and its required properties.
type Form = fn(&Facts<'_>, Style) -> Result<(), String>;
/// Those of `report`, `compare` and `export`.
const FORMS: [Form; 7] =
    [in_terminal, as_json, as_page, compared, compared_on_page, exported_as_lines, exported_as_tables];

/// A writer of one export.
type Export = fn(&Facts<'_>, &mut dyn std::io::Write) -> Result<(), ReportError>;

fn shown(facts: &Facts<'_>, forms: &[Form]) -> Result<(), String> {
    let unicode = facts.runs.len().is_multiple_of(2);
    let style = Style { color: false, unicode, width: 60 + facts.notes.len() % 100 };
    let findings = verdict(facts);
    hold(!findings.is_empty(), || "a report without a verdict".to_owned())?;
    for finding in findings {
        let text = finding.text();
        let wrong = ["NaN", "inf"].into_iter().find(|word| has_word(text.as_bytes(), word));
        // A text of the file may have the word itself, before the next text; its numbers are binary.
        let is_number = |word: &str| fs::read(facts.source).is_ok_and(|file| !has_start(&file, word));
        hold(!wrong.is_some_and(is_number), || format!("not a number: {}", escaped(&text)))?;
    }
    forms.iter().try_for_each(|form| form(facts, style))
}

fn has_word(bytes: &[u8], word: &str) -> bool {
    bytes.split(|byte| !byte.is_ascii_alphanumeric()).any(|found| found == word.as_bytes())
}

/// Whether a word has such a beginning.
fn has_start(bytes: &[u8], start: &str) -> bool {
    let mut words = bytes.split(|byte| !byte.is_ascii_alphanumeric());
    words.any(|found| found.starts_with(start.as_bytes()))
}

pub(super) fn on_terminal(document: &Document, style: Style) -> String {
    format!("{}\n{}", terminal::verdict(document, style), terminal::sections(document, style))
}

fn in_terminal(facts: &Facts<'_>, style: Style) -> Result<(), String> {
    let text = on_terminal(&document(facts), style);
    hold(!text.trim().is_empty(), || "an empty report".to_owned())?;
    hold(style.unicode || text.is_ascii(), || "an ASCII report with other characters".to_owned())?;
    is_clean("a terminal", &text)
}

fn as_json(facts: &Facts<'_>, _: Style) -> Result<(), String> {
    is_json("report", &forms::report(facts, &document(facts)))
}

fn as_page(facts: &Facts<'_>, _: Style) -> Result<(), String> {
    is_page(&html::render(&document(facts)).map_err(|error| format!("HTML: {error}"))?)
}

fn compared(facts: &Facts<'_>, style: Style) -> Result<(), String> {
    let both = [*facts; 2];
    is_clean("a comparison", &on_terminal(&compare::document(&both, "0.1.0"), style))?;
    is_json("comparison", &forms::compare(&both))?;
    is_json("card", &forms::card_line(&Card::of(facts, document(facts).screen.trust.level, None)))?;
    let after = [Facts { source: "after", created_utc: "later", ..*facts }];
    let sides = Sides { before: &both[..1], after: &after, is_paired: false };
    let Ok(change) = change::change(sides, None) else { return Ok(()) };
    is_clean("a change", &on_terminal(&change::document(&change, "0.1.0"), style))?;
    is_json("change", &forms::changed(&change))
}

fn compared_on_page(facts: &Facts<'_>, _: Style) -> Result<(), String> {
    let document = compare::document(&[*facts; 2], "0.1.0");
    is_page(&html::render(&document).map_err(|error| format!("HTML: {error}"))?)
}

fn exported_as_lines(facts: &Facts<'_>, _: Style) -> Result<(), String> {
    let exports: [Export; 4] =
        [forms::runs_jsonl, forms::slices_jsonl, forms::queries_jsonl, forms::items_jsonl];
    exports
        .iter()
        .try_for_each(|export| exported(facts, *export)?.lines().try_for_each(|line| is_json("line", line)))
}

fn exported_as_tables(facts: &Facts<'_>, _: Style) -> Result<(), String> {
    let exports: [Export; 4] = [csv::runs_csv, csv::slices_csv, csv::queries_csv, csv::items_csv];
    exports.iter().try_for_each(|export| is_clean("a table", &exported(facts, *export)?))
}

fn exported(facts: &Facts<'_>, export: Export) -> Result<String, String> {
    let mut out = Vec::new();
    export(facts, &mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| format!("an export is not text: {error}"))
}

pub(super) fn is_json(what: &str, text: &str) -> Result<(), String> {
    let read = serde_json::from_str::<serde_json::Value>(text);
    read.map_err(|error| format!("{what} is not JSON: {error}"))?;
    is_clean(what, text)
}

pub(super) fn is_page(page: &str) -> Result<(), String> {
    let (open, closed) = (page.matches("<script").count(), page.matches("</script").count());
    hold(open == closed, || format!("{open} scripts begin and {closed} end"))?;
    // The chart libraries are one line each, and contain such characters.
    page.lines().filter(|line| !line.starts_with("!function(t,")).try_for_each(|line| is_clean("HTML", line))
}

/// Nothing in it acts on a terminal or deceives its reader.
pub(super) fn is_clean(what: &str, text: &str) -> Result<(), String> {
    match text.lines().find(|line| line.contains(|c| is_deceptive(c) && c != '\t')) {
        None => Ok(()),
        Some(line) => {
            Err(format!("{what} deceives: {}", escaped(&line.chars().take(200).collect::<String>())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_deceives_is_found_but_for_the_libraries_of_a_page() {
        assert_eq!(is_clean("x", "a\tb\r\nc\n"), Ok(()));
        for text in ["a\rb", "\u{1b}[2J", "x\ny\u{202e}", "\u{2028}", "\u{ad}"] {
            assert!(is_clean("x", text).is_err(), "{text:?}");
        }
        assert_eq!(is_page("<script>\n!function(t,e){'\u{200b}'}\n</script>"), Ok(()));
        assert!(is_page("<p>\n\u{200b}</p>").is_err());
        assert!(is_page("<script>").is_err());
        assert!(is_json("x", "[\"\u{ad}\"]").is_err());
    }

    #[test]
    fn each_form_has_its_turn() {
        let turns: std::collections::BTreeSet<usize> = (0..100_u8).map(|byte| turn(&[byte, 7])).collect();
        assert_eq!(turns.len(), FORMS.len());
    }
}
