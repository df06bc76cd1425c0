//! Halves of slices: whether the warm-up before each slice is long enough.
//!
//! A slice that begins before caches are full again is faster in its second half than in its first. In each block the
//! ratio of a treatment to its baseline over second halves is divided by that over first halves, so that what slows
//! both alike cancels; Student's t over blocks, one family for the treatments of a group, as for every paired change
//! (`estimate::change`; docs/METHODOLOGY.md, "Warm-up and halves of slices").

mod judged;
mod types;

#[cfg(test)]
mod tests;

pub use judged::{half_difference, judged};
pub use types::{Halves, Shift};

use crate::estimate::{Change, Digest, Observed, ObservedBlock, Sides};
use crate::setting::Setting;
use threadwise_study::{Role, Study, tpch};

/// Halves of a study's slices; `None` where runs are whole commands, lists or queries.
pub(crate) fn halves(setting: &Setting<'_>, observed: &Observed) -> Option<Halves> {
    let study = setting.study;
    if study.runs_whole() || study.workload == tpch::WORKLOAD {
        return None;
    }
    let groups = if study.quota.is_some() { 0 } else { observed.groups.len() };
    let shifts: Vec<Shift> = (0..groups).flat_map(|group| of_group(setting, observed, group)).collect();
    let gap = shifts.is_empty().then(|| gap(study, observed).to_owned());
    Some(Halves { treatments: shifts, gap })
}

fn gap(study: &Study, observed: &Observed) -> &'static str {
    let of_fixed_work = |digest: &Digest| digest.totals.fixed.windows > 0.0;
    let mut runs = observed.blocks.iter().flat_map(|block| block.runs.iter().flatten());
    match study.is_simulated() {
        true => "a model has no warm-up",
        false if study.quota.is_some() => "slices are periods of a CPU quota",
        false if runs.any(of_fixed_work) => "a fixed amount of work has no halves",
        false => "they were not recorded",
    }
}

/// The treatments of a group, judged together.
fn of_group(setting: &Setting<'_>, observed: &Observed, group: usize) -> Vec<Shift> {
    let study = setting.study;
    let with_role = |role: Role| {
        let members = (0..study.treatments.len()).filter(|at| observed.group_of[*at] == group);
        members.filter(|at| study.treatments[*at].role == role).collect::<Vec<_>>()
    };
    let (base, twin) = (with_role(Role::Baseline), with_role(Role::BaselineTwin));
    let below: Vec<usize> = base.iter().chain(&twin).copied().collect();
    let compared = with_role(Role::Compared);
    let all: Vec<Vec<f64>> = compared.iter().map(|top| series(observed, *top, &below)).collect();
    let twins: Vec<Vec<f64>> = twin.iter().map(|top| series(observed, *top, &base)).collect();
    let margin = study.design.margin;
    let shift = |(at, change): (usize, Option<Change>)| {
        let (treatment, change) = (study.treatments[at].name.clone(), change?);
        Some(Shift { treatment, too_short: change.is_beyond(margin), change })
    };
    compared.into_iter().zip(judged(&all, &twins, setting.alpha)).filter_map(shift).collect()
}

/// Of each block in which all sides are usable and know their halves, the difference of both.
fn series(observed: &Observed, top: usize, below: &[usize]) -> Vec<f64> {
    let of_block = |block: &ObservedBlock| {
        let sides = |at: usize| Some(observed.usable(block, at)?.halves.as_ref()?.sides());
        let below: Option<Vec<Sides<'_>>> = below.iter().map(|at| sides(*at)).collect();
        half_difference(sides(top)?, &below?)
    };
    observed.blocks.iter().filter_map(of_block).collect()
}
