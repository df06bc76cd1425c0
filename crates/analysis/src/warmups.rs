//! Measured warm-ups, by treatment.
//!
//! The runner measures them before the first block (`threadwise_study::warmup`) and keeps them as readings of each run.

use crate::Facts;
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::{Prose, numbers, prose};
use threadwise_study::warmup::Warmup;
use threadwise_study::{Run, Study};

/// A treatment's warm-up, as in JSON (docs/JSON.md).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatmentWarmup {
    /// The treatment.
    pub treatment: String,
    /// Its length, nanoseconds.
    pub warmup_ns: u64,
    /// Length of the pieces in which it was seen, nanoseconds; `None` if it was not seen.
    pub piece_ns: Option<u64>,
    /// Why it was not seen.
    pub gap: Option<String>,
}

/// Warm-ups in study order; empty if the re-warm is fixed. The latest run of a treatment that has one counts.
pub fn warmups(study: &Study, runs: &[Run]) -> Vec<TreatmentWarmup> {
    let of_treatment = |name: &str| {
        let mut latest = runs.iter().rev().filter(|run| run.treatment == name);
        let Warmup { ns, piece_ns } = latest.find_map(|run| Warmup::of(&run.readings))?;
        let gap = piece_ns.as_ref().err().cloned();
        Some(TreatmentWarmup { treatment: name.to_owned(), warmup_ns: ns, piece_ns: piece_ns.ok(), gap })
    };
    match study.design.rewarm_ns {
        Some(_) => Vec::new(),
        None => study.treatments.iter().filter_map(|treatment| of_treatment(&treatment.name)).collect(),
    }
}

/// The measured warm-ups; `None` if the re-warm is fixed.
pub(crate) fn warm_up(facts: &Facts<'_>) -> Option<Prose> {
    let all = facts.analysis.get::<Vec<TreatmentWarmup>>()?;
    let longest = all.iter().rev().max_by_key(|warmup| warmup.warmup_ns)?;
    let shortest = all.iter().map(|warmup| warmup.warmup_ns).min()?;
    let time = |ns: u64| Prose::figure(numbers::nanoseconds(ns as f64));
    let mut text = match shortest == longest.warmup_ns {
        true => prose!(
            "Warm-up before each slice, measured before the first block: {} for every treatment.",
            time(shortest)
        ),
        false => prose!(
            "Warm-up before each slice, measured before the first block: {} to {}, longest of {}.",
            time(shortest),
            time(longest.warmup_ns),
            facts.name(&longest.treatment)
        ),
    };
    let limits: Vec<String> = all
        .iter()
        .filter_map(|warmup| Some(format!("{} ({})", facts.name(&warmup.treatment), warmup.gap.as_deref()?)))
        .collect();
    if !limits.is_empty() {
        text.push(prose!(" Not seen for {}.", limits.join(", ")));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixtures};
    use threadwise_machine::Topology;

    #[test]
    fn warm_ups_are_in_the_report() {
        let mut study = fixtures::study(&[""], &["b one-cpu 2"]);
        let run = |name: &str, warmup: Warmup| Run {
            readings: warmup.readings(5).to_vec(),
            ..fixtures::run(0, name, &[5; 20])
        };
        let seen = |ns| Warmup { ns, piece_ns: Ok(2_000_000) };
        let runs = [
            run("A", seen(4_000_000)),
            run("A'", seen(4_000_000)),
            run("b", Warmup::limit("its rate did not settle before")),
        ];
        let said = |study: &Study| {
            let analysis = analyse(study, &runs, 1.0);
            let topology = Topology::default();
            let facts = Facts { runs: &runs, ..Facts::new(study, &topology, &analysis) };
            let text = warm_up(&facts).map(|text| text.to_string());
            (analysis.get::<Vec<TreatmentWarmup>>().unwrap().clone(), text)
        };
        assert_eq!(said(&study), (Vec::new(), None), "a fixed one stands in the first paragraph");
        study.design.rewarm_ns = None;
        let (found, text) = said(&study);
        let all: Vec<(&str, u64, Option<u64>)> =
            found.iter().map(|one| (one.treatment.as_str(), one.warmup_ns, one.piece_ns)).collect();
        let two = Some(2_000_000);
        assert_eq!(all, [("A", 4_000_000, two), ("A'", 4_000_000, two), ("b", 30_000_000, None)]);
        assert_eq!(found[2].gap.as_deref(), Some("its rate did not settle before"));
        assert_eq!(
            text.as_deref(),
            Some(
                "Warm-up before each slice, measured before the first block: 4.00 ms to 30.0 ms, longest of b. Not seen for b \
                 (its rate did not settle before)."
            )
        );
    }
}
