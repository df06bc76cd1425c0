//! Placements of a section (`[dop]`, `[jobs]`), each once, as resolved on this machine, and the section's lists of
//! levels.

use std::collections::BTreeSet;
use threadwise_machine::placement::{self, Resolved};
use threadwise_machine::{CpuSet, Draw, Pin, Placement, PlacementError, Topology};
use toml::{Spanned, Value};

use super::error::{LoadError, Source};
use super::file::StudyFile;
use super::overrides::Overrides;
use super::policy::Policies;
use crate::study::MIN_BLOCKS;

/// Maximum length of a list of levels.
const MOST_NUMBERS: usize = 200;

/// Placements as a section lists them.
pub(super) type Placements = Spanned<Vec<Spanned<String>>>;

/// One placement on this machine.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub text: String,
    /// Its logical CPUs in each of the first draws.
    pub sets: Vec<CpuSet>,
}

impl Site {
    /// The placement on this machine.
    pub fn of(text: &str, policies: &Policies) -> Result<Self, PlacementError> {
        let parsed: Placement = text.parse()?;
        let set = |block| {
            let draw = Draw::for_block(policies.topology, policies.seed, block);
            placement::resolve(&parsed, policies.topology, &draw, 1, Pin::Set)
                .map(|found: Resolved| found.set())
        };
        let sets = (0..MIN_BLOCKS).map(set).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), sets })
    }

    /// Logical CPUs of the placement.
    pub fn cpus(&self) -> u32 {
        self.sets.first().map_or(0, |set| set.len() as u32)
    }

    /// Physical cores of the placement.
    pub fn cores(&self, topology: &Topology) -> u32 {
        self.sets.first().map_or(0, |set| cores(set, topology))
    }

    /// Physical cores of the placement on its smallest NUMA node; `None` if it uses one node.
    pub fn cores_of_one_node(&self, topology: &Topology) -> Option<u32> {
        let set = self.sets.first()?;
        let on_node = |cpus: &CpuSet| cores(&set.intersection(cpus), topology);
        let counts = topology.numa_nodes.iter().map(|node| on_node(&node.cpus)).filter(|cores| *cores > 0);
        let counts: Vec<u32> = counts.collect();
        counts.iter().min().copied().filter(|_| counts.len() > 1)
    }
}

/// The placements that this machine has, each once: `all` is `no-smt` without SMT. The command line's replace the
/// file's; `first` is kept where others equal it.
pub(super) fn sites(
    placements: &Placements,
    first: &str,
    file: &StudyFile,
    overrides: &Overrides,
    policies: &Policies,
    left_out: &mut Vec<String>,
) -> Result<Vec<Site>, LoadError> {
    let mut asked: Vec<String> = match &overrides.placements {
        Some(texts) => texts.iter().map(|text| text.trim().to_owned()).collect(),
        None => placements.get_ref().iter().map(|text| text.get_ref().clone()).collect(),
    };
    let mut seen = BTreeSet::new();
    asked.retain(|text| seen.insert(text.clone()));
    asked.sort_by_key(|text| text != first);
    let mut sites: Vec<Site> = Vec::new();
    for text in asked {
        let site = match Site::of(&text, policies) {
            Ok(site) => site,
            Err(PlacementError::Lacking { lacks, .. }) if overrides.placements.is_none() => {
                left_out.push(format!("{text}: {lacks}"));
                continue;
            }
            Err(error) if overrides.placements.is_some() => {
                return Err(LoadError::Override { option: "--placement".into(), why: error.to_string() });
            }
            Err(error) => return Err(file.source.at(placements.span(), error.to_string())),
        };
        match sites.iter().find(|earlier| earlier.sets == site.sets) {
            Some(other) => left_out.push(format!("{text}: the same as {} on this machine", other.text)),
            None => sites.push(site),
        }
    }
    Ok(sites)
}

/// Cores with a logical CPU in the set; a logical CPU without a known core counts as one.
fn cores(set: &CpuSet, topology: &Topology) -> u32 {
    let mut firsts: Vec<u32> = set
        .iter()
        .map(|cpu| topology.cpu(cpu).and_then(|known| known.siblings.iter().next()).unwrap_or(cpu))
        .collect();
    firsts.sort_unstable();
    firsts.dedup();
    firsts.len() as u32
}

/// Checks placements without a machine.
pub(super) fn check(placements: &Placements, source: &Source) -> Result<(), LoadError> {
    for text in placements.get_ref() {
        if let Err(error) = text.get_ref().parse::<Placement>() {
            return Err(source.at(text.span(), error.to_string()));
        }
    }
    Ok(())
}

/// A list of numbers of the file; `what` names it in errors, such as `levels of [dop]`. `None` for `auto` and for no
/// list.
pub(super) fn list_of(
    value: Option<&Spanned<Value>>,
    source: &Source,
    what: &str,
    most: u32,
) -> Result<Option<Vec<u32>>, LoadError> {
    let Some(value) = value else { return Ok(None) };
    let wrong = || {
        let why = format!("{what}: \"auto\" or a list of 1 to {most} such as [1, 2, 4] is allowed");
        source.at(value.span(), why)
    };
    let numbers = match value.get_ref() {
        Value::String(word) if word == "auto" => return Ok(None),
        Value::Array(numbers) if !numbers.is_empty() => numbers,
        _ => return Err(wrong()),
    };
    let number = |value: &Value| {
        value
            .as_integer()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (1..=most).contains(number))
    };
    let mut numbers = numbers.iter().map(number).collect::<Option<Vec<u32>>>().ok_or_else(wrong)?;
    let mut seen = BTreeSet::new();
    numbers.retain(|number| seen.insert(*number));
    // A longer list would take long to resolve.
    if numbers.len() > MOST_NUMBERS {
        return Err(source
            .at(value.span(), format!("{what}: at most {MOST_NUMBERS} numbers are allowed; remove some")));
    }
    Ok(Some(numbers))
}
