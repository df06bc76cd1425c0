//! Raw exports as CSV (RFC 4180): one line per run, slice, execution of a query, item of a work list or logical CPU in
//! a look, units last in column names.
//!
//! A text cell that a spreadsheet would take for a formula gets a leading `'` (OWASP, "CSV Injection"): result files
//! come by mail, and their names and messages are not trusted.

use crate::estimates::Analysed;
use crate::json::form::merged;
use crate::json::lines;
use crate::{Facts, ReportError};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use threadwise_analysis::commands::SAID;
use threadwise_machine::text::marked_lines;
use threadwise_statistics::MergedLatency;
use threadwise_study::plan::long::is_long;
use threadwise_study::{CpuTimes, Run, SessionSlice, Slice, command};

/// Columns of every run.
const RUN_COLUMNS: &str = "\
    run_id,block,attempt,treatment,group,placement,cpus,sessions,status,kind,message,started_s,prepare_ns,\
    slices,window_ns,steps,rows,rows_per_s,cpu_ns,voluntary_switches,involuntary_switches";

/// Columns of every slice.
const SLICE_COLUMNS: &str = "\
    run_id,block,attempt,treatment,group,status,sequence,round,start_ns,window_ns,sessions,steps,rows,\
    rows_per_s,cpu_ns,answers_checked,answers_wrong,voluntary_switches,involuntary_switches,\
    run_queue_wait_ns,used_cpus_busy_ns,used_cpus_steal_ns";

/// Columns of every execution of a query.
const QUERY_COLUMNS: &str = "\
    run_id,block,attempt,treatment,group,status,placement,sequence,round,stream,query,window_start_ns,\
    started_ns,elapsed_ns,planning_ns,cpu_ns,dop,rows,plan";

/// Columns of every item of a work list.
const ITEM_COLUMNS: &str = "\
    run_id,block,attempt,treatment,group,status,placement,jobs,index,item,job,started_ns,elapsed_ns";

/// Columns of every logical CPU in every look.
const LOOK_COLUMNS: &str = "\
    run_id,block,attempt,treatment,group,status,sequence,round,moment,start_ns,took_ns,cpu,state,with,\
    adds_per_step,chain_ns,line_to,line_ns,\
    without,adds_per_step_without";

/// Counters that always have a column, so that programs can rely on it.
const QUERY_COUNTERS: [&str; 2] = ["read_bytes", "spill_bytes"];

/// Columns of short queries, after all others; none in a study without them.
const SHORT_COLUMNS: [&str; 2] = ["short_queries", "short_latency_ns_p99"];

/// Columns of every estimate.
const RESULT_COLUMNS: &str = "\
    family,figure,metric,treatment,baseline,comparison,group,query,arm,place,value,low,high,unit,adjusted_low,\
    adjusted_high,level,blocks,p,adjusted_p,answer";

/// Columns that are fields of a place; its others are in the column `place`.
const PLACE_COLUMNS: [&str; 4] = ["comparison", "group", "query", "arm"];

/// Every estimate of the study ([`crate::estimates`]).
///
/// # Errors
/// The writer's.
pub fn results_csv(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let rows = Analysed::of(facts).estimates.into_iter().map(|mut estimate| {
        let place = std::mem::take(&mut estimate.place);
        let (known, others): (Map<_, _>, Map<_, _>) =
            place.into_iter().partition(|(name, _)| PLACE_COLUMNS.contains(&name.as_str()));
        let text = |(name, value): (&String, &Value)| match value {
            Value::String(text) => format!("{name}={text}"),
            value => format!("{name}={value}"),
        };
        let others: Vec<String> = others.iter().map(text).collect();
        let more = merged(Value::Object(known), json!({"place": others.join(" ")}));
        (merged(json!(estimate), more), Vec::new())
    });
    table(out, RESULT_COLUMNS, Vec::new(), rows)
}

/// Every run, including failed and superseded ones, those of long windows last; engine counters follow the fixed
/// columns, then `metric/NAME` for each metric of a command's output, empty if a run has none.
///
/// # Errors
/// The writer's.
pub fn runs_csv(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let more = More::of(facts, metric_names(facts));
    let rows = lines::runs(facts).map(|run| {
        let cpus: Vec<String> = run.cpus.iter().map(u32::to_string).collect();
        let planned = planned(facts, run);
        let more_fields = json!({
            "cpus": cpus.join(" "), "sessions": planned["jobs"], "started_s": format!("{:.6}", run.started_s),
            "prepare_ns": run.prepare_ns, "slices": run.slices.len(),
        });
        let fields = merged(merged(lines::head(run), planned), merged(sums(&run.slices), more_fields));
        (fields, more.cells(run, &run.slices))
    });
    table(out, &more.after(RUN_COLUMNS), more.headings(), rows)
}

/// Every slice and long window of every run, summed over its sessions; engine counters follow the fixed columns.
///
/// # Errors
/// The writer's.
pub fn slices_csv(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let more = More::of(facts, Vec::new());
    let slices = lines::runs(facts).flat_map(|run| run.slices.iter().map(move |slice| (run, slice)));
    let rows = slices.map(|(run, slice)| {
        let waits: Option<u64> = slice.main_sessions().map(|session| session.run_queue_wait_ns).sum();
        let used: Vec<&CpuTimes> =
            slice.cpu_times.iter().filter(|times| run.cpus.contains(&times.cpu)).collect();
        let sum = |value: fn(&CpuTimes) -> u64| {
            (!used.is_empty()).then(|| used.iter().map(|times| value(times)).sum::<u64>())
        };
        let more_fields = json!({
            "sequence": slice.sequence, "round": slice.round, "start_ns": slice.start_ns,
            "sessions": slice.main_sessions().count(), "run_queue_wait_ns": waits,
            "used_cpus_busy_ns": sum(|times| times.busy_ns), "used_cpus_steal_ns": sum(|times| times.steal_ns),
        });
        let slices = std::slice::from_ref(slice);
        let fields = merged(merged(lines::head(run), planned(facts, run)), merged(sums(slices), more_fields));
        (fields, more.cells(run, slices))
    });
    table(out, &more.after(SLICE_COLUMNS), more.headings(), rows)
}

/// Columns after the fixed ones of runs and slices.
struct More {
    has_long_windows: bool,
    /// Names of the engine's counters.
    counters: BTreeSet<String>,
    /// Names of the metrics of a command's output.
    metrics: Vec<String>,
    has_short: bool,
}

impl More {
    fn of(facts: &Facts<'_>, metrics: Vec<String>) -> Self {
        let slices = lines::runs(facts).flat_map(|run| &run.slices);
        let counters = slices.flat_map(|slice| {
            slice.sessions.iter().map(|session| &session.counters).chain([&slice.counters])
        });
        Self {
            has_long_windows: facts.study.design.long_windows.is_some(),
            counters: counters.flat_map(|counters| counters.keys().cloned()).collect(),
            metrics,
            has_short: facts.study.treatments.iter().any(|one| facts.study.short_sessions(one) > 0),
        }
    }

    /// Fixed columns, with that of long windows if the study has some.
    fn after(&self, columns: &str) -> String {
        format!("{columns}{}", if self.has_long_windows { ",long_window" } else { "" })
    }

    fn headings(&self) -> Vec<String> {
        let metrics = self.metrics.iter().map(|name| format!("{SAID}{name}"));
        let short = SHORT_COLUMNS.iter().filter(|_| self.has_short).map(|name| (*name).to_owned());
        self.counters.iter().cloned().chain(metrics).chain(short).collect()
    }

    /// The cells of some slices of a run. Short queries are counted; the 99th percentile of their latency is empty
    /// without any.
    fn cells(&self, run: &Run, slices: &[Slice]) -> Vec<Value> {
        let counter = |name: &String| json!(slices.iter().map(|slice| slice.counter(name)).sum::<u64>());
        let metrics: BTreeMap<&str, Option<f64>> = lines::output_metrics(run).collect();
        let metrics = self.metrics.iter().map(|name| json!(metrics.get(name.as_str())));
        let sessions = slices.iter().flat_map(Slice::short_sessions);
        let mut latency = MergedLatency::new();
        let is_readable = sessions.clone().all(|session| latency.add(&session.latency).is_ok());
        let p99 = latency.quantile(0.99).filter(|_| is_readable);
        let short = [json!(sessions.map(|session| session.steps).sum::<u64>()), json!(p99)];
        let short = short.into_iter().filter(|_| self.has_short);
        self.counters.iter().map(counter).chain(metrics).chain(short).collect()
    }
}

/// Names of the metrics that any treatment's command has, or that any run has reported.
fn metric_names(facts: &Facts<'_>) -> Vec<String> {
    if !facts.study.runs_whole() {
        return Vec::new();
    }
    let asked = facts.study.treatments.iter().flat_map(|treatment| command::metrics(&treatment.options));
    let reported = facts.runs.iter().flat_map(lines::output_metrics).map(|(name, _)| name.to_owned());
    let names: BTreeSet<String> = asked.map(|spec| spec.name).chain(reported).collect();
    names.into_iter().collect()
}

/// Every execution of a query in every run, including failed and superseded ones; the engine's counters over it follow
/// the fixed columns, `read_bytes` and `spill_bytes` first. A cell is empty if a figure is unknown. `window_start_ns`
/// counts from the study's start, `started_ns` from the window's, `plan` is a short name of the plan's text.
///
/// # Errors
/// The writer's.
pub fn queries_csv(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let counted = facts.runs.iter().flat_map(lines::executions).flat_map(|(_, query)| query.counters.keys());
    let mut names: BTreeSet<&str> = counted.map(String::as_str).collect();
    names.retain(|name| !QUERY_COUNTERS.contains(name));
    let names: Vec<&str> = QUERY_COUNTERS.into_iter().chain(names).collect();
    let executed = facts.runs.iter().flat_map(|run| lines::executions(run).map(move |one| (run, one)));
    let rows = executed.map(|(run, (fields, query))| {
        let counts = names.iter().map(|name| json!(query.counters.get(*name)));
        (merged(fields, planned(facts, run)), counts.collect())
    });
    table(out, QUERY_COLUMNS, names.iter().map(|name| (*name).to_owned()).collect(), rows)
}

/// Every item of a work list in every run, including failed and superseded ones, as far as it was reported. `index` is
/// its place in the list and `job` the job that did it, both from 0; `started_ns` counts from the start of the run's
/// window.
///
/// # Errors
/// The writer's.
pub fn items_csv(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let items = facts.runs.iter().flat_map(|run| lines::items(run).map(move |item| (run, item)));
    let rows = items.map(|(run, item)| (merged(item, planned(facts, run)), Vec::new()));
    table(out, ITEM_COLUMNS, Vec::new(), rows)
}

/// Every logical CPU in every look around a slice, including failed and superseded runs. `start_ns` counts from the
/// study's start, `took_ns` is of the whole look; `state` is the word of `threadwise watch --json`, empty for runs that
/// are not valid, `line_ns` one move of a cache line to and from the logical CPU `line_to`, and `adds_per_step_without`
/// the width while the logical CPU `without` stood still.
///
/// # Errors
/// The writer's.
pub fn looks_csv(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let rows = lines::looks(facts).map(|(run, look)| (merged(look, planned(facts, run)), Vec::new()));
    table(out, LOOK_COLUMNS, Vec::new(), rows)
}

/// One line per row: its fields by the names of the fixed columns, then its other cells.
fn table(
    out: &mut dyn Write,
    fixed: &str,
    named: Vec<String>,
    mut rows: impl Iterator<Item = (Value, Vec<Value>)>,
) -> Result<(), ReportError> {
    let mut writer = ::csv::Writer::from_writer(out);
    let mut write = |cells: &mut dyn Iterator<Item = String>| {
        let cells = cells.map(|cell| marked_lines(&cell).into_owned().into_bytes());
        writer.write_record(cells).map_err(|error| match error.into_kind() {
            ::csv::ErrorKind::Io(error) => ReportError::Write(error),
            other => ReportError::Write(std::io::Error::other(format!("{other:?}"))),
        })
    };
    write(&mut fixed.split(',').map(str::to_owned).chain(named.iter().map(|name| guarded(name))))?;
    rows.try_for_each(|(row, more)| {
        write(&mut fixed.split(',').map(|name| &row[name]).chain(&more).map(cell))
    })?;
    Ok(writer.flush()?)
}

/// Empty if unknown.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => guarded(text),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(String::new, |number| number.to_string())
        }
        other => other.to_string(),
    }
}

/// A text cell that no spreadsheet executes.
fn guarded(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if formula { format!("'{text}") } else { text.to_owned() }
}

/// Fields that lines of a run have in addition to those of JSON: its number, and what was planned.
fn planned(facts: &Facts<'_>, run: &Run) -> Value {
    let planned = facts.study.treatment(&run.treatment).map(|(_, treatment)| treatment);
    json!({
        "run_id": run.id, "group": planned.map(|treatment| &treatment.group),
        "placement": planned.map(|treatment| &treatment.placement.text), "jobs": planned.map(|treatment| treatment.sessions),
        "long_window": u8::from(is_long(run.block)),
    })
}

/// Totals of slices; no rate without a window to divide by.
fn sums(slices: &[Slice]) -> Value {
    let window_ns: u64 = slices.iter().map(|slice| slice.window_ns).sum();
    let rows: u64 = slices.iter().map(Slice::rows).sum();
    let sum = |value: fn(&SessionSlice) -> u64| {
        slices.iter().flat_map(Slice::main_sessions).map(value).sum::<u64>()
    };
    json!({
        "window_ns": window_ns, "rows": rows,
        "rows_per_s": (window_ns > 0).then(|| format!("{:.3}", rows as f64 * 1e9 / window_ns as f64)),
        "steps": sum(|session| session.steps), "cpu_ns": sum(|session| session.cpu_ns),
        "answers_checked": sum(|session| session.answers_checked), "answers_wrong": sum(|session| session.answers_wrong),
        "voluntary_switches": sum(|session| session.voluntary_switches),
        "involuntary_switches": sum(|session| session.involuntary_switches),
    })
}

#[cfg(test)]
mod tests;
