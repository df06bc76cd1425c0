//! A fleet by Kubernetes without a cluster: the manifests and calls are the ones that a cluster would get, a script stands
//! for kubectl, and the pods' script is run here with the environment of its manifest. That a cluster does the same is not
//! shown by it.

use crate::fleet_harness::{FleetLab, head, study};
use crate::harness::{Said, said};
use serde_json::{Value, json};
use std::process::Command;

/// What stands for kubectl: it keeps what it was called with, and prints files of the test.
const KUBECTL: &str = "#!/bin/sh\necho \"$@\" >>\"$STAGE/calls\"\ncase $1 in\n\
    get) case $2 in configmap) exit 1 ;; *) cat \"$STAGE/list.json\" ;; esac ;;\n\
    create) test -s plan.json && test -s study.toml && test -s kubernetes/pod.sh ;;\n\
    config) cat \"$STAGE/target\" ;;\n\
    apply) echo job.batch/made ;;\nlogs) cat \"$STAGE/log\" ;;\n*) exit 9 ;;\nesac\n";

struct Cluster {
    lab: FleetLab,
}

impl Cluster {
    fn planned() -> Self {
        let options = format!(
            "[engine_options]\nimage = \"reg.example/threadwise@sha256:{}\"\ncpu = \"7500m\"\nmemory = \"28Gi\"\n",
            "0123456789abcdef".repeat(4)
        );
        let kind = "[[kind]]\nname = \"k\"\nnodes = [\"n1\"]\n";
        let fleet = head(2, &options).replace("engine = \"slurm\"", "engine = \"kubernetes\"");
        let lab = FleetLab::planned(&study(2, 8), &format!("{fleet}{kind}"));
        let cluster = Self { lab };
        threadwise_process::programs::write(&cluster.path("kubectl"), KUBECTL).unwrap();
        cluster.list(&[]);
        cluster.write("log", "");
        cluster
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.lab.lab.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn list(&self, items: &[Value]) {
        self.write("list.json", &json!({ "kind": "List", "items": items }).to_string());
    }

    fn run(&self, step: &str) -> Said {
        let mut command = self.lab.lab.command(&["fleet", step, "f"]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.lab.lab.path().display()));
        said(command.env("STAGE", self.lab.lab.path()).output().unwrap())
    }

    fn manifest(&self) -> Value {
        let path = self.lab.dir().join("kubernetes/n1.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Runs the pod of an index as its manifest says, on a node with so many allocatable CPUs, and keeps its log. What ends
    /// up in its termination message is given back.
    fn pod(&self, index: usize, allocatable_millicpus: &str) -> String {
        let volume = self.path(&format!("pod{index}"));
        std::fs::create_dir_all(&volume).unwrap();
        let manifest = self.manifest();
        let mut command = Command::new("sh");
        command.arg(self.lab.dir().join("kubernetes/pod.sh"));
        for variable in manifest.pointer("/spec/template/spec/containers/0/env").unwrap().as_array().unwrap()
        {
            let value = variable["value"].as_str().unwrap_or_default();
            command.env(variable["name"].as_str().unwrap(), value);
        }
        // What the cluster fills in, and what is elsewhere here than in a pod.
        command
            .env("JOB_COMPLETION_INDEX", index.to_string())
            .env("THREADWISE_POD", format!("made-{index}-abcde"));
        command.env("THREADWISE_NODE", "n1.internal").env("THREADWISE_REQUESTED_MILLICPUS", "7500");
        command.env("THREADWISE_LIMIT_MILLICPUS", allocatable_millicpus);
        command.env("THREADWISE_PLAN", self.path("plan")).env("THREADWISE_FOLDER", &volume);
        command
            .env("THREADWISE_PROGRAM", self.lab.dir().join("threadwise"))
            .env("THREADWISE_END_FILE", self.path("end"));
        command.env("TMPDIR", self.lab.lab.tmp()).env("THREADWISE_STATE_DIR", self.lab.lab.state());
        let plan = self.path("plan");
        std::fs::create_dir_all(&plan).unwrap();
        for file in ["plan.json", "study.toml"] {
            std::fs::copy(self.lab.dir().join(file), plan.join(file)).unwrap();
        }
        let output = command.output().unwrap();
        let mut log = std::fs::read(self.path("log")).unwrap();
        log.extend([output.stdout, output.stderr].concat());
        std::fs::write(self.path("log"), log).unwrap();
        std::fs::read_to_string(self.path("end")).unwrap()
    }

    /// What the cluster lists of a pod that has ended so.
    fn ended(&self, index: usize, word: &str) -> Value {
        json!({
            "kind": "Pod",
            "metadata": {
                "name": format!("made-{index}-abcde"),
                "labels": { "batch.kubernetes.io/job-name": "made" },
                "annotations": { "batch.kubernetes.io/job-completion-index": index.to_string() },
            },
            "status": { "containerStatuses": [{ "state": { "terminated": { "message": word } } }] },
        })
    }

    fn job(&self, status: Value) -> Value {
        let mut job = self.manifest();
        job["metadata"]["name"] = json!("made");
        job["status"] = status;
        job
    }
}

#[test]
fn a_fleet_goes_from_manifests_over_pods_logs_to_results() {
    let cluster = Cluster::planned();
    let first = cluster.run("submit");
    assert_eq!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    assert!(first.stdout.contains("submitted: n1, 2 cells, job made"), "{}", first.stdout);
    let calls = std::fs::read_to_string(cluster.path("calls")).unwrap();
    let at = |what: &str| calls.find(what).unwrap_or_else(|| panic!("{what}: {calls}"));
    assert!(
        at("get jobs,pods") < at("--dry-run=server")
            && at("create configmap tw-") < at("apply --filename=kubernetes/n1.json")
    );
    // The first pod measures; the second one finds that others may run beside it.
    assert_eq!(cluster.pod(0, "7910"), "measured\n");
    assert_eq!(cluster.pod(1, "16000"), "refused\n");
    let failed = json!({ "completedIndexes": "0", "failedIndexes": "1", "conditions": [{ "type": "Failed", "status": "True" }] });
    let pods = [cluster.ended(0, "measured\n"), cluster.ended(1, "refused\n")];
    cluster.list(&[vec![cluster.job(failed)], pods.to_vec()].concat());
    // What was measured and is not here is not submitted again.
    let status = cluster.run("status");
    assert!(status.stdout.contains("n1.1 waiting: job made, its pod has measured"), "{}", status.stdout);
    let collected = cluster.run("collect");
    assert_eq!(cluster.lab.cells(), ["n1.1", "n1.2"], "{}{}", collected.stdout, collected.stderr);
    let record = cluster.lab.record("n1.1");
    assert_eq!(
        (&record["outcome"], &record["node"]),
        (&json!("measured"), &json!("n1.internal")),
        "{record}"
    );
    assert_eq!(record["job"], "made-0-abcde");
    assert!(record.to_string().contains("7.5 of 7.91 allocatable CPUs"), "{record}");
    let why = cluster.lab.record("n1.2")["reason"].as_str().unwrap().to_owned();
    assert!(why.contains("7.5 of 16 allocatable CPUs") && why.contains("raise cpu"), "{why}");
    // The refused one alone is submitted again, as a Job of its own.
    let again = cluster.run("submit");
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    let manifest = cluster.manifest();
    assert_eq!(manifest["metadata"]["annotations"]["threadwise-repeats"], "2", "{manifest}");
    assert!(manifest["metadata"]["name"].as_str().unwrap().ends_with("-2"), "{manifest}");
    assert_eq!(cluster.pod(0, "7910"), "measured\n");
    let collected = cluster.run("collect");
    assert_eq!(collected.code, Some(0), "{}{}", collected.stdout, collected.stderr);
    assert_eq!(cluster.lab.exit("n1.2"), "0");
    assert!(cluster.lab.dir().join("replaced/n1.2.1/cell.json").exists());
    assert_eq!(cluster.lab.lab.leftovers(), Vec::<String>::new());
}

#[test]
fn another_context_of_kubectl_is_another_cluster_and_nothing_is_submitted_twice() {
    let cluster = Cluster::planned();
    // A look at another cluster settles nothing.
    cluster.write("target", "https://10.0.0.9:6443 bench");
    assert_eq!(cluster.run("status").code, Some(0));
    cluster.write("target", "https://10.0.0.1:6443 bench");
    assert_eq!(cluster.run("submit").code, Some(0));
    let calls =
        || std::fs::read_to_string(cluster.path("calls")).unwrap().matches("apply --filename").count();
    assert_eq!(calls(), 1);
    cluster.write("target", "https://10.0.0.2:6443 bench");
    for step in ["submit", "status", "collect"] {
        let said = cluster.run(step);
        // What cannot be known is no error of `status`.
        assert_eq!(said.code, Some(i32::from(step != "status")), "{step}: {}{}", said.stdout, said.stderr);
        let why = "this fleet was submitted to 'https://10.0.0.1:6443 bench', and kubernetes now uses 'https://10.0.0.2:6443 bench'";
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(all.contains(why), "{step}: {all}");
    }
    assert_eq!(calls(), 1);
    cluster.write("target", "https://10.0.0.1:6443 bench");
    assert_eq!(cluster.run("status").code, Some(0));
}

#[test]
fn without_a_cluster_nothing_is_submitted() {
    let cluster = Cluster::planned();
    cluster.write("list.json", "The connection to the server was refused");
    let said = cluster.run("submit");
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("the output of kubectl get is not JSON"), "{}", said.stderr);
    assert!(!std::fs::read_to_string(cluster.path("calls")).unwrap().contains("apply"));
}
