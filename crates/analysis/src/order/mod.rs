//! Carry-over: whether what ran in a slice changes the speed of the next one, and what that does to ratios.
//!
//! The order of slices is balanced over a study (`threadwise_study::plan::order`), so that carry-over falls on all
//! treatments alike. Here it is tested (Jones and Kenward, *Design and Analysis of Cross-Over Trials*): in each
//! block logarithms of rates are fitted by round, treatment and predecessor, and one contrast for each
//! predecessor is judged over blocks by Student's t and Holm's procedure (docs/METHODOLOGY.md, "Order of slices").

mod balance;
mod contrast;
mod fit;
mod judged;
mod slices;
mod types;

#[cfg(test)]
mod tests;

pub use balance::Neighbours;
pub use contrast::contrasts;
pub use fit::OrderedSlice;
pub use judged::judged;
pub use types::{After, Order, Pairs, Shift};

use crate::estimate::member::sides;
use crate::estimate::{Change, Observed};
use crate::setting::Setting;
use slices::BlockOrder;
use threadwise_study::{Run, Study, tpch};

/// Most treatments of which predecessors are tested: the work grows by their third power.
const MOST_TREATMENTS: usize = 100;

/// Neighbours and carry-over of a study; `None` where runs are whole commands or lists, which have no slices.
pub(crate) fn order(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Option<Order> {
    let study = setting.study;
    if study.runs_whole() {
        return None;
    }
    let blocks: Vec<BlockOrder> =
        observed.blocks.iter().map(|block| slices::in_order(observed, block, runs)).collect();
    let mut neighbours = Neighbours::new(study.treatments.len());
    blocks.iter().for_each(|block| neighbours.add(&block.ran));
    let gap = gap(study);
    let found = match gap {
        Some(_) => Vec::new(),
        None => tested(study, &blocks, setting.alpha),
    };
    let shift = shift(study, &blocks, &found);
    let after = found.into_iter().enumerate().filter_map(|(at, change)| {
        let treatment = study.treatments[at].name.clone();
        Some(After { treatment, slices: neighbours.slices_after(at), change: change?.ratio() })
    });
    let after: Vec<After> = after.collect();
    let gap = gap.or_else(|| after.is_empty().then(|| NOT_TOLD_APART.to_owned()));
    Some(Order { pairs: neighbours.pairs(), after, shift, gap })
}

/// Where no block's fit has a solution, or there is no block.
const NOT_TOLD_APART: &str = "no block can tell predecessors from rounds and treatments";

/// Why predecessors are not tested.
fn gap(study: &Study) -> Option<String> {
    if study.design.rounds < 2 {
        return Some("a block has one round".to_owned());
    }
    if study.workload == tpch::WORKLOAD {
        // Queries suit treatments differently, which the fit would take for noise.
        return Some("its rounds are of different queries".to_owned());
    }
    (study.treatments.len() > MOST_TREATMENTS).then(|| format!("more than {MOST_TREATMENTS} treatments"))
}

/// For each treatment what slices after it were like.
fn tested(study: &Study, blocks: &[BlockOrder], alpha: f64) -> Vec<Option<Change>> {
    let treatments = study.treatments.len();
    let by_block: Vec<Vec<Option<f64>>> =
        blocks.iter().map(|block| contrasts(&block.counted, treatments)).collect();
    judged(&by_block, treatments, alpha)
}

/// The comparison that carry-over within its intervals may shift most.
fn shift(study: &Study, blocks: &[BlockOrder], found: &[Option<Change>]) -> Option<Shift> {
    let mut counted = Neighbours::new(study.treatments.len());
    for slice in blocks.iter().flat_map(|block| &block.counted) {
        counted.add_slice(slice.predecessor, slice.treatment);
    }
    let bounds = study.comparisons.iter().filter_map(|comparison| {
        let (top, below) = sides(study, comparison)?;
        Some((comparison, counted.shift_bound(top, &below, found)?))
    });
    let most = bounds.max_by(|(_, one), (_, other)| one.total_cmp(other));
    most.filter(|(_, bound)| bound.is_finite())
        .map(|(comparison, bound)| Shift { comparison: comparison.name.clone(), share: bound.exp_m1() })
}
