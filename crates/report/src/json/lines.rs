//! Raw runs, slices, executions of queries, items of work lists and looks: one JSON object each, a line
//! (`threadwise export --format jsonl`), from which CSV takes its columns too.

use super::form::{VERSION, merged};
use crate::{Facts, ReportError};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::io::Write;
use threadwise_analysis::looks::states::looked_at;
use threadwise_analysis::queries::plan_name;
use threadwise_machine::text::escaped_json;
use threadwise_study::look::follow::Share;
use threadwise_study::plan::long::is_long;
use threadwise_study::{
    Alone, CpuLook, Look, Moment, QueryExecution, Run, RunStatus, SessionSlice, Slice, command, worklist,
};

/// All runs, those of long windows last.
pub fn runs<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Run> {
    facts.runs.iter().chain(facts.long_runs)
}

/// Every run, without its slices: its fields, status and readings.
///
/// # Errors
/// The writer's.
pub fn runs_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    runs(facts).try_for_each(|run| {
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
    runs(facts).try_for_each(|run| {
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

/// Every look around a slice, an object for each logical CPU.
///
/// # Errors
/// The writer's.
pub fn looks_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    looks(facts).try_for_each(|(_, look)| line(out, &look))
}

fn line(out: &mut dyn Write, value: &Value) -> Result<(), ReportError> {
    Ok(writeln!(out, "{}", escaped_json(&value.to_string()))?)
}

/// What names a run, and its status.
pub fn head(run: &Run) -> Value {
    let mut head = json!({
        "run": run.id, "block": run.block, "attempt": run.attempt, "treatment": run.treatment,
        "status": ending(&run.status).0,
    });
    if is_long(run.block) {
        head["long_window"] = json!(true);
    }
    head
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
    let mut more = json!({"latency_ns_hdr_v2_base64": latency});
    if !session.rows_by_piece.is_empty() {
        more["rows_by_piece"] = json!(session.rows_by_piece);
    }
    merged(json!(session), more)
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

/// The looks of all runs with their logical CPUs: those of valid runs in the order of time with the states that the
/// report is made from, then those of other runs, whose states are `null`.
pub fn looks<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'f Run, Value)> {
    let judged = looked_at(facts.runs).into_iter().flat_map(|one| {
        let (run, slice) = (one.run, one.slice);
        one.looks.into_iter().flat_map(move |judged| {
            let shares = judged.shares;
            seen(run, slice, judged.moment, judged.look, |cpu| shares.get(cpu))
        })
    });
    let others = facts.runs.iter().filter(|run| !run.status.is_valid());
    let others = others.flat_map(|run| run.slices.iter().map(move |slice| (run, slice)));
    let unjudged = others.flat_map(|(run, slice)| {
        slice.looks.iter().flat_map(move |one| seen(run, slice, one.moment, &one.look, |_| None))
    });
    judged.chain(unjudged)
}

/// The logical CPUs of one look.
fn seen<'f>(
    run: &'f Run,
    slice: &Slice,
    moment: Moment,
    look: &Look,
    share: impl Fn(u32) -> Option<Share>,
) -> Vec<(&'f Run, Value)> {
    let place = merged(
        head(run),
        json!({
            "version": VERSION, "sequence": slice.sequence, "round": slice.round, "moment": moment.word(),
            "start_ns": look.start_ns, "took_ns": look.took_ns,
        }),
    );
    let cpu = |seen: &CpuLook| {
        let line = look.pairs.iter().find(|pair| [pair.a, pair.b].contains(&seen.cpu));
        let share = share(seen.cpu);
        let without = look.alone.and_then(|one| without(&one, seen.cpu));
        let cpu = json!({
            "cpu": seen.cpu, "state": share.map(Share::word), "with": share.and_then(Share::with),
            "adds_per_step": seen.adds_per_step, "chain_ns": seen.chain_ns,
            "line_to": line.map(|pair| if pair.a == seen.cpu { pair.b } else { pair.a }),
            "line_ns": line.and_then(|pair| pair.line_ns),
            "without": without.map(|(other, _)| other), "adds_per_step_without": without.map(|(_, adds)| adds),
        });
        (run, merged(place.clone(), cpu))
    };
    look.cpus.iter().map(cpu).collect()
}

/// The other of a tested pair, and the width without it.
fn without(one: &Alone, cpu: u32) -> Option<(u32, f64)> {
    match one {
        Alone { a, b, a_adds_per_step, .. } if cpu == *a => Some((*b, *a_adds_per_step)),
        Alone { a, b, b_adds_per_step, .. } if cpu == *b => Some((*a, *b_adds_per_step)),
        _ => None,
    }
}
