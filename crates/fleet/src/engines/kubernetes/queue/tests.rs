//! Lists as `kubectl get jobs,pods -o json` prints them. No cluster has printed these: they are written after the public
//! documentation of the API (batch/v1 JobStatus, v1 PodStatus) and kubectl's form of lists.

use super::*;
use crate::plan::tests::plan;
use serde_json::json;

const FLEET: &str = "engine = \"kubernetes\"\n[[kind]]\nname = \"a\"\nnodes = [\"n1\", \"n2\"]\n";

fn job_item(name: &str, machine: &str, repeats: &str, status: Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": name, "namespace": "bench", "uid": "9d2b1c9e-0000-4000-8000-000000000001",
            "annotations": { "threadwise-machine": machine, "threadwise-repeats": repeats },
            "labels": { "threadwise-plan": "0123456789" },
        },
        "spec": { "completionMode": "Indexed", "completions": 3, "parallelism": 1, "suspend": false },
        "status": status,
    })
}

fn pod_item(job: &str, index: u32, status: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{job}-{index}-x7k2p"),
            "annotations": { "batch.kubernetes.io/job-completion-index": index.to_string() },
            "labels": { "batch.kubernetes.io/job-name": job, "job-name": job },
        },
        "spec": { "nodeName": "n1" },
        "status": status,
    })
}

fn ended(word: &str, code: i32) -> Value {
    let terminated = json!({ "exitCode": code, "reason": "Completed", "message": format!("{word}\n") });
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    json!({ "phase": phase, "containerStatuses": [{ "name": "cell", "state": { "terminated": terminated } }] })
}

fn seen(items: &[Value]) -> Vec<(String, bool, String)> {
    let list =
        json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": items });
    let seen = read(&plan(FLEET, 3), &list.to_string()).unwrap();
    seen.into_iter().map(|seen| (seen.cell.to_string(), seen.is_running, seen.remark)).collect()
}

#[test]
fn a_job_at_work_has_cells_that_run_and_wait_and_leaves_out_those_that_failed() {
    let items = [
        job_item("tw-1-n1-1", "n1", "1 2 3", json!({ "active": 1, "failedIndexes": "0" })),
        pod_item("tw-1-n1-1", 0, ended("failed", 1)),
        pod_item("tw-1-n1-1", 1, json!({ "phase": "Running" })),
    ];
    let found = seen(&items);
    assert_eq!(found[0], ("n1.2".to_owned(), true, "its pod runs".to_owned()));
    assert_eq!(found[1], ("n1.3".to_owned(), false, "its pod is not created yet".to_owned()));
    assert_eq!(found.len(), 2);
}

#[test]
fn what_was_measured_and_not_brought_is_not_submitted_again() {
    let complete =
        json!({ "completedIndexes": "0,1", "conditions": [{ "type": "Complete", "status": "True" }] });
    let items = [
        job_item("tw-1-n2-1", "n2", "2 3", complete),
        pod_item("tw-1-n2-1", 0, ended("measured", 0)),
        pod_item("tw-1-n2-1", 1, ended("refused", 0)),
        pod_item("tw-1-other-1", 1, ended("measured", 0)),
    ];
    let found = seen(&items);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].0 == "n2.2" && !found[0].1 && found[0].2.contains("threadwise fleet collect"),
        "{found:?}"
    );
    // Not valid as a whole is measured as well, and its pod has failed.
    let failed = json!({ "failedIndexes": "0", "conditions": [{ "type": "Failed", "status": "True" }] });
    let items = [job_item("j", "n2", "2", failed), pod_item("j", 0, ended("invalid", 1))];
    assert_eq!(seen(&items).len(), 1);
    // Once its pods are gone, nothing shows it.
    assert_eq!(seen(&items[..1]), []);
}

#[test]
fn a_pod_that_waits_says_why_in_one_line() {
    let message = "0/3 nodes are available:\n1 Insufficient cpu.";
    let condition =
        json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message });
    let unscheduled = json!({ "phase": "Pending", "conditions": [condition] });
    let pulling = json!({ "phase": "Pending", "containerStatuses": [
        { "name": "cell", "state": { "waiting": { "reason": "ErrImagePull", "message": "not found" } } },
    ] });
    for (status, why) in [
        (unscheduled, "its pod waits: Unschedulable 0/3 nodes are available: 1 Insufficient cpu."),
        (pulling, "its pod waits: ErrImagePull not found"),
        (json!({ "phase": "Pending" }), "its pod waits"),
    ] {
        let items = [job_item("j", "n1", "1", json!({ "active": 1 })), pod_item("j", 0, status)];
        assert_eq!(seen(&items), [("n1.1".to_owned(), false, why.to_owned())]);
    }
    let mut suspended = job_item("j", "n1", "1", json!({}));
    suspended["spec"]["suspend"] = json!(true);
    assert_eq!(seen(&[suspended])[0].2, "its job is suspended");
}

#[test]
fn a_cell_in_two_jobs_is_where_it_is_at_work() {
    let items = [
        job_item(
            "j1",
            "n1",
            "1",
            json!({ "failedIndexes": "0", "conditions": [{ "type": "Failed", "status": "True" }] }),
        ),
        pod_item("j1", 0, ended("measured", 0)),
        job_item("j2", "n1", "1", json!({ "active": 1 })),
        pod_item("j2", 0, json!({ "phase": "Running" })),
    ];
    assert!(seen(&items)[0].1);
}

#[test]
fn what_is_of_no_cell_of_the_plan_or_of_no_sense_is_passed_over() {
    let items = [
        job_item("j1", "n9", "1", json!({})),
        job_item("j2", "n1", "4", json!({})),
        job_item("j3", "n1", "0", json!({})),
        job_item("j4", "n1", "x", json!({})),
        job_item("j5", "n1", "1", json!({ "completedIndexes": "0-4000000000" })),
        json!({ "kind": "Job", "metadata": { "name": "j6" } }),
        json!({ "kind": "ConfigMap" }),
        json!(7),
    ];
    assert_eq!(seen(&items), []);
    assert_eq!(seen(&[]), []);
    for printed in ["", "error", "{}", "[]", "{\"items\": 1}"] {
        let error = read(&plan(FLEET, 1), printed).unwrap_err().to_string();
        assert!(
            error.starts_with("kubernetes: the output of kubectl get") && !error.contains('\n'),
            "{error}"
        );
    }
}

#[test]
fn lists_of_indexes_are_those_of_the_api() {
    let set = |text: &str| indexes(text).map(|found| found.into_iter().collect::<Vec<_>>());
    assert_eq!(set(""), Some(vec![]));
    assert_eq!(set("1,3-5,7"), Some(vec![1, 3, 4, 5, 7]));
    for text in ["a", "3-1", "-1", "1-", "100", "0-4294967295"] {
        assert_eq!(set(text), None, "{text}");
    }
}
