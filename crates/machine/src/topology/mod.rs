//! The machine as the operating system declares it: packages, cores, logical CPUs, caches, nodes.
//!
//! Source of the files: kernel `Documentation/ABI/stable/sysfs-devices-system-cpu`,
//! `Documentation/ABI/stable/sysfs-devices-node`, `cpuset(7)`, `cgroup-v2.rst`.

mod caches;
mod capture;
mod cpuinfo;
mod cpus;
mod groups;
mod identity;
mod kinds;
mod limits;
mod nodes;
mod read;
mod sets;
mod tree;

pub use capture::{CaptureSummary, capture};

use crate::CpuSet;
use crate::cpuset::MAX_CPUS;
use serde::{Deserialize, Serialize, Serializer};
use std::path::{Path, PathBuf};

/// A machine as declared below a root. All ids are dense, machine-wide and ordered by their lowest logical CPU; the
/// system's number is in `os_id`.
/// Counts and lists of cores, packages and so on cover the allowed and online logical CPUs;
/// `logical_cpus` covers every CPU that is present.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Every present logical CPU, ascending by `os_id`.
    pub logical_cpus: Vec<LogicalCpu>,
    /// Physical cores.
    pub cores: Vec<Core>,
    /// Packages (sockets). Empty when the system declares none (package id −1 everywhere and no
    /// package sets). Last come packages without an allowed CPU in which a cpuset gives the process
    /// memory; their `cpus` are empty.
    pub packages: Vec<Group>,
    /// Dies, if a package has more than one or the system declares them.
    pub dies: Vec<Group>,
    /// Clusters of cores (kernel `cluster_id`), where declared.
    pub clusters: Vec<Group>,
    /// NUMA nodes, including memory-only ones (empty `cpus`).
    pub numa_nodes: Vec<NumaNode>,
    /// Groups of CPUs that share a last-level cache.
    pub llc_domains: Vec<Group>,
    /// Every data or unified cache instance that an allowed CPU uses.
    pub caches: Vec<Cache>,
    /// Core kinds, fastest first; exactly one on a machine that is not hybrid.
    pub kinds: Vec<CoreKind>,
    /// Limits of the recorded or live process.
    pub limits: Limits,
    /// The kind of machine.
    pub identity: Identity,
}

/// One logical CPU (hwloc: PU).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogicalCpu {
    /// The operating system's number.
    pub os_id: u32,
    /// Index into [`Topology::cores`]; `None` if it is offline or not allowed.
    pub core: Option<u32>,
    /// Index into [`Topology::packages`].
    pub package: Option<u32>,
    /// Index into [`Topology::dies`].
    pub die: Option<u32>,
    /// Index into [`Topology::clusters`].
    pub cluster: Option<u32>,
    /// Index into [`Topology::numa_nodes`].
    pub numa_node: Option<u32>,
    /// Index into [`Topology::llc_domains`].
    pub llc: Option<u32>,
    /// OS numbers of all online logical CPUs of the same core, including itself and those that are not allowed (a
    /// left-over sibling matters even if threadwise may not use it).
    pub siblings: CpuSet,
    /// Index into [`Topology::kinds`].
    pub kind: Option<u32>,
    /// Whether this process may run there.
    pub allowed: bool,
    /// Whether the CPU is online.
    pub online: bool,
}

/// A physical core.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The system's `core_id`, unique only within a package; `None` where it declares none.
    pub os_id: Option<i64>,
    /// Its allowed, online logical CPUs.
    #[serde(rename = "os_cpus")]
    pub cpus: CpuSet,
    /// Index into [`Topology::packages`].
    pub package: Option<u32>,
    /// Index into [`Topology::kinds`].
    pub kind: u32,
}

/// A package, die, cluster or LLC domain.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The system's number, if it has one.
    pub os_id: Option<i64>,
    /// Its allowed, online logical CPUs.
    #[serde(rename = "os_cpus")]
    pub cpus: CpuSet,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumaNode {
    /// The system's node number.
    pub os_id: Option<i64>,
    /// Its allowed, online logical CPUs; empty for a memory-only node.
    #[serde(rename = "os_cpus")]
    pub cpus: CpuSet,
    /// Its memory in bytes, if known.
    pub memory_bytes: Option<u64>,
}

/// A cache instance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// 1, 2, 3…
    pub level: u32,
    /// `Data` or `Unified` (instruction caches are left out).
    pub kind: String,
    /// Size in bytes, if known.
    pub size_bytes: Option<u64>,
    /// The allowed, online logical CPUs that share it.
    #[serde(rename = "os_cpus")]
    pub cpus: CpuSet,
}

/// Cores of the same kind on a hybrid machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreKind {
    /// `P-core`, `E-core`, … or `core` if there is one kind.
    pub name: String,
    /// The evidence (`cpu_core`/`cpu_atom` PMU, `cpu_capacity`, highest frequency).
    pub evidence: String,
    /// Its allowed, online logical CPUs.
    #[serde(rename = "os_cpus")]
    pub cpus: CpuSet,
}

/// What restricts the process to some of the machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// CPUs of the process's cpuset (cgroup v1 or v2), if it has one.
    pub cpuset: Option<CpuSet>,
    /// The affinity mask of the live process; `None` for a recorded machine.
    pub affinity: Option<CpuSet>,
    /// CPU quota in CPUs (1.5 = 150 ms a period of 100 ms), the tightest on the path to the root.
    pub quota_cpus: Option<f64>,
    /// The file that sets the quota, relative to the root. Without a known quota: the file that names a group which
    /// no mount shows.
    #[serde(serialize_with = "as_text")]
    pub quota_source: Option<PathBuf>,
    /// Memory limit of the cgroup in bytes.
    pub memory_bytes: Option<u64>,
}

/// The kind of machine, without anything that identifies the individual machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Processor model from /proc/cpuinfo.
    pub cpu_model: Option<String>,
    /// Vendor id from /proc/cpuinfo.
    pub cpu_vendor: Option<String>,
    /// Hypervisor, if it can be detected (`KVM`, `VMware`, … or `unknown hypervisor`).
    pub hypervisor: Option<String>,
    /// `on`, `off`, `forceoff`, `notsupported`, … from `smt/control`.
    pub smt_control: Option<String>,
    /// Kernel release from /proc/sys/kernel/osrelease.
    pub kernel: Option<String>,
    /// Memory in bytes from /proc/meminfo.
    pub memory_bytes: Option<u64>,
}

impl Identity {
    /// Whether the processor is emulated (QEMU without a hypervisor of the host), so that times measured there mean
    /// nothing for a real machine. On processors other than x86-64 this cannot be detected.
    pub fn is_emulated(&self) -> bool {
        self.hypervisor.as_deref() == Some(crate::hypervisor::EMULATOR)
    }
}

/// A path as text, which need not be UTF-8.
fn as_text<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(to)
}

/// Why a topology could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// The root holds no CPU description.
    #[error(
        "{root} has no sys/devices/system/cpu: it is not a recorded machine or a Linux root; give --root a folder that has one"
    )]
    NoSys {
        /// The given root.
        root: PathBuf,
    },
    /// A file that exists but cannot be used.
    #[error("cannot read {path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The target folder for a recording cannot be used.
    #[error("cannot record the machine in {path}: {why}")]
    Record {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// No CPU is left after limits.
    #[error("no logical CPU is both online and allowed below {root}: check the cpuset and the affinity mask")]
    NoCpu {
        /// The root that was given.
        root: PathBuf,
    },
}

impl Topology {
    /// What a reader could not compute with in a machine that came from elsewhere: every index in it must be valid.
    pub fn fault(&self) -> Option<String> {
        let dangling = |index: Option<u32>, len: usize| index.is_some_and(|index| index as usize >= len);
        let kinds = self.kinds.len();
        let core = self
            .cores
            .iter()
            .position(|core| dangling(core.package, self.packages.len()) || dangling(Some(core.kind), kinds));
        let cpu = self.logical_cpus.iter().find(|cpu| {
            dangling(cpu.core, self.cores.len())
                || dangling(cpu.package, self.packages.len())
                || dangling(cpu.die, self.dies.len())
                || dangling(cpu.cluster, self.clusters.len())
                || dangling(cpu.numa_node, self.numa_nodes.len())
                || dangling(cpu.llc, self.llc_domains.len())
                || dangling(cpu.kind, kinds)
        });
        let beyond = self.logical_cpus.iter().find(|cpu| cpu.os_id >= MAX_CPUS);
        let is_ordered = self.logical_cpus.is_sorted_by(|cpu, next| cpu.os_id < next.os_id);
        let nodes = self.numa_nodes.iter().map(|node| node.memory_bytes);
        let mut sizes = nodes.chain(self.caches.iter().map(|cache| cache.size_bytes));
        let whole = [self.identity.memory_bytes, self.limits.memory_bytes];
        let is_large = |bytes: Option<u64>| bytes.is_some_and(|bytes| i64::try_from(bytes).is_err());
        let has_large = sizes.any(is_large) || whole.into_iter().any(is_large);
        let is_quota_absurd = self.limits.quota_cpus.is_some_and(|quota| !quota.is_finite());
        core.map(|core| format!("core {core} names a package or kind that it does not have"))
            .or_else(|| Some(format!("logical CPU {} names a part that it does not have", cpu?.os_id)))
            .or_else(|| Some(format!("the number of a logical CPU is {}", beyond?.os_id)))
            .or_else(|| (!is_ordered).then(|| "its logical CPUs are out of order".to_owned()))
            .or_else(|| has_large.then(|| "a size has more than 2^63 bytes".to_owned()))
            .or_else(|| is_quota_absurd.then(|| "its CPU quota is not a finite number".to_owned()))
    }

    /// The logical CPUs that are online and allowed.
    pub fn allowed(&self) -> CpuSet {
        self.logical_cpus.iter().filter(|cpu| cpu.allowed && cpu.online).map(|cpu| cpu.os_id).collect()
    }

    /// The logical CPU with this OS number.
    pub fn cpu(&self, os_id: u32) -> Option<&LogicalCpu> {
        self.logical_cpus.binary_search_by_key(&os_id, |cpu| cpu.os_id).ok().map(|at| &self.logical_cpus[at])
    }

    /// These logical CPUs and their siblings.
    pub fn with_siblings(&self, cpus: impl IntoIterator<Item = u32>) -> CpuSet {
        let mut all = CpuSet::new();
        for cpu in cpus {
            all.insert(cpu);
            if let Some(known) = self.cpu(cpu) {
                all = all.union(&known.siblings);
            }
        }
        all
    }

    /// Most allowed logical CPUs on any core.
    pub fn max_threads_per_core(&self) -> usize {
        self.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0)
    }
}
