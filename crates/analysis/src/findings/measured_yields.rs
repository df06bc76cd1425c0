//! SMT yields that a study measured, for capacity figures (`threadwise headroom`).
//!
//! Source: the estimates of `smt`; clocks are those of the treatments (docs/METHODOLOGY.md).

use super::smt::{core_yield, keeps_busy, not_measured, whole_machine};
use crate::shape::Shape;
use crate::{Estimate, Facts, Interval};

/// A yield with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredYield {
    /// The group of treatments, in words; empty if the study has one.
    pub group: String,
    /// Whether it is of all cores together rather than of one.
    pub is_whole_machine: bool,
    /// The ratio, with its interval at the study's level.
    pub ratio: Interval,
    /// Clocks, if the study knows all of them.
    pub clocks: Option<YieldClocks>,
}

/// Clocks of the treatments of a yield, as means over blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YieldClocks {
    /// With one sibling busy on each core of the yield, in MHz.
    pub one_sibling_mhz: f64,
    /// With both siblings busy there, in MHz.
    pub both_siblings_mhz: f64,
    /// With all logical CPUs of the machine busy, in MHz.
    pub all_busy_mhz: f64,
}

/// The yield of each group: of the whole machine if the study has it, else of a core. Those of one block have no
/// interval and are left out, as are those whose sessions waited.
///
/// # Errors
/// Why there is none, in one line.
pub fn measured_yields(facts: &Facts<'_>) -> Result<Vec<MeasuredYield>, String> {
    let groups = facts.study.groups();
    let of_group = |&group: &&str| {
        let whole = whole_machine(facts, group);
        let estimate = whole.or_else(|| core_yield(facts, group))?;
        let ratio = &estimate.ratio;
        let is_usable = ratio.has_ends() && keeps_busy(facts, estimate);
        is_usable.then(|| MeasuredYield {
            group: facts.group_words(group),
            is_whole_machine: whole.is_some(),
            ratio: ratio.interval(),
            clocks: clocks(facts, estimate, group),
        })
    };
    let found: Vec<MeasuredYield> = groups.iter().filter_map(of_group).collect();
    let is_estimated =
        groups.iter().any(|group| whole_machine(facts, group).or_else(|| core_yield(facts, group)).is_some());
    match (found.is_empty(), is_estimated) {
        (false, _) => Ok(found),
        (true, true) => {
            Err("SMT yield: measured in one block only, or with sessions that waited and left their logical CPUs idle."
                .to_owned())
        }
        (true, false) => Err(not_measured(facts).line.to_string()),
    }
}

fn clocks(facts: &Facts<'_>, estimate: &Estimate, group: &str) -> Option<YieldClocks> {
    let allowed = facts.topology.allowed().len();
    let treatments = || facts.study.treatments.iter().filter(|treatment| treatment.group == group);
    let all = treatments()
        .find(|one| Shape::of(one) == Shape::Spread && one.sessions as usize == allowed)
        .map_or(estimate.treatment.as_str(), |one| one.name.as_str());
    let is_all = treatments().any(|one| one.name == all && one.sessions as usize == allowed);
    Some(YieldClocks {
        one_sibling_mhz: clock_mhz(facts, &estimate.baseline)?,
        both_siblings_mhz: clock_mhz(facts, &estimate.treatment)?,
        all_busy_mhz: clock_mhz(facts, all).filter(|_| is_all)?,
    })
}

fn clock_mhz(facts: &Facts<'_>, treatment: &str) -> Option<f64> {
    let summary = facts.analysis.treatments.iter().find(|summary| summary.name == treatment)?;
    let clock = summary.metrics.get("clock_mhz")?.mean;
    (clock.is_finite() && clock > 0.0).then_some(clock)
}
