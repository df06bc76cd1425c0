//! As much of JSON Schema (draft 7) as the schema of study definitions uses; a keyword beyond that is a
//! failure, so that the schema cannot say what is not checked.
//!
//! Source: draft-handrews-json-schema-validation-01.

use regex::Regex;
use serde_json::{Map, Value};

/// Keywords that ask nothing of a value. `x-default` is ours: a default that is not one value.
const NOTES: [&str; 8] =
    ["$schema", "title", "description", "default", "examples", "x-default", "definitions", "then"];

/// Whether a value is what the schema asks; the first thing that it is not, as `PATH: KEYWORD`.
pub fn validate(value: &Value, schema: &Value, root: &Value, path: &str) -> Result<(), String> {
    let asked = schema.as_object().unwrap_or_else(|| panic!("{path}: a schema is an object"));
    for (keyword, rule) in asked {
        if NOTES.contains(&keyword.as_str()) {
            continue;
        }
        let part = |value: &Value, schema: &Value| validate(value, schema, root, path);
        let holds = match keyword.as_str() {
            "$ref" => {
                let target = rule.as_str().and_then(|text| root.pointer(text.strip_prefix('#')?));
                return part(value, target.unwrap_or_else(|| panic!("{path}: no {rule}")));
            }
            "type" => is_type(value, rule),
            "const" => value == rule,
            "enum" => list(rule).contains(value),
            "anyOf" => list(rule).iter().any(|schema| part(value, schema).is_ok()),
            "allOf" => {
                list(rule).iter().try_for_each(|schema| part(value, schema))?;
                true
            }
            "not" => part(value, rule).is_err(),
            "if" => {
                if part(value, rule).is_ok() {
                    part(value, &asked["then"])?;
                }
                true
            }
            _ => match value {
                Value::Object(table) => in_table(keyword, rule, table, asked, root, path)?,
                Value::Array(items) => in_list(keyword, rule, items, root, path)?,
                _ => of_scalar(keyword, rule, value),
            },
        };
        if !holds {
            return Err(format!("{path}: {keyword}"));
        }
    }
    Ok(())
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().map(Vec::as_slice).unwrap_or_else(|| panic!("{rule} is no list"))
}

fn is_type(value: &Value, rule: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        _ => panic!("no type {name}"),
    };
    rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is))
}

fn in_table(
    keyword: &str,
    rule: &Value,
    table: &Map<String, Value>,
    asked: &Map<String, Value>,
    root: &Value,
    path: &str,
) -> Result<bool, String> {
    let known = asked.get("properties").and_then(Value::as_object);
    match keyword {
        "required" => return Ok(list(rule).iter().all(|name| table.contains_key(name.as_str().unwrap()))),
        "properties" => {
            for (name, schema) in rule.as_object().unwrap() {
                let Some(value) = table.get(name) else { continue };
                validate(value, schema, root, &format!("{path}.{name}"))?;
            }
        }
        "additionalProperties" => {
            for (name, value) in table.iter().filter(|(name, _)| known.is_none_or(|k| !k.contains_key(*name)))
            {
                match rule {
                    Value::Bool(allowed) if !allowed => return Err(format!("{path}.{name}: unknown")),
                    Value::Bool(_) => {}
                    schema => validate(value, schema, root, &format!("{path}.{name}"))?,
                }
            }
        }
        other => not_for_others(other),
    }
    Ok(true)
}

fn in_list(keyword: &str, rule: &Value, items: &[Value], root: &Value, path: &str) -> Result<bool, String> {
    match keyword {
        "minItems" => return Ok(items.len() as u64 >= rule.as_u64().unwrap()),
        "maxItems" => return Ok(items.len() as u64 <= rule.as_u64().unwrap()),
        "uniqueItems" => {
            return Ok(items.iter().enumerate().all(|(index, item)| !items[..index].contains(item)));
        }
        "items" => {
            for (index, item) in items.iter().enumerate() {
                validate(item, rule, root, &format!("{path}[{index}]"))?;
            }
        }
        other => not_for_others(other),
    }
    Ok(true)
}

fn of_scalar(keyword: &str, rule: &Value, value: &Value) -> bool {
    let length = |text: &str| text.chars().count() as u64;
    match (keyword, value.as_str(), value.as_f64()) {
        ("pattern", Some(text), _) => Regex::new(rule.as_str().unwrap()).unwrap().is_match(text),
        ("minLength", Some(text), _) => length(text) >= rule.as_u64().unwrap(),
        ("maxLength", Some(text), _) => length(text) <= rule.as_u64().unwrap(),
        ("minimum", _, Some(number)) => number >= rule.as_f64().unwrap(),
        ("maximum", _, Some(number)) => number <= rule.as_f64().unwrap(),
        (other, ..) => {
            not_for_others(other);
            true
        }
    }
}

/// A keyword for values of another type says nothing about this one; an unknown one must not be there.
fn not_for_others(keyword: &str) {
    let known = [
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "uniqueItems",
        "items",
        "properties",
        "required",
        "additionalProperties",
    ];
    assert!(known.contains(&keyword), "the schema uses '{keyword}', which this check does not know");
}
