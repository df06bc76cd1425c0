//! The tables of docs/STUDY.md, made from the schema.

use crate::schema::sections::{SECTIONS, keys};
use serde_json::Value;
use std::fmt::Write as _;

/// The document with its tables as the schema has them. A table stands after a line
/// `<!-- keys of SECTION -->` and ends before the first line that does not belong to it.
pub fn with_tables(document: &str, schema: &Value) -> String {
    let mut text = String::new();
    let mut is_in_table = false;
    for line in document.lines() {
        let section = SECTIONS.into_iter().find(|section| line == marker(section));
        is_in_table = is_in_table && line.starts_with('|');
        if !is_in_table {
            text.push_str(line);
            text.push('\n');
        }
        if let Some(section) = section {
            text.push_str(&table(schema, section));
            is_in_table = true;
        }
    }
    text
}

/// The line before a section's table.
pub fn marker(section: &str) -> String {
    format!("<!-- keys of {} -->", if section.is_empty() { "the file" } else { section })
}

fn table(schema: &Value, section: &str) -> String {
    let (keys, required) = keys(schema, section);
    let mut text = "| key | value | default | example | meaning |\n|---|---|---|---|---|\n".to_owned();
    for (name, key) in keys {
        let is_table = key.get("properties").is_some_and(|keys| keys.get("metric").is_none())
            || key.pointer("/items/properties").is_some();
        let default = match (key.get("x-default"), key.get("default")) {
            _ if required.contains(&name.as_str()) => "needed".to_owned(),
            (Some(words), _) => words.as_str().unwrap().to_owned(),
            (None, Some(value)) if !is_table => format!("`{}`", toml(value)),
            _ => "none".to_owned(),
        };
        let example = match key.pointer("/examples/0") {
            Some(example) => format!("`{}`", toml(example)),
            None => "see below".to_owned(),
        };
        let kind = kind(key);
        let meaning = key["description"].as_str().unwrap();
        writeln!(text, "| `{name}` | {kind} | {default} | {example} | {meaning} |").unwrap();
    }
    text
}

/// What a key takes, in words.
fn kind(key: &Value) -> String {
    if key["maxLength"] == 60 {
        return "text of 1 to 60 characters without `/` and `'`".to_owned();
    }
    if let Some(value) = key.get("const") {
        return format!("`{}`", toml(value));
    }
    if let Some(words) = key["enum"].as_array() {
        return words.iter().map(|word| format!("`{}`", toml(word))).collect::<Vec<_>>().join(" or ");
    }
    if let Some(kinds) = key["anyOf"].as_array() {
        return kinds.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let range = match (key.get("minimum"), key.get("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        _ => String::new(),
    };
    match key["type"].as_str().unwrap() {
        "string" => "text".to_owned(),
        "integer" => format!("whole number{range}"),
        "number" => format!("number{range}"),
        "boolean" => "`true` or `false`".to_owned(),
        "array" if key.pointer("/items/properties").is_some() => "list of tables".to_owned(),
        "array" => format!("list: {}", kind(&key["items"])),
        "object" if key.pointer("/properties/metric").is_some() => {
            "table of texts, numbers, true or false".to_owned()
        }
        "object" if key.get("properties").is_some() => "table".to_owned(),
        "object" if key.pointer("/additionalProperties/properties").is_some() => "table of tables".to_owned(),
        "object" if key.pointer("/additionalProperties/items").is_some() => "table of lists".to_owned(),
        "object" => "table of texts, numbers, true or false".to_owned(),
        other => panic!("no words for {other}"),
    }
}

/// A value as TOML writes it on one line.
fn toml(value: &Value) -> String {
    toml::Value::try_from(value).unwrap().to_string()
}
