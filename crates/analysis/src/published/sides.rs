//! Which comparison of a study a published one is: by its name, or by what its two sides are.
//!
//! A degree of parallelism below the number of cores is matched by number; the others by what they were on the
//! published machine, since 4 are all cores there and half of the logical CPUs elsewhere.

use crate::groups::bare;
use threadwise_machine::Topology;
use threadwise_published::{self as published, Dop, Side};
use threadwise_study::{Comparison, OptionValue, Study, Treatment};

/// Name of the option with a treatment's degree of parallelism.
const DOP: &str = "dop";

/// Whether a comparison of the study is the published one.
pub fn is_meant(
    published: &published::Comparison,
    study: &Study,
    topology: &Topology,
    comparison: &Comparison,
) -> bool {
    let treatment = |name: &str| study.treatment(name).map(|(_, treatment)| treatment);
    let sides =
        treatment(&comparison.treatment).zip(comparison.baseline.first().and_then(|name| treatment(name)));
    let Some((top, below)) = sides else { return false };
    let fits = |side: &Option<Side>, treatment: &Treatment| {
        side.as_ref().is_some_and(|side| is_side(side, treatment, topology))
    };
    let is_named = bare(&comparison.name) == published.name;
    let is_alike = || fits(&published.treatment, top) && fits(&published.baseline, below);
    [top, below].into_iter().all(|side| agrees(published, side)) && (is_named || is_alike())
}

/// Whether a treatment has no other value of an option that the published one was run with.
fn agrees(published: &published::Comparison, treatment: &Treatment) -> bool {
    published
        .options
        .iter()
        .all(|(name, value)| treatment.options.get(name).is_none_or(|given| given.to_string() == *value))
}

fn is_side(side: &Side, treatment: &Treatment, topology: &Topology) -> bool {
    treatment.placement.trim() == side.placement
        && side.sessions.is_none_or(|sessions| sessions == treatment.sessions)
        && side.dop.is_none_or(|dop| has_dop(dop, treatment, topology))
}

fn has_dop(dop: Dop, treatment: &Treatment, topology: &Topology) -> bool {
    let Some(OptionValue::Integer(given)) = treatment.options.get(DOP) else { return false };
    let cores = topology.cores.len() as i64;
    match dop {
        Dop::Cores => *given == cores,
        Dop::LogicalCpus => *given == topology.allowed().len() as i64,
        Dop::Number(number) => *given == i64::from(number) && *given < cores,
    }
}
