//! The targets' machines: the small ones that the tests of `machine` write as trees.

use threadwise_machine::Topology;

// Shared machines for tests and fuzzing.
#[allow(missing_docs)]
#[path = "../../../machine/tests/it/fixtures/mod.rs"]
mod fixtures;

/// A machine's name and its tree, which is removed with it.
pub type Machine = (&'static str, fixtures::Root);

/// All of them.
pub fn all() -> Vec<Machine> {
    fixtures::all()
}

/// Topologies of the most different ones.
///
/// # Errors
/// One of them cannot be read.
pub fn topologies() -> Result<Vec<Topology>, String> {
    let wanted = ["server", "container", "hybrid", "power 4", "bare_cpuinfo", "memory_only"];
    let read =
        |(name, root): Machine| Topology::read(root.path(), None).map_err(|error| format!("{name}: {error}"));
    all().into_iter().filter(|(name, _)| wanted.contains(name)).map(read).collect()
}
