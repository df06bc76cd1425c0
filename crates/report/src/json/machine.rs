//! A machine as declared, and what was measured of it.

use super::form::{list, merged, pretty};
use crate::layout::{CpuState, in_state};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use threadwise_analysis::hardware::Hardware;
use threadwise_machine::topology::{Group, Identity, Limits};
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::probe::{PairSharing, Probe, Sharing};

/// A placement on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementCpus {
    /// Its text.
    pub placement: String,
    /// OS numbers of its logical CPUs if no block draws others, or what the machine lacks for it.
    pub cpus: Result<CpuSet, String>,
}

/// The machine: counts over allowed and online logical CPUs, lists over all; and requested placements.
pub fn topology(topology: &Topology, placements: &[PlacementCpus]) -> String {
    let ids = Ids(topology);
    let cpus = topology.logical_cpus.iter().enumerate();
    let cpus = cpus.map(|(id, cpu)| merged(json!(cpu), json!({"id": id, "siblings": ids.of(&cpu.siblings)})));
    let groups = |groups: &[Group]| ids.numbered(groups, |group| &group.cpus);
    pretty(json!({
        "counts": counts(topology),
        "logical_cpus": cpus.collect::<Value>(),
        "cores": ids.numbered(&topology.cores, |core| &core.cpus),
        "packages": groups(&topology.packages),
        "dies": groups(&topology.dies),
        "clusters": groups(&topology.clusters),
        "numa_nodes": ids.numbered(&topology.numa_nodes, |node| &node.cpus),
        "llc_domains": groups(&topology.llc_domains),
        "caches": list(&topology.caches, |cache| ids.members(&cache.cpus)),
        "kinds": ids.numbered(&topology.kinds, |kind| &kind.cpus),
        "limits": topology.limits,
        "identity": topology.identity,
        "placements": placements.iter().map(|one| placement(&ids, one)).collect::<Value>(),
    }))
}

fn placement(ids: &Ids<'_>, PlacementCpus { placement, cpus }: &PlacementCpus) -> Value {
    let found = cpus.as_ref().ok();
    json!({
        "placement": placement, "logical_cpus": found.map(|cpus| ids.of(cpus)), "os_cpus": found,
        "lacks": cpus.as_ref().err(),
    })
}

/// A probe: raw figures, the declaration and the measurement, and the verdict.
pub fn probe(topology: &Topology, probe: &Probe, hardware: &Hardware) -> String {
    pretty(merged(probed(topology, probe, Some(hardware)), json!({"machine": machine(topology)})))
}

/// The measurement, with the declaration.
pub(super) fn probed(topology: &Topology, probe: &Probe, hardware: Option<&Hardware>) -> Value {
    let ids = Ids(topology);
    let pairs = list(&probe.pairs, |pair| json!({"declared": declared(topology, pair)}));
    let figures = merged(json!(probe), json!({"pairs": pairs}));
    let Some(hardware) = hardware else { return figures };
    let cores = |cores: &[CpuSet]| cores.iter().map(|core| ids.members(core)).collect::<Value>();
    let located = json!({
        "declared_cores": cores(&hardware.declared_cores), "measured_cores": cores(&hardware.measured_cores),
        "undecided": ids.members(&hardware.undecided),
        "differences": list(&hardware.differences, |difference| ids.members(&difference.cpus)),
    });
    merged(merged(figures, json!(hardware)), located)
}

/// The declared relation of a pair.
fn declared(topology: &Topology, pair: &PairSharing) -> Option<Sharing> {
    let (a, b) = topology.cpu(pair.a).zip(topology.cpu(pair.b))?;
    let is_known = !a.siblings.is_empty() && !b.siblings.is_empty();
    is_known.then_some(match a.siblings.contains(b.os_id) {
        true => Sharing::SameCore,
        false => Sharing::DifferentCores,
    })
}

/// How many there are of each part, allowed and online.
#[derive(Serialize, JsonSchema)]
struct Counts {
    packages: usize,
    dies: usize,
    clusters: usize,
    numa_nodes: usize,
    llc_domains: usize,
    cores: usize,
    logical_cpus: usize,
    max_threads_per_core: usize,
}

fn counts(topology: &Topology) -> Counts {
    Counts {
        packages: topology.packages.len(),
        dies: topology.dies.len(),
        clusters: topology.clusters.len(),
        numa_nodes: topology.numa_nodes.len(),
        llc_domains: topology.llc_domains.len(),
        cores: topology.cores.len(),
        logical_cpus: topology.allowed().len(),
        max_threads_per_core: topology.max_threads_per_core(),
    }
}

/// A machine in a few fields.
#[derive(Serialize, JsonSchema)]
pub(super) struct Machine<'a> {
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    identity: &'a Identity,
    /// How many there are of each part, allowed and online.
    counts: Counts,
    /// Limits of this process.
    #[schemars(with = "Map<String, Value>")]
    limits: &'a Limits,
    /// Logical CPUs that may be used (OS numbers).
    allowed_cpus: CpuSet,
    /// Online ones that may not.
    not_allowed_cpus: CpuSet,
    /// Offline ones.
    offline_cpus: CpuSet,
}

/// A machine as declared.
pub(super) fn machine(topology: &Topology) -> Machine<'_> {
    Machine {
        identity: &topology.identity,
        counts: counts(topology),
        limits: &topology.limits,
        allowed_cpus: topology.allowed(),
        not_allowed_cpus: in_state(topology, CpuState::NotAllowed),
        offline_cpus: in_state(topology, CpuState::Offline),
    }
}

/// Dense ids of logical CPUs: their indexes in `Topology::logical_cpus`.
struct Ids<'a>(&'a Topology);

impl Ids<'_> {
    fn of(&self, cpus: &CpuSet) -> Vec<usize> {
        let cpus_by_id = &self.0.logical_cpus;
        cpus.iter()
            .filter_map(|os_id| cpus_by_id.binary_search_by_key(&os_id, |cpu| cpu.os_id).ok())
            .collect()
    }

    /// Members in both forms: as ids, and as a list of OS numbers that taskset(1) takes.
    fn members(&self, cpus: &CpuSet) -> Value {
        json!({"logical_cpus": self.of(cpus), "os_cpus": cpus})
    }

    /// A list with indexes as ids, and members.
    fn numbered<T: Serialize>(&self, things: &[T], cpus: fn(&T) -> &CpuSet) -> Value {
        let mut all = list(things, |thing| self.members(cpus(thing)));
        all.as_array_mut().into_iter().flatten().enumerate().for_each(|(id, thing)| thing["id"] = json!(id));
        all
    }
}
