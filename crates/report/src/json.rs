//! The JSON forms that others build on: version 1, documented in docs/JSON.md, only ever added to.
//!
//! Fields are those of the values themselves, which derive `Serialize`; what is here are the forms of whole
//! documents, and fields that are made from several values. Unknown is `null`; a number that is not finite is
//! `null` too (serde_json makes it so).

mod by_state;
mod compare;
mod fleet;
pub(crate) mod form;
mod headroom;
pub(crate) mod lines;
mod lists;
mod machine;
mod old_names;
mod published;
mod scaling_law;
mod spins;
mod watched;

pub use compare::{card_line, changed, compare};
pub use fleet::fleet;
pub use form::VERSION;
pub use headroom::{HeadroomWindow, headroom};
pub use lines::{items_jsonl, looks_jsonl, queries_jsonl, runs_jsonl, slices_jsonl};
pub use lists::{EngineEntry, ListEntry, doctor, engines, listing};
pub use machine::{PlacementHere, probe, topology};
pub use published::{published, published_beside, published_list};
pub use scaling_law::fitted;
pub use spins::{spins_counted, spins_sampled};
pub use watched::{WatchedCpu, WatchedLine, watched};

use crate::{Document, Facts};
use serde_json::{Map, Value, json};
use threadwise_analysis::published::beside_same;
use threadwise_analysis::{NoiseFloor, core_times, kinds, logical_cpu_gaps};
use threadwise_study::Study;

use form::{each_object, merged, pretty};

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
        "by_state": facts.analysis.effects.as_ref().map(by_state::effects),
        "probe": facts.probe.map(|probe| machine::probed(facts.topology, probe, facts.hardware)),
        "failures": failed.map(lines::ended).collect::<Value>(),
        "core_time": core_times(facts),
        "advice": document.advice,
        "findings": old_names::findings(&document.verdict),
        "notes": facts.notes,
    });
    let beside = beside_same(facts).map_or_else(|| json!({}), |beside| json!({"published": beside}));
    pretty(&merged(merged(report, beside), analysis(facts)))
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
    if let Some(cpus) = analysis.get_mut("logical_cpus").filter(|cpus| cpus.is_object()) {
        let gaps = logical_cpu_gaps(facts);
        cpus["gaps"] = gaps.iter().map(|gap| json!({"what": gap.what, "why": gap.why})).collect();
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
        "design": study.design, "quota": study.quota, "left_out": study.left_out,
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

#[cfg(test)]
mod tests;
