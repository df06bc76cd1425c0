//! The machine as boxes in boxes for the page.

use super::data::{Machine, Nest, Spot};
use crate::drawing::topology_line;
use crate::layout::{CoreBox, CpuMark, CpuState, Layout, LlcBox, NodeBox, PackageBox};
use threadwise_document::numbers::{bytes, cpu_list, significant};
use threadwise_machine::Topology;

/// Most logical CPUs that are drawn large, with their numbers.
pub const MANY: usize = 160;

/// The machine as boxes.
pub fn machine(topology: &Topology) -> Machine {
    let layout = Layout::new(topology);
    let states = [CpuState::Allowed, CpuState::NotAllowed, CpuState::Offline];
    let occurs = |state: &CpuState| {
        topology.logical_cpus.iter().any(|cpu| CpuState::of(topology, cpu.os_id) == *state)
    };
    Machine {
        line: topology_line(topology),
        size: if topology.logical_cpus.len() > MANY { "many" } else { "few" },
        packages: layout.packages.iter().map(|package| package_nest(topology, package)).collect(),
        outside: layout.outside.iter().map(spot).collect(),
        limits: limits(topology, &layout),
        legend: states.into_iter().filter(occurs).map(|state| (class(state), state.words())).collect(),
    }
}

fn class(state: CpuState) -> &'static str {
    match state {
        CpuState::Allowed => "allowed",
        CpuState::NotAllowed => "barred",
        CpuState::Offline => "offline",
    }
}

fn spot(mark: &CpuMark) -> Spot {
    Spot { cpu: mark.cpu, class: class(mark.state), words: mark.state.words() }
}

fn package_nest(topology: &Topology, package: &PackageBox) -> Nest {
    let name = package.id.map_or("package not declared".to_owned(), |id| format!("package {id}"));
    Nest { name, inner: package.nodes.iter().map(|node| node_nest(topology, node)).collect(), cores: vec![] }
}

fn node_nest(topology: &Topology, node: &NodeBox) -> Nest {
    let number = node.os_id.or(node.id.map(i64::from));
    let name = number.map_or("no NUMA node declared".to_owned(), |id| format!("NUMA node {id}"));
    let memory = node.memory_bytes.map(|size| format!(", {}", bytes(size))).unwrap_or_default();
    let inner = node.llcs.iter().map(|llc| llc_nest(topology, llc)).collect();
    Nest { name: format!("{name}{memory}"), inner, cores: vec![] }
}

fn llc_nest(topology: &Topology, llc: &LlcBox) -> Nest {
    let level = llc.level.map_or("LLC".to_owned(), |level| format!("L{level}"));
    let size = llc.size_bytes.map(|size| format!(", {}", bytes(size))).unwrap_or_default();
    let name = llc.id.map_or("no LLC declared".to_owned(), |id| format!("{level} domain {id}{size}"));
    let core = |core: &CoreBox| {
        let kind = topology.kinds.get(core.kind as usize).filter(|_| topology.kinds.len() > 1);
        let kind = kind.map(|kind| format!(" ({})", kind.name)).unwrap_or_default();
        (format!("core {}{kind}", core.id), core.cpus.iter().map(spot).collect())
    };
    Nest { name, inner: vec![], cores: llc.cores.iter().map(core).collect() }
}

fn limits(topology: &Topology, layout: &Layout) -> Vec<String> {
    let limits = &topology.limits;
    let mut lines = Vec::new();
    for node in &layout.bare_nodes {
        let memory = node.memory_bytes.map(|size| format!(" ({})", bytes(size))).unwrap_or_default();
        lines.push(format!("NUMA node {}{memory} {}", node.number, node.why.words()));
    }
    lines.extend(limits.cpuset.as_ref().map(|set| format!("cpuset: logical CPUs {}", cpu_list(set))));
    lines
        .extend(limits.affinity.as_ref().map(|set| format!("affinity mask: logical CPUs {}", cpu_list(set))));
    lines.push(match (limits.quota_cpus, &limits.quota_source) {
        (Some(quota), Some(source)) => {
            format!("CPU quota: {} CPUs ({})", significant(quota, 3), source.display())
        }
        (Some(quota), None) => format!("CPU quota: {} CPUs", significant(quota, 3)),
        (None, Some(source)) => {
            format!("CPU quota: unknown ({} names a group that no mount shows)", source.display())
        }
        (None, None) => "CPU quota: none".to_owned(),
    });
    lines.extend(limits.memory_bytes.map(|size| format!("memory limit: {}", bytes(size))));
    lines
}
