//! Raw runs, slices, executions of queries and items of work lists: one JSON object each, a line
//! (`threadwise export --format jsonl`), from which CSV takes its columns too.

use super::form::{VERSION, merged};
use crate::{Facts, ReportError};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::io::Write;
use threadwise_analysis::queries::plan_name;
use threadwise_machine::text::escaped_json;
use threadwise_study::{QueryExecution, Run, RunStatus, SessionSlice, command, worklist};

/// Every run, without its slices: its fields, status and readings.
///
/// # Errors
/// The writer's.
pub fn runs_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts.runs.iter().try_for_each(|run| {
        let mut shown = json!({
            "version": VERSION, "cpus": run.cpus, "started_s": run.started_s, "prepare_ns": run.prepare_ns,
            "slices": run.slices.len(), "readings": run.readings,
            "other_cpu_times": run.other_cpu_times,
        });
        if facts.study.runs_whole() {
            shown["metrics"] = said(run).map(|(name, value)| (name.to_owned(), json!(value))).collect();
        }
        line(out, &merged(ended(run), shown))
    })
}

/// Every slice, with every session (its histogram too) and every CPU.
///
/// # Errors
/// The writer's.
pub fn slices_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts.runs.iter().try_for_each(|run| {
        run.slices.iter().try_for_each(|slice| {
            let sessions = slice.sessions.iter().map(session).collect::<Value>();
            let more = json!({"version": VERSION, "sessions": sessions});
            line(out, &merged(merged(head(run), json!(slice)), more))
        })
    })
}

/// Every execution of a query, with the counters over it.
///
/// # Errors
/// The writer's.
pub fn queries_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut all = facts.runs.iter().flat_map(executions);
    all.try_for_each(|(fields, query)| line(out, &merged(fields, json!({"plan_text": query.plan}))))
}

/// Every item of a work list in every run.
///
/// # Errors
/// The writer's.
pub fn items_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts.runs.iter().flat_map(items).try_for_each(|item| line(out, &item))
}

fn line(out: &mut dyn Write, value: &Value) -> Result<(), ReportError> {
    Ok(writeln!(out, "{}", escaped_json(&value.to_string()))?)
}

/// What names a run, and its status.
pub fn head(run: &Run) -> Value {
    json!({
        "run": run.id, "block": run.block, "attempt": run.attempt, "treatment": run.treatment,
        "status": ending(&run.status).0,
    })
}

/// What names a run, and how it ended.
pub fn ended(run: &Run) -> Value {
    let (_, kind, message) = ending(&run.status);
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    merged(head(run), json!({"kind": known(kind), "message": known(message)}))
}

/// Status, kind and message of a run.
fn ending(status: &RunStatus) -> (&'static str, &str, &str) {
    match status {
        RunStatus::Valid => ("valid", "", ""),
        RunStatus::Failed { kind, message } => ("failed", kind, message),
        RunStatus::Invalid { kind, message } => ("invalid", kind, message),
        RunStatus::Superseded => ("superseded", "", ""),
    }
}

/// The metrics of a run by name, of what its output said.
pub fn said(run: &Run) -> impl Iterator<Item = (&str, Option<f64>)> {
    let readings = run.readings.iter().filter(|reading| reading.sampler == command::SAMPLER);
    readings.map(|reading| (reading.metric.as_str(), reading.value))
}

fn session(session: &SessionSlice) -> Value {
    let latency = Some(&session.latency).filter(|bytes| !bytes.is_empty());
    let latency = latency.map(|bytes| BASE64_STANDARD.encode(bytes));
    merged(json!(session), json!({"latency_ns_hdr_v2_base64": latency}))
}

/// Every execution of a run in the order of storing, with its plan by the short name that the report gives it.
pub fn executions(run: &Run) -> impl Iterator<Item = (Value, &QueryExecution)> {
    run.slices.iter().flat_map(move |slice| {
        let streams = slice.sessions.iter().enumerate();
        streams.flat_map(move |(stream, session)| {
            session.queries.iter().map(move |query| {
                let place = json!({
                    "version": VERSION, "sequence": slice.sequence, "round": slice.round, "stream": stream,
                    "window_start_ns": slice.start_ns, "plan": query.plan.as_deref().and_then(plan_name),
                });
                (merged(merged(head(run), json!(query)), place), query)
            })
        })
    })
}

/// The items of a run as they were stored, in the order of storing; `index` is `null` where the stored name does
/// not begin with one.
pub fn items(run: &Run) -> impl Iterator<Item = Value> {
    let window_ns = run.slices.first().map_or(0, |slice| slice.start_ns);
    let stored = run.readings.iter().filter(|reading| reading.sampler == worklist::SAMPLER);
    stored.map(move |reading| {
        let (index, name) = reading.metric.split_once(' ').unwrap_or(("", &reading.metric));
        let item = json!({
            "version": VERSION, "index": index.parse::<u32>().ok(), "item": name,
            "job": reading.value.filter(|job| *job >= 0.0).map(|job| job as u32),
            "started_ns": reading.start_ns.saturating_sub(window_ns),
            "elapsed_ns": reading.end_ns.saturating_sub(reading.start_ns),
        });
        merged(head(run), item)
    })
}
