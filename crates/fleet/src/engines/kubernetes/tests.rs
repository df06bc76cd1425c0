//! Manifests against the API's schemas, calls, and what is refused.

mod scripts;

use super::*;
use crate::plan::tests::plan;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn fleet(options: &str, kind: &str, head: &str) -> Plan {
    let text = format!(
        "engine = \"kubernetes\"\n{head}\n[engine_options]\nimage = \"reg.example/threadwise@{DIGEST}\"\ncpu = \"7500m\"\n\
         memory = \"28Gi\"\n{options}\n[[kind]]\nname = \"a\"\n{kind}\n"
    );
    plan(&text, 3)
}

const NODES: &str = "nodes = [\"ip-10-0-0-1.eu.internal\", \"n2\"]";
const POOL: &str = "machines = 2\nselector = { \"node.kubernetes.io/instance-type\" = \"m7i.2xlarge\" }";

fn location() -> FleetLocation {
    FleetLocation::new(Path::new("/srv/fleet")).unwrap()
}

fn manifests(plan: &Plan) -> Vec<Value> {
    let files = Kubernetes.files(plan, &location()).unwrap();
    let jobs = files.iter().filter(|file| file.path.ends_with(".json"));
    jobs.map(|file| serde_json::from_str(&file.text).unwrap()).collect()
}

/// Every form that a manifest can have.
fn all_forms() -> Vec<Value> {
    let tolerations = "tolerations = [{ key = \"bench\", operator = \"Exists\", effect = \"NoSchedule\" }]\n\
        image_pull_secret = \"pull\"\nservice_account = \"bench\"\npriority_class = \"high\"";
    [
        fleet("", NODES, ""),
        fleet("claim = \"results\"\nsub_path = \"a/b\"\nnamespace = \"bench\"", POOL, "apart = \"1h\""),
        fleet(&format!("host_path = \"/srv/fleet\"\ncluster = \"1.28\"\n{tolerations}"), NODES, ""),
        with_whole_cpus(fleet("", POOL, "measures = \"share\"")),
    ]
    .iter()
    .flat_map(manifests)
    .collect()
}

/// The same with four CPUs.
fn with_whole_cpus(mut plan: Plan) -> Plan {
    plan.engine_options.insert("cpu".to_owned(), json!(4));
    plan
}

/// What a strict validator of a version says of each document: `None` where nothing.
fn validated(programs: &Path, documents: &[Value]) -> Vec<(String, Vec<Option<String>>)> {
    let program = "\
import json, sys
import kubernetes_validate as k
documents = json.load(sys.stdin)
said = []
for version in ['1.28', '1.33', '1.37']:
    found = []
    for document in documents:
        try:
            k.validate(document, version, strict=True)
            found.append(None)
        except k.ValidationError as error:
            found.append(error.message)
    said.append([version, found])
print(json.dumps(said))
";
    let mut command = Command::new(programs.join("python"));
    command.args(["-c", program]);
    let output = with_input(&mut command, serde_json::to_string(documents).unwrap().as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn with_input(command: &mut Command, input: &[u8]) -> Output {
    use std::io::Write;
    use std::process::Stdio;
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_job_is_indexed_on_one_node_with_requests_and_without_a_limit_of_cpus() {
    let jobs = manifests(&fleet("", NODES, ""));
    let spec = &jobs[0]["spec"];
    let wanted =
        json!({ "completionMode": "Indexed", "completions": 3, "parallelism": 1, "backoffLimitPerIndex": 0 });
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&spec[key], value, "{key}");
    }
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({ "kubernetes.io/hostname": "ip-10-0-0-1.eu.internal" }));
    assert_eq!((&pod["restartPolicy"], &spec["backoffLimit"]), (&json!("Never"), &Value::Null));
    let container = &pod["containers"][0];
    assert_eq!(container["resources"], json!({ "requests": { "cpu": "7500m", "memory": "28Gi" } }));
    assert!(container["image"].as_str().unwrap().ends_with(DIGEST));
    // The kubelet takes $(NAME) for a reference, in commands and in values.
    assert!(!jobs[0].to_string().contains('$'));
    let pool = manifests(&fleet("", POOL, ""));
    assert_eq!(
        pool[0]["spec"]["template"]["spec"]["nodeSelector"],
        json!({ "node.kubernetes.io/instance-type": "m7i.2xlarge" })
    );
    let old = manifests(&fleet("cluster = \"1.28\"", NODES, ""));
    assert_eq!(
        (&old[0]["spec"]["backoffLimitPerIndex"], &old[0]["spec"]["backoffLimit"]),
        (&Value::Null, &json!(6))
    );
}

#[test]
fn a_pod_that_is_measured_itself_is_guaranteed_and_has_whole_cpus() {
    let share = fleet("", NODES, "measures = \"share\"");
    let error = Kubernetes.check(&share, &location()).unwrap_err().to_string();
    assert!(error.contains("whole number"), "{error}");
    let jobs = manifests(&with_whole_cpus(share));
    let four = json!({ "cpu": "4", "memory": "28Gi" });
    let resources = &jobs[0]["spec"]["template"]["spec"]["containers"][0]["resources"];
    assert_eq!(resources, &json!({ "requests": four, "limits": four }));
}

#[test]
fn names_of_jobs_are_labels_whatever_machines_are_called() {
    let long = "a".repeat(63);
    let names = ["n1", "N1", "n.1", "n_1", &long, "ip-10-0-0-1.eu-central-1.compute.internal"];
    let plan = fleet("", NODES, "");
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        let job = manifest::job_name(&manifest::plan_id(&plan).unwrap(), name, u32::MAX);
        // The API makes names of hosts of pods from it.
        assert!(
            checks::is_label(&format!("{job}-99")) && checks::is_label(&manifest::machine_id(name)),
            "{job}"
        );
        assert!(seen.insert(job));
    }
    assert!(checks::is_label(&manifest::config_map(&manifest::plan_id(&plan).unwrap())));
}

#[test]
fn batches_have_the_missing_repeats_of_each_machine_and_jobs_of_their_own() {
    let plan = fleet("namespace = \"bench\"\ncontext = \"prod eu\"", NODES, "");
    let missing: Vec<CellId> = ["n2.3", "n2.1"].iter().map(|cell| cell.parse().unwrap()).collect();
    let batches = Kubernetes.batches(&plan, &location(), &missing, 2).unwrap();
    assert_eq!((batches.len(), batches[0].label.as_str(), batches[0].waits), (1, "n2", false));
    let job: Value = serde_json::from_str(&batches[0].files[0].text).unwrap();
    assert_eq!(
        (&job["spec"]["completions"], &job["metadata"]["annotations"]["threadwise-repeats"]),
        (&json!(2), &json!("1 3"))
    );
    let name = job["metadata"]["name"].as_str().unwrap();
    assert!(name.ends_with("-2"), "{name}");
    let check = batches[0].check.as_ref().unwrap().shown();
    assert_eq!(
        check,
        "kubectl --namespace=bench '--context=prod eu' apply --dry-run=server --validate=strict --output=name \
         --filename=kubernetes/n2.json"
    );
    let start = batches[0].start.shown();
    let id = manifest::config_map(&manifest::plan_id(&plan).unwrap());
    assert_eq!(
        start,
        format!(
            "sh kubernetes/submit.sh {id} kubernetes/n2.json kubectl --namespace=bench '--context=prod eu'"
        )
    );
    assert_eq!(Kubernetes.job_id(&format!("job.batch/{name}\n")).as_deref(), Some(name));
    for printed in ["", "configmap/x", "job.batch/", "job.batch/$(x)"] {
        assert_eq!(Kubernetes.job_id(printed), None, "{printed}");
    }
    let running = Kubernetes.running(&plan, &location()).unwrap().shown();
    assert!(
        running.contains("get jobs,pods --selector=threadwise-plan=") && running.ends_with("--output=json"),
        "{running}"
    );
    let collection = Kubernetes.collection(&plan, &location(), &missing);
    assert_eq!(collection.len(), 1);
    let shown = collection[0].shown();
    assert!(
        shown.starts_with("sh kubernetes/collect.sh /srv/fleet n2.3 n2.1 -- kubectl --namespace=bench"),
        "{shown}"
    );
    let claimed = fleet("claim = \"results\"", NODES, "");
    assert_eq!(Kubernetes.collection(&claimed, &location(), &missing), []);
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let refused = |plan: Plan, why: &str| {
        let error = Kubernetes.check(&plan, &location()).unwrap_err().to_string();
        assert!(
            error.starts_with("kubernetes: ") && error.contains(why) && !error.contains('\n'),
            "{why}: {error}"
        );
    };
    for (options, why) in [
        ("claim = \"a\"\nhost_path = \"/b\"", "keep one of them"),
        ("claim = \"My_Claim\"", "lower-case"),
        ("host_path = \"srv\"", "absolute path"),
        ("sub_path = \"a\"", "a folder in a volume"),
        ("claim = \"a\"\nsub_path = \"../b\"", "relative path"),
        ("namespace = \"Bench\"", "lower-case"),
        ("kubeconfig = \"kube\"", "absolute path"),
        ("program = \"threadwise\"", "absolute path"),
        ("cluster = \"1.27\"", "which is the oldest"),
        ("cluster = \"2.0\"", "which is the oldest"),
        ("tolerations = [{ kee = \"a\" }]", "list of tables"),
        ("tolerations = [{ operator = \"exists\" }]", "list of tables"),
        ("service_account = \"a b\"", "lower-case"),
        ("limits = 3", "'limits'; it may have namespace"),
    ] {
        refused(fleet(options, NODES, ""), why);
    }
    let changed = |key: &str, value: Option<Value>| {
        let mut plan = fleet("", NODES, "");
        match value {
            Some(value) => plan.engine_options.insert(key.to_owned(), value),
            None => plan.engine_options.remove(key),
        };
        plan
    };
    for (key, value, why) in [
        ("image", Some(json!("busybox:1.37")), "give its digest"),
        ("image", None, "needs image"),
        ("cpu", None, "needs cpu"),
        ("cpu", Some(json!("7,5")), "7500m"),
        ("cpu", Some(json!(true)), "give a text"),
        ("memory", Some(json!("28000m")), "Mi, Gi"),
        ("memory", Some(json!(512)), "at least 16Mi"),
    ] {
        refused(changed(key, value), why);
    }
    for (kind, why) in [
        ("machines = 2", "a pool without a selector"),
        ("machines = 2\nselector = { \"a b\" = \"c\" }", "labels of nodes"),
        ("machines = 2\nselector = { \"kubernetes.io/hostname\" = \"c\" }", "names of nodes in nodes"),
        ("nodes = [\"N1\"]", "the node's label"),
        ("nodes = [\"a_b\"]", "the node's label"),
        ("nodes = [\"n1\"]\nengine_options = { namespace = \"x\" }", "one namespace"),
    ] {
        refused(fleet("", kind, ""), why);
    }
    let long = format!("nodes = [\"{}\"]", "a".repeat(64));
    refused(fleet("", &long, ""), "at most 63");
}

mod lab_fleets {
    use super::*;

    #[test]
    #[ignore = "laboratory: fleets"]
    fn manifests_are_valid_strictly_for_three_versions_and_faults_are_found() {
        let programs = crate::engines::fetched();
        let good = all_forms();
        let with = |pointer: &str, key: &str, value: Value| {
            let mut job = good[0].clone();
            job.pointer_mut(pointer).unwrap()[key] = value;
            job
        };
        let container = "/spec/template/spec/containers/0";
        let bad = [
            with("/spec", "completionMod", json!("Indexed")),
            with("/spec", "completions", json!("3")),
            with("/spec", "backoffLimitPerIndex", json!("0")),
            with("/spec/template/spec", "nodeSelektor", json!({})),
            with("/spec/template/spec", "activeDeadlineSeconds", json!("1h")),
            with(container, "command", json!("sh")),
            with(container, "limits", json!({ "cpu": "1" })),
            with(&format!("{container}/env/0"), "values", json!("x")),
            with("/spec/template/spec/volumes/0/configMap", "claim", json!("x")),
        ];
        let said = validated(&programs, &good);
        assert_eq!(
            said.iter().map(|(version, _)| version.as_str()).collect::<Vec<_>>(),
            ["1.28", "1.33", "1.37"]
        );
        for (version, faults) in said {
            assert!(faults.len() >= 8 && faults.iter().all(Option::is_none), "{version}: {faults:?}");
        }
        for (version, faults) in validated(&programs, &bad) {
            for (fault, job) in faults.iter().zip(&bad) {
                assert!(fault.is_some(), "{version} finds nothing wrong in {job}");
            }
        }
    }
}
