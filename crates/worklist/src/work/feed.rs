//! Distribution of items to jobs: a queue is one part that all jobs take from; a fixed split has a part for each job.

use crate::plan::{self, Plan};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The order of a plan, cut into parts.
#[derive(Debug)]
pub(super) struct Feed<'a> {
    order: &'a [usize],
    parts: Vec<ItemRange>,
}

#[derive(Debug)]
struct ItemRange {
    next: AtomicUsize,
    end: usize,
}

impl<'a> Feed<'a> {
    /// The parts of a plan.
    pub fn of(plan: &'a Plan) -> Self {
        let parts = match plan.feed {
            plan::Feed::Queue => 1,
            plan::Feed::Split => plan.jobs as usize,
        };
        let part = |range: Range<usize>| ItemRange { next: AtomicUsize::new(range.start), end: range.end };
        let parts = cut(plan.order.len(), parts).into_iter().map(part).collect();
        Self { order: &plan.order, parts }
    }

    /// The next item of a job; `None` if there are no more.
    pub fn next(&self, job: u32) -> Option<usize> {
        // All jobs share the only part of a queue.
        let part = self.parts.get(job as usize).or(self.parts.first())?;
        let at = part.next.fetch_add(1, Ordering::Relaxed);
        (at < part.end).then(|| self.order.get(at).copied())?
    }
}

/// Contiguous parts of equal lengths; if that is impossible, the first are longer by one.
fn cut(length: usize, parts: usize) -> Vec<Range<usize>> {
    let (each, longer) = (length / parts.max(1), length % parts.max(1));
    let start = |part: usize| part * each + part.min(longer);
    (0..parts).map(|part| start(part)..start(part + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_contiguous_and_differ_by_one_at_most() {
        assert_eq!(cut(7, 3), [0..3, 3..5, 5..7]);
        assert_eq!(cut(6, 3), [0..2, 2..4, 4..6]);
        assert_eq!(cut(2, 4), [0..1, 1..2, 2..2, 2..2]);
        assert_eq!(cut(5, 1), std::slice::from_ref(&(0..5)));
    }
}
