//! Treatments before their factor levels are known, and what a machine lacks for them.
//!
//! Memory policies and service threads are the treatment's own, or else the command line's.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use threadwise_machine::placement::{self, Expression, Name, Resolved, Service};
use threadwise_machine::{CpuSet, Draw, Memory, Pin, Placement, PlacementError, Topology, memory};

use super::definition::{Definition, TreatmentSection};
use super::overrides::Overrides;
use super::source::{LoadError, StudyFile};
use crate::instance::short_labels;
use crate::study::MIN_BLOCKS;
use crate::worklist::MAX_JOBS;
use crate::{Arm, Comparison, ComparisonKind, Instance, OptionValue, Options, Role, Workload};

/// The draw decides where `remote` is. This many blocks are checked before a study starts: as many as `--until` looks
/// at before its budget's end. The plan checks later blocks.
const TRIED_BLOCKS: u32 = 64;

/// A treatment before its factor levels are known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub name: String,
    pub placement: Placement,
    pub sessions: u32,
    pub pin: Pin,
    pub memory: Memory,
    pub service: Option<Service>,
    /// Options of its own, above the group's.
    pub set: Options,
    /// Its instance of the engine, above the group's.
    pub instance: Instance,
    /// Which of two versions it is.
    pub version: Option<&'static str>,
    pub role: Role,
}

impl Candidate {
    /// A baseline under its other name.
    pub fn twin(&self) -> Self {
        Self { name: format!("{}'", self.name), role: Role::BaselineTwin, ..self.clone() }
    }
}

/// One combination of factor levels, and what runs under it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// The levels by factor.
    pub levels: Options,
    /// The study's options with the levels set.
    pub options: Options,
    /// What the levels want of the machine.
    pub arm: Arm,
    /// The levels as tables show them.
    pub labels: BTreeMap<String, String>,
    /// What distinguishes the names of its treatments: the varying levels, each alone if its word is clear enough.
    pub suffix: String,
    /// Baseline, twin, treatments, sweep points.
    pub candidates: Vec<Candidate>,
    /// Treatments that equal another one on this machine, and its name: their comparisons become its.
    pub aliases: BTreeMap<String, String>,
    /// Whether the sweep runs under these levels.
    pub has_sweep: bool,
}

impl Group {
    /// The baseline.
    pub fn baseline(&self) -> &Candidate {
        &self.candidates[0]
    }

    /// Everything but the baseline and its twin.
    pub fn compared(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.role == Role::Compared)
    }

    /// The candidate of this name.
    pub fn named(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name)
    }

    /// The name of a treatment.
    pub fn whole(&self, name: &str) -> String {
        format!("{name}{}", self.suffix)
    }

    /// Names below the line of a ratio: A and A′ for the baseline, otherwise one treatment.
    pub fn below(&self, name: &str) -> Vec<String> {
        let twin = self.candidates.get(1).filter(|_| name == self.baseline().name);
        std::iter::once(name)
            .chain(twin.map(|twin| twin.name.as_str()))
            .map(|name| self.whole(name))
            .collect()
    }

    /// The ratio of one of its treatments to one of a group.
    pub fn ratio(
        &self,
        name: String,
        top: &str,
        other: &Self,
        under: &str,
        kind: impl Into<ComparisonKind>,
    ) -> Comparison {
        let (treatment, baseline) = (self.whole(top), other.below(under));
        Comparison { name, treatment, baseline, kind: kind.into() }
    }
}

/// Factors that have more than one level.
pub(super) fn varying(groups: &[Group]) -> Vec<&String> {
    let varies = |factor: &&String| {
        groups.iter().any(|group| group.levels.get(*factor) != groups[0].levels.get(*factor))
    };
    groups.first().map(|first| first.levels.keys().filter(varies).collect()).unwrap_or_default()
}

/// The label of a group's level, shortened to what distinguishes the group.
pub(super) fn short_label(group: &Group, factor: &str, groups: &[Group]) -> Option<String> {
    let label = group.labels.get(factor)?.as_str();
    let mut levels: Vec<&str> =
        groups.iter().filter_map(|one| one.labels.get(factor)).map(String::as_str).collect();
    levels.sort_unstable();
    levels.dedup();
    let at = levels.iter().position(|level| *level == label)?;
    short_labels(&levels).into_iter().nth(at)
}

/// What distinguishes a group's names.
pub(super) fn suffix(group: &Group, groups: &[Group]) -> String {
    let part = |factor: &&String| {
        let label = &short_label(group, factor, groups)?;
        let is_word = *factor != "turbo" && matches!(group.levels.get(*factor), Some(OptionValue::Text(_)));
        Some(if is_word { label.clone() } else { format!("{factor}={label}") })
    };
    let parts: Vec<String> = varying(groups).iter().filter_map(part).collect();
    if parts.is_empty() { String::new() } else { format!("/{}", parts.join(",")) }
}

/// Default sessions of a placement: one per logical CPU, and two for `one-cpu`.
///
/// # Errors
/// What the machine lacks for it.
pub fn default_sessions(placement: &Placement, topology: &Topology) -> Result<u32, PlacementError> {
    let found = placement::resolve(placement, topology, &Draw::identity(topology), 1, Pin::Each)?;
    let is_one_cpu = placement.expression == Expression::Named(Name::OneCpu, None);
    Ok(if is_one_cpu { 2 } else { found.cpus.len() as u32 })
}

/// The logical CPUs of the sessions of a placement in a draw, in an order that does not tell sessions apart.
pub(crate) fn occupied(
    placement: &Placement,
    sessions: u32,
    pin: Pin,
    topology: &Topology,
    draw: &Draw,
) -> Option<Vec<CpuSet>> {
    let mut found = placement::resolve(placement, topology, draw, sessions, pin).ok()?.sessions;
    found.sort_unstable();
    Some(found)
}

/// What the machine lacks for a treatment.
pub(super) struct Lack {
    /// `placement`, `memory` or `service`.
    pub key: &'static str,
    /// The value of the key, or of the option of that name on the command line.
    pub value: String,
    /// What it lacks; `None` if the placement is impossible for another reason.
    pub lacks: Option<String>,
    /// The error in full.
    pub why: String,
}

/// What candidates are made from.
pub(super) struct Resolver<'a> {
    pub file: &'a StudyFile,
    pub definition: &'a Definition,
    pub topology: &'a Topology,
    pub overrides: &'a Overrides,
    pub seed: u64,
    /// The draws of the fewest blocks that a study has.
    draws: Vec<Draw>,
    tried: OnceCell<Vec<Draw>>,
}

impl<'a> Resolver<'a> {
    pub fn new(file: &'a StudyFile, topology: &'a Topology, overrides: &'a Overrides, seed: u64) -> Self {
        let draws = (0..MIN_BLOCKS).map(|block| Draw::for_block(topology, seed, block)).collect();
        let definition = &file.definition;
        Self { file, definition, topology, overrides, seed, draws, tried: OnceCell::new() }
    }

    /// The candidate of a treatment, or what the machine lacks for it.
    pub fn candidate(&self, asked: &TreatmentSection, role: Role) -> Result<Candidate, Lack> {
        let placement = &asked.placement;
        let cpus = default_sessions(placement, self.topology).map_err(|error| Lack {
            key: "placement",
            value: placement.text.clone(),
            why: error.to_string(),
            lacks: match error {
                PlacementError::Lacking { lacks, .. } => Some(lacks),
                _ => None,
            },
        })?;
        let lack = |key, value, lacks: String| Lack { key, value, why: lacks.clone(), lacks: Some(lacks) };
        let found = self.unchecked(asked, self.sessions(role, cpus), role);
        if let Some(lacks) = self.memory_lacks(&found.memory, placement) {
            return Err(lack("memory", found.memory.to_string(), lacks));
        }
        if let Some((service, lacks)) = self.service_lacks(found.service.as_ref(), placement) {
            return Err(lack("service", service.to_string(), lacks));
        }
        Ok(found)
    }

    /// The same where the machine may lack anything.
    pub fn unchecked(&self, asked: &TreatmentSection, sessions: u32, role: Role) -> Candidate {
        Candidate {
            name: asked.name().to_owned(),
            placement: asked.placement.clone(),
            sessions: asked.sessions.unwrap_or(sessions),
            pin: self.definition.pin(asked.pin),
            memory: asked.memory.clone().or(self.overrides.memory.clone()).unwrap_or_default(),
            service: asked.service.clone().or(self.overrides.service.clone()),
            set: asked.set.0.clone(),
            instance: Instance::default(),
            version: None,
            role,
        }
    }

    /// Sessions of a treatment without its own number, on a placement with one for each of so many logical CPUs.
    fn sessions(&self, role: Role, cpus: u32) -> u32 {
        match self.definition.workload {
            // With one job there is nothing to schedule.
            Workload::WorkList if role == Role::Compared || self.definition.jobs.is_none() => {
                self.asked_jobs().unwrap_or(cpus.clamp(2, MAX_JOBS))
            }
            // A query is one stream, however many threads it has.
            Workload::Tpch | Workload::ParallelScan => 1,
            _ if role == Role::Compared => cpus,
            _ => 1,
        }
    }

    /// The number of jobs that the command line sets for treatments without their own.
    pub fn asked_jobs(&self) -> Option<u32> {
        match self.overrides.jobs.as_deref() {
            Some(&[jobs]) => Some(jobs),
            _ => None,
        }
    }

    /// The logical CPUs of a placement in each of the first blocks.
    pub fn sets(&self, placement: &Placement) -> Result<Vec<CpuSet>, PlacementError> {
        let set = |draw| {
            placement::resolve(placement, self.topology, draw, 1, Pin::Set).map(|found: Resolved| found.set())
        };
        self.draws.iter().map(set).collect()
    }

    /// Whether two treatments put equal sessions on the same logical CPUs in each of the first blocks.
    pub fn is_same(&self, one: &Candidate, other: &Candidate) -> bool {
        let occupied = |candidate: &Candidate, draw: &Draw| {
            occupied(&candidate.placement, candidate.sessions, candidate.pin, self.topology, draw)
        };
        one.sessions == other.sessions
            && one.memory == other.memory
            && one.service == other.service
            && one.set == other.set
            && one.instance == other.instance
            && self.draws.iter().all(|draw| {
                let found = occupied(one, draw);
                found.is_some() && found == occupied(other, draw)
            })
    }

    /// Why this machine cannot apply a policy with a placement, if so.
    pub fn memory_lacks(&self, policy: &Memory, placement: &Placement) -> Option<String> {
        let identity = [Draw::identity(self.topology)];
        let draws = match policy {
            Memory::Local => return None,
            // Independent of the placement.
            Memory::Interleave | Memory::Nodes(_) => &identity[..],
            Memory::Remote => self.tried.get_or_init(|| {
                (0..TRIED_BLOCKS).map(|block| Draw::for_block(self.topology, self.seed, block)).collect()
            }),
        };
        draws.iter().find_map(|draw| {
            // An impossible placement has its own error.
            let placed = placement::resolve(placement, self.topology, draw, 1, Pin::Set).ok()?;
            memory::resolve(policy, self.topology, &placed.set()).err().map(lacks)
        })
    }

    /// Why this machine cannot place service threads with this placement, if so.
    fn service_lacks(&self, service: Option<&Service>, placement: &Placement) -> Option<(Service, String)> {
        let draw = Draw::identity(self.topology);
        let placed = placement::resolve(placement, self.topology, &draw, 1, Pin::Set).ok()?;
        let error = placement::resolve_service(service?, self.topology, &draw, &placed).err()?;
        Some((service?.clone(), lacks(error)))
    }

    /// The error for a missing feature: at the key of the treatment's table, or for the command line's option.
    pub fn refusal(&self, lack: &Lack, asked: &TreatmentSection, path: &[&str], why: String) -> LoadError {
        let Lack { key, value, .. } = lack;
        let is_in_file = if *key == "memory" { asked.memory.is_some() } else { asked.service.is_some() };
        let in_file = format!("{key} = \"{value}\" is not possible: {why}");
        match is_in_file {
            true => self.file.source.at(&[path, &[key]].concat(), in_file),
            false => LoadError::option(format!("--{key} {value}"), why),
        }
    }

    /// The error of a value of the command line's option, if that has it, or else of the file's key.
    pub fn refused(&self, is_asked: bool, option: &str, path: &[&str], why: String) -> LoadError {
        if is_asked { LoadError::option(option, why) } else { self.file.source.at(path, why) }
    }

    /// Refuses what the command line sets for treatments without their own, where all have their own.
    pub fn refuse_unused(&self) -> Result<(), LoadError> {
        let Definition { baseline, treatments, dop, jobs, workload, .. } = self.definition;
        let Overrides { placements, dops, jobs: asked_jobs, memory, service, .. } = self.overrides;
        let has_section = self.definition.section().is_some();
        // Treatments of --placement have no key; those of a section or sweep use the baseline's.
        if placements.is_some() && !has_section {
            return Ok(());
        }
        let is_section_asked =
            dop.is_some() && dops.is_some() || jobs.is_some() && asked_jobs.is_some() || placements.is_some();
        let compared = if is_section_asked { &[][..] } else { &treatments[..] };
        let is_memory_set = baseline.memory.is_some() && compared.iter().all(|one| one.memory.is_some());
        let is_service_set = baseline.service.is_some() && compared.iter().all(|one| one.service.is_some());
        let unused = [
            memory.as_ref().filter(|_| is_memory_set).map(|policy| format!("--memory {policy}")),
            service.as_ref().filter(|_| is_service_set).map(|service| format!("--service {service}")),
        ];
        if let Some(option) = unused.into_iter().flatten().next() {
            let way = if has_section { "" } else { ", or name placements with --placement" };
            let why = format!("all treatments of this study set their own; change it there{way}");
            return Err(LoadError::option(option, why));
        }
        let are_jobs_set = baseline.sessions.is_some() && treatments.iter().all(|one| one.sessions.is_some());
        let is_unused = *workload == Workload::WorkList && jobs.is_none() && asked_jobs.is_some();
        let why = "all treatments of this study set their own (sessions); change them there";
        LoadError::option_if(is_unused && are_jobs_set, "--jobs", why)
    }
}

fn lacks(error: PlacementError) -> String {
    match error {
        PlacementError::Lacking { lacks, .. } => lacks,
        other => other.to_string(),
    }
}
