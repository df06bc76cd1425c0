//! The JSON forms that others build on: version 1, documented in docs/JSON.md, only ever added to.
//!
//! Fields are those of the values themselves, which derive `Serialize`; what is here are the forms of whole
//! documents, and fields that are made from several values. Unknown is `null`; a number that is not finite is
//! `null` too (serde_json makes it so).

mod compare;
pub(crate) mod lines;
mod lists;
mod machine;
mod old_names;

pub use compare::compare;
pub use lines::{items_jsonl, queries_jsonl, runs_jsonl, slices_jsonl};
pub use lists::{EngineEntry, ListEntry, doctor, engines, listing};
pub use machine::{probe, topology};

use crate::{Document, Facts};
use serde::Serialize;
use serde_json::{Map, Value, json};
use threadwise_analysis::{Finding, NoiseFloor, kinds};
use threadwise_machine::text::escaped_json;
use threadwise_study::Study;

/// Version of all forms.
pub const VERSION: u32 = 1;

/// The report: study, machine, treatments, estimates, noise floors, findings.
pub fn report(facts: &Facts<'_>, document: &Document) -> String {
    let failed = facts.runs.iter().filter(|run| !run.status.is_valid());
    let report = json!({
        "version": VERSION,
        "program": {"name": "threadwise", "version": facts.program_version},
        "source": facts.source,
        "created_utc": facts.created_utc,
        "simulated": facts.is_simulated(),
        "study": study(facts),
        "machine": machine::machine(facts.topology),
        "noise_floor": facts.widest_floor().map(|floor| noise_floor(floor, facts.study)),
        "probe": facts.probe.map(|probe| machine::probed(facts.topology, probe, facts.hardware)),
        "failures": failed.map(lines::ended).collect::<Value>(),
        "findings": findings(&document.verdict),
        "notes": facts.notes,
    });
    pretty(&merged(report, analysis(facts)))
}

/// What was estimated, under the names that people and programs read.
fn analysis(facts: &Facts<'_>) -> Value {
    let mut analysis = json!(facts.analysis);
    each_object(&mut analysis, &|fields| name_metrics(facts.study, fields));
    old_names::beside(&mut analysis["treatments"]);
    old_names::beside(&mut analysis["covariates"]);
    for treatment in analysis["treatments"].as_array_mut().into_iter().flatten() {
        let name = treatment["name"].as_str().unwrap_or("");
        let Some((_, planned)) = facts.study.treatment(name) else { continue };
        let more = json!({
            "role": planned.role, "pin": planned.pin, "options": planned.options, "factors": planned.factors,
        });
        *treatment = merged(treatment.take(), more);
    }
    if let Some(queries) = &facts.analysis.queries {
        each_object(&mut analysis["queries"], &|fields| {
            for field in ["plan", "baseline_plan", "other_plan"] {
                let Some(at) = fields.get(field).and_then(Value::as_u64) else { continue };
                fields[field] = json!(queries.plans.get(at as usize).map(|plan| &plan.name));
            }
        });
    }
    if let Some(commands) = analysis.get_mut("commands") {
        commands["headline"] = commands["quantities"][0]["metric"].clone();
    }
    if let Some(worklist) = analysis.get_mut("worklist") {
        worklist["chain"] = worklist["recipe"].clone();
    }
    analysis
}

fn study(facts: &Facts<'_>) -> Value {
    let study = facts.study;
    json!({
        "name": study.name, "title": study.title, "seed": study.seed.to_string(),
        "engine": study.engine, "engine_version": facts.engine_version,
        "engine_options": study.engine_options, "workload": study.workload,
        "design": study.design, "left_out": study.left_out,
    })
}

fn noise_floor(floor: &NoiseFloor, study: &Study) -> Value {
    let mut value = json!(floor);
    each_object(&mut value, &|fields| name_metrics(study, fields));
    value
}

/// The metrics of an object under the names that the kind of the study gives them.
fn name_metrics(study: &Study, fields: &mut Map<String, Value>) {
    let name = |metric: &str| kinds::of(study).metric_name(study, metric);
    if let Some(Value::String(metric)) = fields.get_mut("metric") {
        *metric = name(metric);
    }
    if let Some(Value::Object(metrics)) = fields.get_mut("metrics") {
        *metrics =
            std::mem::take(metrics).into_iter().map(|(metric, value)| (name(&metric), value)).collect();
    }
}

fn findings(findings: &[Finding]) -> Value {
    let mut all = json!(findings);
    old_names::stay(&mut all, "kind");
    all
}

fn pretty(value: &Value) -> String {
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
fn list<T: Serialize>(values: &[T], more: impl Fn(&T) -> Value) -> Value {
    values.iter().map(|value| merged(json!(value), more(value))).collect()
}

/// Changes every object inside a value, the innermost first.
fn each_object(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|inner| each_object(inner, change));
            change(fields);
        }
        Value::Array(values) => values.iter_mut().for_each(|inner| each_object(inner, change)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
