//! `threadwise compare FILE --by STATE`, `--since TIME`: statements in production.

use super::CompareArgs;
use super::args::ByArg;
use super::shown::show;
use crate::commands::screen;
use crate::error::AppError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use threadwise_analysis::observed::{By, Question, Sums, compare, document, plan, trust};
use threadwise_document::Prose;
use threadwise_observed::Interval;
use threadwise_report::json;
use threadwise_store::ObservedStore;

/// Level of the intervals is 1 less this.
const ALPHA: f64 = 0.05;

/// Prints the answer, and writes the page.
pub fn observed(args: &CompareArgs) -> Result<(), AppError> {
    let [file] = args.files.as_slice() else {
        return Err(AppError::Input(
            "--by and --since compare one file of `threadwise observe`: threadwise compare FILE --by smt"
                .to_owned(),
        ));
    };
    let store = ObservedStore::open(file).map_err(AppError::input)?;
    let intervals = store.intervals().map_err(AppError::input)?;
    let statements = store.statements().map_err(AppError::input)?;
    let question = question(args, &intervals)?;
    let calls = calls(&store, &intervals, statements.len())?;
    let source = file.display().to_string();
    let plan =
        plan(question, &intervals, &calls).map_err(|why| AppError::Input(format!("{source}: {why}")))?;
    let mut sums = Sums::default();
    let add = |at, count: &_| sums.add(&plan, at, count);
    store.counts(intervals.len(), statements.len(), add).map_err(AppError::input)?;
    // Its writer waits for readers, and what is printed may stay in a pager.
    drop(store);
    let found = compare(&plan, &sums, &statements, &intervals, &calls);
    let document = document(&found, &source, env!("CARGO_PKG_VERSION"));
    let document = screen::with_screen(document, trust(&found), Prose::command(screen::again("--html FILE")));
    show(args, &document, || json::observed_comparison(&found))
}

/// Calls of the whole server in each interval.
fn calls(
    store: &ObservedStore,
    intervals: &[Interval<u32>],
    statements: usize,
) -> Result<Vec<u64>, AppError> {
    let mut calls: Vec<u64> = intervals.iter().map(Interval::calls).collect();
    let add = |at: usize, count: &threadwise_observed::Count<u32>| {
        calls[at] = calls[at].saturating_add(count.calls);
    };
    store.counts(intervals.len(), statements, add).map_err(AppError::input)?;
    Ok(calls)
}

fn question(args: &CompareArgs, intervals: &[Interval<u32>]) -> Result<Question, AppError> {
    let by = match (&args.since, args.by) {
        (Some(text), _) => By::Moment(moment(text, intervals).map_err(AppError::Input)?),
        (None, Some(ByArg::State)) => By::State,
        (None, Some(ByArg::Clock)) => By::Clock,
        (None, Some(ByArg::Cpus)) => By::Cpus,
        (None, Some(ByArg::Version)) => By::Version,
        (None, Some(ByArg::Neighbours)) => By::Neighbours,
        (None, Some(ByArg::Smt) | None) => By::Smt,
    };
    let between = match args.between.as_slice() {
        [first, second] => Some([first.clone(), second.clone()]),
        _ => None,
    };
    Ok(Question { by, between, margin: args.margin, alpha: ALPHA, most: args.top as usize })
}

/// A moment in milliseconds since 1970: a date, or a time before the end of the file.
fn moment(text: &str, intervals: &[Interval<u32>]) -> Result<i64, String> {
    let back = match text {
        "yesterday" => Some(Duration::from_secs(86_400)),
        other => humantime::parse_duration(other).ok(),
    };
    if let Some(back) = back {
        let end = intervals.last().map_or(0, |interval| interval.end_unix_ms);
        return Ok(end - i64::try_from(back.as_millis()).unwrap_or(end));
    }
    let at = date(text).ok_or_else(|| {
        format!("'{text}' is not a moment: write yesterday, 24h, 2026-11-29 or 2026-11-29T12:00Z (in UTC)")
    })?;
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// `2026-11-29`, `2026-11-29T12:00Z`, `2026-11-29 12:00:30`.
fn date(text: &str) -> Option<SystemTime> {
    let bare = text.trim_end_matches('Z');
    let whole = match bare.len() {
        10 => format!("{bare}T00:00:00Z"),
        16 => format!("{bare}:00Z"),
        _ => format!("{bare}Z"),
    };
    humantime::parse_rfc3339_weak(&whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_or_times_before_the_end() {
        let end = Interval { end_unix_ms: 1_767_225_600_000, ..Interval::default() };
        let moment = |text: &str| moment(text, std::slice::from_ref(&end));
        assert_eq!(moment("yesterday"), Ok(1_767_225_600_000 - 86_400_000));
        assert_eq!(moment("2h"), Ok(1_767_225_600_000 - 7_200_000));
        for text in ["2026-01-01", "2026-01-01T00:00Z", "2026-01-01 00:00", "2026-01-01T00:00:00Z"] {
            assert_eq!(moment(text), Ok(1_767_225_600_000), "{text}");
        }
        for bad in ["", "noon", "2026-13-01", "2026-01-01T25:00Z"] {
            assert!(moment(bad).unwrap_err().contains("not a moment"), "{bad}");
        }
    }
}
