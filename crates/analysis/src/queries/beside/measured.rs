//! Latencies of short queries of each run, and runs without the sessions that executed them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use threadwise_study::{Run, Slice, Study};

use super::super::table::{Cell, Table};
use crate::estimate::Observed;
use threadwise_statistics::MergedLatency;

/// One run's short queries.
#[derive(Debug, Clone, Copy, Default)]
struct OfRun {
    steps: u64,
    window_ns: u64,
    /// `None` without a query, and where the histograms cannot be read.
    percentiles_ns: Option<(u64, u64)>,
}

/// Short queries of usable runs, by treatment and block.
pub(super) struct Measured(BTreeMap<(String, u32), OfRun>);

impl Measured {
    fn of(&self, cell: &Cell<'_>) -> OfRun {
        self.0.get(&(cell.run.treatment.clone(), cell.block)).copied().unwrap_or_default()
    }

    /// How many there were.
    pub(super) fn steps(&self, cell: &Cell<'_>) -> u64 {
        self.of(cell).steps
    }

    /// How many a second; `None` without one.
    pub(super) fn per_s(&self, cell: &Cell<'_>) -> Option<f64> {
        let OfRun { steps, window_ns, .. } = self.of(cell);
        (steps > 0 && window_ns > 0).then(|| steps as f64 * 1e9 / window_ns as f64)
    }

    /// Their median latency.
    pub(super) fn p50_ns(&self, cell: &Cell<'_>) -> Option<f64> {
        self.of(cell).percentiles_ns.map(|(p50, _)| p50 as f64)
    }

    /// The 99th percentile of their latency.
    pub(super) fn p99_ns(&self, cell: &Cell<'_>) -> Option<f64> {
        self.of(cell).percentiles_ns.map(|(_, p99)| p99 as f64)
    }
}

/// Those of every usable run; `runs` are whole, with all their sessions.
pub(super) fn of_blocks(table: &Table<'_>, observed: &Observed, runs: &[Run]) -> Measured {
    let (mut all, mut merged) = (BTreeMap::new(), MergedLatency::new());
    for (block, cells) in observed.blocks.iter().zip(&table.cells) {
        for (source, cell) in block.sources.iter().zip(cells) {
            let Some((cell, run)) = cell.as_ref().zip(source.and_then(|at| runs.get(at))) else { continue };
            let rounds = table.study.design.rounds;
            let slices = run.slices.iter().filter(|slice| slice.round < rounds);
            all.insert((run.treatment.clone(), cell.block), of_run(slices, &mut merged));
        }
    }
    Measured(all)
}

fn of_run<'a>(slices: impl Iterator<Item = &'a Slice>, merged: &mut MergedLatency) -> OfRun {
    merged.clear();
    let (mut of_run, mut is_readable) = (OfRun::default(), true);
    for slice in slices {
        of_run.window_ns = of_run.window_ns.saturating_add(slice.window_ns);
        for session in slice.short_sessions() {
            of_run.steps = of_run.steps.saturating_add(session.steps);
            is_readable &= merged.add(&session.latency).is_ok();
        }
    }
    let quantile = |q: f64| merged.quantile(q).map(|ns| ns.max(1));
    // A worker that counts steps and keeps no latencies has none to show.
    let is_whole = is_readable && merged.steps() == of_run.steps;
    of_run.percentiles_ns = quantile(0.5).zip(quantile(0.99)).filter(|_| is_whole);
    of_run
}

/// Runs without sessions of short queries, which are no part of what the streams did.
pub(crate) fn streams_alone<'a>(study: &Study, runs: &'a [Run]) -> Cow<'a, [Run]> {
    if study.treatments.iter().all(|treatment| study.short_sessions(treatment) == 0) {
        return Cow::Borrowed(runs);
    }
    let without_short = |run: &Run| {
        let mut run = run.clone();
        for slice in &mut run.slices {
            slice.sessions = slice.main_sessions().cloned().collect();
        }
        run
    };
    Cow::Owned(runs.iter().map(without_short).collect())
}
