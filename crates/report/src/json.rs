//! The JSON forms for other programs: version 1, documented in docs/JSON.md.
//!
//! Fields are those of the values themselves, which derive `Serialize`; this module has the forms of whole documents,
//! and fields that are made from several values. Unknown is `null`; a number that is not finite is `null` too
//! (serde_json makes it so).

mod by_state;
pub(crate) mod form;
pub(crate) mod lines;
mod machine;

pub use form::VERSION;
pub use lines::{items_jsonl, looks_jsonl, neighbours, queries_jsonl, runs_jsonl, slices_jsonl, watched};
pub use machine::{PlacementHere, probe, topology};

use crate::terminal::DoctorRow;
use crate::{Document, Facts};
use form::{each_object, line, list, merged, pretty, text};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use threadwise_analysis::compare::change::{self, Change, Changed};
use threadwise_analysis::compare::{StudyLine, card, side_by_side};
use threadwise_analysis::fleet::{Fleet, Judged};
use threadwise_analysis::published::{beside_any, beside_same};
use threadwise_analysis::scaling_law::SeriesLaw;
use threadwise_analysis::spins::{Cost, Counted, Kind, Samples};
use threadwise_analysis::{core_times, kinds, logical_cpu_gaps};
use threadwise_headroom::{Bounds, Row};
use threadwise_published::Published;
use threadwise_study::Study;

/// The report: study, machine, treatments, estimates, noise floors, findings.
pub fn report(facts: &Facts<'_>, document: &Document) -> String {
    let study = facts.study;
    let failed = facts.runs.iter().filter(|run| !run.status.is_valid());
    let mut report = json!({
        "program": {"name": "threadwise", "version": facts.program_version},
        "source": facts.source,
        "created_utc": facts.created_utc,
        "simulated": facts.is_simulated(),
        "study": {
            "name": study.name, "title": study.title, "seed": study.seed.to_string(), "engine": study.engine,
            "engine_version": facts.engine_version, "engine_options": study.engine_options,
            "workload": study.workload, "design": study.design, "quota": study.quota, "left_out": study.left_out,
        },
        "machine": machine::machine(facts.topology),
        "by_state": facts.analysis.effects.as_ref().map(by_state::effects),
        "probe": facts.probe.map(|probe| machine::probed(facts.topology, probe, facts.hardware)),
        "failures": failed.map(lines::head).collect::<Value>(),
        "core_time": core_times(facts),
        "screen": document.screen,
        "advice": document.advice,
        "findings": document.verdict,
        "notes": facts.notes.iter().map(|note| &note.text).collect::<Vec<_>>(),
    });
    if let Some(beside) = beside_same(facts) {
        report["published"] = json!(beside);
    }
    pretty(merged(report, figures(facts)))
}

/// All estimates, under the names that people and programs read.
pub(crate) fn figures(facts: &Facts<'_>) -> Value {
    let mut analysis = merged(json!(facts.analysis), json!({"noise_floor": facts.widest_floor()}));
    each_object(&mut analysis, &|fields| name_metrics(facts.study, fields));
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
    analysis
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

/// Several studies side by side; a row's cells are in the order of the studies.
pub fn compare(studies: &[Facts<'_>]) -> String {
    pretty(side_by_side(studies))
}

/// Studies before and after.
pub fn changed(change: &Change<'_>) -> String {
    let names = |all: Vec<&Changed<'_>>| all.iter().map(|one| json!(one.name)).collect::<Value>();
    let more = json!({
        "can_tell": change.can_tell(), "regressions": names(change.regressions()), "undecided": names(change.undecided()),
    });
    pretty(json!({
        "studies": change.studies, "aspects": change.aspects, "change": merged(json!(change), more),
        "answer": change::answer(change), "cautions": change.cautions, "note": change.note,
    }))
}

/// A card as one line of JSON.
pub fn card_line(facts: &Facts<'_>) -> String {
    text(json!(card::card(facts)).to_string())
}

/// A fleet: the judgement, with the studies that it is based on. It leaves out what identifies machines, a hash of
/// their ids.
pub fn fleet(fleet: &Fleet, judged: &Judged) -> String {
    pretty(merged(json!(judged), json!(fleet)))
}

/// The published studies, each with the command that repeats it.
pub fn published_list(all: &[Published]) -> String {
    let line = |one: &Published| json!({"name": one.name, "section": one.section, "about": one.about, "command": one.command});
    pretty(json!({"published": all.iter().map(line).collect::<Value>()}))
}

/// One published study; each figure with its number, its value derived from others, and the command that repeats it.
pub fn published(one: &Published) -> String {
    let figures = list(&one.figures, |figure| {
        let redo = one.redo_figure(figure);
        json!({
            "number": figure.number(), "computed": one.computed(&figure.id), "printed": figure.is_printed(),
            "slip": one.slip(&figure.id).map(|slip| &slip.text), "command": redo.ok(), "missing": redo.err(),
        })
    });
    pretty(merged(json!(one), json!({"figures": figures})))
}

/// A published study compared with a result file.
pub fn published_beside(facts: &Facts<'_>, one: &Published) -> String {
    pretty(json!({"study": StudyLine::of(facts), "beside": beside_any(facts, one)}))
}

/// Laws of all series of a file.
pub fn fitted(source: &str, is_simulated: bool, laws: &[SeriesLaw]) -> String {
    pretty(json!({"source": source, "simulated": is_simulated, "series": laws}))
}

/// Possible cost of counted spins: counts and derived figures, as one object.
pub fn spins_counted(counted: &Counted, cost: &Cost) -> String {
    line(merged(json!(counted), json!(cost))) + "\n"
}

/// Samples of the spins of a running server.
pub fn spins_sampled(pid: u32, seconds: u64, samples: &Samples) -> String {
    let functions = samples.by_function.iter();
    let functions = functions.map(
        |((kind, function), count)| json!({"kind": kind.word(), "function": function, "samples": count}),
    );
    let value = json!({
        "pid": pid, "seconds": seconds, "samples": samples.total(), "unnamed_samples": samples.unnamed,
        "spinning": samples.share(Kind::Spin), "locking": samples.share(Kind::Wait),
        "functions": functions.collect::<Value>(),
    });
    line(value) + "\n"
}

/// An entry of the list: something that can be run, or a placement that this machine supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListEntry {
    /// `question`, `preset`, `engine`, `workload`, `recipe`, `parser`, `placement`.
    pub kind: String,
    /// Name as the command line takes it.
    pub name: String,
    /// One line.
    pub about: String,
}

/// An engine outside the program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EngineEntry {
    /// Its name.
    pub name: String,
    /// `environment` (a Python environment that threadwise manages) or `program` (on PATH).
    pub kind: String,
    /// `ready`, `not installed`, `incomplete`, `outdated`, `foreign`.
    pub state: String,
    /// Why it is in that state, in one line.
    pub why: Option<String>,
    /// The command that makes it ready.
    pub remedy: Option<String>,
    /// Version of the engine.
    #[serde(rename = "engine_version")]
    pub version: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// Versions of all packages by name.
    pub packages: BTreeMap<String, String>,
    /// Folder of the environment, or the program.
    pub path: String,
    /// Disk space of the environment, which both engines share.
    pub size_bytes: Option<u64>,
}

/// A window of headroom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeadroomWindow<'a> {
    /// Its end (RFC 3339); `None` for a recorded one.
    pub utc: Option<&'a str>,
    /// Its length.
    pub window_ns: u64,
    /// The SMT yield used for capacity.
    pub smt_yield: Bounds,
    /// Its source: `given`, `study`, `published`.
    pub yield_source: &'static str,
    /// Clock now over that with all busy; `None` if it is not counted.
    pub clock_ratio: Option<f64>,
    /// Counts of the machine and of its parts.
    pub rows: &'a [Row],
}

/// The entries of `threadwise list --json`.
pub fn listing(entries: &[ListEntry]) -> String {
    pretty(json!({"entries": entries}))
}

/// The entries of `threadwise engine list --json`, in their order.
pub fn engines(entries: &[EngineEntry]) -> String {
    pretty(json!({"engines": entries}))
}

/// A window of `threadwise headroom --json`, as one line without its end.
pub fn headroom(window: &HeadroomWindow<'_>) -> String {
    line(window)
}

/// The doctor's checks in their order, and the number of each outcome.
pub fn doctor(rows: &[DoctorRow<'_>]) -> String {
    let mut counts = json!({});
    for word in ["ok", "unknown", "warning", "problem"] {
        counts[word] = rows.iter().filter(|row| row.outcome_word == word).count().into();
    }
    pretty(json!({"counts": counts, "checks": rows}))
}

#[cfg(test)]
mod tests;
