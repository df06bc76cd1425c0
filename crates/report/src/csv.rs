//! Raw exports as CSV (RFC 4180): one line per run or per slice, units last in column names.
//!
//! A text cell that a spreadsheet would take for a formula gets a leading `'` (OWASP, "CSV
//! Injection"): study files come by mail, and their names and messages are not ours.

use crate::{Document, ReportError};
use std::collections::BTreeSet;
use std::io::Write;
use threadwise_study::{Run, RunStatus, SessionSlice, Slice};

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

/// Every run, failed and superseded ones too; engine counters follow the fixed columns.
///
/// # Errors
/// The writer's.
pub fn runs_csv(document: &Document, out: &mut dyn Write) -> Result<(), ReportError> {
    let counters = counter_names(document.runs);
    let mut writer = ::csv::Writer::from_writer(out);
    write(
        &mut writer,
        RUN_COLUMNS.iter().map(|name| (*name).to_owned()).chain(counters.iter().map(|name| guarded(name))),
    )?;
    for run in document.runs {
        let sums =
            counters.iter().map(|name| run.slices.iter().map(|slice| slice.counter(name)).sum::<u64>());
        write(&mut writer, run_cells(document, run).into_iter().chain(sums.map(|sum| sum.to_string())))?;
    }
    Ok(writer.flush()?)
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

fn write(
    writer: &mut ::csv::Writer<&mut dyn Write>,
    cells: impl Iterator<Item = String>,
) -> Result<(), ReportError> {
    writer.write_record(cells.map(String::into_bytes)).map_err(|error| match error.into_kind() {
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
