//! The JSON schema of a report, made from the types that are written: `docs/report.schema.json`, which a test compares.

use super::Report;
use super::by_state::ByState;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use threadwise_analysis::changed_with::ChangedWith;
use threadwise_analysis::diagnostics::QuestionAnswer;
use threadwise_analysis::drift::Drift;
use threadwise_analysis::external_arms::ExternalArms;
use threadwise_analysis::kinds::scans::Parallel;
use threadwise_analysis::long_windows::LongWindows;
use threadwise_analysis::round_trips::ClientSteps;
use threadwise_analysis::warmups::TreatmentWarmup;
use threadwise_analysis::{Analysis, CoreTime, Gap};

/// Makes the schema of a type.
type MadeBy = fn(&mut SchemaGenerator) -> Schema;

/// Answers that the analysis has by their types alone, and what only the raw runs tell.
const ANSWERS: [(&str, MadeBy); 10] = [
    ("by_state", SchemaGenerator::subschema_for::<ByState<'_>>),
    ("changed_with", SchemaGenerator::subschema_for::<ChangedWith>),
    ("core_time", SchemaGenerator::subschema_for::<Vec<CoreTime>>),
    ("drift", SchemaGenerator::subschema_for::<Vec<Drift>>),
    ("external", SchemaGenerator::subschema_for::<ExternalArms>),
    ("logical_cpu_gaps", SchemaGenerator::subschema_for::<Vec<Gap>>),
    ("long_windows", SchemaGenerator::subschema_for::<LongWindows>),
    ("parallel_workers", SchemaGenerator::subschema_for::<Parallel>),
    ("round_trips", SchemaGenerator::subschema_for::<Vec<ClientSteps>>),
    ("warmups", SchemaGenerator::subschema_for::<Vec<TreatmentWarmup>>),
];

/// The schema of `threadwise report FILE --json`. Its details have no estimates, as the report's have none.
pub fn report() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut details = Analysis::json_schema(&mut generator).to_value();
    for (name, schema) in ANSWERS {
        details["properties"][name] = schema(&mut generator).to_value();
    }
    details["description"] = "Answers, counts and texts that have no interval, by question.".into();
    // These are beside the details, or in them by the names of their questions.
    for moved in ["blocks", "diagnostics", "excluded_blocks"] {
        details["properties"].as_object_mut().and_then(|properties| properties.remove(moved));
    }
    // Answers to questions that are put to every study, by name.
    details["additionalProperties"] = generator.subschema_for::<QuestionAnswer>().to_value();
    let mut schema = generator.into_root_schema_for::<Report<'_>>().to_value();
    let known = schema["$defs"].clone();
    schema["properties"]["details"] = details;
    if let Some(without) = without_estimates(&schema["properties"]["details"], &known) {
        schema["properties"]["details"] = without;
    }
    if let Value::Object(definitions) = &mut schema["$defs"] {
        for schema in definitions.values_mut().filter(|schema| !is_estimate(schema)) {
            *schema = without_estimates(schema, &known).unwrap_or_else(|| json!({"type": "object"}));
        }
    }
    keep_reached(&mut schema);
    format!("{schema:#}\n")
}

/// Whether a schema is that of an estimate, which is in the list of estimates.
fn is_estimate(schema: &Value) -> bool {
    let has = |name: &str| schema["properties"].get(name).is_some();
    has("low") && (has("value") || has("mean"))
}

/// A schema without the properties that are estimates; `None` for an estimate, or lists and tables of them.
fn without_estimates(schema: &Value, known: &Value) -> Option<Value> {
    let Value::Object(fields) = schema else { return Some(schema.clone()) };
    let definition =
        fields.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    if is_estimate(schema) || definition.is_some_and(|name| is_estimate(&known[name])) {
        return None;
    }
    let mut left = fields.clone();
    for inner in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get(inner).filter(|schema| schema.is_object()) {
            left.insert(inner.to_owned(), without_estimates(schema, known)?);
        }
    }
    for inner in ["anyOf", "allOf", "oneOf"] {
        let Some(Value::Array(all)) = fields.get(inner) else { continue };
        let all: Option<Vec<Value>> = all.iter().map(|one| without_estimates(one, known)).collect();
        left.insert(inner.to_owned(), Value::Array(all?));
    }
    if let Some(Value::Object(properties)) = fields.get("properties") {
        let kept = properties
            .iter()
            .filter_map(|(name, schema)| Some((name.clone(), without_estimates(schema, known)?)));
        left.insert("properties".to_owned(), Value::Object(kept.collect()));
    }
    // What is not known is left out, so that a value may be of several forms.
    left.remove("required");
    if let Some(forms) = left.remove("oneOf") {
        left.insert("anyOf".to_owned(), forms);
    }
    Some(Value::Object(left))
}

/// Leaves out definitions that nothing refers to.
fn keep_reached(schema: &mut Value) {
    let definitions = schema["$defs"].take();
    let mut reached = Map::new();
    let mut open = vec![schema.clone()];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let path = fields.get("$ref").and_then(Value::as_str).unwrap_or_default();
                if let Some(name) = path.strip_prefix("#/$defs/").filter(|name| !reached.contains_key(*name))
                {
                    reached.insert(name.to_owned(), definitions[name].clone());
                    open.push(definitions[name].clone());
                }
                open.extend(fields.into_iter().map(|(_, value)| value));
            }
            Value::Array(all) => open.extend(all),
            _ => {}
        }
    }
    schema["$defs"] = Value::Object(reached);
}
