//! What a fleet gives Slurm's clients.

use crate::fleet_harness::{FleetLab, head, study};
use crate::harness::said;

/// What stands for Slurm's clients keeps the environment that it was given.
#[test]
fn variables_that_would_override_a_plan_are_not_passed_on() {
    let lab = FleetLab::planned(
        &study(2, 2),
        &format!("{}[[kind]]\nname = \"k\"\nnodes = [\"n1\"]\n", head(2, "")),
    );
    let bin = lab.lab.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for (name, prints) in [("sbatch", "echo 100"), ("squeue", ":")] {
        let script = format!("#!/bin/sh\nenv >>\"$STAGE/{name}\"\n{prints}\n");
        threadwise_process::programs::write(&bin.join(name), &script).unwrap();
    }
    let mut command = lab.lab.command(&["fleet", "submit", "f"]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display())).env("STAGE", lab.lab.path());
    let withheld = ["SBATCH_PARTITION", "SBATCH_TIMELIMIT", "SLURM_CLUSTERS", "SLURM_HINT", "SQUEUE_STATES"];
    for name in withheld {
        command.env(name, "elsewhere");
    }
    let said = said(command.env("SLURM_CONF", "/etc/slurm/slurm.conf").output().unwrap());
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let line = format!("environment variables removed, since the plan decides them: {}", withheld.join(", "));
    assert!(said.stderr.contains(&line), "{}", said.stderr);
    for name in ["sbatch", "squeue"] {
        let given = std::fs::read_to_string(lab.lab.path().join(name)).unwrap();
        assert!(given.contains("SLURM_CONF=") && !given.contains("=elsewhere"), "{name}: {given}");
    }
}
