//! External arms: levels that something outside of the program switches (firmware, a boot parameter, a kernel, another
//! machine), so that every change of them is a boot. Which arm is due, and what a study is in it. Pure.
//!
//! Arms take turns as A B B A, so that a steady drift from boot to boot counts for all alike; which order begins is drawn
//! (Montgomery, *Design and Analysis of Experiments*, ch. 4; Kalibera and Jones, ISMM 2013, for the boot as the unit).

use crate::boot::smt_word;
use crate::load::default_sessions;
use crate::plan::random_order_is_reversed;
use crate::study::MIN_BLOCKS;
use crate::{PlanError, Role, Stopping, Study, Treatment, plan_block};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_machine::placement::{self, Resolved};
use threadwise_machine::{BootFacts, CpuSet, Draw, Placement, PlacementError, Topology};

/// Fewest and most arms of a study.
pub const ARMS: (usize, usize) = (2, 4);
/// Most boots of a study.
pub const MOST_BOOTS: u32 = 100;
/// Most blocks of a boot.
pub const MOST_BLOCKS: u32 = 1000;
/// Longest name of an arm.
pub const MOST_NAME: usize = 40;

/// The external arms of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Names of the arms. The first is what others are compared with.
    pub arms: Vec<String>,
    /// Boots in all.
    pub boots: u32,
    /// Blocks of each boot.
    pub blocks: u32,
    /// What is checked before a boot of an arm is measured.
    pub expect: BTreeMap<String, Expect>,
    /// Command that switches to an arm: program and arguments.
    pub switch: BTreeMap<String, Vec<String>>,
    /// Treatments with one session for each logical CPU that their placement has in the arm.
    pub session_per_cpu: BTreeSet<String>,
    /// Treatments that are left out in arms in which they are the same as an earlier one.
    pub optional: BTreeSet<String>,
    /// Treatments of the whole study, of which an arm may lack some.
    pub treatments: u32,
}

/// What the machine has to be in an arm. `None` is not checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expect {
    /// Whether SMT is on.
    pub smt: Option<bool>,
    /// Kernel release, or how it begins: `6.1` for 6.1.0-28.
    pub kernel: Option<String>,
    /// Number of online logical CPUs.
    pub cpus: Option<u32>,
}

/// The part of a study that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0: as many boots are measured wholly.
    pub number: u32,
    /// Name of its arm.
    pub arm: String,
    /// Blocks that it lacks.
    pub blocks_left: u32,
}

/// The arm of each boot, by index, of so many arms and boots: there and back again, from the first arm or from the last.
pub(crate) fn order(arms: usize, boots: u32, seed: u64) -> Vec<usize> {
    let forward: Vec<usize> = match random_order_is_reversed(seed) {
        true => (0..arms).rev().collect(),
        false => (0..arms).collect(),
    };
    let there_and_back: Vec<usize> = forward.iter().chain(forward.iter().rev()).copied().collect();
    there_and_back.into_iter().cycle().take(boots as usize).collect()
}

impl External {
    /// Blocks of all boots.
    pub fn all_blocks(&self) -> u32 {
        self.boots.saturating_mul(self.blocks)
    }

    /// The arm of each boot, by index.
    pub fn order(&self, seed: u64) -> Vec<usize> {
        order(self.arms.len(), self.boots, seed)
    }

    /// The part that is due after so many complete blocks; `None` where nothing is left.
    pub fn due(&self, seed: u64, blocks_done: u32) -> Option<Part> {
        let number = blocks_done.checked_div(self.blocks)?;
        let arm = *self.order(seed).get(number as usize)?;
        let blocks_left = self.blocks - blocks_done % self.blocks;
        Some(Part { number, arm: self.arms.get(arm)?.clone(), blocks_left })
    }

    /// What is not as an arm asks for, one line each.
    pub fn unmet(&self, arm: &str, facts: &BootFacts) -> Vec<String> {
        self.expect.get(arm).map_or_else(Vec::new, |expect| expect.unmet(facts))
    }
}

impl Expect {
    fn unmet(&self, facts: &BootFacts) -> Vec<String> {
        let unknown = || "unknown".to_owned();
        let smt = self.smt.filter(|_| facts.smt_active != self.smt).map(|wanted| {
            format!("SMT is {} and has to be {}", smt_word(facts.smt_active), smt_word(Some(wanted)))
        });
        let is_release = |wanted: &str| {
            let rest = facts.kernel.as_deref().and_then(|kernel| kernel.strip_prefix(wanted));
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let kernel = self.kernel.as_deref().filter(|wanted| !is_release(wanted)).map(|wanted| {
            let found = facts.kernel.clone().unwrap_or_else(unknown);
            format!("the kernel is {found} and has to be {wanted}")
        });
        let cpus = self.cpus.filter(|wanted| facts.online_cpus != Some(*wanted)).map(|wanted| {
            let found = facts.online_cpus.map_or_else(unknown, |count| count.to_string());
            format!("the number of online logical CPUs is {found} and has to be {wanted}")
        });
        [smt, kernel, cpus].into_iter().flatten().collect()
    }
}

/// A study as one machine runs it in one of its arms.
#[derive(Debug, Clone, PartialEq)]
pub struct HereStudy {
    /// Its treatments that the machine can do, with as many sessions as they have here, up to the end of the part.
    pub study: Study,
    /// What is left out here, one line each.
    pub left_out: Vec<String>,
}

/// The study as this machine runs it until the end of a part.
///
/// # Errors
/// A baseline cannot be had here, or a treatment for another reason than what the machine lacks.
pub fn on_machine(study: &Study, topology: &Topology, part: &Part) -> Result<HereStudy, PlanError> {
    let mut here = Study { treatments: Vec::new(), ..study.clone() };
    let mut left_out = Vec::new();
    let draws: Vec<Draw> =
        (0..MIN_BLOCKS).map(|block| Draw::for_block(topology, study.seed, block)).collect();
    for treatment in &study.treatments {
        match placed(study, treatment, topology)? {
            Err(lacks) => left_out.push(format!("{}: {lacks}", treatment.name)),
            Ok(found) => match twin(study, &here.treatments, &found, (topology, &draws)) {
                Some(other) => {
                    left_out.push(format!("{}: the same as {other} on this machine", treatment.name));
                }
                None => here.treatments.push(found),
            },
        }
    }
    let names: BTreeSet<&str> = here.treatments.iter().map(|treatment| treatment.name.as_str()).collect();
    here.comparisons.retain(|comparison| {
        names.contains(comparison.treatment.as_str())
            && comparison.baseline.iter().all(|name| names.contains(name.as_str()))
    });
    if let Some(external) = &study.external {
        here.design.stopping = Stopping::Blocks { blocks: (part.number + 1).saturating_mul(external.blocks) };
    }
    here.left_out.extend(left_out.iter().cloned());
    Ok(HereStudy { study: here, left_out })
}

/// A treatment with its sessions on this machine, or what the machine lacks for it.
fn placed(
    study: &Study,
    treatment: &Treatment,
    topology: &Topology,
) -> Result<Result<Treatment, String>, PlanError> {
    let follows = study.external.as_ref().is_some_and(|all| all.session_per_cpu.contains(&treatment.name));
    let sessions = match default_sessions(&treatment.placement, topology) {
        Ok(sessions) if follows => sessions,
        _ => treatment.sessions,
    };
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

/// The name of an earlier treatment that is the same here, where the treatment is optional.
fn twin(
    study: &Study,
    earlier: &[Treatment],
    found: &Treatment,
    (topology, draws): (&Topology, &[Draw]),
) -> Option<String> {
    study.external.as_ref().filter(|external| external.optional.contains(&found.name))?;
    let occupied = |treatment: &Treatment, draw: &Draw| -> Option<Vec<CpuSet>> {
        let parsed: Placement = treatment.placement.parse().ok()?;
        let Resolved { mut sessions, .. } =
            placement::resolve(&parsed, topology, draw, treatment.sessions, treatment.pin).ok()?;
        sessions.sort_unstable();
        Some(sessions)
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
