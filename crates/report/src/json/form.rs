//! What all forms are made of: their version, objects that are joined or changed, and the text.

use serde::Serialize;
use serde_json::{Map, Value, json};
use threadwise_machine::text::escaped_json;

/// Version of all forms.
pub const VERSION: u32 = 1;

pub(super) fn pretty(value: &Value) -> String {
    escaped_json(&format!("{value:#}")).into_owned()
}

/// The fields of both objects; the second's win.
pub(crate) fn merged(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            first.extend(second);
            Value::Object(first)
        }
        (first, _) => first,
    }
}

/// A list of values, each with more fields.
pub(super) fn list<T: Serialize>(values: &[T], more: impl Fn(&T) -> Value) -> Value {
    values.iter().map(|value| merged(json!(value), more(value))).collect()
}

/// Changes every object inside a value, the innermost first.
pub(super) fn each_object(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|inner| each_object(inner, change));
            change(fields);
        }
        Value::Array(values) => values.iter_mut().for_each(|inner| each_object(inner, change)),
        _ => {}
    }
}
