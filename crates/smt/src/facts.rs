//! The state of a machine before it is changed.
//!
//! Source: kernel `Documentation/admin-guide/cputopology.rst` (`topology/thread_siblings_list`, which has only online
//! logical CPUs), `Documentation/ABI/stable/sysfs-devices-node` (`cpulist`).

use crate::roots::{self, Roots};
use crate::setting::{CPUS, Setting};
use crate::state::{MachineState, present_cpus};
use std::collections::BTreeMap;
use std::io;
use threadwise_machine::CpuSet;

/// Facts of a machine before it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its state.
    pub first: MachineState,
    /// Text of `smt/control`; `None` if the kernel has none.
    pub control: Option<String>,
    /// Logical CPUs that are online.
    pub online: CpuSet,
    /// Cores: their online logical CPUs.
    pub cores: Vec<CpuSet>,
    /// Logical CPUs of NUMA nodes.
    pub nodes: BTreeMap<u32, CpuSet>,
    /// Logical CPUs that this control group allows; `None` for all.
    pub cpuset: Option<CpuSet>,
}

impl Facts {
    /// Reads them. `cpuset`: the logical CPUs that this control group allows.
    ///
    /// # Errors
    /// See [`MachineState::read`].
    pub fn read(roots: &Roots, cpuset: Option<CpuSet>) -> io::Result<Self> {
        let first = MachineState::read(roots)?;
        let online = first.online(&present_cpus(roots));
        let control = roots::read(&roots.sys, &format!("{CPUS}/smt/control")).ok();
        let mut cores: Vec<CpuSet> = Vec::new();
        for cpu in online.iter() {
            let core = core_of(roots, cpu).intersection(&online);
            if core.contains(cpu) && !cores.contains(&core) {
                cores.push(core);
            }
        }
        let folder = roots.sys.join("devices/system/node");
        let node = |number| {
            let list = roots::read(&roots.sys, &format!("devices/system/node/node{number}/cpulist")).ok()?;
            Some((number, CpuSet::parse_list(&list).ok()?.intersection(&online)))
        };
        let nodes = roots::numbered(&folder, "node").into_iter().filter_map(node).collect();
        Ok(Self { first, control, online, cores, nodes, cpuset })
    }

    /// Siblings of logical CPUs that are not among them.
    pub fn siblings_of(&self, keep: &CpuSet) -> CpuSet {
        let shared = self.cores.iter().filter(|core| !core.intersection(keep).is_empty());
        shared.fold(CpuSet::new(), |all, core| all.union(&core.difference(keep)))
    }

    /// Logical CPUs that are alone on their cores and may be second threads whose first ones are offline: sysfs does
    /// not show the core of an offline one, and `smt/control` off takes each second thread.
    pub fn perhaps_second(&self) -> CpuSet {
        let is_any_offline =
            self.first.settings.iter().any(|(key, value)| matches!(key, Setting::Online(_)) && value == "0");
        let alone = self.cores.iter().filter(|core| is_any_offline && core.len() == 1);
        alone.filter_map(CpuSet::first).filter(|&cpu| cpu != 0).collect()
    }

    /// The first logical CPU of each core.
    pub fn first_of_cores(&self) -> CpuSet {
        self.cores.iter().filter_map(CpuSet::first).collect()
    }
}

/// Online siblings of a logical CPU, including itself; only itself if the kernel shows none.
fn core_of(roots: &Roots, cpu: u32) -> CpuSet {
    let file = |name| roots::read(&roots.sys, &format!("{CPUS}/cpu{cpu}/topology/{name}"));
    let list = file("thread_siblings_list").or_else(|_| file("core_cpus_list")).unwrap_or_default();
    let core = CpuSet::parse_list(&list).unwrap_or_default();
    if core.contains(cpu) { core } else { [cpu].into_iter().collect() }
}
