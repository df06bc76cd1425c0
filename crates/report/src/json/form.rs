//! Common parts of all forms: their version, objects that are joined or changed, and the text.

use serde::Serialize;
use serde_json::{Map, Value, json};
use threadwise_machine::text::escaped_json;

/// Version of all forms.
pub const VERSION: u32 = 1;

/// A document with its version.
pub fn pretty(value: impl Serialize) -> String {
    text(format!("{:#}", merged(json!(value), json!({"version": VERSION}))))
}

/// A document with its fields in their order; it has its version.
pub fn written(document: &impl Serialize) -> String {
    // Only a map whose keys are no texts, or a value's own failure, would fail.
    text(serde_json::to_string_pretty(document).unwrap_or_default())
}

/// A document with its version, as one line without its end.
pub fn line(value: impl Serialize) -> String {
    text(merged(json!(value), json!({"version": VERSION})).to_string())
}

/// JSON formatted for a terminal.
pub fn text(json: String) -> String {
    escaped_json(&json).into_owned()
}

/// The fields of both objects; the second's win.
pub fn merged(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            first.extend(second);
            Value::Object(first)
        }
        (first, _) => first,
    }
}

/// A list of values, each with more fields.
pub fn list<T: Serialize>(values: &[T], more: impl Fn(&T) -> Value) -> Value {
    values.iter().map(|value| merged(json!(value), more(value))).collect()
}

/// Changes every object inside a value, the innermost first.
pub fn each_object(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|inner| each_object(inner, change));
            change(fields);
        }
        Value::Array(values) => values.iter_mut().for_each(|inner| each_object(inner, change)),
        _ => {}
    }
}
