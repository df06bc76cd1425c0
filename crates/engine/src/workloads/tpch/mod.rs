//! The workload `tpch` on engines that load its tables themselves: options, the files with the queries' text, and
//! the loop in which a session executes its queries. The queries, their parameters and the check
//! of the answers are in the crate `tpch`.
//!
//! Source: *TPC Benchmark H, Standard Specification*, revision 3.0.1; clause numbers are its.

pub mod generator;
pub mod short;
pub mod tables;

use std::path::{Path, PathBuf};
use threadwise_machine::CpuSet;
use threadwise_study::{Options, QueryExecution, SessionSlice};
use threadwise_tpch::options::TpchOptions;

use super::options::refuse;
use crate::{EngineError, Window, clock};

/// Longest operator of a plan, with its indentation.
const LINE_CHARS: usize = 200;

/// Reads the workload's options. `refused` are those that the engine does not follow: a name, or a prefix with a dot at
/// its end, and why.
///
/// # Errors
/// The first option that is unknown, has a value that is not allowed, or is refused.
pub fn read(options: &Options, refused: &[(&str, &str)]) -> Result<TpchOptions, EngineError> {
    let found = TpchOptions::read(options).map_err(|fault| {
        let why = format!("'{}': {}", fault.value, fault.allowed);
        refuse(&fault.option, why)
    })?;
    let is_meant =
        |name: &str, option: &str| option == name || (name.ends_with('.') && option.starts_with(name));
    for (name, why) in refused {
        if let Some(option) = options.keys().find(|option| is_meant(name, option)) {
            return Err(refuse(option, (*why).to_owned()));
        }
    }
    Ok(found)
}

/// The requested degree of parallelism: the option's, else the number of logical CPUs of the placement.
pub fn dop(options: &TpchOptions, placement: &CpuSet) -> u32 {
    options.dop.unwrap_or_else(|| u32::try_from(placement.len()).unwrap_or(u32::MAX).max(1))
}

/// File with the text of a query of a stream, which the runner writes in the engine's dialect.
pub fn query_file(data_dir: &Path, stream: u32, query: u8) -> PathBuf {
    data_dir.join("queries").join(stream.to_string()).join(format!("q{query:02}.sql"))
}

/// The text of a query: one SELECT, without a semicolon at its end.
///
/// # Errors
/// It cannot be read.
pub fn query_text(engine: &str, data_dir: &Path, stream: u32, query: u8) -> Result<String, EngineError> {
    let file = query_file(data_dir, stream, query);
    let text = std::fs::read_to_string(&file).map_err(|cause| EngineError::Failed {
        engine: engine.to_owned(),
        action: format!("read the text of query {}", name(query)),
        why: format!("{}: {cause}; it is written before the data is loaded", file.display()),
    })?;
    Ok(text.trim().trim_end_matches(';').trim_end().to_owned())
}

/// A line of a plan in canonical form: an operator, indented by its depth, with its estimated rows and cost behind it.
pub fn plan_line(depth: usize, operator: &str, rows_and_cost: Option<(f64, f64)>) -> String {
    let estimate =
        rows_and_cost.map(|(rows, cost)| format!(" # rows={rows} cost={cost}")).unwrap_or_default();
    let operator: String = operator.chars().take(LINE_CHARS - 2 * depth.min(LINE_CHARS / 4)).collect();
    format!("{:indent$}{operator}{estimate}\n", "", indent = 2 * depth)
}

/// A query's name in messages: `q06`.
pub fn name(query: u8) -> String {
    format!("q{query:02}")
}

/// The error for a query that failed.
pub fn failed(engine: &str, query: u8, why: impl Into<String>) -> EngineError {
    EngineError::Failed {
        engine: engine.to_owned(),
        action: format!("execute query {}", name(query)),
        why: why.into(),
    }
}

/// The error for a query that was not done at the window's end.
pub fn too_long(engine: &str, query: u8, window: &Window) -> EngineError {
    let limit_s = window.end_ns.saturating_sub(window.start_ns) as f64 / 1e9;
    let why = format!(
        "the time limit of {limit_s:.1} s was reached: allow more (slice_ms), choose a smaller scale, or leave \
         the query out (queries)"
    );
    failed(engine, query, why)
}

/// Executes a session's queries one after another from the window's start on. `execute` gets a query and the
/// nanoseconds since the start.
///
/// # Errors
/// The error of the first query that failed, or the window ended before a query began.
pub fn run(
    engine: &str,
    window: &Window,
    queries: &[u8],
    mut execute: impl FnMut(u8, u64) -> Result<QueryExecution, EngineError>,
) -> Result<SessionSlice, EngineError> {
    clock::sleep_until_ns(window.start_ns);
    let since_start_ns = || clock::monotonic_ns().saturating_sub(window.start_ns);
    let mut done = Vec::with_capacity(queries.len());
    for &query in queries {
        if clock::monotonic_ns() >= window.end_ns {
            return Err(too_long(engine, query, window));
        }
        done.push(execute(query, since_start_ns())?);
    }
    Ok(SessionSlice {
        steps: done.len() as u64,
        rows: done.len() as u64,
        finished_ns: Some(since_start_ns()),
        queries: done,
        ..SessionSlice::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    #[test]
    fn queries_are_executed_in_order_and_a_window_that_is_over_is_an_error() {
        let start_ns = clock::monotonic_ns() + 2_000_000;
        let window = Window { sequence: 0, start_ns, end_ns: u64::MAX, piece_ns: None, arrivals: None };
        let execute = |query: u8, started_ns: u64| {
            assert!(clock::monotonic_ns() >= start_ns + started_ns);
            Ok(QueryExecution { query, started_ns, ..QueryExecution::default() })
        };
        let slice = run("test", &window, &[3, 1, 2], execute).unwrap();
        let order: Vec<u8> = slice.queries.iter().map(|one| one.query).collect();
        assert_eq!((order, slice.steps, slice.rows, slice.answers_checked), (vec![3, 1, 2], 3, 3, 0));
        assert!(slice.finished_ns >= slice.queries.last().map(|last| last.started_ns));
        let over = Window { sequence: 0, start_ns: 1, end_ns: 2, piece_ns: None, arrivals: None };
        let message = run("test", &over, &[18], execute).unwrap_err().to_string();
        assert!(message.contains("query q18") && message.contains("slice_ms"), "{message}");
    }

    #[test]
    fn a_text_is_found_by_stream_and_query_and_loses_its_semicolon() {
        let folder = tempfile::tempdir().unwrap();
        let file = query_file(folder.path(), 3, 7);
        assert!(file.ends_with("queries/3/q07.sql"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "SELECT 1 ;\n").unwrap();
        assert_eq!(query_text("test", folder.path(), 3, 7).unwrap(), "SELECT 1");
        let message = query_text("test", folder.path(), 3, 8).unwrap_err().to_string();
        assert!(message.contains("q08.sql"), "{message}");
    }

    #[test]
    fn long_operators_are_cut_and_estimates_stay() {
        assert_eq!(plan_line(1, "Sort", None), "  Sort\n");
        let line = plan_line(2, &"x".repeat(300), Some((3.0, 7.5)));
        assert_eq!(line, format!("    {} # rows=3 cost=7.5\n", "x".repeat(196)));
    }

    #[test]
    fn options_that_an_engine_cannot_follow_are_refused_by_name() {
        let given = Options::from([("batch_rows".to_owned(), OptionValue::Integer(1024))]);
        let message = read(&given, &[("batch_rows", "it has no batches")]).unwrap_err().to_string();
        assert_eq!(message, "option 'batch_rows': it has no batches");
        read(&given, &[("storage", "no"), ("settings.", "no"), ("batch", "no")]).unwrap();
        let set = Options::from([("settings.maxdop".to_owned(), OptionValue::Integer(2))]);
        let message = read(&set, &[("settings.", "it has none")]).unwrap_err().to_string();
        assert_eq!(message, "option 'settings.maxdop': it has none");
        let bad = Options::from([("scale".to_owned(), OptionValue::Integer(0))]);
        assert!(read(&bad, &[]).unwrap_err().to_string().contains("option 'scale'"));
        let placement = CpuSet::parse_list("0-3").unwrap();
        let dop_of = |pairs: &[(&str, i64)]| {
            let options =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Integer(*value)));
            dop(&read(&options.collect(), &[]).unwrap(), &placement)
        };
        assert_eq!((dop_of(&[]), dop_of(&[("dop", 7)])), (4, 7));
    }
}
