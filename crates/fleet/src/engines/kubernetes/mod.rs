//! Kubernetes: an Indexed Job for each machine, a pod for each repeat, one at a time, with nearly all CPUs of its node.
//!
//! The plan, the study and the script of pods are in a ConfigMap, the program in the image. Results stay in a volume,
//! or are printed compressed to the pod's log. Sources: kubectl's reference, "Jobs" and "Resource Management for Pods
//! and Containers" of Kubernetes' documentation, 1.28 to 1.37. Manifests are validated against those schemas; no test
//! has a cluster.

mod checks;
mod manifest;
mod node;
mod options;
mod queue;
mod refusal;
#[cfg(test)]
mod tests;

use crate::FleetError;
use crate::cell::CellId;
use crate::engine::{Ask, Batch, Call, FleetEngine, FleetLocation, GeneratedFile, ListedCell, OnNode};
use crate::plan::{Plan, PlannedMachine};
use options::{Options, Results};
use refusal::{NAME, refused};

/// The engine.
pub struct Kubernetes;

/// The program.
const PROGRAM: &str = "kubectl";
/// Maximum bytes of a plan: it is in a ConfigMap, which holds 1 MiB, with the study and the script.
const MOST_PLAN_BYTES: usize = 900_000;

/// Files that are the same for every fleet.
const CONSTANT: [(&str, &str); 4] = [
    ("kubernetes/pod.sh", manifest::POD_SCRIPT),
    ("kubernetes/submit.sh", include_str!("submit.sh")),
    ("kubernetes/collect.sh", include_str!("collect.sh")),
    ("kubernetes/place.sh", include_str!("../place.sh")),
];

impl FleetEngine for Kubernetes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "an Indexed Job for each machine, one repeat at a time, with nearly all of its node; results by a volume or the log"
    }

    fn has_shared_folder(&self) -> bool {
        false
    }

    /// kubectl's user preferences may add options to its commands.
    fn overrides(&self, variable: &str) -> bool {
        variable.starts_with("KUBECTL_") || variable == "KUBERC"
    }

    /// kubectl uses the current context of the files in KUBECONFIG, which any `kubectl config use-context` changes.
    fn target(&self, plan: &Plan) -> Option<Call> {
        let cluster = options::cluster_arguments(plan).ok()?;
        let output = "--output=jsonpath={.clusters[0].cluster.server} {.contexts[0].context.namespace}";
        let asked = ["config", "view", "--minify", output].map(str::to_owned);
        Some(Call::new(PROGRAM, cluster.into_iter().chain(asked)))
    }

    fn check(&self, plan: &Plan, location: &FleetLocation) -> Result<(), FleetError> {
        self.files(plan, location).map(drop)
    }

    fn files(&self, plan: &Plan, _: &FleetLocation) -> Result<Vec<GeneratedFile>, FleetError> {
        let bytes = plan.text()?.len();
        if bytes > MOST_PLAN_BYTES {
            return Err(refused(format!(
                "the plan has {bytes} bytes, over the {MOST_PLAN_BYTES} that fit in a ConfigMap: plan fewer machines or repeats at once"
            )));
        }
        options::cluster_arguments(plan)?;
        let repeats: Vec<u32> = (1..=plan.repeats).collect();
        let id = manifest::plan_id(plan)?;
        let jobs = plan.machines.iter().map(|machine| file_of((plan, &id), machine, (&repeats, 1)));
        let constant = CONSTANT.iter().map(|(path, text)| Ok(file(path, (*text).to_owned())));
        jobs.chain(constant).collect()
    }

    fn batches(
        &self,
        plan: &Plan,
        _: &FleetLocation,
        missing: &[CellId],
        attempt: u32,
    ) -> Result<Vec<Batch>, FleetError> {
        let cluster = options::cluster_arguments(plan)?;
        let id = manifest::plan_id(plan)?;
        let name = manifest::config_map(&id);
        let mut batches = Vec::new();
        for machine in plan.machines_in_order() {
            let mut cells: Vec<CellId> =
                missing.iter().filter(|cell| cell.machine == machine.name).cloned().collect();
            cells.sort();
            if cells.is_empty() {
                continue;
            }
            let repeats: Vec<u32> = cells.iter().map(|cell| cell.repeat).collect();
            let manifest = file_of((plan, &id), machine, (&repeats, attempt))?;
            let path = manifest.path.clone();
            let tried =
                ["apply", "--dry-run=server", "--validate=strict", "--output=name"].map(str::to_owned);
            let check = tried.into_iter().chain([format!("--filename={path}")]);
            let start = ["kubernetes/submit.sh".to_owned(), name.clone(), path, PROGRAM.to_owned()];
            batches.push(Batch {
                label: machine.name.clone(),
                cells,
                files: vec![manifest],
                check: Some(Call::new(PROGRAM, cluster.iter().cloned().chain(check))),
                start: Call::new("sh", start.into_iter().chain(cluster.iter().cloned())),
                waits: false,
            });
        }
        Ok(batches)
    }

    /// `kubectl apply --output=name` prints `job.batch/NAME`.
    fn job_id(&self, printed: &str) -> Option<String> {
        let name = printed.lines().rev().find_map(|line| line.trim().strip_prefix("job.batch/"))?;
        checks::is_label(name).then(|| name.to_owned())
    }

    fn running(&self, plan: &Plan, _: &FleetLocation) -> Option<Call> {
        let cluster = options::cluster_arguments(plan).ok()?;
        let arguments = queue::arguments(&manifest::plan_id(plan).ok()?);
        Some(Call::new(PROGRAM, cluster.into_iter().chain(arguments)))
    }

    fn read_running(&self, plan: &Plan, printed: &str) -> Result<Vec<ListedCell>, FleetError> {
        queue::read(plan, printed)
    }

    /// From the logs of a machine's pods. Results in a volume are not fetched: they are there if it is the fleet's own
    /// folder, and otherwise the user copies its `cells/`.
    fn collection(&self, plan: &Plan, location: &FleetLocation, missing: &[CellId]) -> Vec<Call> {
        let Ok((cluster, id)) =
            options::cluster_arguments(plan).and_then(|cluster| Ok((cluster, manifest::plan_id(plan)?)))
        else {
            return Vec::new();
        };
        let call = |machine: &PlannedMachine| {
            let options = Options::of(plan, machine).ok().filter(|options| options.results == Results::Log);
            let cells: Vec<String> =
                missing.iter().filter(|cell| cell.machine == machine.name).map(ToString::to_string).collect();
            options.filter(|_| !cells.is_empty())?;
            let (plan_label, machine_label) = (manifest::PLAN_LABEL, manifest::MACHINE_LABEL);
            let selector =
                format!("{plan_label}={id},{machine_label}={}", manifest::machine_id(&machine.name));
            let logs = [
                "logs".into(),
                format!("--selector={selector}"),
                "--tail=-1".into(),
                "--ignore-errors".into(),
            ];
            let head = ["kubernetes/collect.sh".to_owned(), location.dir.clone()].into_iter().chain(cells);
            let command =
                ["--".to_owned(), PROGRAM.to_owned()].into_iter().chain(cluster.iter().cloned()).chain(logs);
            Some(Call::new("sh", head.chain(command)))
        };
        plan.machines.iter().filter_map(call).collect()
    }

    fn on_node(&self, ask: &Ask<'_>) -> OnNode {
        node::on_node(ask)
    }
}

fn file(path: &str, text: String) -> GeneratedFile {
    GeneratedFile { path: path.to_owned(), text, mode: 0o644 }
}

/// The manifest of a machine's Job.
fn file_of(
    (plan, id): (&Plan, &str),
    machine: &PlannedMachine,
    jobs: (&[u32], u32),
) -> Result<GeneratedFile, FleetError> {
    let job = manifest::job((plan, id), machine, &Options::of(plan, machine)?, jobs);
    let text = serde_json::to_string_pretty(&job).map_err(|error| {
        FleetError::Failed(format!("cannot write the manifest of {}: {error}", machine.name))
    })?;
    Ok(file(&format!("kubernetes/{}.json", machine.name), text + "\n"))
}
