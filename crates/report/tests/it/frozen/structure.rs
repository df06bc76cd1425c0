//! What holds of every form of every study, frozen or made up, whatever it says.

use crate::frozen::{Opened, STUDIES, forms, page};
use crate::report::documents as made_up;
use crate::without_colours;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;
use threadwise_analysis::{document, probe_document};
use threadwise_document::Document;
use threadwise_machine::text::is_deceptive;
use threadwise_report::{json, terminal};

/// Studies that are shown side by side.
const SIDE_BY_SIDE: [&[&str]; 5] = [
    &["rates", "simulated"],
    &["queries", "queries-postgres", "streams"],
    &["commands", "failed", "worklist"],
    &["rates", "queries", "commands"],
    &["hostile-placement", "hostile-queries"],
];

/// Every document that can be made of the studies, and every made-up one, by name.
static DOCUMENTS: LazyLock<Vec<(String, Document)>> = LazyLock::new(|| {
    let mut all = made_up::documents();
    for study in STUDIES {
        let opened = Opened::open(study);
        all.push((study.to_owned(), document(&opened.facts())));
        if let (Some(probe), Some(hardware)) = (&opened.probe, &opened.hardware) {
            let document = probe_document(&opened.topology, probe, hardware, "0.1.0", "");
            all.push((format!("probe of {study}"), document));
        }
    }
    for names in SIDE_BY_SIDE {
        let studies: Vec<Opened> = names.iter().map(|name| Opened::open(name)).collect();
        let facts: Vec<_> = studies.iter().map(Opened::facts).collect();
        all.push((names.join(" beside "), forms::compared_document(&facts)));
    }
    all
});

#[test]
fn pages_have_all_of_the_document_and_nothing_else() {
    for (name, document) in DOCUMENTS.iter() {
        page::check(name, document);
    }
}

#[test]
fn terminals_keep_their_width_and_colours_and_signs_add_nothing() {
    let style = |width: usize| terminal::Style { color: false, unicode: true, width };
    for (name, document) in DOCUMENTS.iter() {
        for width in [50, 60, 80, 100, 140, 200] {
            let text = terminal::sections(document, style(width));
            // A name stays whole, however long it is.
            let has_room = |line: &&str| line.split_whitespace().all(|word| 2 * word.chars().count() < width);
            let wide = text.lines().filter(has_room).find(|line| line.chars().count() > width);
            assert_eq!(wide, None, "{name} at {width}");
        }
        let plain = forms::screen(document, style(80));
        let acts = plain.chars().find(|c| *c != '\n' && is_deceptive(*c));
        assert_eq!(acts, None, "{name}: a character that acts or deceives");
        let coloured = forms::screen(document, terminal::Style { color: true, ..style(80) });
        assert_eq!(without_colours(&coloured), plain, "{name}");
        let ascii = forms::screen(document, terminal::Style { unicode: false, ..style(80) });
        assert!(ascii.is_ascii(), "{name}:\n{ascii}");
    }
}

/// Columns of slices that are sums over sessions; those of runs are sums over slices.
const SUMS: [&str; 5] = ["steps", "rows", "cpu_ns", "voluntary_switches", "involuntary_switches"];
/// Columns of slices that are sums over the logical CPUs of their run.
const OF_CPUS: [(&str, &str); 2] = [("used_cpus_busy_ns", "busy_ns"), ("used_cpus_steal_ns", "steal_ns")];

/// Rows of a CSV export by their columns. A row that is longer or shorter than the first is a fault.
fn rows_of(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let row = |row: Result<csv::StringRecord, _>| {
        head.iter().map(str::to_owned).zip(row.unwrap().iter().map(str::to_owned)).collect()
    };
    reader.records().map(row).collect()
}

#[test]
fn exports_have_the_same_in_both_forms_sums_are_right_and_no_cell_is_a_formula() {
    for study in STUDIES {
        let opened = Opened::open(study);
        let facts = opened.facts();
        let (mut of_runs, mut cpus_of) = (BTreeMap::new(), BTreeMap::new());
        for (name, as_csv, as_lines) in forms::EXPORTS {
            let rows = rows_of(&forms::exported(as_csv, &facts));
            let lines = forms::exported(as_lines, &facts);
            let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(rows.len(), lines.len(), "{study}: {name}");
            for (row, line) in rows.iter().zip(&lines) {
                assert_eq!(line["version"], 1, "{study}: {name}");
                for (column, cell) in row {
                    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
                    assert!(!is_formula || cell.parse::<f64>().is_ok(), "{study}: {name}: {cell:?}");
                    let is_same = match &line[column] {
                        Value::Number(number) => {
                            cell.parse::<f64>().ok().zip(number.as_f64()).is_none_or(|(cell, number)| {
                                (cell - number).abs() <= 1e-6_f64.max(1e-12 * number.abs())
                            })
                        }
                        // A cell that would be a formula stands behind a quote.
                        Value::String(text) => {
                            let marked = |c: char| if is_deceptive(c) { '\u{fffd}' } else { c };
                            let text: String = text.chars().map(marked).collect();
                            *cell == text || cell.strip_prefix('\'') == Some(&text)
                        }
                        _ => true,
                    };
                    assert!(is_same, "{study}: {name}: {column} is {cell:?}, and {}", line[column]);
                }
            }
            let number = |row: &BTreeMap<String, String>, column: &str| row[column].parse::<u64>().unwrap();
            if name == "runs" {
                assert_eq!(lines.len(), facts.runs.len() + facts.long_runs.len(), "{study}");
                for row in &rows {
                    of_runs.insert(row["run_id"].clone(), SUMS.map(|column| number(row, column)));
                    cpus_of.insert(row["run_id"].clone(), row["cpus"].clone());
                }
            }
            if name == "slices" {
                for (row, line) in rows.iter().zip(&lines) {
                    let sessions = line["sessions"].as_array().unwrap();
                    let of_sessions = |column: &str| {
                        sessions.iter().map(|session| session[column].as_u64().unwrap()).sum::<u64>()
                    };
                    let sums = SUMS.map(|column| number(row, column));
                    assert_eq!(sums, SUMS.map(of_sessions), "{study}: sums over sessions");
                    let left = of_runs.get_mut(&row["run_id"]).unwrap();
                    left.iter_mut().zip(sums).for_each(|(left, sum)| *left -= sum);
                    let is_used = |one: &&Value| {
                        cpus_of[&row["run_id"]].split(' ').any(|cpu| cpu.parse().ok() == one["cpu"].as_u64())
                    };
                    let used: Vec<&Value> =
                        line["cpu_times"].as_array().unwrap().iter().filter(is_used).collect();
                    for (column, field) in OF_CPUS {
                        let sum: u64 = used.iter().map(|one| one[field].as_u64().unwrap()).sum();
                        let wanted = if used.is_empty() { String::new() } else { sum.to_string() };
                        assert_eq!(row[column], wanted, "{study}: {column}");
                    }
                    let per_s = number(row, "rows") as f64 * 1e9 / number(row, "window_ns") as f64;
                    assert_eq!(row["rows_per_s"], format!("{per_s:.3}"), "{study}");
                }
                let is_all = of_runs.values().flatten().all(|left| *left == 0);
                assert!(is_all, "{study}: sums over slices: {of_runs:?}");
            }
        }
    }
}

/// What a schema says of a value, with what it refers to; `None` if it allows anything.
fn schema_of<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    let mut all = vec![schema];
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        all.extend(schema_of(root, &root["$defs"][name]));
    }
    for list in ["anyOf", "allOf", "oneOf"] {
        let inner = schema[list].as_array().into_iter().flatten();
        all.extend(inner.flat_map(|one| schema_of(root, one)));
    }
    all
}

/// Fields of a value that its schema does not have.
fn unknown(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let schemas = schema_of(root, schema);
    let of_type = |name: &Value| match name.as_str().unwrap() {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    };
    let is_allowed = |types: &Value| match types {
        Value::Array(all) => all.iter().any(of_type),
        one => of_type(one),
    };
    let types: Vec<&Value> = schemas.iter().filter_map(|schema| schema.get("type")).collect();
    if !types.is_empty() && !types.into_iter().any(is_allowed) {
        found.insert(format!("{path}: {value} is of another type"));
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                let named = schemas.iter().filter_map(|schema| schema["properties"].get(name));
                let others = schemas.iter().filter_map(|schema| schema.get("additionalProperties"));
                match named.chain(others).next() {
                    Some(Value::Bool(_)) => {}
                    Some(schema) => unknown(root, schema, value, &path, found),
                    None => {
                        found.insert(path);
                    }
                }
            }
        }
        Value::Array(all) => {
            let items = schemas.iter().find_map(|schema| schema.get("items"));
            if let Some(items) = items {
                all.iter().for_each(|one| unknown(root, items, one, path, found));
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_is_that_of_the_types_and_has_every_field() {
    let made = json::schema::report();
    for (name, schema) in [("report.schema.json", &made), ("card.schema.json", &json::card_schema())] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        if std::env::var_os("THREADWISE_WRITE_SCHEMA").is_some() {
            std::fs::write(&file, schema).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(*schema == kept, "THREADWISE_WRITE_SCHEMA=1 writes {}", file.display());
    }
    let schema: Value = serde_json::from_str(&made).unwrap();
    let mut reports = made_up::reports();
    reports.retain(|(_, report)| report.contains("\"estimates\""));
    reports.extend(STUDIES.map(|study| {
        let opened = Opened::open(study);
        let facts = opened.facts();
        (study.to_owned(), json::report(&facts, &document(&facts)))
    }));
    let mut found = BTreeSet::new();
    for (_, report) in &reports {
        unknown(&schema, &schema, &serde_json::from_str(report).unwrap(), "", &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}
