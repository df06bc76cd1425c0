//! A study as a card: one line for sharing, with nothing in it that names a machine, a file or a person.

use super::aspects::threads_a_core;
use super::has_alarm;
use crate::groups::{data_words, levels};
use crate::{Facts, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_study::{ComparisonKind, OptionValue, Study};

/// A card.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Card<'a> {
    /// Version of this format.
    pub card: u32,
    /// Version of the program that measured.
    pub threadwise: &'a str,
    /// Processor model, as the kernel names it; `None` if it does not.
    pub cpu_model: Option<&'a str>,
    /// Hypervisor, if one is visible.
    pub hypervisor: Option<&'a str>,
    /// Declared packages.
    pub packages: usize,
    /// NUMA nodes.
    pub numa_nodes: usize,
    /// Cores with an allowed logical CPU.
    pub cores: usize,
    /// The most allowed logical CPUs of a core.
    pub threads_per_core: usize,
    /// Engine.
    pub engine: &'a str,
    /// Its version; empty where it is not known.
    pub engine_version: &'a str,
    /// Workload.
    pub workload: &'a str,
    /// Whether a model gave the figures.
    pub simulated: bool,
    /// Blocks whose baseline was usable.
    pub blocks: u32,
    /// Level of the intervals.
    pub level: f64,
    /// Effect of second threads, one per class of data and comparison; empty if the study has no such comparison.
    pub yields: Vec<Yield<'a>>,
    /// Why there is none; `None` if there is one.
    pub reason: Option<String>,
}

/// Effect of second threads of cores.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Yield<'a> {
    /// Kind of comparison: `smt-yield` (both siblings of a core busy over one), `smt-dop`, `both-threads`, `smt-whole`,
    /// `smt-off`.
    pub kind: &'a str,
    /// Size class of the data.
    pub data: String,
    /// Quantity of the ratio: `rows_per_s`, `elapsed_ns`.
    pub metric: &'a str,
    /// The ratio.
    #[serde(flatten)]
    pub ratio: &'a Ratio,
    /// Whether A/A of its group is an alarm, so that its size is in doubt.
    pub a_a_alarm: bool,
}

/// The card of a study.
pub fn card<'a>(facts: &Facts<'a>) -> Card<'a> {
    let (study, topology) = (facts.study, facts.topology);
    let headline = facts.analysis.headline();
    let all = facts.analysis.estimates.iter();
    let found =
        all.filter(|one| one.metric == headline && ComparisonKind::OF_SECOND_THREADS.contains(&one.kind));
    let yields = found.map(|one| Yield {
        kind: one.kind.word(),
        data: data_class(study, facts.group_of(&one.treatment)),
        metric: &one.metric,
        ratio: &one.ratio,
        a_a_alarm: has_alarm(facts, one),
    });
    let yields: Vec<Yield<'a>> = yields.collect();
    Card {
        card: 1,
        threadwise: facts.program_version,
        cpu_model: topology.identity.cpu_model.as_deref(),
        hypervisor: topology.identity.hypervisor.as_deref(),
        packages: topology.packages.len(),
        numa_nodes: topology.numa_nodes.len(),
        cores: topology.cores.len(),
        threads_per_core: threads_a_core(facts),
        engine: &study.engine,
        engine_version: facts.engine_version,
        workload: study.workload.name(),
        simulated: facts.is_simulated(),
        blocks: facts.analysis.blocks,
        level: facts.level(),
        reason: yields.is_empty().then(|| no_yield(facts)),
        yields,
    }
}

/// Why a study shows nothing about second threads.
fn no_yield(facts: &Facts<'_>) -> String {
    let is_asked =
        facts.study.comparisons.iter().any(|one| ComparisonKind::OF_SECOND_THREADS.contains(&one.kind));
    match () {
        () if threads_a_core(facts) < 2 => "each core has one thread, or one that is allowed".to_owned(),
        () if is_asked => "no usable run".to_owned(),
        () => "the study does not compare both threads of a core with one".to_owned(),
    }
}

/// The size class of a group's data: where it fits (`inside L2`), or its size rounded up to a power of 2, or the scale
/// of a data set.
fn data_class(study: &Study, group: &str) -> String {
    if let Some(words) = levels(group).find_map(|level| data_words(study, group, level)) {
        return words;
    }
    let treatment = study.treatments.iter().find(|treatment| treatment.group == group);
    let option = |name: &str| treatment.and_then(|treatment| treatment.options.get(name));
    match (option("blocks"), option("scale")) {
        (Some(OptionValue::Integer(blocks)), _) if *blocks > 0 => {
            let mib = (*blocks as u64).div_ceil(256).max(1).next_power_of_two();
            format!("up to {mib} MiB per session")
        }
        (_, Some(scale)) => format!("scale {scale}"),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::fixtures::{comparison, machine, run, study};
    use threadwise_study::Run;

    fn runs(rates: &[(&str, u64)]) -> Vec<Run> {
        let of_block = |block: u32| {
            rates.iter().map(move |(name, rows)| run(block, name, &[rows + u64::from(block % 3)]))
        };
        (0..8).flat_map(of_block).collect()
    }

    #[test]
    fn a_card_has_the_yield_and_names_nobody() {
        let mut study = study(&["data=l2", "scale=4"], &["same-core same-core 2", "one-cpu one-cpu 2"]);
        study.treatments[4].options.insert("blocks".to_owned(), OptionValue::Integer(300_000));
        for group in ["data=l2", "scale=4"] {
            let name = |treatment: &str| format!("{treatment}/{group}");
            study.comparisons.push(comparison(&name("same-core"), &[&name("one-cpu")], "smt-yield"));
        }
        let names = ["A", "A'", "same-core", "one-cpu"];
        let rates = [1000, 1000, 1300, 1000].map(|rate: u64| rate * 100);
        let all: Vec<(String, u64)> = ["data=l2", "scale=4"]
            .into_iter()
            .flat_map(|group| {
                names.iter().zip(rates).map(move |(name, rate)| (format!("{name}/{group}"), rate))
            })
            .collect();
        let all: Vec<(&str, u64)> = all.iter().map(|(name, rate)| (name.as_str(), *rate)).collect();
        let topology = machine(1, 2, 2);
        let analysis = analyse_on(&study, Some(&topology), &runs(&all), 1.0);
        let facts = Facts { source: "secret.threadwise", ..Facts::new(&study, &topology, &analysis) };
        let card = card(&facts);
        assert_eq!((card.cores, card.threads_per_core, card.blocks, &card.reason), (2, 2, 8, &None));
        let data: Vec<&str> = card.yields.iter().map(|one| one.data.as_str()).collect();
        assert_eq!(data, ["inside L2", "up to 2048 MiB per session"]);
        assert!((card.yields[0].ratio.value - 1.3).abs() < 1e-3);
        assert!(card.yields[0].ratio.answer == crate::Answer::Larger);
    }

    #[test]
    fn a_study_without_a_yield_says_why() {
        let study = study(&[""], &["P same-package 2"]);
        let (one, two) = (machine(1, 2, 1), machine(1, 2, 2));
        let analysis = analyse_on(&study, None, &[], 1.0);
        let reason = |topology| card(&Facts::new(&study, topology, &analysis)).reason;
        assert_eq!(reason(&one).as_deref(), Some("each core has one thread, or one that is allowed"));
        assert_eq!(
            reason(&two).as_deref(),
            Some("the study does not compare both threads of a core with one")
        );
        assert_eq!(data_class(&study, ""), "unknown");
    }
}
