//! Study definitions: TOML that is read, resolved for several machines, planned, and written again.

use super::{Target, hold, machines};
use crate::random::Random;
use crate::{json, mutate};
use serde_json::Value;
use threadwise_machine::Topology;
use threadwise_study::load::{Overrides, StudyFile, from_toml, to_toml};
use threadwise_study::{plan_block, presets};

struct Studies {
    texts: Vec<Vec<u8>>,
    values: Vec<Value>,
    topologies: Vec<Topology>,
}

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    let texts: Vec<&str> = presets::names().iter().filter_map(|(name, _)| presets::get(name)).collect();
    let values = texts.iter().filter_map(|text| toml::from_str(text).ok()).collect();
    let texts = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    Ok(Box::new(Studies { texts, values, topologies: machines::topologies()? }))
}

impl Target for Studies {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let times = random.times(4);
        let at = random.below(self.texts.len());
        if random.percent(70) {
            let mut value = self.values[at].clone();
            json::mutate(random, &mut value, times, &self.values);
            // TOML has no null and requires an outer table: such a mutant is made from the text below.
            if let Ok(text) = toml::to_string(&value) {
                return text.into_bytes();
            }
        }
        let mut bytes = self.texts[at].clone();
        mutate::text(random, &mut bytes, times, &self.texts);
        bytes
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(false) };
        let file = match StudyFile::parse(text, "study.toml") {
            Ok(file) => file,
            Err(error) => {
                hold(!error.to_string().contains('\n'), || format!("an error of two lines: {error}"))?;
                return Ok(text.parse::<toml::Table>().is_ok());
            }
        };
        for topology in &self.topologies {
            let Ok(study) = file.resolve(topology, &Overrides::default()) else { continue };
            let again =
                from_toml(&to_toml(&study)).map_err(|error| format!("it refuses its own output: {error}"))?;
            // NaN differs from itself; no study has one.
            hold(again == study, || "a study changes when it is read again".to_owned())?;
            let Ok(plan) = plan_block(&study, topology, 1) else { continue };
            hold(Ok(&plan) == plan_block(&again, topology, 1).as_ref(), || {
                "two plans of one study".to_owned()
            })?;
            let each_once = plan.rounds.iter().all(|round| {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                sorted.into_iter().eq(0..study.treatments.len())
            });
            hold(each_once, || "a round without one of its treatments".to_owned())?;
        }
        Ok(true)
    }
}
