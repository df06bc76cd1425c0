//! What holds of every form of every study, frozen or made up, whatever it says.

use crate::frozen::{Opened, STUDIES, forms, page};
use crate::report::documents as made_up;
use crate::without_colours;
use serde_json::Value;
use std::collections::BTreeSet;
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

#[test]
fn exports_have_the_same_lines_in_both_forms_and_no_formula() {
    for study in STUDIES {
        let opened = Opened::open(study);
        let facts = opened.facts();
        for (name, as_csv, as_lines) in forms::EXPORTS {
            let text = forms::exported(as_csv, &facts);
            // It fails where a row is longer or shorter than the first.
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
            let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
            let starts = |cell: &&str| {
                cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
            };
            assert_eq!(rows.iter().flatten().find(starts), None, "{study}: {name}: a formula");
            let lines = forms::exported(as_lines, &facts);
            let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(rows.len(), lines.len() + 1, "{study}: {name}");
            assert!(lines.iter().all(|line| line["version"] == 1), "{study}: {name}");
            if name == "runs" {
                assert_eq!(lines.len(), facts.runs.len() + facts.long_runs.len(), "{study}");
            }
        }
    }
}

/// Objects whose fields are named by engines and users.
const NAMED_BY_OTHERS: [&str; 6] =
    ["metrics", "options", "engine_options", "factors", "counters", "parameters"];

fn fields<'v>(value: &'v Value, into: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(all) => all.iter().for_each(|(name, value)| {
            into.insert(name);
            if !NAMED_BY_OTHERS.contains(&name.as_str()) || value.is_array() {
                fields(value, into);
            }
        }),
        Value::Array(items) => items.iter().for_each(|item| fields(item, into)),
        _ => {}
    }
}

#[test]
fn every_field_of_json_is_documented() {
    let contract = include_str!("../../../../../docs/JSON.md");
    let mut reports = made_up::reports();
    reports.extend(STUDIES.map(|study| {
        let opened = Opened::open(study);
        let facts = opened.facts();
        (study.to_owned(), json::report(&facts, &document(&facts)))
    }));
    for (study, report) in reports {
        let mut value: Value = serde_json::from_str(&report).unwrap();
        if let Some(probe) = value.get_mut("probe") {
            // It is documented by itself, with `p10`, `p50` and `p90` in one.
            probe.take();
        }
        let mut found = BTreeSet::new();
        fields(&value, &mut found);
        let is_there =
            |field: &str| ["`", "."].iter().any(|sign| contract.contains(&format!("{sign}{field}`")));
        let missing = found.iter().find(|field| !is_there(field));
        assert_eq!(missing, None, "{study}: docs/JSON.md lacks it");
    }
}
