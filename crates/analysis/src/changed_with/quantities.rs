//! The quantities shown with a ratio, and the form in which each may be correlated with it.
//!
//! A quantity that is divided or multiplied by rows follows the rate by construction (Pearson, "On a form of spurious
//! correlation which may arise when indices are used in the measurement of organs", Proc. R. Soc. 60, 1897; Kronmal,
//! "Spurious correlation and the fallacy of the ratio standard revisited", J. R. Statist. Soc. A 156, 1993). What
//! follows for each kind: docs/METHODOLOGY.md, "What changed with a ratio".

use crate::activity::{Activity, OTHER, RUNNING, sums::Sums, wait_share};
use crate::estimate::{Digest, ROWS_PER_JOULE};
use crate::groups::distinct;
use std::collections::BTreeSet;
use threadwise_statistics::per;

/// A quantity.
pub(super) struct Known {
    /// Its name, unit last.
    pub metric: String,
    /// Its name in words.
    pub name: String,
    /// Unit of its values.
    pub unit: &'static str,
    /// How it is compared.
    pub scale: Scale,
    /// Its value in a run.
    pub value: Value,
    /// In which form it is correlated with the rate.
    pub test: Test,
}

/// A number of a run.
pub(super) type Value = Box<dyn Fn(&Digest) -> Option<f64>>;

/// How a quantity is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// As a ratio.
    Ratio,
    /// As a difference, since it is 0 somewhere and has no logarithm.
    Difference,
    /// As a difference in percentage points.
    Points,
}

impl Scale {
    /// The scale for values that are all above 0, or not.
    pub fn of(self, is_above_0: bool) -> Self {
        if self == Self::Ratio && !is_above_0 { Self::Difference } else { self }
    }

    /// A value as it is compared.
    pub fn form(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.ln(),
            Self::Difference => value,
            Self::Points => 100.0 * value,
        }
    }
}

/// The form in which a quantity is correlated with the rate.
pub(super) enum Test {
    /// As it is: it does not grow with rows.
    AsItIs,
    /// As it is, if every session of both sides keeps a CPU busy; otherwise CPU time grows with rows.
    WhereCpusAreBusy,
    /// An amount that may grow with rows or with time, given per second: tested per second where it falls as the rate
    /// rises, and per row where it rises with it. Construction causes neither.
    Amount(Value),
    /// Not at all: it contains the rate.
    Never,
}

/// All quantities, including the sampled waits.
pub(super) fn all<'a>(activities: impl Iterator<Item = &'a Activity>) -> Vec<Known> {
    let power: Value = Box::new(|run| run.amounts.power_w);
    let mut all = vec![
        ratio("cpu_ns_per_row", "CPU time per row", "ns", Test::Never, |run| run.work().cpu_ns_per_row()),
        share("cpu_share", "time with a CPU", Test::WhereCpusAreBusy, |run| run.work().cpu_share()),
        time("run_queue_wait_share", "time waiting for a CPU", |run| {
            per(run.totals.wait_ns?, run.totals.session_ns)
        }),
        ratio("clock_mhz", "clock", "MHz", Test::AsItIs, |run| run.telemetry.counted_mhz),
        ratio("instructions_per_cycle", "instructions per cycle", "1", Test::Never, |run| {
            run.amounts.instructions_per_cycle
        }),
        per_row("instructions_per_row", "instructions per row", |run| run.amounts.instructions_per_s),
        per_row("llc_misses_per_row", "LLC misses per row", |run| run.amounts.llc_misses_per_s),
        per_row("l2_misses_per_row", "L2 misses per row", |run| run.amounts.l2_misses_per_s),
        per_row("other_node_pages_per_row", "pages from other NUMA nodes per row", |run| {
            run.amounts.other_node_pages_per_s
        }),
        ratio("power_w", "power", "W", Test::Amount(power), |run| run.amounts.power_w),
        ratio(ROWS_PER_JOULE, "rows per joule", "1/J", Test::Never, |run| {
            per(run.work().rows_per_s()?, run.amounts.power_w?)
        }),
        per_row("spins_per_row", "spins per row", |run| {
            per(run.activity.counter("spins")?, run.activity.window_s)
        }),
        time("spinning_share", "time spinning", spinning_share),
        per_row("context_switches_per_row", "context switches per row", |run| {
            per(run.totals.switches * 1e9, run.totals.window_ns)
        }),
        time("steal_share", "stolen time", |run| run.totals.assigned.steal_share()),
        share("neighbour_share", "time with a neighbour", Test::AsItIs, |run| run.telemetry.neighbour()),
        time("straggler_share", "time with stragglers", |run| run.telemetry.straggler_share),
        time("left_over_busy_share", "idle siblings busy", |run| run.totals.left_over.busy_share()),
    ];
    // Those with enough samples in any treatment.
    let sampled = activities.filter_map(|activity| activity.waits.as_ref()).filter(|waits| waits.enough);
    let waits = distinct(sampled.flat_map(|waits| &waits.shares).map(|share| share.name.as_str()));
    all.extend(waits.into_iter().filter(|name| *name != RUNNING && *name != OTHER).map(wait));
    all
}

type Figure = fn(&Digest) -> Option<f64>;

fn ratio(metric: &str, name: &str, unit: &'static str, test: Test, value: Figure) -> Known {
    let (metric, name) = (metric.to_owned(), name.to_owned());
    Known { metric, name, unit, scale: Scale::Ratio, value: Box::new(value), test }
}

fn share(metric: &str, name: &str, test: Test, value: Figure) -> Known {
    Known { scale: Scale::Points, ..ratio(metric, name, "share", test, value) }
}

/// A share of time, which is an amount per second.
fn time(metric: &str, name: &str, value: Figure) -> Known {
    share(metric, name, Test::Amount(Box::new(value)), value)
}

/// An amount, shown per row; both rates are of windows of their own.
fn per_row(metric: &str, name: &str, per_s: Figure) -> Known {
    let value = move |run: &Digest| per(per_s(run)?, run.work().rows_per_s()?);
    Known { value: Box::new(value), ..ratio(metric, name, "1", Test::Amount(Box::new(per_s)), per_s) }
}

fn wait(name: &str) -> Known {
    let value = |name: String| move |run: &Digest| wait_share(&run.activity, &name, &BTreeSet::new());
    let test = Test::Amount(Box::new(value(name.to_owned())));
    let (metric, value) = (format!("waits/{name}"), Box::new(value(name.to_owned())));
    Known { metric, name: format!("wait {name}"), unit: "share", scale: Scale::Points, value, test }
}

fn spinning_share(run: &Digest) -> Option<f64> {
    let sums: &Sums = &run.activity;
    let counted_s = sums.counter("counted_ns").map_or(sums.session_s, |ns| ns / 1e9);
    per(sums.counter("spin_ns")? / 1e9, counted_s)
}
