//! Studies of Firebird: valid runs that leave nothing, in one table with SQLite; and a kill in the middle.

use crate::harness::{Lab, said};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A short study: two blocks of two rounds, one session alone and two on one logical CPU.
fn study(engine: &str, workload: &str, options: &str) -> String {
    format!(
        "version = 1\nname = \"short\"\nengine = \"{engine}\"\nworkload = \"{workload}\"\n\n\
         [options]\n{options}\n\n[design]\nrounds = 2\nslice_ms = 40\nrewarm_ms = 5\nblocks = 2\n\n\
         [baseline]\nplacement = \"1c1t\"\n\n[[treatment]]\nplacement = \"one-cpu\"\n"
    )
}

const ARGS: [&str; 8] = ["run", "short.toml", "--allow-busy", "--no-probe", "--no-html", "--seed", "5", "-o"];

fn run(lab: &Lab, text: &str, out: &str) {
    std::fs::write(lab.path().join("short.toml"), text).unwrap();
    let said = said(lab.command(&[&ARGS[..], &[out]].concat()).output().unwrap());
    assert_eq!(said.code, Some(0), "{text}:\n{}\n{}", said.stdout, said.stderr);
}

/// Processes whose current folder lies in the lab.
fn living(lab: &Lab) -> Vec<(u32, PathBuf)> {
    let inside = |pid: u32| {
        let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        folder.starts_with(lab.tmp()).then_some((pid, folder))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(inside).collect()
}

/// Waits for something to become true; a bound, not a measurement.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn both_workloads_run_on_firebird_and_stand_beside_sqlite() {
    let lab = Lab::new();
    for (workload, options) in [
        ("insert", "seed_rows = 2000\ndurability = \"relaxed\"\nkey = \"random\""),
        ("logical-io", "blocks = 400\nwork_unit = 32"),
    ] {
        run(&lab, &study("firebird", workload, options), &format!("{workload}.threadwise"));
        let runs = lab.ok(&["export", &format!("{workload}.threadwise"), "--format", "jsonl"]).stdout;
        assert_eq!(runs.lines().count(), 6, "three treatments in two blocks");
        for run in runs.lines() {
            let run: Value = serde_json::from_str(run).unwrap();
            assert_eq!(run["status"], "valid", "{} {}: {}", run["treatment"], run["kind"], run["message"]);
        }
        assert_eq!((lab.leftovers(), living(&lab)), (Vec::new(), Vec::new()), "{workload}");
    }
    run(&lab, &study("sqlite", "logical-io", "blocks = 400\nwork_unit = 32"), "sqlite.threadwise");
    let table = lab.ok(&["compare", "--all", "sqlite.threadwise", "logical-io.threadwise"]).stdout;
    let row = table.lines().find(|line| line.starts_with("one-cpu : alone")).unwrap();
    assert_eq!(row.matches('x').count(), 2, "a ratio of each engine: {table}");
    assert!(table.contains("sqlite") && table.contains("firebird"), "{table}");
}

#[test]
#[ignore = "laboratory: servers"]
fn killed_with_firebird_at_work_nothing_lives_on() {
    for (workload, options) in [("logical-io", "blocks = 400"), ("insert", "seed_rows = 2000")] {
        let lab = Lab::new();
        let long = study("firebird", workload, options).replace("blocks = 2\n", "blocks = 500\n");
        std::fs::write(lab.path().join("short.toml"), long).unwrap();
        let args = [&ARGS[..], &["s.threadwise"]].concat();
        let mut child = lab.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let sessions = || {
            let comm = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            living(&lab).into_iter().filter(|(pid, _)| comm(*pid).starts_with("isql")).count()
        };
        // Three treatments with four sessions, and a program more for each.
        wait_until("no sessions", || sessions() >= 5 || child.try_wait().unwrap().is_some());
        assert_eq!(child.try_wait().unwrap().map(|status| status.code()), None, "it ended early");
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("something lives on", || living(&lab).is_empty());
        wait_until("a folder is left", || lab.leftovers().is_empty());
    }
}
