//! Logical CPUs, cores, packages, dies and clusters.
//!
//! Sources: kernel `Documentation/admin-guide/cputopology.rst` and
//! `Documentation/ABI/stable/sysfs-devices-system-cpu`. A core is identified by its sibling set and not
//! by `core_id`, which is unique only within a package and on some machines only within a die.

use super::cpuinfo::MOST_CPUS;
use super::sets::{Groups, SetForm, and, and_not, partition};
use super::tree::{Dir, Tree};
use super::{TopologyError, cpuinfo};
use crate::CpuSet;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

use SetForm::{List, Mask};

const CORE_FILES: [(&str, SetForm); 4] = [
    ("core_cpus_list", List),
    ("core_cpus", Mask),
    ("thread_siblings_list", List),
    ("thread_siblings", Mask),
];
const PACKAGE_FILES: [(&str, SetForm); 4] = [
    ("package_cpus_list", List),
    ("package_cpus", Mask),
    ("core_siblings_list", List),
    ("core_siblings", Mask),
];
const DIE_FILES: [(&str, SetForm); 2] = [("die_cpus_list", List), ("die_cpus", Mask)];
const CLUSTER_FILES: [(&str, SetForm); 2] = [("cluster_cpus_list", List), ("cluster_cpus", Mask)];

/// What x86 kernels write as `cluster_id` of a CPU without one (`BAD_APICID`, 16 bits).
const NO_CLUSTER: i64 = 0xffff;

/// The folders of the logical CPUs, and which CPUs are present.
pub(super) struct Cpus<'t> {
    /// CPUs that are present.
    pub(super) present: CpuSet,
    /// CPUs that are online.
    pub(super) online: CpuSet,
    dirs: BTreeMap<u32, CpuDir<'t>>,
    /// The names of sibling and package sets, this kernel's first.
    core_files: Vec<(&'static str, SetForm)>,
    package_files: Vec<(&'static str, SetForm)>,
}

struct CpuDir<'t> {
    dir: Dir<'t>,
    /// Read on first use: in a group only the first CPU's is needed.
    topology: OnceCell<Option<Dir<'t>>>,
}

/// All groups of logical CPUs: cores, packages, dies and clusters.
pub(super) struct Structure {
    pub(super) cores: Groups,
    pub(super) packages: Groups,
    pub(super) dies: Groups,
    pub(super) clusters: Groups,
    /// Online sibling sets of all cores, including those without an allowed CPU.
    pub(super) siblings: Vec<CpuSet>,
    pub(super) core_ids: Vec<Option<i64>>,
    pub(super) package_ids: Vec<Option<i64>>,
    pub(super) die_ids: Vec<Option<i64>>,
    pub(super) cluster_ids: Vec<Option<i64>>,
}

impl<'t> Cpus<'t> {
    /// `surely` are CPUs that are online since an effective cpuset or an affinity mask holds them, and neither holds
    /// others (`cpuset.cpus.effective`, sched_getaffinity(2)).
    pub(super) fn read(tree: &'t Tree, root: &Path, surely: &CpuSet) -> Result<Self, TopologyError> {
        let no_sys = || TopologyError::NoSys { root: root.to_owned() };
        let system = tree.dir("sys/devices/system/cpu").ok_or_else(no_sys)?;
        let found = system.numbered("cpu");
        let online = match system.set(&[("online", List)])? {
            Some(online) if and_not(surely, &online).is_empty() => online,
            // lxcfs shows a container a list that counts its CPUs from 0; the folders are still the host's.
            Some(_) => online_by_folder(&found)?.union(surely),
            None => online_by_folder(&found)?,
        };
        if online.is_empty() {
            let why = "it is missing, and no cpu0, cpu1 … beside it is online; use a complete root";
            return Err(system.damage("online", why));
        }
        within_kernel(&system, "online", &online)?;
        let folders: CpuSet = found.iter().map(|(cpu, _)| *cpu).collect();
        let present = system.set(&[("present", List)])?.unwrap_or(folders).union(&online);
        within_kernel(&system, "present", &present)?;
        let entry = |(cpu, dir): (u32, Dir<'t>)| (cpu, CpuDir { dir, topology: OnceCell::new() });
        let mut cpus = Self {
            present,
            online,
            dirs: found.into_iter().map(entry).collect(),
            core_files: CORE_FILES.to_vec(),
            package_files: PACKAGE_FILES.to_vec(),
        };
        if let Some(first) = cpus.first_topology() {
            let (core, package) = (first.in_order_here(&CORE_FILES), first.in_order_here(&PACKAGE_FILES));
            (cpus.core_files, cpus.package_files) = (core, package);
        }
        Ok(cpus)
    }

    /// The folder of a CPU.
    pub(super) fn dir(&self, cpu: u32) -> Option<&Dir<'t>> {
        self.dirs.get(&cpu).map(|entry| &entry.dir)
    }

    /// Whether a CPU has a data cache of this level.
    pub(super) fn has_cache_level(&self, cpu: u32, level: i64) -> Result<bool, TopologyError> {
        for (_, cache) in self
            .dir(cpu)
            .and_then(|dir| dir.sub("cache"))
            .map(|dir| dir.numbered("index"))
            .unwrap_or_default()
        {
            if cache.number("level")? == Some(level) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn topology(&self, cpu: u32) -> Option<&Dir<'t>> {
        let entry = self.dirs.get(&cpu).filter(|_| self.online.contains(cpu))?;
        entry.topology.get_or_init(|| entry.dir.sub("topology")).as_ref()
    }

    fn first_topology(&self) -> Option<&Dir<'t>> {
        self.online.iter().find_map(|cpu| self.topology(cpu))
    }

    /// A number of the topology folder; `None` if it is negative, which means unknown.
    fn id(&self, cpu: u32, name: &str) -> Result<Option<i64>, TopologyError> {
        let number = self.topology(cpu).map_or(Ok(None), |topology| topology.number(name))?;
        Ok(number.filter(|&number| number >= 0))
    }

    fn ids(&self, groups: &Groups, name: &str) -> Result<Vec<Option<i64>>, TopologyError> {
        let first = |group: &CpuSet| group.first().map_or(Ok(None), |cpu| self.id(cpu, name));
        groups.online.iter().map(first).collect()
    }

    /// All groups, numbered for the allowed CPUs. A package without an allowed CPU still counts
    /// if the process may use memory in it (`picked` are the CPUs of such nodes).
    pub(super) fn structure(
        &self,
        tree: &Tree,
        allowed: &CpuSet,
        picked: &CpuSet,
        about: &cpuinfo::Record,
    ) -> Result<Structure, TopologyError> {
        if self.first_topology().is_none() {
            return Ok(self.structure_without_sysfs(&cpuinfo::core_ids(tree)?, allowed, picked));
        }
        let module_pairs = shares_modules(about);
        let ids = self.all_ids()?;
        let siblings = self.core_sets(module_pairs, &ids)?;
        let packages = Groups::with(self.package_sets(&siblings, &ids)?, allowed, picked);
        let dies = Groups::new(self.sets_where("die_id", &DIE_FILES, |_| true)?, allowed);
        let clusters = self.sets_where("cluster_id", &CLUSTER_FILES, |id| id != NO_CLUSTER)?;
        // x86 kernels derive clusters from the L2 cache; if each is one core they are of no use.
        let clusters = if clusters == siblings { Vec::new() } else { clusters };
        let clusters = Groups::new(clusters, allowed);
        let cores = Groups::new(siblings.clone(), allowed);
        Ok(Structure {
            core_ids: self.ids(&cores, "core_id")?,
            package_ids: self.ids(&packages, "physical_package_id")?,
            die_ids: self.ids(&dies, "die_id")?,
            cluster_ids: self.ids(&clusters, "cluster_id")?,
            siblings,
            cores,
            packages,
            dies,
            clusters,
        })
    }

    /// Package, die and core number of every CPU.
    fn all_ids(&self) -> Result<Ids, TopologyError> {
        let mut ids = Ids::default();
        // On IBM Z sockets are numbered within a book, and books within a drawer.
        let above = ["drawer_id", "book_id", "die_id"];
        let is_here = |name: &&str| Ok(self.first_id(name)?.is_some());
        let mut names = Vec::new();
        for name in above {
            if is_here(&name)? {
                names.push(name);
            }
        }
        let number = |cpu: u32, name: &str| if names.contains(&name) { self.id(cpu, name) } else { Ok(None) };
        for cpu in self.online.iter() {
            let package = match self.id(cpu, "physical_package_id")? {
                Some(package) => Some([number(cpu, "drawer_id")?, number(cpu, "book_id")?, Some(package)]),
                None => None,
            };
            ids.insert(cpu, package, number(cpu, "die_id")?, self.id(cpu, "core_id")?);
        }
        Ok(ids)
    }

    fn first_id(&self, name: &str) -> Result<Option<i64>, TopologyError> {
        self.online
            .iter()
            .find(|&cpu| self.topology(cpu).is_some())
            .map_or(Ok(None), |cpu| self.id(cpu, name))
    }

    /// All cores. A set that was read while siblings went on- or offline lacks some of them: two sets of one package
    /// and number are one core if either names a CPU of the other.
    fn core_sets(&self, module_pairs: bool, ids: &Ids) -> Result<Vec<CpuSet>, TopologyError> {
        let cores = partition(&self.online, |cpu| self.core_set(cpu, module_pairs, ids))?;
        let is_one = |a: &CpuSet, b: &CpuSet| -> Result<bool, TopologyError> {
            let names = |some: &CpuSet, other: &CpuSet| -> Result<bool, TopologyError> {
                for cpu in some.iter() {
                    let set = self.core_set(cpu, module_pairs, ids)?.unwrap_or_default();
                    if !and(&set, other).is_empty() {
                        return Ok(true);
                    }
                }
                Ok(false)
            };
            Ok(names(a, b)? || names(b, a)?)
        };
        joined(cores, |cpu| ids.core_key(cpu), is_one)
    }

    /// The siblings of a CPU; if nothing declares them, those with its number, or the CPU alone.
    fn core_set(&self, cpu: u32, module_pairs: bool, ids: &Ids) -> Result<Option<CpuSet>, TopologyError> {
        let set = self.topology(cpu).map_or(Ok(None), |topology| topology.set(&self.core_files))?;
        let Some(set) = set else { return Ok(Some(ids.core_of(cpu))) };
        if !module_pairs || set.len() < 2 {
            return Ok(Some(set));
        }
        let core_id = self.id(cpu, "core_id")?;
        let mut same = CpuSet::new();
        for other in set.iter() {
            if self.id(other, "core_id")? == core_id {
                same.insert(other);
            }
        }
        Ok(Some(same))
    }

    /// Packages by their sets, or by their numbers if the sets show less: some kernels write a package set of one CPU
    /// or of one core beside the same `physical_package_id`, and a set that was read while CPUs went on- or offline
    /// lacks some. If the kernel knows no number, a set still declares a package, unless every set is one core: that is
    /// its default for "unknown" (`include/linux/topology.h`).
    fn package_sets(&self, cores: &[CpuSet], ids: &Ids) -> Result<Vec<CpuSet>, TopologyError> {
        let sets = partition(&self.online, |cpu| {
            let Some(topology) = self.topology(cpu) else { return Ok(None) };
            Ok(topology.set(&self.package_files)?.or_else(|| ids.package_of(cpu)))
        })?;
        // Numbers that repeat in groups of several cores are numbers within a larger unit.
        let is_core = |set: &CpuSet| cores.iter().any(|core| and_not(set, core).is_empty());
        let sets = joined(sets, |cpu| ids.package_key(cpu), |a, b| Ok(is_core(a) || is_core(b)))?;
        let is_known = sets.iter().filter_map(CpuSet::first).any(|cpu| ids.package_key(cpu).is_some());
        Ok(if is_known || sets.iter().any(|set| !is_core(set)) { sets } else { Vec::new() })
    }

    /// Groups that count only if the kernel also has an id for them. A kernel that declares none for
    /// the first CPU declares none at all.
    fn sets_where(
        &self,
        id: &str,
        files: &[(&str, SetForm)],
        counts: impl Fn(i64) -> bool,
    ) -> Result<Vec<CpuSet>, TopologyError> {
        let first = self.online.iter().find(|&cpu| self.topology(cpu).is_some());
        let declared = |cpu: u32| Ok(self.id(cpu, id)?.is_some_and(&counts));
        if !first.map_or(Ok(false), declared)? {
            return Ok(Vec::new());
        }
        partition(&self.online, |cpu| match self.topology(cpu) {
            Some(topology) if declared(cpu)? => topology.set(files),
            _ => Ok(None),
        })
    }

    /// No `topology` folder anywhere: each CPU is a core, unless /proc/cpuinfo gives more.
    fn structure_without_sysfs(
        &self,
        found: &BTreeMap<u32, cpuinfo::CoreIds>,
        allowed: &CpuSet,
        picked: &CpuSet,
    ) -> Structure {
        let mut ids = Ids::default();
        for (&cpu, place) in found {
            ids.insert(cpu, Some([None, None, Some(place.package)]), None, place.shared_core());
        }
        // More CPUs of one number than a core has threads: numbers repeat, as on the dies of one package, and which of
        // these CPUs share a core is unknown.
        let core_of = |cpu: u32| {
            let core = ids.core_of(cpu);
            let most = found.get(&cpu).and_then(|place| place.threads_per_core);
            Some(core).filter(|core| most.is_none_or(|most| core.len() <= most)).or(Some(CpuSet::new()))
        };
        let Ok(siblings) = partition(&self.online, |cpu| Ok::<_, Infallible>(core_of(cpu)));
        let Ok(packages) = partition(&self.online, |cpu| Ok::<_, Infallible>(ids.package_of(cpu)));
        let cores = Groups::new(siblings.clone(), allowed);
        let packages = Groups::with(packages, allowed, picked);
        let id_of = |group: &CpuSet| group.first().and_then(|cpu| found.get(&cpu));
        Structure {
            core_ids: cores.online.iter().map(|group| id_of(group).map(|place| place.core)).collect(),
            package_ids: packages
                .online
                .iter()
                .map(|group| id_of(group).map(|place| place.package))
                .collect(),
            die_ids: Vec::new(),
            cluster_ids: Vec::new(),
            siblings,
            cores,
            packages,
            dies: Groups::default(),
            clusters: Groups::default(),
        }
    }
}

/// The number of a package within its parents: drawer, book, package.
type PackageKey = [Option<i64>; 3];
/// The number of a core within its package and die.
type CoreKey = (Option<PackageKey>, Option<i64>, i64);

/// Package, die and core numbers of logical CPUs.
#[derive(Default)]
struct Ids {
    by_cpu: BTreeMap<u32, (Option<PackageKey>, Option<CoreKey>)>,
    cores: BTreeMap<CoreKey, CpuSet>,
    packages: BTreeMap<PackageKey, CpuSet>,
}

impl Ids {
    fn insert(&mut self, cpu: u32, package: Option<PackageKey>, die: Option<i64>, core: Option<i64>) {
        let core = core.map(|core| (package, die, core));
        self.by_cpu.insert(cpu, (package, core));
        if let Some(core) = core {
            self.cores.entry(core).or_default().insert(cpu);
        }
        if let Some(package) = package {
            self.packages.entry(package).or_default().insert(cpu);
        }
    }

    fn core_key(&self, cpu: u32) -> Option<CoreKey> {
        self.by_cpu.get(&cpu)?.1
    }

    fn package_key(&self, cpu: u32) -> Option<PackageKey> {
        self.by_cpu.get(&cpu)?.0
    }

    /// The CPUs of the same core; empty if the CPU's core number is unknown.
    fn core_of(&self, cpu: u32) -> CpuSet {
        self.core_key(cpu).and_then(|key| self.cores.get(&key)).cloned().unwrap_or_default()
    }

    fn package_of(&self, cpu: u32) -> Option<CpuSet> {
        self.packages.get(&self.package_key(cpu)?).cloned()
    }
}

/// Joins groups of the same number if `is_one` holds for two of them; in the order of their lowest CPUs.
fn joined<K: Ord>(
    groups: Vec<CpuSet>,
    key: impl Fn(u32) -> Option<K>,
    mut is_one: impl FnMut(&CpuSet, &CpuSet) -> Result<bool, TopologyError>,
) -> Result<Vec<CpuSet>, TopologyError> {
    let mut found: Vec<CpuSet> = Vec::with_capacity(groups.len());
    let mut by_key: BTreeMap<K, usize> = BTreeMap::new();
    for group in groups {
        let number = group.first().and_then(&key);
        let before = number.as_ref().and_then(|number| by_key.get(number)).copied();
        match before {
            Some(at) if is_one(&found[at], &group)? => found[at] = found[at].union(&group),
            _ => {
                by_key.extend(number.map(|number| (number, found.len())));
                found.push(group);
            }
        }
    }
    Ok(found)
}

fn within_kernel(folder: &Dir<'_>, name: &str, cpus: &CpuSet) -> Result<(), TopologyError> {
    if cpus.words().len() * 64 <= MOST_CPUS {
        return Ok(());
    }
    Err(folder.damage(name, &format!("it names CPUs from {MOST_CPUS} on; no kernel has that many")))
}

/// Older kernels have no list of the online CPUs, but a file `online` for each CPU that can be taken offline.
fn online_by_folder(folders: &[(u32, Dir<'_>)]) -> Result<CpuSet, TopologyError> {
    let mut online = CpuSet::new();
    for (cpu, dir) in folders {
        if dir.number("online")?.unwrap_or(1) != 0 {
            online.insert(*cpu);
        }
    }
    Ok(online)
}

/// AMD family 15h (21): two cores share a module, and the kernel lists both as thread siblings
/// though their core numbers differ (`arch/x86/kernel/smpboot.c`, `match_smt`).
fn shares_modules(about: &cpuinfo::Record) -> bool {
    let is = |key: &str, value: &str| about.get(key).is_some_and(|found| found == value);
    is("vendor_id", "AuthenticAMD") && is("cpu family", "21")
}
