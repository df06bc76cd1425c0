//! Options of fleet.toml for a machine's pods, checked.

use super::checks::{
    self, image_fault, is_label, is_label_key, is_label_value, is_subdomain, memory_bytes, millicpus,
};
use super::refusal::refused;
use crate::FleetError;
use crate::file::{EngineOptions, Measures};
use crate::plan::{Plan, PlannedMachine};
use serde_json::{Map, Value};
use threadwise_machine::text::escaped;

/// Options of the whole fleet: its cluster.
const OF_CLUSTER: [&str; 3] = ["namespace", "context", "kubeconfig"];
/// Options that a kind may have too.
const OF_PODS: [&str; 12] = [
    "image",
    "cpu",
    "memory",
    "claim",
    "host_path",
    "sub_path",
    "program",
    "tolerations",
    "image_pull_secret",
    "service_account",
    "priority_class",
    "cluster",
];
/// Default path of the program in the image.
const PROGRAM_DEFAULT: &str = "/usr/local/bin/threadwise";
/// First minor version in which a Job can count failures per index without a feature gate.
const PER_INDEX: u32 = 29;
/// Oldest minor version that manifests are validated for.
const OLDEST: u32 = 28;
/// Label that selects a named node.
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

/// Where a pod's results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Results {
    /// Into its log, compressed.
    Log,
    /// Into a volume of this claim.
    Claim(String),
    /// Into this folder of the node.
    HostPath(String),
}

/// Checked options of a machine's pods.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub image: String,
    pub cpu: String,
    pub memory: String,
    pub results: Results,
    /// A folder in the volume, which is then the fleet's.
    pub sub_path: Option<String>,
    pub program: String,
    pub tolerations: Vec<Value>,
    pub image_pull_secret: Option<String>,
    pub service_account: Option<String>,
    pub priority_class: Option<String>,
    /// Whether the cluster counts failures per index.
    pub counts_per_index: bool,
    /// Labels of its node.
    pub node_selector: Map<String, Value>,
}

/// Arguments of kubectl that select the cluster.
pub(super) fn cluster_arguments(plan: &Plan) -> Result<Vec<String>, FleetError> {
    let mut arguments = Vec::new();
    for key in OF_CLUSTER {
        if let Some(kind) = plan.kinds.iter().find(|kind| kind.engine_options.contains_key(key)) {
            return Err(refused(format!(
                "the kind '{}' has {key}, but a fleet is in one namespace of one cluster: give it to all",
                kind.name
            )));
        }
        let Some(value) = text(&plan.engine_options, key)? else { continue };
        let fault = match key {
            "namespace" if !is_label(&value) => {
                Some("lower-case letters, digits and '-' are allowed, 63 at most")
            }
            "kubeconfig" if !value.starts_with('/') => Some("give an absolute path"),
            _ => None,
        };
        fault.map_or(Ok(()), |why| Err(wrong(key, &value, why)))?;
        arguments.push(format!("--{key}={value}"));
    }
    Ok(arguments)
}

impl Options {
    /// The options of a machine.
    pub fn of(plan: &Plan, machine: &PlannedMachine) -> Result<Self, FleetError> {
        let options = plan.engine_options_of(machine);
        if let Some(key) =
            options.keys().find(|key| ![&OF_CLUSTER[..], &OF_PODS].concat().contains(&key.as_str()))
        {
            let known = [&OF_CLUSTER[..], &OF_PODS].concat().join(", ");
            return Err(refused(format!("engine_options has '{}'; it may have {known}", escaped(key))));
        }
        let image = needed(&options, "image")?;
        image_fault(&image).map_or(Ok(()), |why| Err(wrong("image", &image, why)))?;
        let (cpu, memory) = requests(&options, plan.measures)?;
        let program = text(&options, "program")?.unwrap_or_else(|| PROGRAM_DEFAULT.to_owned());
        checks::path_fault(&program).map_or(Ok(()), |why| Err(wrong("program", &program, why)))?;
        let (results, sub_path) = results(&options)?;
        let name = |key: &str| -> Result<Option<String>, FleetError> {
            let found = text(&options, key)?;
            let why = "lower-case letters, digits, '-' and '.' are allowed";
            found
                .map(|name| if is_subdomain(&name) { Ok(name) } else { Err(wrong(key, &name, why)) })
                .transpose()
        };
        Ok(Self {
            image,
            cpu,
            memory,
            results,
            sub_path,
            program,
            tolerations: tolerations(&options)?,
            image_pull_secret: name("image_pull_secret")?,
            service_account: name("service_account")?,
            priority_class: name("priority_class")?,
            counts_per_index: minor(&options)?.is_none_or(|minor| minor >= PER_INDEX),
            node_selector: node_selector(plan, machine)?,
        })
    }
}

fn wrong(key: &str, value: &str, why: &str) -> FleetError {
    refused(format!("{key} is '{}': {why}", escaped(value)))
}

fn text(options: &EngineOptions, key: &str) -> Result<Option<String>, FleetError> {
    match options.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(wrong(key, &other.to_string(), "give a text")),
    }
}

fn needed(options: &EngineOptions, key: &str) -> Result<String, FleetError> {
    let why = match key {
        "image" => "a container image by its digest, with a shell and this program in it",
        "cpu" => "the CPUs of a pod, a little less than a node's allocatable ones (kubectl describe node)",
        _ => "the memory of a pod, a little less than a node's allocatable memory (kubectl describe node)",
    };
    text(options, key)?.ok_or_else(|| refused(format!("engine_options needs {key}: {why}")))
}

fn requests(options: &EngineOptions, measures: Measures) -> Result<(String, String), FleetError> {
    let (cpu, memory) = (needed(options, "cpu")?, needed(options, "memory")?);
    let Some(millis) = millicpus(&cpu) else {
        return Err(wrong("cpu", &cpu, "give CPUs as 7, 7.5 or 7500m"));
    };
    if measures == Measures::Share && millis % 1000 != 0 {
        return Err(wrong(
            "cpu",
            &cpu,
            "the static CPU manager gives exclusive CPUs only to pods with a whole number of them",
        ));
    }
    match memory_bytes(&memory) {
        Some(_) => Ok((cpu, memory)),
        None => Err(wrong("memory", &memory, "give a whole number with Mi, Gi, M or G, at least 16Mi")),
    }
}

fn results(options: &EngineOptions) -> Result<(Results, Option<String>), FleetError> {
    let sub_path = text(options, "sub_path")?;
    if let Some(path) = sub_path.as_ref().filter(|path| checks::path_fault(&format!("/{path}")).is_some()) {
        return Err(wrong("sub_path", path, "give a relative path of letters, digits, '.', '_' and '-'"));
    }
    match (text(options, "claim")?, text(options, "host_path")?) {
        (Some(_), Some(_)) => Err(refused("engine_options has claim and host_path: keep one of them")),
        (Some(claim), None) if is_subdomain(&claim) => Ok((Results::Claim(claim), sub_path)),
        (Some(claim), None) => {
            Err(wrong("claim", &claim, "lower-case letters, digits, '-' and '.' are allowed"))
        }
        (None, Some(path)) => match checks::path_fault(&path) {
            None => Ok((Results::HostPath(path), sub_path)),
            Some(why) => Err(wrong("host_path", &path, why)),
        },
        (None, None) if sub_path.is_some() => {
            Err(refused("sub_path is a folder in a volume: give claim or host_path"))
        }
        (None, None) => Ok((Results::Log, None)),
    }
}

/// Tolerations are passed on unchanged, if a manifest can have them.
fn tolerations(options: &EngineOptions) -> Result<Vec<Value>, FleetError> {
    let Some(value) = options.get("tolerations") else { return Ok(Vec::new()) };
    let is_field = |(key, value): (&String, &Value)| match key.as_str() {
        "key" | "value" => value.is_string(),
        "operator" => matches!(value.as_str(), Some("Exists" | "Equal")),
        "effect" => matches!(value.as_str(), Some("NoSchedule" | "PreferNoSchedule" | "NoExecute")),
        "tolerationSeconds" => value.is_i64(),
        _ => false,
    };
    let is_good = |item: &Value| item.as_object().is_some_and(|fields| fields.iter().all(is_field));
    value.as_array().filter(|items| items.iter().all(is_good)).cloned().ok_or_else(|| {
        let why = "give a list of tables with key, operator (Exists, Equal), value, effect (NoSchedule, …)";
        wrong("tolerations", &value.to_string(), why)
    })
}

/// The minor version of the oldest supported cluster.
fn minor(options: &EngineOptions) -> Result<Option<u32>, FleetError> {
    let Some(version) = text(options, "cluster")? else { return Ok(None) };
    let minor =
        version.strip_prefix("1.").and_then(|minor| minor.parse().ok()).filter(|minor| *minor >= OLDEST);
    let why = format!(
        "give the cluster's version as a text, such as \"1.{OLDEST}\", which is the oldest supported"
    );
    minor.map(Some).ok_or_else(|| wrong("cluster", &version, &why))
}

/// A named node by its label, a node of a pool by the kind's selector.
fn node_selector(plan: &Plan, machine: &PlannedMachine) -> Result<Map<String, Value>, FleetError> {
    let mut labels = Map::new();
    let selector = plan.kind(&machine.kind).map(|kind| kind.selector.clone()).unwrap_or_default();
    for (key, value) in selector {
        if !is_label_key(&key) || !is_label_value(&value) || key == HOSTNAME {
            return Err(refused(format!(
                "the selector of the kind '{}' has {} = '{}': give labels of nodes (kubectl get nodes --show-labels), \
                 and names of nodes in nodes",
                machine.kind,
                escaped(&key),
                escaped(&value)
            )));
        }
        labels.insert(key, Value::String(value));
    }
    match &machine.node {
        Some(node) if is_subdomain(node) && is_label_value(node) => {
            labels.insert(HOSTNAME.to_owned(), Value::String(node.clone()));
        }
        Some(node) => {
            let why =
                format!("give the node's label {HOSTNAME}: lower-case letters, digits, '-', '.', at most 63");
            return Err(wrong("a node", node, &why));
        }
        None if labels.is_empty() => {
            return Err(refused(format!(
                "the kind '{}' is a pool without a selector: give one, such as \
                 selector = {{ \"node.kubernetes.io/instance-type\" = \"TYPE\" }}",
                machine.kind
            )));
        }
        None => {}
    }
    Ok(labels)
}
