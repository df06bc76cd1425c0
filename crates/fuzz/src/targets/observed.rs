//! Files of observed statements, read through the whole path of `compare --by` and `--since`: store, analysis, terminal,
//! HTML, JSON. Mutants change values of rows and bytes of pages, as those of result files.

use super::results::{Mutants, is_clean, is_json, is_page, on_terminal};
use crate::target::Target;
use std::path::Path;
use threadwise_analysis::observed::{By, Question, Sums, compare, document, plan, trust};
use threadwise_observed::{Count, Gap, Host, Interval, Neighbours, StatementText, States, Unseen};
use threadwise_report::terminal::Style;
use threadwise_report::{html, json as forms};
use threadwise_store::{About, ObservedStore, StoreError};

/// The target.
pub fn make() -> Target {
    let made = tempfile::tempdir().expect("a temporary folder");
    let path = made.path().join("whole");
    fill(&path).expect("a file of observed statements");
    assert!(judge_file(&path), "the file of this target is not read");
    Target::with(Mutants::new(&[path]), Mutants::mutant, |mutants, input| judge_file(&mutants.file(input)))
}

/// Hours of three statements, the state changed every second one.
fn fill(path: &Path) -> Result<(), StoreError> {
    let about = About { has_texts: true, most: 500, interval_ns: 3_600_000_000_000, ..About::default() };
    let (mut store, _) = ObservedStore::create_or_continue(path, &about)?;
    for hour in 0..60_i64 {
        let start_unix_ms = 1_767_225_600_000 + hour * 3_600_000;
        let gap = (hour % 20 == 7).then_some(Gap::Reset);
        let word = if (hour / 2) % 2 == 0 { "off" } else { "on" };
        let count = |id: u64| Count {
            statement: format!("s{id}"),
            calls: 100 + (hour as u64 * 7 + id) % 13,
            time_ns: 1_000_000 + (hour as u64 * 11 + id * 3) % 17 * 10_000,
            rows: 5,
        };
        let text = |id: u64| StatementText {
            key: format!("s{id}"),
            database: Some("shop".to_owned()),
            user: Some("ada".to_owned()),
            text: Some(format!("SELECT a{id} FROM t WHERE b = $1")),
            is_ours: id == 2,
        };
        let interval = Interval {
            start_unix_ms,
            end_unix_ms: start_unix_ms + 3_600_000,
            length_ns: 3_600_000_000_000,
            gap,
            states: States {
                state: Some(word.to_owned()),
                smt: Some(word.to_owned()),
                clock: Some("performance".to_owned()),
                cpus: Some(8),
                version: Some("15".to_owned()),
            },
            host: (hour % 3 == 0).then(Host::default),
            neighbours: (hour % 5 != 0).then(|| neighbours(hour)),
            counts: if gap.is_some() { Vec::new() } else { (0..3).map(count).collect() },
            ..Interval::default()
        };
        let texts: Vec<StatementText> = (0..3).map(text).collect();
        store.append(&interval, &texts)?;
    }
    Ok(())
}

/// Busy in every second hour; unknown in some.
fn neighbours(hour: i64) -> Neighbours {
    match hour % 11 {
        0 => Neighbours::Unknown(Unseen::NoLook),
        _ => Neighbours::Seen { looks: 40, share: if (hour / 2) % 2 == 0 { 0.0 } else { 0.5 } },
    }
}

fn judge_file(path: &Path) -> bool {
    match ObservedStore::open(path) {
        Ok(store) => {
            compared(&store).unwrap_or_else(|error| is_clean("an error", &error.to_string()));
            true
        }
        Err(error) => {
            is_clean("an error", &error.to_string());
            false
        }
    }
}

fn compared(store: &ObservedStore) -> Result<(), StoreError> {
    let (intervals, statements) = (store.intervals()?, store.statements()?);
    let mut calls: Vec<u64> = intervals.iter().map(Interval::calls).collect();
    let add = |at: usize, count: &Count<u32>| calls[at] = calls[at].saturating_add(count.calls);
    store.counts(intervals.len(), statements.len(), add)?;
    let middle = intervals.get(intervals.len() / 2).map_or(0, |interval| interval.start_unix_ms);
    for by in [By::Smt, By::State, By::Cpus, By::Neighbours, By::Moment(middle)] {
        let question = Question { by, between: None, margin: 0.05, alpha: 0.05, most: 100 };
        let plan = match plan(question, &intervals, &calls) {
            Ok(plan) => plan,
            Err(why) => {
                assert!(!why.contains('\n'), "several lines: {why}");
                continue;
            }
        };
        let mut sums = Sums::default();
        let add = |at, count: &Count<u32>| sums.add(&plan, at, count);
        store.counts(intervals.len(), statements.len(), add).expect("what was read before");
        let found = compare(&plan, &sums, &statements, &intervals, &calls);
        let document = document(&found, "o.threadwise", "0");
        assert!(!document.verdict.is_empty(), "a comparison without a verdict");
        assert!(!trust(&found).reasons.is_empty(), "trust without a reason");
        is_clean("a comparison", &on_terminal(&document, Style { color: false, unicode: true, width: 96 }));
        is_json("comparison", &forms::observed_comparison(&found));
        is_page(&html::render(&document).expect("HTML"));
    }
    Ok(())
}
