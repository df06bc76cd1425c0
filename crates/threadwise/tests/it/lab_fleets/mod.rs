//! Fleets by Slurm and Ansible: `cargo xtask lab fleets`.

use crate::fleet_harness::{FleetLab, head, study};

pub mod fleet_ansible;
pub mod fleet_cluster;
pub mod fleet_slurm;

/// A cell that a real Slurm runs on a node of this host.
#[test]
#[ignore = "laboratory: fleets"]
fn smoke_a_cell_is_measured_by_slurm() {
    let cluster = fleet_cluster::cluster();
    let kind = "[engine_options]\nlicenses = \"host:1\"\n[[kind]]\nname = \"k\"\nnodes = [\"tw1\"]\n";
    let lab = FleetLab::planned(&study(2, 8), &format!("{}{kind}", head(1, "")));
    assert_eq!(fleet_slurm::fleet(&lab, &cluster, "submit", &[]).code, Some(0));
    cluster.wait_until_idle();
    let status = fleet_slurm::fleet(&lab, &cluster, "status", &[]);
    assert!(status.stdout.contains("tw1 (k): 1 measured"), "{}", status.stdout);
}
