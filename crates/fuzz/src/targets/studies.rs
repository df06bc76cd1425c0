//! Study definitions: TOML that is read, resolved for several machines, planned, and written again.

use super::machines;
use crate::mutate;
use crate::target::{Judged, Target, hold, one_line, same};
use serde_json::Value;
use threadwise_machine::Topology;
use threadwise_study::load::{Overrides, StudyFile, from_toml, to_toml};
use threadwise_study::{plan_block, presets};

/// The target.
pub fn make() -> Result<Target, String> {
    let texts: Vec<&str> = presets::names().iter().filter_map(|(name, _)| presets::get(name)).collect();
    let values: Vec<Value> = texts.iter().filter_map(|text| toml::from_str(text).ok()).collect();
    let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let topologies = machines::topologies()?;
    Ok(Target::new(
        move |random| {
            let times = random.times(4);
            let at = random.below(texts.len());
            if random.percent(70) {
                let mut value = values[at].clone();
                mutate::json(random, &mut value, times, &values);
                // TOML has no null and requires an outer table: such a mutant is made from the text below.
                if let Ok(text) = toml::to_string(&value) {
                    return text.into_bytes();
                }
            }
            let mut bytes = texts[at].clone();
            mutate::text(random, &mut bytes, times, &texts);
            bytes
        },
        move |input| std::str::from_utf8(input).map_or(Ok(false), |text| judge(&topologies, text)),
    ))
}

fn judge(topologies: &[Topology], text: &str) -> Judged {
    let file = match StudyFile::parse(text, "study.toml") {
        Ok(file) => file,
        Err(error) => {
            one_line(&error.to_string())?;
            return Ok(text.parse::<toml::Table>().is_ok());
        }
    };
    for topology in topologies {
        let Ok(study) = file.resolve(topology, &Overrides::default()) else { continue };
        let again = from_toml(&to_toml(&study));
        // NaN differs from itself; no study has one.
        same(&again, &study)?;
        let (Ok(again), Ok(plan)) = (again, plan_block(&study, topology, 1)) else { continue };
        hold(Ok(&plan) == plan_block(&again, topology, 1).as_ref(), || "two plans of one study".to_owned())?;
        let each_once = plan.rounds.iter().all(|round| {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            sorted.into_iter().eq(0..study.treatments.len())
        });
        hold(each_once, || "a round without one of its treatments".to_owned())?;
    }
    Ok(true)
}
