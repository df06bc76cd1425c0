//! The schema of study definitions and docs/STUDY.md against the loader: keys, types, limits, defaults and
//! examples are the loader's.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

mod document;
mod sections;
mod validate;

use crate::support::{MIB, machine};
use sections::{SECTIONS, at, keys, smallest, with};
use serde_json::Value;
use std::path::PathBuf;
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{Study, presets};

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap()
}

fn schema() -> Value {
    threadwise_study::load::schema()
}

/// What the schema says of a definition.
fn validated(text: &str, schema: &Value) -> Result<(), String> {
    let table: toml::Table = text.parse().unwrap();
    validate::validate(&serde_json::to_value(table).unwrap(), schema, schema, "")
}

/// Schema and loader agree that the definition is right, or wrong.
fn agree(text: &str, schema: &Value, is_right: bool) {
    let (loader, by_schema) = (StudyFile::parse(text, "mine.toml").map(drop), validated(text, schema));
    assert_eq!((loader.is_ok(), by_schema.is_ok()), (is_right, is_right), "{loader:?} {by_schema:?}\n{text}");
}

fn resolved(text: &str) -> Study {
    let topology = machine(2, 4, 2, Some(MIB), Some(32 * MIB));
    StudyFile::parse(text, "mine.toml").unwrap().resolve(&topology, &Overrides::default()).unwrap()
}

fn value(json: &Value) -> toml::Value {
    toml::Value::try_from(json).unwrap()
}

#[test]
fn its_keys_are_those_of_the_loader() {
    let schema = schema();
    for section in SECTIONS {
        // The loader's error for an unknown key lists those that there are.
        let error = StudyFile::parse(&with(section, "zzz", 1), "mine.toml").unwrap_err().to_string();
        let (_, listed) = error.split_once("unknown key 'zzz', expected ").unwrap();
        let mut listed: Vec<&str> = listed.split('\'').skip(1).step_by(2).collect();
        let mut known: Vec<&str> = keys(&schema, section).0.iter().map(|(name, _)| name.as_str()).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, listed, "[{section}]");
        assert!(validated(&with(section, "zzz", 1), &schema).is_err(), "[{section}]");
    }
}

#[test]
fn needed_keys_are_needed_and_no_other_is() {
    let schema = schema();
    for section in SECTIONS {
        agree(&smallest(section).to_string(), &schema, true);
        for key in keys(&schema, section).1 {
            let mut whole = smallest(section);
            assert!(at(&mut whole, section).remove(key).is_some(), "[{section}] {key}");
            agree(&whole.to_string(), &schema, false);
        }
    }
}

#[test]
fn its_types_and_limits_are_those_of_the_loader() {
    let schema = schema();
    for section in SECTIONS {
        for (name, key) in keys(&schema, section).0 {
            probe(section, name, key, &schema);
        }
    }
}

/// Values at, just inside and just outside of what the schema allows.
fn probe(section: &str, name: &str, key: &Value, schema: &Value) {
    let right = |value: toml::Value| agree(&with(section, name, value), schema, true);
    let wrong = |value: toml::Value| agree(&with(section, name, value), schema, false);
    wrong(toml::Value::Array(vec![toml::Value::Array(Vec::new())]));
    let may_be_empty = key.get("pattern").is_none() && key.get("minLength").is_none();
    match key["type"].as_str() {
        Some("string") if may_be_empty => wrong(1.into()),
        Some("string") => {
            wrong(1.into());
            wrong("".into());
        }
        Some("integer") => wrong(1.5.into()),
        Some("number") => wrong("x".into()),
        Some("boolean") => wrong(0.into()),
        _ => wrong("no such word/".into()),
    }
    for example in key["examples"].as_array().into_iter().flatten() {
        right(value(example));
    }
    for word in key["enum"].as_array().into_iter().flatten() {
        right(value(word));
    }
    if key["maxLength"] == 60 {
        right("x".repeat(60).into());
        for text in [&"x".repeat(61), "a/b", "a'b", "a\tb", " "] {
            wrong(text.into());
        }
    }
    let limits = [("minimum", -1.0), ("maximum", 1.0)];
    for (limit, outwards) in limits.into_iter().filter_map(|(name, way)| Some((key.get(name)?, way))) {
        right(value(limit));
        match limit.as_i64().filter(|_| key["type"] == "integer") {
            Some(whole) => wrong((whole + outwards as i64).into()),
            None => wrong((limit.as_f64().unwrap() * (1.0 + outwards * 1e-6) + outwards * 1e-9).into()),
        }
    }
    let items = key["anyOf"].as_array().and_then(|kinds| kinds.iter().find_map(|one| one.get("items")));
    if let Some(most) = items.and_then(|items| items["maximum"].as_i64()) {
        right(vec![1, most].into());
        wrong(vec![0].into());
        wrong(vec![most + 1].into());
        wrong(Vec::<i64>::new().into());
    }
}

#[test]
fn its_defaults_are_those_of_the_loader() {
    let schema = schema();
    let mut tried = 0;
    for section in SECTIONS {
        let without = resolved(&smallest(section).to_string());
        for (name, key) in keys(&schema, section).0 {
            // Of a default that depends on others, the first word is the usual one, if it is a value.
            let first = key["x-default"].as_str().and_then(|words| {
                let word = words.split([',', ';']).next()?;
                let word = word.strip_prefix('`').and_then(|word| word.strip_suffix('`')).map(Value::from);
                word.or_else(|| words.split([',', ';']).next()?.parse::<i64>().ok().map(Value::from))
            });
            let Some(default) = key.get("default").or(first.as_ref()) else { continue };
            assert_eq!(resolved(&with(section, name, value(default))), without, "[{section}] {name}");
            tried += 1;
        }
    }
    assert!(tried > 25, "{tried}");
}

/// The whole definitions of docs/STUDY.md.
fn examples(document: &str) -> Vec<String> {
    let blocks = document.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn presets_and_the_documents_examples_are_right_and_show_every_section() {
    let schema = schema();
    let document = read("docs/STUDY.md");
    let examples = examples(&document);
    for section in SECTIONS {
        assert!(
            examples.iter().any(|text| text.parse::<toml::Table>().unwrap().contains_key(section))
                || section.is_empty(),
            "no example has [{section}]"
        );
    }
    for text in &examples {
        resolved(text);
    }
    let presets = presets::names().into_iter().map(|(name, _)| presets::get(name).unwrap().to_owned());
    presets.chain(examples).for_each(|text| agree(&text, &schema, true));
}

#[test]
fn what_the_schema_can_say_is_wrong_for_both() {
    let schema = schema();
    let head = "version = 1\nname = \"mine\"\nengine = \"native\"\nworkload = \"logical-io\"\n";
    for body in [
        "",
        "treatment = []\n",
        "[treatment]\nplacement = \"2c1t\"\n",
        "design = 3\n[sweep]\n",
        "seed = -1\n[sweep]\n",
        "[sweep]\ncolour = 1\n",
        "[options]\nwork_unit = [1]\n[sweep]\n",
        "[factors]\ndata = []\n[sweep]\n",
        "[factors]\ndata = [\"l2\", \"l2\"]\n[sweep]\n",
        "[factors]\ndata = \"l2\"\n[sweep]\n",
        "[engine_options]\nsettings.work_mem = \"64MB\"\n[sweep]\n",
        "[design]\nblocks = 8\nbudget_s = 90\n[sweep]\n",
        "[design]\nblocks = 8\nuntil = 0.02\n[sweep]\n",
        "[baseline]\nname = \"a/b\"\n[sweep]\n",
        "[baseline]\nname = \" \"\n[sweep]\n",
        "[baseline]\nmemory = \"near\"\n[sweep]\n",
        "[dop]\nplacements = [\"all\"]\n",
        "[jobs]\nplacements = [\"all\"]\n",
        "[sweep]\nsessions = \"many\"\n",
    ] {
        agree(&format!("{head}{body}"), &schema, false);
    }
    let other = |line: &str, by: &str| format!("{}[sweep]\n", head.replace(line, by));
    agree(&other("version = 1", "version = 2"), &schema, false);
    agree(&other("name = \"mine\"", "name = \"a b\""), &schema, false);
    agree(&other("engine = \"native\"", "engine = \" \""), &schema, false);
    let work_list = head.replace("logical-io", "worklist");
    agree(&format!("{work_list}[jobs]\nplacements = []\n"), &schema, false);
    agree(&format!("{work_list}[sweep]\n[jobs]\nplacements = [\"all\"]\n"), &schema, false);
}

#[test]
fn the_document_has_each_option_of_logical_io() {
    let text = with("", "options", toml::Table::from_iter([("zzz".to_owned(), 1.into())]));
    let error = StudyFile::parse(&text, "mine.toml").unwrap_err().to_string();
    let mut known: Vec<&str> = error.split_once("its options are ").unwrap().1.split(", ").collect();
    let document = read("docs/STUDY.md");
    let (_, part) = document.split_once("## Options of `logical-io`").unwrap();
    let mut rows: Vec<&str> =
        part.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    known.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, known);
}

#[test]
fn the_tables_of_the_document_are_made_from_the_schema() {
    let (schema, document) = (schema(), read("docs/STUDY.md"));
    let made = document::with_tables(&document, &schema);
    for section in SECTIONS {
        assert!(made.contains(&document::marker(section)), "docs/STUDY.md has no table of [{section}]");
    }
    if std::env::var_os("THREADWISE_WRITE_DOCS").is_some() {
        std::fs::write(repository("docs/STUDY.md"), &made).unwrap();
        return;
    }
    let same = made == document;
    assert!(
        same,
        "docs/STUDY.md is not what the schema says: THREADWISE_WRITE_DOCS=1 cargo test -p \
         threadwise-study --test it schema writes it"
    );
}
