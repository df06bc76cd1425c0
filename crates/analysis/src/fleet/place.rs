//! One study of a fleet, from its facts and the machine that it ran on.

use super::types::{FleetRate, FleetRatio, FleetStudy};
use crate::compare::aspects::machine_traits;
use crate::estimate::THROUGHPUT;
use crate::{Facts, kinds, validity};
use threadwise_study::Role;

/// Where in a fleet a study ran: what its result file does not say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Place<'a> {
    /// Name of the machine's kind.
    pub kind: &'a str,
    /// What tells the machine from all others.
    pub machine: &'a str,
    /// The machine's name for people.
    pub node: &'a str,
    /// What tells the boot from all others of the machine.
    pub boot: &'a str,
    /// Number of the repeat, from 1 on.
    pub repeat: u32,
    /// What tells its work from other work ([`FleetStudy::same_work`]).
    pub same_work: &'a str,
    /// Traits of the machine beyond those of its topology, such as the microcode.
    pub traits: Vec<(String, String)>,
}

impl FleetStudy {
    /// The study as a fleet's report needs it: ratios of its headline, rates of its treatments, traits of its machine.
    /// A comparison or treatment without a usable run has none.
    pub fn of(facts: &Facts<'_>, place: Place<'_>) -> Self {
        Self {
            source: facts.source.to_owned(),
            kind: place.kind.to_owned(),
            machine: place.machine.to_owned(),
            node: place.node.to_owned(),
            boot: place.boot.to_owned(),
            repeat: place.repeat,
            same_work: place.same_work.to_owned(),
            is_simulated: facts.is_simulated(),
            is_stopped: facts.is_stopped,
            problem: validity::problem(facts.analysis),
            margin: facts.study.design.margin,
            level: facts.study.design.level,
            traits: traits(facts, place.traits),
            ratios: ratios(facts),
            rates: rates(facts),
        }
    }
}

/// Traits from the topology, then those from elsewhere whose name is not yet there.
fn traits(facts: &Facts<'_>, elsewhere: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut all = machine_traits(facts);
    for (name, value) in elsewhere {
        if all.iter().all(|(known, _)| *known != name) {
            all.push((name, value));
        }
    }
    all
}

fn ratios(facts: &Facts<'_>) -> Vec<FleetRatio> {
    let headline = facts.analysis.headline();
    let all = facts.analysis.estimates.iter().filter(|estimate| estimate.metric == headline);
    let known = all.map(|estimate| FleetRatio {
        name: estimate.name.clone(),
        kind: estimate.kind.clone(),
        ln_ratio: estimate.ratio.value.ln(),
        direction: estimate.ratio.direction,
    });
    known.filter(|ratio| ratio.ln_ratio.is_finite()).collect()
}

/// Rates of all treatments but twins of a baseline, which are the baseline again.
fn rates(facts: &Facts<'_>) -> Vec<FleetRate> {
    let unit = kinds::of(facts.study).nouns(facts.study).rate;
    let once = facts.study.treatments.iter().filter(|treatment| treatment.role != Role::BaselineTwin);
    let rates = once.filter_map(|treatment| {
        let rate = facts.summary(&treatment.name)?.metrics.get(THROUGHPUT)?;
        let (treatment, unit) = (treatment.name.clone(), unit.to_owned());
        (rate.mean > 0.0 && rate.mean.is_finite()).then_some(FleetRate { treatment, unit, per_s: rate.mean })
    });
    rates.collect()
}
