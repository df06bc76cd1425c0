//! External arms: what one arm does over the first, with the boot as the unit.

use super::order::name;
use crate::external_arms::{ArmRatio, ExternalArms};
use crate::words::{answered, finding, limited};
use crate::{Facts, Finding};
use threadwise_document::{Prose, numbers, prose};

/// Most ratios that the sentence of an arm has.
const MOST: usize = 4;
/// Why one boot of an arm shows nothing.
pub const CONFOUNDED: &str = "one boot each: confounded with everything else that a boot changes";

/// The answer of a study with external arms; `None` in another one.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let arms = facts.analysis.arms.as_ref()?;
    let sentences: Vec<Prose> =
        arms.arms.iter().skip(1).filter_map(|arm| sentence(facts, arms, arm)).collect();
    let evidence: Vec<&str> = arms.ratios.iter().map(|ratio| ratio.treatment.as_str()).collect();
    let text = match sentences.is_empty() {
        false => Prose::join(sentences, " "),
        true => prose!(
            "Arms over boots: {} of {} boots so far, too few arms to compare.",
            arms.boots.len(),
            arms.planned_boots
        ),
    };
    Some(finding("arms", text, &evidence))
}

/// One arm over the first. What was taken as the fastest of each comes last.
fn sentence(facts: &Facts<'_>, arms: &ExternalArms, arm: &str) -> Option<Prose> {
    let ratios: Vec<&ArmRatio> = arms.ratios.iter().filter(|ratio| ratio.arm == arm).collect();
    let first = ratios.first()?;
    let clauses = limited(ratios.iter().map(|ratio| clause(facts, ratio)), MOST)?;
    let confounded = match ratios.iter().all(|ratio| ratio.has_interval()) {
        true => Prose::default(),
        false => prose!(" ({})", CONFOUNDED),
    };
    let count = |arm: &str| {
        let boots = arms.boots.iter().filter(|boot| boot.is_of(arm) && boot.blocks > 0).count();
        numbers::counted(boots, "boot")
    };
    Some(prose!(
        "Arm {} ({}) over {} ({}): {}{}.",
        arm,
        count(arm),
        &first.baseline_arm,
        count(&first.baseline_arm),
        clauses,
        confounded
    ))
}

fn clause(facts: &Facts<'_>, ratio: &ArmRatio) -> Prose {
    let figure = figure(ratio);
    match ratio.fastest {
        false => prose!("{} {}", name(facts, &ratio.treatment), figure),
        true => prose!(
            "the fastest of each, {} over {}, {}",
            name(facts, &ratio.treatment),
            name(facts, &ratio.baseline_treatment),
            figure
        ),
    }
}

/// The ratio with its interval over boots and the answer; without, where an arm has one boot.
pub fn figure(ratio: &ArmRatio) -> Prose {
    match ratio.has_interval() {
        true => prose!("{}{}", &ratio.ratio, answered(&ratio.ratio)),
        false => Prose::figure(format!("{}x", numbers::ratio(ratio.ratio.value))),
    }
}
