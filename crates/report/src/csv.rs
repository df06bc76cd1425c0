//! Raw exports as CSV (RFC 4180): one line per run, slice, execution of a query or item of a work list,
//! units last in column names.
//!
//! A text cell that a spreadsheet would take for a formula gets a leading `'` (OWASP, "CSV
//! Injection"): result files come by mail, and their names and messages are not ours.

use crate::words::has_runs;
use crate::{Document, ReportError};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use threadwise_analysis::commands::SAID;
use threadwise_analysis::queries::plan_name;
use threadwise_machine::text::marked_lines;
use threadwise_study::{QueryExecution, Run, RunStatus, SessionSlice, Slice, command};

const RUN_COLUMNS: [&str; 21] = [
    "run_id",
    "block",
    "attempt",
    "treatment",
    "group",
    "placement",
    "cpus",
    "sessions",
    "status",
    "kind",
    "message",
    "started_s",
    "prepare_ns",
    "slices",
    "window_ns",
    "steps",
    "rows",
    "rows_per_s",
    "cpu_ns",
    "voluntary_switches",
    "involuntary_switches",
];

const SLICE_COLUMNS: [&str; 22] = [
    "run_id",
    "block",
    "attempt",
    "treatment",
    "group",
    "status",
    "sequence",
    "round",
    "start_ns",
    "window_ns",
    "sessions",
    "steps",
    "rows",
    "rows_per_s",
    "cpu_ns",
    "answers_checked",
    "answers_wrong",
    "voluntary_switches",
    "involuntary_switches",
    "run_queue_wait_ns",
    "used_cpus_busy_ns",
    "used_cpus_steal_ns",
];

const QUERY_COLUMNS: [&str; 19] = [
    "run_id",
    "block",
    "attempt",
    "treatment",
    "group",
    "status",
    "placement",
    "sequence",
    "round",
    "stream",
    "query",
    "window_start_ns",
    "started_ns",
    "elapsed_ns",
    "planning_ns",
    "cpu_ns",
    "dop",
    "rows",
    "plan",
];

const ITEM_COLUMNS: [&str; 13] = [
    "run_id",
    "block",
    "attempt",
    "treatment",
    "group",
    "status",
    "placement",
    "jobs",
    "index",
    "item",
    "job",
    "started_ns",
    "elapsed_ns",
];

/// Counters that always have a column, so that programs can rely on it.
const QUERY_COUNTERS: [&str; 2] = ["read_bytes", "spill_bytes"];

/// Every run, failed and superseded ones too; engine counters follow the fixed columns, then `metric/NAME`
/// for each metric of a command's output, empty where a run has none.
///
/// # Errors
/// The writer's.
pub fn runs_csv(document: &Document, out: &mut dyn Write) -> Result<(), ReportError> {
    let counters = counter_names(document.runs);
    let metrics = metric_names(document);
    let mut writer = ::csv::Writer::from_writer(out);
    let named =
        counters.iter().map(|name| guarded(name)).chain(metrics.iter().map(|name| format!("{SAID}{name}")));
    write(&mut writer, RUN_COLUMNS.iter().map(|name| (*name).to_owned()).chain(named))?;
    for run in document.runs {
        let sums =
            counters.iter().map(|name| run.slices.iter().map(|slice| slice.counter(name)).sum::<u64>());
        let said: BTreeMap<&str, Option<f64>> = crate::commands::said(run).collect();
        let said = metrics.iter().map(|name| known(said.get(name.as_str()).copied().flatten()));
        let cells = run_cells(document, run).into_iter().chain(sums.map(|sum| sum.to_string()));
        write(&mut writer, cells.chain(said))?;
    }
    Ok(writer.flush()?)
}

/// Names of the metrics that any treatment's command has, or that any run has reported.
fn metric_names(document: &Document) -> Vec<String> {
    if !has_runs(document.study) {
        return Vec::new();
    }
    let asked = document.study.treatments.iter().flat_map(|own| command::metrics(&own.options));
    let reported = document.runs.iter().flat_map(crate::commands::said).map(|(name, _)| name.to_owned());
    let names: BTreeSet<String> = asked.map(|spec| spec.name).chain(reported).collect();
    names.into_iter().collect()
}

/// Every slice of every run, summed over its sessions; engine counters follow the fixed columns.
///
/// # Errors
/// The writer's.
pub fn slices_csv(document: &Document, out: &mut dyn Write) -> Result<(), ReportError> {
    let counters = counter_names(document.runs);
    let mut writer = ::csv::Writer::from_writer(out);
    write(
        &mut writer,
        SLICE_COLUMNS.iter().map(|name| (*name).to_owned()).chain(counters.iter().map(|name| guarded(name))),
    )?;
    for run in document.runs {
        let head = slice_head(document, run);
        for slice in &run.slices {
            let sums = counters.iter().map(|name| slice.counter(name).to_string());
            write(&mut writer, head.iter().cloned().chain(slice_cells(run, slice)).chain(sums))?;
        }
    }
    Ok(writer.flush()?)
}

/// Every execution of a query in every run, failed and superseded ones too; the engine's counters over
/// it follow the fixed columns, `read_bytes` and `spill_bytes` first. A cell is empty where a figure is
/// not known. `window_start_ns` counts from the study's start, `started_ns` from the window's, `plan` is
/// a short name of the plan's text.
///
/// # Errors
/// The writer's.
pub fn queries_csv(document: &Document, out: &mut dyn Write) -> Result<(), ReportError> {
    let counters = query_counter_names(document.runs);
    let mut writer = ::csv::Writer::from_writer(out);
    let fixed = QUERY_COLUMNS.iter().chain(&QUERY_COUNTERS).map(|name| (*name).to_owned());
    write(&mut writer, fixed.chain(counters.iter().map(|name| guarded(name))))?;
    for run in document.runs {
        let head = slice_head(document, run);
        let placement = document.study.treatment(&run.treatment).map(|(_, treatment)| &treatment.placement);
        let placement = guarded(placement.map_or("", |placement| placement));
        for (slice, stream, query) in executions(run) {
            let own = query_cells(slice, stream, query);
            let names = QUERY_COUNTERS.into_iter().chain(counters.iter().map(String::as_str));
            let counted = names.map(|name| known(query.counters.get(name).copied()));
            let cells = head.iter().cloned().chain([placement.clone()]).chain(own);
            write(&mut writer, cells.chain(counted))?;
        }
    }
    Ok(writer.flush()?)
}

/// Every item of a work list in every run, failed and superseded ones too, as far as it was reported.
/// `index` is its place in the list and `job` who did it, both from 0; `started_ns` counts from the
/// start of the run's window.
///
/// # Errors
/// The writer's.
pub fn items_csv(document: &Document, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut writer = ::csv::Writer::from_writer(out);
    write(&mut writer, ITEM_COLUMNS.iter().map(|name| (*name).to_owned()))?;
    for run in document.runs {
        let head = slice_head(document, run);
        let treatment = document.study.treatment(&run.treatment).map(|(_, treatment)| treatment);
        let of_treatment = [
            guarded(treatment.map_or("", |own| &own.placement)),
            treatment.map_or(String::new(), |own| own.sessions.to_string()),
        ];
        for item in crate::worklist::items(run) {
            let own = [
                known(item.index),
                guarded(item.name),
                known(item.job),
                item.started_ns.to_string(),
                item.elapsed_ns.to_string(),
            ];
            write(&mut writer, head.iter().chain(&of_treatment).cloned().chain(own))?;
        }
    }
    Ok(writer.flush()?)
}

/// Every execution of a run with its slice and the number of its stream, in the order of storing.
pub(crate) fn executions(run: &Run) -> impl Iterator<Item = (&Slice, usize, &QueryExecution)> {
    run.slices.iter().flat_map(|slice| {
        let streams = slice.sessions.iter().enumerate();
        streams.flat_map(move |(stream, session)| {
            session.queries.iter().map(move |query| (slice, stream, query))
        })
    })
}

/// Counters of executions that have no fixed column.
fn query_counter_names(runs: &[Run]) -> Vec<String> {
    let names: BTreeSet<&String> =
        runs.iter().flat_map(executions).flat_map(|(_, _, query)| query.counters.keys()).collect();
    names.into_iter().filter(|name| !QUERY_COUNTERS.contains(&name.as_str())).cloned().collect()
}

/// Empty where a figure is not known.
fn known(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn query_cells(slice: &Slice, stream: usize, query: &QueryExecution) -> [String; 12] {
    [
        slice.sequence.to_string(),
        slice.round.to_string(),
        stream.to_string(),
        query.query.to_string(),
        slice.start_ns.to_string(),
        query.started_ns.to_string(),
        query.elapsed_ns.to_string(),
        known(query.planning_ns),
        known(query.cpu_ns),
        known(query.dop),
        query.rows.to_string(),
        known(query.plan.as_deref().and_then(plan_name)),
    ]
}

fn write(
    writer: &mut ::csv::Writer<&mut dyn Write>,
    cells: impl Iterator<Item = String>,
) -> Result<(), ReportError> {
    let cells = cells.map(|cell| marked_lines(&cell).into_owned().into_bytes());
    writer.write_record(cells).map_err(|error| match error.into_kind() {
        ::csv::ErrorKind::Io(error) => ReportError::Write(error),
        other => ReportError::Write(std::io::Error::other(format!("{other:?}"))),
    })
}

fn counter_names(runs: &[Run]) -> Vec<String> {
    let slices = runs.iter().flat_map(|run| &run.slices);
    let counters = slices
        .flat_map(|slice| slice.sessions.iter().map(|session| &session.counters).chain([&slice.counters]));
    let names: BTreeSet<&String> = counters.flat_map(|counters| counters.keys()).collect();
    names.into_iter().cloned().collect()
}

/// Status, kind and message of a run.
pub(crate) fn status_words(status: &RunStatus) -> (&'static str, &str, &str) {
    match status {
        RunStatus::Valid => ("valid", "", ""),
        RunStatus::Failed { kind, message } => ("failed", kind, message),
        RunStatus::Invalid { kind, message } => ("invalid", kind, message),
        RunStatus::Superseded => ("superseded", "", ""),
    }
}

/// A text cell that no spreadsheet runs.
fn guarded(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if formula { format!("'{text}") } else { text.to_owned() }
}

fn of_sessions(run: &Run, value: fn(&SessionSlice) -> u64) -> u64 {
    run.slices.iter().flat_map(|slice| &slice.sessions).map(value).sum()
}

fn run_cells(document: &Document, run: &Run) -> Vec<String> {
    let treatment = document.study.treatment(&run.treatment).map(|(_, treatment)| treatment);
    let (status, kind, message) = status_words(&run.status);
    let window_ns: u64 = run.slices.iter().map(|slice| slice.window_ns).sum();
    let rows: u64 = run.slices.iter().map(Slice::rows).sum();
    let cpus: Vec<String> = run.cpus.iter().map(u32::to_string).collect();
    vec![
        run.id.to_string(),
        run.block.to_string(),
        run.attempt.to_string(),
        guarded(&run.treatment),
        guarded(treatment.map_or("", |treatment| &treatment.group)),
        guarded(treatment.map_or("", |treatment| &treatment.placement)),
        cpus.join(" "),
        treatment.map_or(String::new(), |treatment| treatment.sessions.to_string()),
        status.to_owned(),
        guarded(kind),
        guarded(message),
        format!("{:.6}", run.started_s),
        run.prepare_ns.to_string(),
        run.slices.len().to_string(),
        window_ns.to_string(),
        of_sessions(run, |session| session.steps).to_string(),
        rows.to_string(),
        per_second(rows, window_ns),
        of_sessions(run, |session| session.cpu_ns).to_string(),
        of_sessions(run, |session| session.voluntary_switches).to_string(),
        of_sessions(run, |session| session.involuntary_switches).to_string(),
    ]
}

/// Empty where there was no window to divide by.
fn per_second(rows: u64, window_ns: u64) -> String {
    match window_ns {
        0 => String::new(),
        _ => format!("{:.3}", rows as f64 * 1e9 / window_ns as f64),
    }
}

fn slice_head(document: &Document, run: &Run) -> [String; 6] {
    let treatment = document.study.treatment(&run.treatment).map(|(_, treatment)| treatment);
    [
        run.id.to_string(),
        run.block.to_string(),
        run.attempt.to_string(),
        guarded(&run.treatment),
        guarded(treatment.map_or("", |treatment| &treatment.group)),
        status_words(&run.status).0.to_owned(),
    ]
}

fn slice_cells(run: &Run, slice: &Slice) -> [String; 16] {
    let sum = |value: fn(&SessionSlice) -> u64| slice.sessions.iter().map(value).sum::<u64>().to_string();
    let waits: Option<u64> = slice.sessions.iter().map(|session| session.run_queue_wait_ns).sum();
    let used = || slice.cpu_times.iter().filter(|times| run.cpus.contains(&times.cpu));
    let known = |value: u64| if used().next().is_some() { value.to_string() } else { String::new() };
    [
        slice.sequence.to_string(),
        slice.round.to_string(),
        slice.start_ns.to_string(),
        slice.window_ns.to_string(),
        slice.sessions.len().to_string(),
        sum(|session| session.steps),
        slice.rows().to_string(),
        per_second(slice.rows(), slice.window_ns),
        sum(|session| session.cpu_ns),
        sum(|session| session.answers_checked),
        sum(|session| session.answers_wrong),
        sum(|session| session.voluntary_switches),
        sum(|session| session.involuntary_switches),
        waits.map_or(String::new(), |wait| wait.to_string()),
        known(used().map(|times| times.busy_ns).sum()),
        known(used().map(|times| times.steal_ns).sum()),
    ]
}

#[cfg(test)]
mod tests;
