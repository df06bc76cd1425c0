//! Fleets by a real Slurm.

use crate::fleet_harness::{FleetLab, blocks, head, study, wait_for};
use crate::harness::{Said, said};
use crate::lab_fleets::fleet_cluster::{Cluster, cluster};
use serde_json::Value;
use threadwise_store::{EndState, Store};

const OPTIONS: &str = "[engine_options]\nlicenses = \"host:1\"\n";

pub fn fleet(lab: &FleetLab, cluster: &Cluster, step: &str, more: &[&str]) -> Said {
    let mut args = vec!["fleet", step, "f"];
    args.extend(more);
    said(lab.lab.command(&args).env("SLURM_CONF", cluster.conf()).output().unwrap())
}

/// The jobs of a fleet in the queue, one line a task: name, task and state.
fn queue(cluster: &Cluster) -> Vec<String> {
    let text = cluster.slurm("squeue", &["-h", "-r", "-o", "%j %K %T"]);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

fn log(lab: &FleetLab) -> String {
    let logs = lab.dir().join("logs");
    let names = crate::fleet_harness::names(&logs);
    names.iter().map(|name| std::fs::read_to_string(logs.join(name)).unwrap()).collect()
}

#[test]
#[ignore = "laboratory: fleets"]
fn three_nodes_come_to_a_report_and_nothing_is_started_twice() {
    let cluster = cluster();
    let planted = |node: &str, ratio: f64| format!("{node} = {{ \"ratio.two\" = {ratio} }}");
    // Means of ln(ratio) by kind: fast 1.50 on the geometric mean of three machines, slow 1.2 on one.
    let fleet_toml = format!(
        "{}{OPTIONS}[[kind]]\nname = \"fast\"\nnodes = [\"tw1\", \"tw2\", \"tw3\"]\n\
         price = {{ amount = 0.25, currency = \"EUR\", date = \"2026-01-15\", source = \"a list\" }}\n\
         machine_study_engine_options = {{ {}, {}, {} }}\n\
         [[kind]]\nname = \"gone\"\nnodes = [\"tw9\"]\n",
        head(2, ""),
        planted("tw1", 1.45),
        planted("tw2", 1.5),
        planted("tw3", 1.55)
    );
    let lab = FleetLab::planned(&study(4, 8), &fleet_toml);
    let submitted = fleet(&lab, &cluster, "submit", &[]);
    // One machine is not there: it is named, and the others are submitted.
    assert_eq!(submitted.code, Some(1), "{}{}", submitted.stdout, submitted.stderr);
    assert_eq!(submitted.stdout.matches("submitted: tw").count() - 1, 3, "{}", submitted.stdout);
    assert!(submitted.stdout.contains("not submitted: tw9: sbatch: "), "{}", submitted.stdout);
    let first = queue(&cluster).len();
    let again = fleet(&lab, &cluster, "submit", &[]);
    assert!(again.stdout.contains("nothing to submit for 6 cells"), "{}", again.stdout);
    assert!(
        !again.stdout.contains("\nsubmitted: ") && !again.stdout.starts_with("submitted: "),
        "{}",
        again.stdout
    );
    assert!(queue(&cluster).len() <= first && first == 6, "{first}");
    let status = fleet(&lab, &cluster, "status", &[]);
    assert!(status.stdout.contains("tw9.1 not submitted: sbatch: "), "{}", status.stdout);
    cluster.wait_until_idle();
    let collected = fleet(&lab, &cluster, "collect", &[]);
    assert_eq!(collected.code, Some(1), "{}{}", collected.stdout, collected.stderr);
    assert!(collected.stdout.contains("6 measured"), "{}\n{}", collected.stdout, log(&lab));
    let submissions = std::fs::read_to_string(lab.dir().join("submitted.jsonl")).unwrap();
    assert_eq!(submissions.matches("\"submitted\":{").count(), 3, "{submissions}");
    let record = lab.record("tw2.1");
    assert_eq!((&record["node"], &record["outcome"]), (&"tw2".into(), &"measured".into()), "{record}");
    assert!(record["exclusivity"].to_string().contains("OverSubscribe=NO"), "{record}");
    assert!(record["job"].as_str().unwrap().ends_with("_1"), "{record}");

    let report = fleet(&lab, &cluster, "report", &["--json"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let value: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!((&value["simulated"], value["studies"].as_array().unwrap().len()), (&true.into(), 6));
    assert_eq!(value["kinds"][0]["machines"], 3);
    let comparison = &value["comparisons"].as_array().unwrap()[0];
    let mean = &comparison["cells"][0]["mean"];
    // The planted geometric mean; machines differ by 3%, so that the interval is some percent wide.
    let planted = (1.45_f64 * 1.5 * 1.55).cbrt();
    let (value, low, high) =
        (mean["value"].as_f64().unwrap(), mean["low"].as_f64().unwrap(), mean["high"].as_f64().unwrap());
    assert!((value / planted - 1.0).abs() < 0.02, "{mean}");
    assert!(low < planted && planted < high, "{mean}");
    let page = fleet(&lab, &cluster, "report", &["--html", "fleet.html"]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    assert!(page.stdout.contains("SIMULATED") && page.stdout.contains("tw9"), "{}", page.stdout);
    assert!(std::fs::read_to_string(lab.lab.path().join("fleet.html")).unwrap().contains("EUR"));
}

#[test]
#[ignore = "laboratory: fleets"]
fn a_job_that_shares_its_node_is_refused() {
    let cluster = cluster();
    let lab = FleetLab::planned(
        &study(2, 8),
        &format!("{}{OPTIONS}[[kind]]\nname = \"k\"\nnodes = [\"tw1\"]\n", head(1, "")),
    );
    let path = lab.dir().join("slurm/tw1.sh");
    let script = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, script.replace("#SBATCH --exclusive\n", "")).unwrap();
    assert_eq!(fleet(&lab, &cluster, "submit", &[]).code, Some(0));
    cluster.wait_until_idle();
    let status = fleet(&lab, &cluster, "status", &[]);
    assert!(status.stdout.contains("tw1.1 refused: "), "{}\n{}", status.stdout, log(&lab));
    assert!(status.stdout.contains("--exclusive"), "{}", status.stdout);
    assert_eq!(lab.exit("tw1.1"), "3");
    std::fs::write(&path, script).unwrap();
    assert_eq!(fleet(&lab, &cluster, "submit", &[]).code, Some(0));
    cluster.wait_until_idle();
    let collected = fleet(&lab, &cluster, "collect", &[]);
    assert_eq!(collected.code, Some(0), "{}{}\n{}", collected.stdout, collected.stderr, log(&lab));
}

#[test]
#[ignore = "laboratory: fleets"]
fn a_requeued_job_goes_on_and_a_lost_node_costs_an_attempt() {
    let mut cluster = cluster();
    let lab = FleetLab::planned(
        &study(40, 12),
        &format!("{}{OPTIONS}[[kind]]\nname = \"k\"\nnodes = [\"tw1\"]\n", head(1, "")),
    );
    assert_eq!(fleet(&lab, &cluster, "submit", &[]).code, Some(0));
    wait_for("two blocks", || blocks(lab.aside("tw1.1")) >= 2);
    let text = std::fs::read_to_string(lab.dir().join("submitted.jsonl")).unwrap();
    let id = text.split("\"job\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let job = format!("{id}_1");
    cluster.slurm("scontrol", &["requeue", &job]);
    let is_held = |line: &String| line.ends_with("RUNNING") || line.ends_with("COMPLETING");
    wait_for("the end of the first attempt", || log(&lab).contains("tw1.1 was stopped"));
    let kept = blocks(lab.aside("tw1.1"));
    // slurmd knows launches by whole seconds: one in the second in which the job was killed is "already killed", and the
    // job is lost. Slurm's own two minutes of waiting, which are cut short here, are longer.
    std::thread::sleep(std::time::Duration::from_secs(2));
    wait_for("an attempt after the requeue", || {
        cluster.begin(&job);
        blocks(lab.aside("tw1.1")) > kept
    });
    // The node is gone, with everything that runs there.
    cluster.lose_node("tw1");
    wait_for("the loss to be noticed", || !queue(&cluster).iter().any(is_held));
    assert_eq!(lab.cells(), [".tw1.1"]);
    let status = fleet(&lab, &cluster, "status", &[]);
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    assert!(status.stdout.contains("waiting") || status.stdout.contains("stopped"), "{}", status.stdout);
    cluster.start_node("tw1");
    wait_for("the node", || cluster.slurm("sinfo", &["-h", "-N", "-n", "tw1", "-o", "%t"]).contains("idle"));
    // Whatever became of the job, submitting again is right, and starts nothing twice.
    let again = fleet(&lab, &cluster, "submit", &[]);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    assert_eq!(queue(&cluster).len(), 1, "{:?}", queue(&cluster));
    wait_for("the end of the cell", || {
        cluster.begin(&job);
        lab.cells() == ["tw1.1"]
    });
    cluster.wait_until_idle();
    let collected = fleet(&lab, &cluster, "collect", &[]);
    assert_eq!(collected.code, Some(0), "{}{}\n{}", collected.stdout, collected.stderr, log(&lab));
    let record = lab.record("tw1.1");
    assert!(record["earlier"].as_array().unwrap().len() >= 2, "{record}");
    let store = Store::open(&lab.cell_folder("tw1.1").join("study.threadwise")).unwrap();
    assert_eq!((store.state().unwrap(), store.complete_blocks().unwrap().len()), (EndState::Complete, 12));
}

#[test]
#[ignore = "laboratory: fleets"]
fn repeats_apart_wait_for_each_other_and_a_controller_that_is_gone_stops_everything() {
    let mut cluster = cluster();
    let lab = FleetLab::planned(
        &study(2, 8),
        &format!("{}{OPTIONS}[[kind]]\nname = \"k\"\nnodes = [\"tw1\"]\n", head(3, "apart = \"1h\"")),
    );
    let submitted = fleet(&lab, &cluster, "submit", &[]);
    assert_eq!(submitted.code, Some(0), "{}{}", submitted.stdout, submitted.stderr);
    assert_eq!(submitted.stderr.matches("--dependency=after:").count(), 2, "{}", submitted.stderr);
    wait_for("the first repeat", || lab.cells() == ["tw1.1"]);
    let waiting = cluster.slurm("squeue", &["-h", "-r", "-o", "%K %r"]);
    assert_eq!(waiting.matches("Dependency").count(), 2, "{waiting}");
    cluster.stop();
    let asked = fleet(&lab, &cluster, "submit", &[]);
    assert_eq!(asked.code, Some(1), "{}", asked.stdout);
    assert!(asked.stderr.contains("the running and waiting cells are unknown: squeue"), "{}", asked.stderr);
    assert!(asked.stderr.contains("nothing was submitted"), "{}", asked.stderr);
    let status = fleet(&lab, &cluster, "status", &[]);
    assert!(status.stdout.contains("2 submitted, 1 measured"), "{}", status.stdout);
    assert!(
        status.stdout.contains("slurm: the running and waiting cells are unknown: squeue"),
        "{}",
        status.stdout
    );
}
