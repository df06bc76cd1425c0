//! What is claimed of ratios by state: in words that promise no more than an observation.

use crate::looks::claim::{ByState, Claim, Effect};
use crate::looks::contrast::Contrast;
use crate::words::{finding, share};
use crate::{Facts, Finding, Interval};
use threadwise_document::{Prose, prose};

/// A line for each treatment of which a size or a direction may be claimed.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let effects = facts.analysis.effects.iter().flat_map(|effects| &effects.effects);
    effects.filter_map(|effect| line(facts, effect)).collect()
}

fn line(facts: &Facts<'_>, effect: &Effect) -> Option<Finding> {
    let by_state = effect.by_state()?;
    let text = claimed(facts, effect, by_state)?;
    Some(finding("by-state", text, &[&effect.comparison]))
}

/// What is claimed of a treatment, in a sentence; `None` where nothing is.
pub fn claimed(facts: &Facts<'_>, effect: &Effect, by_state: &ByState) -> Option<Prose> {
    let name = facts.label(&effect.treatment, facts.group_of(&effect.treatment));
    let both = shared(effect);
    match by_state.claim {
        Claim::Size => Some(prose!(
            "In slices where this host ran {} of {} on one core, its ratio to {} was {} of that in slices on \
             different cores without a co-runner (observational).",
            both,
            name,
            facts.baseline_label(facts.group_of(&effect.treatment)),
            &ratio(&by_state.ratio)
        )),
        Claim::Direction => Some(prose!(
            "In slices where this host ran {} of {} on one core it was {} than in slices on different cores \
             without a co-runner (observational). How much is not known: in {} of the slices the looks before and \
             after disagree.",
            both,
            name,
            if by_state.ratio.mean < 0.0 { "slower" } else { "faster" },
            by_state.disagreement.map_or_else(|| "an unknown share".into(), share)
        )),
        Claim::NotShown | Claim::Refused => None,
    }
}

/// `both logical CPUs`, `two of the 8 logical CPUs`.
pub fn shared(effect: &Effect) -> String {
    match effect.cpus {
        2 => "both logical CPUs".to_owned(),
        cpus => format!("two or more of the {cpus} logical CPUs"),
    }
}

/// A contrast of logarithms as a ratio.
pub fn ratio(contrast: &Contrast) -> Interval {
    let [mean, low, high] = [contrast.mean, contrast.low, contrast.high].map(f64::exp);
    Interval { mean, low, high, unit: "ratio".to_owned() }
}
