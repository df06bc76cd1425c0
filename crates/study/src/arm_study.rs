//! A study in one of its external arms: the treatments that the machine can run, and their sessions. Pure.

use crate::external::BootPart;
use crate::load::{default_sessions, occupied};
use crate::study::MIN_BLOCKS;
use crate::{PlanError, Role, Stopping, Study, Treatment, plan_block};
use std::collections::BTreeSet;
use threadwise_machine::{Draw, PlacementError, Topology};

/// A study as one machine runs it in one of its arms.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmStudy {
    /// The treatments that the machine can run, with their sessions here, up to the end of the part.
    pub study: Study,
    /// What is left out here, one line each.
    pub left_out: Vec<String>,
}

/// Resolves the study for this machine until the end of a part.
///
/// # Errors
/// A baseline is not possible here, or a treatment fails for another reason than a missing feature of the machine.
pub fn on_machine(study: &Study, topology: &Topology, part: &BootPart) -> Result<ArmStudy, PlanError> {
    let mut arm = Study { treatments: Vec::new(), ..study.clone() };
    let mut left_out = Vec::new();
    let draws: Vec<Draw> =
        (0..MIN_BLOCKS).map(|block| Draw::for_block(topology, study.seed, block)).collect();
    for treatment in &study.treatments {
        match placed(study, treatment, topology)? {
            Err(lacks) => left_out.push(format!("{}: {lacks}", treatment.name)),
            Ok(found) => match twin(study, &arm.treatments, &found, (topology, &draws)) {
                Some(other) => {
                    left_out.push(format!("{}: the same as {other} on this machine", treatment.name));
                }
                None => arm.treatments.push(found),
            },
        }
    }
    let names: BTreeSet<&str> = arm.treatments.iter().map(|treatment| treatment.name.as_str()).collect();
    arm.comparisons.retain(|comparison| {
        names.contains(comparison.treatment.as_str())
            && comparison.baseline.iter().all(|name| names.contains(name.as_str()))
    });
    if let Some(external) = &study.external {
        arm.design.stopping = Stopping::Blocks { blocks: (part.number + 1).saturating_mul(external.blocks) };
    }
    arm.left_out.extend(left_out.iter().cloned());
    Ok(ArmStudy { study: arm, left_out })
}

/// A treatment with its sessions on this machine, or why the machine cannot run it.
fn placed(
    study: &Study,
    treatment: &Treatment,
    topology: &Topology,
) -> Result<Result<Treatment, String>, PlanError> {
    let follows = study.external.as_ref().is_some_and(|all| all.session_per_cpu.contains(&treatment.name));
    let usual = default_sessions(&treatment.placement, topology).ok().filter(|_| follows);
    let sessions = usual.unwrap_or(treatment.sessions);
    let found = Treatment { sessions, ..treatment.clone() };
    let alone = Study { treatments: vec![found.clone()], ..study.clone() };
    match plan_block(&alone, topology, 0) {
        Ok(_) => Ok(Ok(found)),
        Err(PlanError::Placement { source: PlacementError::Lacking { lacks, .. }, .. })
            if treatment.role == Role::Compared =>
        {
            Ok(Err(lacks))
        }
        Err(error) => Err(error),
    }
}

/// The name of an earlier treatment that equals an optional one here.
fn twin(
    study: &Study,
    earlier: &[Treatment],
    found: &Treatment,
    (topology, draws): (&Topology, &[Draw]),
) -> Option<String> {
    study.external.as_ref().filter(|external| external.optional.contains(&found.name))?;
    let occupied = |treatment: &Treatment, draw: &Draw| {
        occupied(&treatment.placement, treatment.sessions, treatment.pin, topology, draw)
    };
    let same = |other: &&Treatment| {
        other.role == Role::Compared
            && (&other.group, other.sessions, &other.memory, &other.service, &other.options)
                == (&found.group, found.sessions, &found.memory, &found.service, &found.options)
            && draws.iter().all(|draw| {
                let cpus = occupied(found, draw);
                cpus.is_some() && cpus == occupied(other, draw)
            })
    };
    earlier.iter().find(same).map(|other| other.name.clone())
}
