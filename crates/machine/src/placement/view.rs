//! Input of the resolvers, and their wording for what is missing.

use super::{Draw, Level};
use crate::Topology;

/// A machine and a block's draw.
pub(super) struct Machine<'a> {
    pub(super) topology: &'a Topology,
    pub(super) draw: &'a Draw,
}

/// A core and those of its logical CPUs that a placement may use, in the draw's order.
#[derive(Debug, Clone)]
pub(super) struct PartCore {
    pub(super) core: u32,
    pub(super) cpus: Vec<u32>,
}

impl Machine<'_> {
    /// Every core with its usable logical CPUs, in the draw's order.
    pub(super) fn cores(&self) -> Vec<PartCore> {
        let all = |&core: &u32| PartCore { core, cpus: self.draw.siblings[core as usize].clone() };
        self.draw.cores.iter().map(all).collect()
    }
}

/// `1 core`, `2 cores`.
pub(super) fn plural(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Why a named group does not exist, as text; `None` if it does.
pub(super) fn absent_group(level: Level, index: u32, topology: &Topology) -> Option<String> {
    let there = match level {
        Level::Package => topology.packages.len().max(1),
        Level::Node => topology.numa_nodes.len(),
        Level::Llc => topology.llc_domains.len(),
        Level::Kind => topology.kinds.len().max(1),
        Level::L2 | Level::Core | Level::Pu => return None,
    };
    (index as usize >= there).then(|| {
        let noun = level.noun();
        format!("it names {noun} {index}; this machine has {}, counted from 0", plural(there, noun))
    })
}
