//! The figures of a whole list, from its spans alone.

use crate::plan::{Plan, Span, Summary};
use std::collections::BTreeMap;
use threadwise_machine::text::marked;

/// Most failed items that are named; of the others only the number is given.
const NAMED: usize = 3;

/// The summary of spans of `jobs` jobs; `None` without a span, or if all took no time.
pub fn summary(spans: &[Span], jobs: u32) -> Option<Summary> {
    let start_ns = spans.iter().map(|span| span.start_ns).min()?;
    let end_ns = spans.iter().map(|span| span.end_ns).max()?;
    let mut last_ns: BTreeMap<u32, u64> = BTreeMap::new();
    for span in spans {
        let last = last_ns.entry(span.job).or_default();
        *last = span.end_ns.max(*last);
    }
    // A job that never had an item was idle from the start.
    let first_out_ns = match last_ns.len() < jobs as usize {
        true => start_ns,
        false => last_ns.values().copied().min()?,
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let elapsed_s = seconds(end_ns - start_ns);
    let busy_s: f64 = last_ns.values().map(|last| seconds(last - start_ns)).sum();
    (elapsed_s > 0.0).then(|| Summary {
        items: spans.len() as u64,
        failed: spans.iter().filter(|span| span.fault.is_some()).count() as u64,
        elapsed_s,
        item_s: elapsed_s / spans.len() as f64,
        // A sum of parts may exceed the whole by the last bit.
        idle_share: (1.0 - busy_s / (f64::from(jobs) * elapsed_s)).max(0.0),
        tail_s: seconds(end_ns - first_out_ns),
    })
}

/// Failed items in one line: how many, the first by name and reason; `None` if none failed.
pub fn failures(plan: &Plan, spans: &[Span]) -> Option<String> {
    let mut failed: Vec<(usize, &str)> =
        spans.iter().filter_map(|span| Some((span.index, span.fault.as_deref()?))).collect();
    failed.sort_unstable();
    let name = |index: usize| plan.items.get(index).map_or("?".into(), |item| item.label());
    let named: Vec<String> = failed
        .iter()
        .take(NAMED)
        .map(|(index, fault)| format!("{}: {fault}", marked(&name(*index))))
        .collect();
    let more = match failed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let (failed, items) = (failed.len(), plan.items.len());
    (failed > 0).then(|| format!("{failed} of {items} items failed: {}{more}", named.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn span(index: usize, job: u32, start_s: u64, end_s: u64) -> Span {
        Span { index, job, start_ns: (100 + start_s) * S, end_ns: (100 + end_s) * S, fault: None }
    }

    #[test]
    fn only_time_after_a_jobs_last_item_is_idle() {
        // Job 0 works from 0 to 3 and from 4 to 10, job 1 from 0 to 6: of 2 x 10 s, 4 s are idle.
        let spans = [span(0, 0, 0, 3), span(1, 1, 0, 6), span(2, 0, 4, 10)];
        let found = summary(&spans, 2).unwrap();
        assert_eq!((found.items, found.failed, found.elapsed_s), (3, 0, 10.0));
        assert_eq!((found.item_s, found.tail_s), (10.0 / 3.0, 4.0));
        assert!((found.idle_share - 0.2).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_job_without_an_item_is_idle_all_the_time() {
        let found = summary(&[span(0, 0, 0, 8), span(1, 1, 2, 8)], 4).unwrap();
        assert_eq!((found.idle_share, found.tail_s), (0.5, 8.0));
        let alone = summary(&[span(0, 0, 0, 8)], 1).unwrap();
        assert_eq!((alone.idle_share, alone.tail_s, alone.item_s), (0.0, 0.0, 8.0));
        assert_eq!((summary(&[], 1), summary(&[span(0, 0, 0, 0)], 1)), (None, None));
    }

    #[test]
    fn a_summary_is_one_line_of_json() {
        let found = summary(&[span(0, 0, 0, 8), span(1, 1, 2, 4)], 2).unwrap();
        let line = crate::plan::line(&found).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&line).unwrap(), found);
        assert!(line.starts_with("{\"items\":2,\"failed\":0,\"elapsed_s\":8.0,") && !line.contains('\n'));
    }
}
