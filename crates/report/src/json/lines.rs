//! Raw runs, slices, executions of queries, items of work lists and looks: one JSON object each, a line
//! (`threadwise export --format jsonl`), from which CSV takes its columns too.

use super::form::{self, merged};
use crate::{Facts, ReportError};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::io::Write;
use threadwise_analysis::looks::states::looked_at;
use threadwise_analysis::neighbours::{Watched, WatchedCpu};
use threadwise_analysis::queries::plan_name;
use threadwise_study::look::follow::Share;
use threadwise_study::plan::long::is_long;
use threadwise_study::{CpuLook, Look, Moment, QueryExecution, Run, Slice, command, worklist};

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
            "cpus": run.cpus, "started_s": run.started_s, "prepare_ns": run.prepare_ns, "slices": run.slices.len(),
            "readings": run.readings, "other_cpu_times": run.other_cpu_times,
        });
        if facts.study.runs_whole() {
            shown["metrics"] = output_metrics(run).map(|(name, value)| (name.to_owned(), json!(value))).collect();
        }
        line(out, merged(head(run), shown))
    })
}

/// Every slice, with every session (its histogram too) and every CPU.
///
/// # Errors
/// The writer's.
pub fn slices_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut all = runs(facts).flat_map(|run| run.slices.iter().map(move |slice| (run, slice)));
    all.try_for_each(|(run, slice)| {
        let sessions = form::list(&slice.sessions, |session| {
            let latency = Some(&session.latency).filter(|bytes| !bytes.is_empty());
            json!({"latency_ns_hdr_v2_base64": latency.map(|bytes| BASE64_STANDARD.encode(bytes))})
        });
        line(out, merged(merged(head(run), json!(slice)), json!({"sessions": sessions})))
    })
}

/// Every execution of a query, with the counters over it.
///
/// # Errors
/// The writer's.
pub fn queries_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut all = facts.runs.iter().flat_map(executions);
    all.try_for_each(|(fields, query)| line(out, merged(fields, json!({"plan_text": query.plan}))))
}

/// Every item of a work list in every run.
///
/// # Errors
/// The writer's.
pub fn items_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts.runs.iter().flat_map(items).try_for_each(|item| line(out, item))
}

/// Every look around a slice, an object for each logical CPU.
///
/// # Errors
/// The writer's.
pub fn looks_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    looks(facts).try_for_each(|(_, look)| line(out, look))
}

fn line(out: &mut dyn Write, value: Value) -> Result<(), ReportError> {
    Ok(writeln!(out, "{}", form::line(value))?)
}

/// Identity of a run, and how it ended: `kind` and `message` are for one that does not count.
pub fn head(run: &Run) -> Value {
    let mut head = merged(
        json!(run.status),
        json!({"run": run.id, "block": run.block, "attempt": run.attempt, "treatment": run.treatment}),
    );
    if is_long(run.block) {
        head["long_window"] = json!(true);
    }
    head
}

/// The metrics of a run's output by name.
pub fn output_metrics(run: &Run) -> impl Iterator<Item = (&str, Option<f64>)> {
    let readings = run.readings.iter().filter(|reading| reading.sampler == command::SAMPLER);
    readings.map(|reading| (reading.metric.as_str(), reading.value))
}

/// Every execution of a run in the order of storing, with its plan by the short name that the report gives it.
pub fn executions(run: &Run) -> impl Iterator<Item = (Value, &QueryExecution)> {
    run.slices.iter().flat_map(move |slice| {
        let streams = slice.sessions.iter().enumerate();
        streams.flat_map(move |(stream, session)| {
            session.queries.iter().map(move |query| {
                let place = json!({
                    "sequence": slice.sequence, "round": slice.round, "stream": stream,
                    "window_start_ns": slice.start_ns, "plan": query.plan.as_deref().and_then(plan_name),
                });
                (merged(merged(head(run), json!(query)), place), query)
            })
        })
    })
}

/// The items of a run in the order of storing; `index` is `null` if the stored name does not begin with one.
pub fn items(run: &Run) -> impl Iterator<Item = Value> {
    let window_ns = run.slices.first().map_or(0, |slice| slice.start_ns);
    let stored = run.readings.iter().filter(|reading| reading.sampler == worklist::SAMPLER);
    stored.map(move |reading| {
        let (index, name) = reading.metric.split_once(' ').unwrap_or(("", &reading.metric));
        let item = json!({
            "index": index.parse::<u32>().ok(), "item": name,
            "job": reading.value.filter(|job| *job >= 0.0).map(|job| job as u32),
            "started_ns": reading.start_ns.saturating_sub(window_ns),
            "elapsed_ns": reading.end_ns.saturating_sub(reading.start_ns),
        });
        merged(head(run), item)
    })
}

/// The looks of all runs with their logical CPUs: those of valid runs in the order of time with the states that the
/// report uses, then those of other runs, whose states are `null`.
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
            "sequence": slice.sequence, "round": slice.round, "moment": moment.word(),
            "start_ns": look.start_ns, "took_ns": look.took_ns,
        }),
    );
    let cpu = |seen: &CpuLook| {
        let line = look.pairs.iter().find(|pair| [pair.a, pair.b].contains(&seen.cpu));
        let alone = look.alone.filter(|one| [one.a, one.b].contains(&seen.cpu));
        let more = json!({
            "chain_ns": seen.chain_ns, "line_to": line.map(|pair| if pair.a == seen.cpu { pair.b } else { pair.a }),
            "line_ns": line.and_then(|pair| pair.line_ns),
            "without": alone.map(|one| if one.a == seen.cpu { one.b } else { one.a }),
            "adds_per_step_without":
                alone.map(|one| if one.a == seen.cpu { one.a_adds_per_step } else { one.b_adds_per_step }),
        });
        (run, merged(merged(place.clone(), watched_cpu(seen, share(seen.cpu))), more))
    };
    look.cpus.iter().map(cpu).collect()
}

fn watched_cpu(seen: &CpuLook, share: Option<Share>) -> Value {
    json!({
        "cpu": seen.cpu, "state": share.map(Share::word), "with": share.and_then(Share::with),
        "adds_per_step": seen.adds_per_step,
    })
}

/// A look of `threadwise watch --json`, as one line without its end.
pub fn watched(utc: &str, look: &Look, shares: &[Share]) -> String {
    let cpus = look.cpus.iter().zip(shares).map(|(seen, share)| watched_cpu(seen, Some(*share)));
    form::line(
        json!({"utc": utc, "took_ns": look.took_ns, "cpus": cpus.collect::<Value>(), "lines": look.pairs}),
    )
}

/// What `threadwise neighbours` saw in some time, as one line without its end.
pub fn neighbours(utc: &str, watched: &Watched) -> String {
    let cpu = |cpu: &WatchedCpu| {
        json!({
            "cpu": cpu.cpu, "looks": cpu.looks, "with_neighbour": cpu.with_neighbour, "on_one_core": cpu.on_one_core,
            "visits": cpu.visits, "visit_ns_p50": cpu.visit_ns_p50,
        })
    };
    form::line(json!({
        "utc": utc, "looks": watched.looks, "time_ns": watched.time_ns, "prevalence": watched.prevalence,
        "width_left": watched.width_left, "cpus": watched.cpus.iter().map(cpu).collect::<Value>(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::look::PairLook;

    #[test]
    fn a_look_is_one_line_that_json_readers_take() {
        let seen = CpuLook { cpu: 0, chain_ns: None, adds_per_step: Some(2.4) };
        let lines = vec![PairLook { a: 0, b: 1, line_ns: None }];
        let look = Look { took_ns: 20_000, cpus: vec![seen], pairs: lines, ..Look::default() };
        let text = watched("2026-01-01T00:00:00Z", &look, &[Share::With(1)]);
        assert!(!text.contains('\n'));
        let look: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&look["version"], &look["took_ns"]), (&json!(1), &json!(20_000)));
        assert_eq!((&look["cpus"][0]["state"], &look["cpus"][0]["with"]), (&json!("one-core"), &json!(1)));
        assert_eq!(look["lines"][0], json!({"a": 0, "b": 1, "line_ns": null}));
    }
}
