//! Slurm: a script for each machine, an array of its repeats, one at a time, with the whole node.
//!
//! Sources: sbatch(1), squeue(1), scontrol(1) of Slurm 22.05 to 25.05. `sacct` is not used: it needs an accounting
//! database that many clusters do not have. `scontrol` forgets a job minutes after its end, so a cell's own files
//! record its outcome.

mod fault;
mod node;
mod options;
mod queue;
mod script;
#[cfg(test)]
mod tests;

use crate::FleetError;
use crate::cell::CellId;
use crate::engine::{
    Ask, Batch, Call, FleetEngine, FleetLocation, GeneratedFile, ListedCell, OnNode, PREVIOUS_JOB,
};
use crate::plan::{Plan, PlannedMachine};
use fault::NAME;

/// The engine.
pub struct Slurm;

impl FleetEngine for Slurm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "an array job for each machine, one repeat at a time, with the whole node; needs a folder shared by all nodes"
    }

    fn has_shared_folder(&self) -> bool {
        true
    }

    /// sbatch's variables override the lines of a script, and squeue's filter its list (sbatch(1) and squeue(1), INPUT
    /// ENVIRONMENT VARIABLES and ENVIRONMENT VARIABLES).
    fn overrides(&self, variable: &str) -> bool {
        ["SBATCH_", "SQUEUE_"].iter().any(|prefix| variable.starts_with(prefix))
            || ["SLURM_CLUSTERS", "SLURM_HINT", "SLURM_TIME_FORMAT"].contains(&variable)
    }

    fn check(&self, plan: &Plan, location: &FleetLocation) -> Result<(), FleetError> {
        self.files(plan, location).map(drop)
    }

    fn files(&self, plan: &Plan, location: &FleetLocation) -> Result<Vec<GeneratedFile>, FleetError> {
        let prefix = script::prefix(plan);
        let one = |machine: &PlannedMachine| {
            let text = script::script((plan, &prefix), location, machine)?;
            Ok(GeneratedFile { path: script_path(&machine.name), text, mode: 0o755 })
        };
        plan.machines.iter().map(one).collect()
    }

    fn batches(
        &self,
        plan: &Plan,
        location: &FleetLocation,
        missing: &[CellId],
        _attempt: u32,
    ) -> Result<Vec<Batch>, FleetError> {
        let mut batches = Vec::new();
        for machine in plan.machines_in_order() {
            let mut repeats: Vec<u32> =
                missing.iter().filter(|cell| cell.machine == machine.name).map(|cell| cell.repeat).collect();
            repeats.sort_unstable();
            if repeats.is_empty() {
                continue;
            }
            match plan.apart_s {
                0 => batches.push(batch(location, machine, &repeats, None)),
                // An array starts as one job, so repeats with a pause between them are separate jobs in a chain.
                apart_s => batches.extend(
                    repeats
                        .iter()
                        .map(|repeat| batch(location, machine, &[*repeat], Some(apart_s.div_ceil(60)))),
                ),
            }
        }
        Ok(batches)
    }

    /// `sbatch --parsable` prints `ID` or `ID;CLUSTER`.
    fn job_id(&self, printed: &str) -> Option<String> {
        let line = printed.lines().rfind(|line| !line.trim().is_empty())?;
        let id = line.trim().split(';').next()?;
        (!id.is_empty() && id.chars().all(|c| c.is_ascii_digit())).then(|| id.to_owned())
    }

    fn running(&self, plan: &Plan, _: &FleetLocation) -> Option<Call> {
        let prefix = script::prefix(plan);
        let names: Vec<String> =
            plan.machines.iter().map(|machine| script::job_name(&prefix, &machine.name)).collect();
        Some(queue::call(&names))
    }

    fn read_running(&self, plan: &Plan, printed: &str) -> Result<Vec<ListedCell>, FleetError> {
        queue::read(plan, printed)
    }

    fn collection(&self, _: &Plan, _: &FleetLocation, _: &[CellId]) -> Vec<Call> {
        Vec::new()
    }

    fn on_node(&self, ask: &Ask<'_>) -> OnNode {
        node::on_node(ask)
    }
}

fn script_path(machine: &str) -> String {
    format!("slurm/{machine}.sh")
}

/// The jobs of these repeats. With `apart`, each starts that many minutes after the start of the previous one.
fn batch(
    location: &FleetLocation,
    machine: &PlannedMachine,
    repeats: &[u32],
    apart_min: Option<u64>,
) -> Batch {
    let list = repeats.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    // The last option of a name wins, and the command line overrides the script.
    let array = format!("--array={list}%1");
    let script = location.file(&script_path(&machine.name));
    let after = apart_min.map(|minutes| format!("--dependency=after:{PREVIOUS_JOB}+{minutes}"));
    let start = ["--parsable".to_owned(), array.clone()].into_iter().chain(after).chain([script.clone()]);
    Batch {
        label: machine.name.clone(),
        cells: repeats
            .iter()
            .map(|repeat| CellId { machine: machine.name.clone(), repeat: *repeat })
            .collect(),
        files: Vec::new(),
        check: Some(Call::new("sbatch", ["--test-only".to_owned(), array, script])),
        start: Call::new("sbatch", start),
        waits: false,
    }
}
