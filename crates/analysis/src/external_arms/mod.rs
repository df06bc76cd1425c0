//! External arms: rates by boot, and ratios of arms with the boot as the unit.
//!
//! Blocks of one boot have in common what the boot drew (where code and data lie, which pages), so that they say nothing of
//! how far another boot would be off. A boot is one number, the mean over its blocks of ln(rate), and a ratio of arms is
//! the difference of the means over boots, by Welch's t (docs/METHODOLOGY.md, "Arms over boots").

mod compared;
mod types;

#[cfg(test)]
mod tests;

pub use compared::{differences, fastest};
pub use types::{ArmRatio, ArmTreatment, BootRates, ExternalArms, InArm, Rate};

use crate::Direction;
use crate::estimate::{Observed, ObservedBlock, Rule};
use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_statistics::mean;
use threadwise_study::{Boot, External, Run, Study};

/// What is stored of the boots of a study.
#[derive(Debug, Clone, Copy)]
pub struct Boots<'a> {
    /// In order.
    pub boots: &'a [Boot],
    /// Of complete blocks the number and its boot's.
    pub of_blocks: &'a [(u32, u32)],
}

/// What boots show of a study's external arms; `None` in a study without.
///
/// `alpha_share` is as in [`crate::analyse`].
/// Degenerate cases: an arm without a boot has no rates and no ratios; of one boot each, ratios have no interval.
pub fn external_arms(
    study: &Study,
    topology: Option<&Topology>,
    runs: &[Run],
    stored: Boots<'_>,
    alpha_share: f64,
) -> Option<ExternalArms> {
    let external = study.external.as_ref()?;
    let observed = Observed::new(study, topology, runs);
    let boot_of: BTreeMap<u32, u32> = stored.of_blocks.iter().copied().collect();
    let mut by_boot: BTreeMap<u32, Vec<&ObservedBlock>> = BTreeMap::new();
    for block in &observed.blocks {
        if let Some(boot) = boot_of.get(&block.number) {
            by_boot.entry(*boot).or_default().push(block);
        }
    }
    let rates = |boot: &Boot| {
        let blocks = by_boot.get(&boot.number).map_or(&[][..], Vec::as_slice);
        of_boot(study, &observed, runs, boot, blocks)
    };
    let boots: Vec<BootRates> = stored.boots.iter().map(rates).collect();
    let alpha = (1.0 - study.design.level) * alpha_share;
    let rule = Rule { margin: study.design.margin, alpha, direction: Direction::HigherIsBetter };
    let unknown = observed.blocks.iter().filter(|block| !boot_of.contains_key(&block.number));
    Some(ExternalArms {
        arms: external.arms.clone(),
        planned_boots: external.boots,
        order: external.order(study.seed).iter().map(|arm| external.arms[*arm].clone()).collect(),
        treatments: treatments(study, external, &boots),
        ratios: compared::ratios(study, external, &boots, rule),
        differing: differing(stored.boots),
        blocks_of_unknown_boots: unknown.count() as u32,
        boots,
    })
}

/// The rates of one boot.
fn of_boot(
    study: &Study,
    observed: &Observed,
    runs: &[Run],
    boot: &Boot,
    blocks: &[&ObservedBlock],
) -> BootRates {
    let rate = |at: usize| {
        let name = &study.treatments[at].name;
        let rates = blocks.iter().filter_map(|block| observed.usable(block, at)?.work().rows_per_s());
        let logs: Vec<f64> = rates.map(f64::ln).collect();
        let sources = blocks.iter().filter_map(|block| runs.get(block.sources[at]?));
        let (cpus, sessions) = sources.fold((0, 0), |(cpus, sessions): (usize, usize), run| {
            let seated = run.slices.iter().map(|slice| slice.sessions.len()).max().unwrap_or(0);
            (cpus.max(run.cpus.len()), sessions.max(seated))
        });
        let ln_rate = mean(logs.iter().copied())?;
        Some(Rate {
            treatment: name.clone(),
            rows_per_s: ln_rate.exp(),
            blocks: logs.len() as u32,
            cpus: cpus as u32,
            sessions: sessions as u32,
            ln_rate,
        })
    };
    let usable = blocks.iter().filter(|block| block.group_usable.contains(&true));
    BootRates {
        boot: boot.clone(),
        blocks: usable.count() as u32,
        rates: (0..study.treatments.len()).filter_map(rate).collect(),
    }
}

/// Each treatment in each arm.
fn treatments(study: &Study, external: &External, boots: &[BootRates]) -> Vec<ArmTreatment> {
    let in_arm = |treatment: &str, arm: &String| {
        let rates: Vec<&Rate> =
            boots.iter().filter(|boot| boot.is_of(arm)).filter_map(|boot| boot.rate(treatment)).collect();
        let ln_rate = mean(rates.iter().map(|rate| rate.ln_rate))?;
        Some(InArm {
            arm: arm.clone(),
            boots: rates.len() as u32,
            rows_per_s: ln_rate.exp(),
            cpus: rates.iter().map(|rate| rate.cpus).max().unwrap_or(0),
            sessions: rates.iter().map(|rate| rate.sessions).max().unwrap_or(0),
        })
    };
    let of_treatment = |name: &str| ArmTreatment {
        treatment: name.to_owned(),
        arms: external.arms.iter().filter_map(|arm| in_arm(name, arm)).collect(),
        absent: external
            .arms
            .iter()
            .filter(|arm| in_arm(name, arm).is_none() && boots.iter().any(|boot| boot.is_of(arm)))
            .cloned()
            .collect(),
    };
    study.treatments.iter().map(|treatment| of_treatment(&treatment.name)).collect()
}

/// What differs between boots beside SMT, one line each: `kernel: 6.1.0-28 (boots 1, 2), 6.1.0-29 (boots 3, 4)`.
fn differing(boots: &[Boot]) -> Vec<String> {
    let Some(first) = boots.first() else { return Vec::new() };
    let mut lines = Vec::new();
    for (at, (name, _)) in first.attributes().into_iter().enumerate() {
        // These are columns of the table, and what arms are about.
        if name.starts_with("SMT") || name == "online logical CPUs" {
            continue;
        }
        let mut values: Vec<(String, Vec<String>)> = Vec::new();
        for boot in boots {
            let [value, number] = [boot.attributes()[at].1.clone(), boot.number.to_string()];
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, numbers)) => numbers.push(number),
                None => values.push((value, vec![number])),
            }
        }
        if values.len() < 2 {
            continue;
        }
        let part = |(at, (value, numbers)): (usize, &(String, Vec<String>))| {
            // A hash says nothing to people.
            let value = match name {
                "machine" if value != "unknown" => format!("machine {}", at + 1),
                _ => value.clone(),
            };
            let plural = if numbers.len() == 1 { "boot" } else { "boots" };
            format!("{value} ({plural} {})", numbers.join(", "))
        };
        let parts: Vec<String> = values.iter().enumerate().map(part).collect();
        lines.push(format!("{name}: {}", parts.join(", ")));
    }
    lines
}
