//! Input of the resolvers, and their wording for what is missing.

use super::{Draw, Level};
use crate::Topology;

/// A machine and a block's draw.
pub(super) struct Machine<'a> {
    pub(super) topology: &'a Topology,
    pub(super) draw: &'a Draw,
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
        Level::Core | Level::Pu => return None,
    };
    (index as usize >= there).then(|| {
        let noun = level.noun();
        format!("it names {noun} {index}; this machine has {}, counted from 0", plural(there, noun))
    })
}
