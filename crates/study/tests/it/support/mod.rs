//! Machines and studies made by hand.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]
#![allow(dead_code, reason = "shared by several test programs")]

use threadwise_machine::CpuSet;
use threadwise_machine::topology::{Cache, Core, CoreKind, Group, LogicalCpu, NumaNode, Topology};
use threadwise_study::load::{LoadError, Overrides, StudyFile};
use threadwise_study::{Study, Treatment};

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;

/// `packages` x `cores` x `threads`, all allowed, an L2 a core and an LLC a package; numbered like
/// Linux on x86: first siblings of all cores, then the second ones.
pub fn machine(
    packages: u32,
    cores: u32,
    threads: u32,
    l2_bytes: Option<u64>,
    llc_bytes: Option<u64>,
) -> Topology {
    let mut topology = Topology::default();
    let total = packages * cores;
    for core in 0..total {
        let cpus: CpuSet = (0..threads).map(|thread| thread * total + core).collect();
        let package = core / cores;
        topology.caches.push(Cache {
            level: 2,
            kind: "Unified".into(),
            size_bytes: l2_bytes,
            cpus: cpus.clone(),
        });
        topology.cores.push(Core { os_id: None, cpus, package: Some(package), kind: 0 });
    }
    for package in 0..packages {
        let members = topology.cores.iter().filter(|core| core.package == Some(package));
        let cpus: CpuSet = members.flat_map(|core| core.cpus.iter()).collect();
        topology.caches.push(Cache {
            level: 3,
            kind: "Unified".into(),
            size_bytes: llc_bytes,
            cpus: cpus.clone(),
        });
        topology.packages.push(Group { os_id: None, cpus: cpus.clone() });
        topology.llc_domains.push(Group { os_id: None, cpus: cpus.clone() });
        topology.numa_nodes.push(NumaNode { os_id: Some(i64::from(package)), cpus, memory_bytes: None });
    }
    for cpu in 0..total * threads {
        let core = cpu % total;
        topology.logical_cpus.push(LogicalCpu {
            os_id: cpu,
            core: Some(core),
            package: Some(core / cores),
            siblings: topology.cores[core as usize].cpus.clone(),
            kind: Some(0),
            allowed: true,
            online: true,
            ..LogicalCpu::default()
        });
    }
    let cpus = topology.allowed();
    topology.kinds.push(CoreKind { name: "core".into(), evidence: "one kind".into(), cpus });
    topology
}

/// A guest with 2 logical CPUs, no SMT, a large shared LLC.
pub fn small_guest() -> Topology {
    machine(1, 2, 1, Some(2 * MIB), Some(480 * MIB))
}

/// 2 packages of 8 cores of 2 logical CPUs.
pub fn server() -> Topology {
    machine(2, 8, 2, Some(MIB), Some(32 * MIB))
}

/// The default preset on a machine.
pub fn default_study(topology: &Topology) -> Study {
    StudyFile::preset("placement").unwrap().resolve(topology, &Overrides::default()).unwrap()
}

pub fn names(study: &Study) -> Vec<&str> {
    study.treatments.iter().map(|treatment| treatment.name.as_str()).collect()
}

pub fn treatment<'a>(study: &'a Study, name: &str) -> &'a Treatment {
    study.treatment(name).unwrap_or_else(|| panic!("{name} of {:?}", names(study))).1
}

/// A user's file around the given lines.
pub fn file(lines: &str) -> Result<StudyFile, LoadError> {
    let head = "version = 1\nname = \"mine\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n";
    StudyFile::parse(&format!("{head}{lines}"), "mine.toml")
}
