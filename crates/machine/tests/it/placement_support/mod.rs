//! Machines made by hand for the placement tests.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use threadwise_machine::topology::{Core, CoreKind, Group, LogicalCpu, NumaNode, Topology};
use threadwise_machine::{CpuSet, Draw, Pin, Placement, PlacementError, Resolved};

/// One logical CPU to be.
#[derive(Debug, Clone, Copy)]
pub struct Thread {
    pub os_id: u32,
    pub allowed: bool,
    pub online: bool,
}

/// One core to be.
#[derive(Debug, Clone)]
pub struct CoreSpec {
    pub kind: u32,
    pub threads: Vec<Thread>,
}

/// Packages of cores, with one LLC domain and one node a package.
pub fn machine(packages: &[Vec<CoreSpec>]) -> Topology {
    let mut cores: Vec<(u32, &CoreSpec)> = Vec::new();
    for (package, members) in packages.iter().enumerate() {
        cores.extend(members.iter().map(|core| (package as u32, core)));
    }
    let usable = |core: &CoreSpec| -> CpuSet {
        core.threads
            .iter()
            .filter(|thread| thread.allowed && thread.online)
            .map(|thread| thread.os_id)
            .collect()
    };
    let mut live: Vec<(u32, &CoreSpec)> =
        cores.iter().copied().filter(|(_, core)| !usable(core).is_empty()).collect();
    live.sort_by_key(|(_, core)| usable(core).first());
    let mut package_ids: Vec<u32> = Vec::new();
    for (package, _) in &live {
        if !package_ids.contains(package) {
            package_ids.push(*package);
        }
    }
    // Kinds that no allowed core has are not there; the others keep their order, fastest first.
    let mut kinds: Vec<u32> = live.iter().map(|(_, core)| core.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let index = |list: &[u32], value: u32| list.iter().position(|&item| item == value).map(|at| at as u32);
    let set_of = |wanted: &dyn Fn(u32, &CoreSpec) -> bool| -> CpuSet {
        live.iter()
            .filter(|(package, core)| wanted(*package, core))
            .flat_map(|(_, core)| usable(core).iter().collect::<Vec<_>>())
            .collect()
    };

    let mut topology = Topology::default();
    for &package in &package_ids {
        let cpus = set_of(&|owner, _| owner == package);
        topology.packages.push(Group { os_id: Some(i64::from(package)), cpus: cpus.clone() });
        topology.llc_domains.push(Group { os_id: None, cpus: cpus.clone() });
        topology.numa_nodes.push(NumaNode { os_id: None, cpus, memory_bytes: None });
    }
    for &kind in &kinds {
        let cpus = set_of(&|_, core| core.kind == kind);
        topology.kinds.push(CoreKind { name: format!("kind {kind}"), evidence: "test".into(), cpus });
    }
    for (package, core) in &live {
        topology.cores.push(Core {
            os_id: None,
            cpus: usable(core),
            package: index(&package_ids, *package),
            kind: index(&kinds, core.kind).unwrap(),
        });
    }
    for (package, core) in &cores {
        let siblings: CpuSet =
            core.threads.iter().filter(|thread| thread.online).map(|thread| thread.os_id).collect();
        for thread in &core.threads {
            let at = live.iter().position(|(_, other)| std::ptr::eq(*other, *core)).map(|at| at as u32);
            topology.logical_cpus.push(LogicalCpu {
                os_id: thread.os_id,
                core: at.filter(|_| thread.allowed && thread.online),
                package: index(&package_ids, *package),
                siblings: if thread.online { siblings.clone() } else { CpuSet::new() },
                kind: index(&kinds, core.kind),
                allowed: thread.allowed,
                online: thread.online,
                ..LogicalCpu::default()
            });
        }
    }
    topology.logical_cpus.sort_by_key(|cpu| cpu.os_id);
    topology
}

/// `packages` x `cores` x `threads`, all allowed, numbered like Linux on x86: first siblings of all
/// cores, then the second ones.
pub fn even(packages: u32, cores: u32, threads: u32) -> Topology {
    let core = |package: u32, core: u32| CoreSpec {
        kind: 0,
        threads: (0..threads)
            .map(|thread| Thread {
                os_id: thread * packages * cores + package * cores + core,
                allowed: true,
                online: true,
            })
            .collect(),
    };
    machine(&(0..packages).map(|p| (0..cores).map(|c| core(p, c)).collect()).collect::<Vec<_>>())
}

/// `fast` cores of 2 logical CPUs and `slow` cores of 1 on one package.
#[allow(dead_code, reason = "shared by several test programs")]
pub fn hybrid(fast: u32, slow: u32) -> Topology {
    let thread = |os_id| Thread { os_id, allowed: true, online: true };
    let mut cores: Vec<CoreSpec> = (0..fast)
        .map(|core| CoreSpec { kind: 0, threads: vec![thread(2 * core), thread(2 * core + 1)] })
        .collect();
    cores.extend((0..slow).map(|core| CoreSpec { kind: 1, threads: vec![thread(2 * fast + core)] }));
    machine(&[cores])
}

/// Resolves a text for as many sessions as it takes logical CPUs.
pub fn resolve(text: &str, topology: &Topology, draw: &Draw) -> Result<Resolved, PlacementError> {
    let placement: Placement = text.parse()?;
    let once = threadwise_machine::placement::resolve(&placement, topology, draw, 1, Pin::Each)?;
    let sessions = once.cpus.len() as u32;
    threadwise_machine::placement::resolve(&placement, topology, draw, sessions, Pin::Each)
}

/// The logical CPUs of a text on the identity draw, or the one-line error.
#[allow(dead_code, reason = "shared by several test programs")]
pub fn cpus(text: &str, topology: &Topology) -> Result<Vec<u32>, String> {
    resolve(text, topology, &Draw::identity(topology))
        .map(|found| found.cpus)
        .map_err(|error| error.to_string())
}

/// A machine by counts, each inside the one before: packages, NUMA nodes, last-level caches, L2 caches, cores, and logical
/// CPUs of a core. Logical CPUs are numbered with siblings beside each other.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub packages: u32,
    pub nodes: u32,
    pub llcs: u32,
    pub l2s: u32,
    pub cores: u32,
    pub threads: u32,
}

impl Counts {
    /// The machine.
    pub fn machine(self) -> Topology {
        let leaf = vec![self.cores; self.l2s as usize];
        let node = vec![leaf; self.llcs as usize];
        let package = vec![node; self.nodes as usize];
        nested(&vec![package; self.packages as usize], self.threads)
    }
}

/// A machine of packages of NUMA nodes of last-level caches of L2 caches, which have so many cores.
pub fn nested(packages: &[Vec<Vec<Vec<u32>>>], threads: u32) -> Topology {
    let group = |cpus: CpuSet| Group { os_id: None, cpus };
    let mut topology = Topology::default();
    for nodes in packages {
        let first = topology.logical_cpus.len() as u32;
        for llcs in nodes {
            let first = topology.logical_cpus.len() as u32;
            for l2s in llcs {
                let first = topology.logical_cpus.len() as u32;
                for &cores in l2s {
                    let first = topology.logical_cpus.len() as u32;
                    for _ in 0..cores {
                        add_core(&mut topology, threads);
                    }
                    let cpus = (first..topology.logical_cpus.len() as u32).collect();
                    let cache = threadwise_machine::topology::Cache { level: 2, cpus, ..Default::default() };
                    topology.caches.push(cache);
                }
                topology.llc_domains.push(group((first..topology.logical_cpus.len() as u32).collect()));
            }
            let cpus = (first..topology.logical_cpus.len() as u32).collect();
            topology.numa_nodes.push(NumaNode { os_id: None, cpus, memory_bytes: None });
        }
        topology.packages.push(group((first..topology.logical_cpus.len() as u32).collect()));
    }
    let all: CpuSet = topology.allowed();
    topology.kinds.push(CoreKind { name: "core".into(), evidence: "test".into(), cpus: all });
    declare(&mut topology);
    topology
}

fn add_core(topology: &mut Topology, threads: u32) {
    let first = topology.logical_cpus.len() as u32;
    let cpus: CpuSet = (first..first + threads).collect();
    let core = topology.cores.len() as u32;
    topology.cores.push(Core { os_id: None, cpus: cpus.clone(), package: None, kind: 0 });
    topology.logical_cpus.extend(cpus.iter().map(|os_id| LogicalCpu {
        os_id,
        core: Some(core),
        siblings: cpus.clone(),
        kind: Some(0),
        allowed: true,
        online: true,
        ..LogicalCpu::default()
    }));
}

/// Writes the numbers of its groups to every logical CPU and core.
pub fn declare(topology: &mut Topology) {
    let at = |sets: Vec<&CpuSet>, cpu: u32| {
        sets.iter().position(|set| set.contains(cpu)).map(|index| index as u32)
    };
    for index in 0..topology.logical_cpus.len() {
        let cpu = topology.logical_cpus[index].os_id;
        let package = at(topology.packages.iter().map(|one| &one.cpus).collect(), cpu);
        let numa_node = at(topology.numa_nodes.iter().map(|one| &one.cpus).collect(), cpu);
        let llc = at(topology.llc_domains.iter().map(|one| &one.cpus).collect(), cpu);
        let found = &mut topology.logical_cpus[index];
        (found.package, found.numa_node, found.llc) = (package, numa_node, llc);
        if let Some(core) = found.core {
            topology.cores[core as usize].package = package;
        }
    }
}
