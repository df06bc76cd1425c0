//! Study definitions: TOML that is read, resolved for several machines, planned, and written again.

use super::machines;
use crate::target::{Target, one_line, same};
use threadwise_machine::Topology;
use threadwise_study::load::{Overrides, StudyFile, from_toml, to_toml};
use threadwise_study::{plan_block, presets};

/// The target.
pub fn make() -> Target {
    let texts = presets::names().into_iter().filter_map(|(name, _)| presets::get(name));
    let topologies = machines::topologies();
    Target::documents(texts.map(str::to_owned).collect(), move |text| judge(&topologies, text))
}

fn judge(topologies: &[Topology], text: &str) -> bool {
    let file = match StudyFile::parse(text, "study.toml") {
        Ok(file) => file,
        Err(error) => {
            one_line(&error);
            return text.parse::<toml::Table>().is_ok();
        }
    };
    for topology in topologies {
        let Ok(study) = file.resolve(topology, &Overrides::default()) else { continue };
        let again = from_toml(&to_toml(&study));
        // NaN differs from itself; no study has one.
        same(&again, &study);
        let (Ok(again), Ok(plan)) = (again, plan_block(&study, topology, 1)) else { continue };
        same(&plan_block(&again, topology, 1), &plan);
        for round in &plan.rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert!(
                sorted.into_iter().eq(0..study.treatments.len()),
                "a round without one of its treatments"
            );
        }
    }
    true
}
