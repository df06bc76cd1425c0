//! The laboratory: `cargo xtask lab fleets`.

pub mod fleet_ansible;
pub mod fleet_cluster;
pub mod fleet_slurm;
