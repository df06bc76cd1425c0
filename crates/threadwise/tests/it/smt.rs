//! SMT as its user meets it. Nothing here switches anything: that is tried on machines in folders
//! (`crates/smt/tests`), and on emulated ones.

use crate::harness::Lab;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use threadwise_process::journal::BootNamespace;

/// A machine of two cores with two threads each, one of them offline.
fn machine(root: &Path) {
    let put = |path: &str, text: &str| {
        let path = root.join("sys/devices/system/cpu").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (cpu, siblings) in [(0, "0-1"), (1, "0-1"), (2, "2"), (3, "")] {
        put(&format!("cpu{cpu}/online"), if cpu == 3 { "0\n" } else { "1\n" });
        put(&format!("cpu{cpu}/topology/thread_siblings_list"), siblings);
    }
    put("smt/control", "forceoff\n");
    put("smt/active", "1\n");
    put("intel_pstate/no_turbo", "1\n");
    put("cpufreq/policy0/scaling_governor", "powersave\n");
}

/// The journal of a process that was killed.
fn journal(lab: &Lab, text: &str) -> PathBuf {
    use std::io::Write;
    if !lab.state().exists() {
        fs::DirBuilder::new().mode(0o700).create(lab.state()).unwrap();
    }
    let BootNamespace { boot, pid_namespace } = BootNamespace::now();
    let path = lab.state().join(format!("smt.{boot}.{pid_namespace}.4194305.7.00c0ffee"));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    path
}

#[test]
fn a_status_says_what_is_there_and_what_can_be_done() {
    let lab = Lab::new();
    machine(&lab.path().join("m"));
    let text = lab.ok(&["smt", "status", "--root", "m"]).stdout;
    for part in [
        "forceoff, active",
        "1 core of 2 logical CPUs: 0-1; 1 core of 1 logical CPU: 2",
        "3 by smt/control, or an administrator",
        "off (intel_pstate/no_turbo)",
        "powersave (policies 0)",
        "nosmt=force",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value =
        serde_json::from_str(&lab.ok(&["smt", "status", "--root", "m", "--json"]).stdout).unwrap();
    assert_eq!(
        (&json["version"], &json["control"], &json["active"]),
        (&json!(1), &json!("forceoff"), &json!(true))
    );
    assert_eq!(json["cores"], json!(["0-1", "2"]));
    assert_eq!(json["offline"], json!([{"os_id": 3, "by": "smt-control-or-others"}]));
    assert_eq!(json["turbo"], json!({"on": false, "file": "intel_pstate/no_turbo"}));
    assert_eq!(json["governors"], json!([{"name": "powersave", "policies": "0"}]));
    assert_eq!((&json["switched_by"], &json["switched_by_pid"]), (&Value::Null, &Value::Null));
    assert_eq!(json["can"]["system"]["possible"], false);
    assert_eq!(json["can"]["turbo"], json!({"possible": true, "why": null}));
    assert_eq!(lab.run(&["smt", "status", "--root", "nowhere"]).code, Some(2));
}

#[test]
fn this_machine_has_a_status_and_nothing_is_switched_unasked() {
    let lab = Lab::new();
    let json: Value = serde_json::from_str(&lab.ok(&["smt", "status", "--json"]).stdout).unwrap();
    assert!(!json["cores"].as_array().unwrap().is_empty());
    for args in [&["smt", "off"][..], &["smt", "off", "--offline"]] {
        let said = lab.run(args);
        // One whose SMT is off already is left as it is.
        let is_off = said.code == Some(0) && said.stdout.contains("already");
        assert!(said.code == Some(3) || is_off, "{} {}", said.stdout, said.stderr);
    }
    assert_eq!(lab.leftovers(), [""; 0]);
    assert_eq!(lab.ok(&["restore"]).stdout, "Nothing is left changed.\n");
    assert_eq!(lab.run(&["smt", "off", "--cpus", "0"]).code, Some(2));
    assert_eq!(lab.run(&["smt"]).code, Some(2));
}

#[test]
fn what_a_killed_process_left_is_named_and_put_back() {
    let lab = Lab::new();
    let path = journal(&lab, "");
    let said = lab.ok(&["topology"]);
    assert_eq!(
        said.stderr,
        "threadwise: SMT, logical CPUs or clocks switched, left by a killed process; to restore: threadwise restore\n"
    );
    let json: Value = serde_json::from_str(&lab.ok(&["smt", "status", "--json"]).stdout).unwrap();
    assert_eq!(json["switched_by"], "killed");
    let status: Value = serde_json::from_str(&lab.ok(&["restore", "--status", "--json"]).stdout).unwrap();
    assert_eq!(
        (&status["left"][0]["kind"], &status["left"][0]["by"]),
        (&json!("SMT and clocks"), &json!("killed"))
    );
    assert!(path.exists(), "a status only reads");
    let said = lab.ok(&["restore"]);
    assert!(said.stdout.contains("left switched by a killed process"), "{}", said.stdout);
    assert!(!path.exists());

    let path = journal(&lab, &format!("set {} control - forceoff\n", BootNamespace::now()));
    let said = lab.run(&["restore"]);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(said.stderr.contains("line 1 was left out") && path.exists(), "{}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
}

#[test]
fn what_is_to_last_is_no_leftover() {
    let lab = Lab::new();
    let path = journal(&lab, &format!("kept {}\n", BootNamespace::now()));
    assert_eq!(lab.ok(&["topology"]).stderr, "");
    let status = lab.ok(&["smt", "status"]).stdout;
    assert!(status.contains("by threadwise smt, until threadwise restore"), "{status}");
    let left = lab.ok(&["restore", "--status"]).stdout;
    assert!(left.contains("switched by threadwise smt, until threadwise restore"), "{left}");
    assert!(path.exists());
    assert!(lab.ok(&["restore"]).stdout.starts_with("restored: 0 settings"));
    assert!(!path.exists());
}
