//! The manifest of a machine: an Indexed Job with a pod for each missing repeat, one at a time. It is JSON, which
//! Kubernetes accepts like YAML, so that nothing depends on quoting.
//!
//! Sources: "Jobs", "Pod failure policy", "Quality of Service for Pods", "Control CPU Management Policies on the Node"
//! and "Downward API" of Kubernetes' documentation; the schemas of 1.28, 1.33 and 1.37.

use super::options::{Options, Results};
use crate::FleetError;
use crate::file::Measures;
use crate::plan::{Plan, PlannedMachine, sha256};
use serde_json::{Map, Value, json};

/// Label of all objects of a plan.
pub(super) const PLAN_LABEL: &str = "threadwise-plan";
/// Label of the objects of a machine.
pub(super) const MACHINE_LABEL: &str = "threadwise-machine";
/// Annotation with the machine's name in the plan, which a label may not hold.
pub(super) const MACHINE: &str = "threadwise-machine";
/// Annotation with the repeats of a Job, by index.
pub(super) const REPEATS: &str = "threadwise-repeats";
/// Variables with a pod's request, and with its limit, which defaults to the node's allocatable CPUs.
pub(super) const REQUESTED: &str = "THREADWISE_REQUESTED_MILLICPUS";
pub(super) const LIMIT: &str = "THREADWISE_LIMIT_MILLICPUS";
/// Variable with the pod's name.
pub(super) const POD: &str = "THREADWISE_POD";

/// The script of pods.
pub(super) const POD_SCRIPT: &str = include_str!("pod.sh");
/// Folder of the plan, the study and the script in a pod.
const PLAN_DIR: &str = "/threadwise-plan";
/// Folder of results in a pod.
const FLEET_DIR: &str = "/threadwise-fleet";
/// Maximum bytes of a compressed result in a log. A kubelet starts a new log after 10 MiB, of which a line of 76
/// characters in base64 takes some 50 bytes more.
pub(super) const MOST_LOG_BYTES: u64 = 3 << 20;
/// Time for a pod to end in order, seconds.
const GRACE_S: u64 = 60;
/// Maximum length of a machine's name in the name of its Job.
const MOST_SLUG: usize = 24;
/// Failed pods of a Job after which older clusters give up. Its pods never fail because of a cell.
const BACKOFF_LIMIT: u32 = 6;

/// Hash in the names of a plan's objects: of the plan and the script, so that another script gives another object. It
/// takes a moment for a large plan, so it is computed once for all machines.
pub(super) fn plan_id(plan: &Plan) -> Result<String, FleetError> {
    Ok(sha256(format!("{}{POD_SCRIPT}", plan.text()?).as_bytes())[..10].to_owned())
}

/// Name of the ConfigMap.
pub(super) fn config_map(id: &str) -> String {
    format!("tw-{id}")
}

/// A machine's name as a label: lower case, with `-` for invalid characters, and a hash that keeps names distinct.
pub(super) fn machine_id(machine: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = machine.chars().map(plain).take(MOST_SLUG).collect();
    format!("{}-{}", slug.trim_end_matches('-'), &sha256(machine.as_bytes())[..6])
}

/// Name of a machine's Job: with an index appended it is a host name of at most 63 characters.
pub(super) fn job_name(id: &str, machine: &str, attempt: u32) -> String {
    format!("tw-{id}-{}-{attempt}", machine_id(machine))
}

/// The Job of these repeats of a machine, in a plan of this [`plan_id`].
pub(super) fn job(
    (plan, id): (&Plan, &str),
    machine: &PlannedMachine,
    options: &Options,
    (repeats, attempt): (&[u32], u32),
) -> Value {
    let labels = json!({
        "app.kubernetes.io/name": "threadwise",
        PLAN_LABEL: id,
        MACHINE_LABEL: machine_id(&machine.name),
    });
    let repeats_text = repeats.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let annotations = json!({ MACHINE: machine.name, REPEATS: repeats_text });
    let mut spec = json!({
        "completionMode": "Indexed",
        "completions": repeats.len(),
        "parallelism": 1,
        // An evicted or preempted pod is not a failure of the cell, and is created again.
        "podFailurePolicy": { "rules": [{
            "action": "Ignore",
            "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
        }] },
        "template": {
            "metadata": { "labels": labels, "annotations": annotations },
            "spec": pod((plan, id), machine, options, &repeats_text),
        },
    });
    // A failed cell must not prevent others from running.
    match options.counts_per_index {
        true => spec["backoffLimitPerIndex"] = json!(0),
        false => spec["backoffLimit"] = json!(BACKOFF_LIMIT),
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": job_name(id, &machine.name, attempt), "labels": labels, "annotations": annotations },
        "spec": spec,
    })
}

fn pod((plan, id): (&Plan, &str), machine: &PlannedMachine, options: &Options, repeats: &str) -> Value {
    let requests = json!({ "cpu": options.cpu, "memory": options.memory });
    let resources = match plan.measures {
        // No limit of CPUs: it is a quota, which stops threads in the middle of a slice.
        Measures::Machine => json!({ "requests": requests }),
        // Limits equal to requests: quality of service Guaranteed, which the static CPU manager requires.
        Measures::Share => json!({ "requests": requests, "limits": requests }),
    };
    let mut mount = json!({ "name": "fleet", "mountPath": FLEET_DIR });
    if let Some(path) = &options.sub_path {
        mount["subPath"] = json!(path);
    }
    let fleet = match &options.results {
        Results::Log => json!({ "name": "fleet", "emptyDir": {} }),
        Results::Claim(claim) => json!({ "name": "fleet", "persistentVolumeClaim": { "claimName": claim } }),
        Results::HostPath(path) => {
            json!({ "name": "fleet", "hostPath": { "path": path, "type": "DirectoryOrCreate" } })
        }
    };
    let mut spec = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        "activeDeadlineSeconds": plan.time_limit_s + plan.apart_s + GRACE_S,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "nodeSelector": options.node_selector,
        "containers": [{
            "name": "cell",
            "image": options.image,
            "command": ["sh", format!("{PLAN_DIR}/pod.sh")],
            "env": environment(plan, machine, options, repeats),
            "resources": resources,
            "volumeMounts": [{ "name": "plan", "mountPath": PLAN_DIR, "readOnly": true }, mount],
        }],
        "volumes": [{ "name": "plan", "configMap": { "name": config_map(id) } }, fleet],
    });
    if let Some(name) = &options.image_pull_secret {
        spec["imagePullSecrets"] = json!([{ "name": name }]);
    }
    for (key, value) in
        [("serviceAccountName", &options.service_account), ("priorityClassName", &options.priority_class)]
    {
        if let Some(name) = value {
            spec[key] = json!(name);
        }
    }
    if !options.tolerations.is_empty() {
        spec["tolerations"] = json!(options.tolerations);
    }
    spec
}

/// Variables of the pod's script. No value has a `$`, which the kubelet would expand.
fn environment(plan: &Plan, machine: &PlannedMachine, options: &Options, repeats: &str) -> Value {
    let log_bytes = if options.results == Results::Log { MOST_LOG_BYTES } else { 0 };
    let texts: [(&str, String); 8] = [
        ("THREADWISE_APART_S", plan.apart_s.to_string()),
        ("THREADWISE_FOLDER", FLEET_DIR.to_owned()),
        ("THREADWISE_LOG_BYTES", log_bytes.to_string()),
        ("THREADWISE_MACHINE", machine.name.clone()),
        ("THREADWISE_PLAN", PLAN_DIR.to_owned()),
        ("THREADWISE_POD_EXIT", if options.counts_per_index { "cell" } else { "0" }.to_owned()),
        ("THREADWISE_PROGRAM", options.program.clone()),
        ("THREADWISE_REPEATS", repeats.to_owned()),
    ];
    let field = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
    let cpus = |resource: &str| json!({ "resourceFieldRef": { "resource": resource, "divisor": "1m" } });
    let sources = [
        ("THREADWISE_NODE", field("spec.nodeName")),
        (POD, field("metadata.name")),
        (REQUESTED, cpus("requests.cpu")),
        (LIMIT, cpus("limits.cpu")),
    ];
    let texts = texts.into_iter().map(|(name, value)| json!({ "name": name, "value": value }));
    let sources = sources.into_iter().map(|(name, source)| json!({ "name": name, "valueFrom": source }));
    texts.chain(sources).collect()
}

/// The cells in a manifest's annotations: the machine and its repeats.
pub(super) fn cells_of(annotations: &Map<String, Value>) -> Option<(String, Vec<u32>)> {
    let text = |key: &str| annotations.get(key).and_then(Value::as_str);
    let repeats = text(REPEATS)?.split(' ').map(str::parse).collect::<Result<Vec<u32>, _>>().ok()?;
    Some((text(MACHINE)?.to_owned(), repeats))
}
