//! The engines, one line each.

pub mod ansible;
pub mod kubernetes;
pub mod slurm;

use crate::engine::FleetEngine;

/// All, in display order.
pub static ALL: &[&dyn FleetEngine] = &[
    &slurm::Slurm, //
    &ansible::Ansible,
    &kubernetes::Kubernetes,
];

/// The engine of this name.
pub fn find(name: &str) -> Option<&'static dyn FleetEngine> {
    ALL.iter().copied().find(|engine| engine.name() == name)
}

/// Their names.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|engine| engine.name()).collect()
}

/// The folder of Ansible's and Kubernetes' programs, which `cargo xtask lab fleets` downloads.
#[cfg(test)]
fn fetched() -> std::path::PathBuf {
    std::env::var_os("THREADWISE_TEST_FLEETS")
        .expect("THREADWISE_TEST_FLEETS is not set: cargo xtask lab fleets")
        .into()
}
