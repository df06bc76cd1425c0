//! The targets' machines: the small ones that the tests of `machine` write as trees.

use threadwise_machine::Topology;

// Shared machines for tests and fuzzing.
#[allow(missing_docs)]
#[path = "../../../machine/tests/it/fixtures/mod.rs"]
mod fixtures;
pub use fixtures::all;

/// A machine's name and its tree, which is removed with it.
pub type Machine = (&'static str, fixtures::Root);

/// Topologies of the most different ones.
pub fn topologies() -> Vec<Topology> {
    let wanted = ["server", "container", "hybrid", "power 4", "bare_cpuinfo", "memory_only"];
    let machines = all().into_iter().filter(|(name, _)| wanted.contains(name));
    machines.map(|(_, root)| Topology::read(root.path(), None).expect("its topology")).collect()
}
