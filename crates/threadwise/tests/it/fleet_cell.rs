//! `fleet cell`: a study into a folder that is whole or not there, whatever ends it.

use crate::fleet_harness::{FleetLab, ONE, blocks, head, names, study, wait_for};
use crate::harness::{Said, said};
use std::io::Write;
use std::process::{Child, Command};
use threadwise_store::{EndState, Store};

pub fn one(study: &str, repeats: u32, more: &str) -> FleetLab {
    FleetLab::planned(study, &format!("{}{ONE}", head(repeats, more)))
}

/// What a boot says of itself, below a folder that stands for the system's root.
fn boot(lab: &FleetLab, number: u32) -> std::path::PathBuf {
    let root = lab.lab.path().join("root");
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("proc/sys/kernel/random/boot_id", &format!("6c1ea6c2-3f5d-4a39-9c53-{number:012}\n"));
    write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    write("proc/sys/kernel/osrelease", "6.1.0-28\n");
    write("proc/sys/kernel/hostname", "n1.example\n");
    write("sys/class/dmi/id/product_name", "m7i.large\n");
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    write("sys/devices/system/cpu/online", &online);
    root
}

fn on_boot(lab: &FleetLab, cell: &str, number: u32) -> Said {
    let root = boot(lab, number);
    said(lab.cell_command(cell).env("THREADWISE_TEST_ROOT", root).output().unwrap())
}

/// A PATH with a tool of our own before all others.
fn tools(lab: &FleetLab, name: &str, script: &str) -> String {
    let tools = lab.lab.path().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let tool = tools.join(name);
    threadwise_process::programs::write(&tool, script).unwrap();
    format!("{}:{}", tools.display(), std::env::var("PATH").unwrap())
}

fn term(child: &Child) {
    let pid = child.id().to_string();
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn a_cell_is_measured_once_and_says_where() {
    let lab = one(&study(2, 8), 1, "");
    let said = on_boot(&lab, "n1.1", 1);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(names(&lab.cell_folder("n1.1")), ["cell.json", "exit", "study.threadwise"]);
    assert_eq!((lab.cells(), lab.exit("n1.1")), (vec!["n1.1".to_owned()], "0".to_owned()));
    let record = lab.record("n1.1");
    let plan = std::fs::read(lab.dir().join("plan.json")).unwrap();
    assert_eq!(record["plan"], threadwise_fleet::plan::sha256(&plan));
    for (field, value) in [
        ("cell", "n1.1"),
        ("kind", "k"),
        ("node", "n1.example"),
        ("boot_id", "6c1ea6c2-3f5d-4a39-9c53-000000000001"),
        ("machine_type", "m7i.large"),
        ("kernel", "6.1.0-28"),
        ("outcome", "measured"),
    ] {
        assert_eq!(record[field], value, "{record}");
    }
    let hash = record["machine_hash"].as_str().unwrap();
    assert!(hash.len() == 64 && !record.to_string().contains("0123456789abcdef0123456789abcdef"));
    assert!(record["exclusivity"][1].as_str().unwrap().contains("not started by Slurm"), "{record}");
    let store = Store::open(&lab.cell_folder("n1.1").join("study.threadwise")).unwrap();
    assert_eq!((store.state().unwrap(), store.complete_blocks().unwrap().len()), (EndState::Complete, 8));
    let before = std::fs::metadata(lab.cell_folder("n1.1").join("cell.json")).unwrap().modified().unwrap();
    let again = lab.cell("n1.1");
    assert_eq!((again.code, again.stdout.contains("already measured")), (Some(0), true), "{}", again.stderr);
    assert_eq!(
        std::fs::metadata(lab.cell_folder("n1.1").join("cell.json")).unwrap().modified().unwrap(),
        before
    );
    for cell in ["n1.2", "n2.1", "n1", "../n1.1"] {
        assert_eq!(lab.cell(cell).code, Some(2), "{cell}");
    }
    assert_eq!(lab.lab.leftovers(), Vec::<String>::new());
}

#[test]
fn another_study_or_program_is_refused_and_measured_once_that_is_put_right() {
    let lab = one(&study(2, 8), 1, "");
    let definition = lab.dir().join("study.toml");
    let text = std::fs::read_to_string(&definition).unwrap();
    std::fs::write(&definition, text.replace("rounds = 2", "rounds = 3")).unwrap();
    let said = lab.cell("n1.1");
    assert_eq!(
        (said.code, said.stderr.contains("study.toml is not the one")),
        (Some(3), true),
        "{}",
        said.stderr
    );
    assert_eq!((lab.exit("n1.1"), lab.record("n1.1")["outcome"].as_str()), ("3".to_owned(), Some("refused")));
    std::fs::write(&definition, text).unwrap();
    let program = lab.dir().join("threadwise");
    // By another process: see `programs::write`.
    let appended = Command::new("sh").args(["-c", "printf x >>\"$0\""]).arg(&program).status().unwrap();
    assert!(appended.success());
    let said = lab.cell("n1.1");
    assert!(said.stderr.contains("this program is not the one"), "{}", said.stderr);
    std::fs::remove_file(&program).unwrap();
    threadwise_process::programs::copy(crate::harness::program().as_ref(), &program).unwrap();
    assert_eq!(lab.cell("n1.1").code, Some(0));
    let record = lab.record("n1.1");
    let earlier: Vec<&str> =
        record["earlier"].as_array().unwrap().iter().map(|one| one["how"].as_str().unwrap()).collect();
    assert!(
        earlier[0].contains("study.toml is not") && earlier[1].contains("this program is not"),
        "{earlier:?}"
    );
}

#[test]
fn a_part_of_a_machine_is_refused() {
    let lab = one(&study(2, 8), 1, "");
    let bound = || {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(lab.dir().join("threadwise"));
        command.args(["fleet", "cell", "--dir", "f", "--cell", "n1.1"]).current_dir(lab.lab.path());
        command.env("TMPDIR", lab.lab.tmp()).env("THREADWISE_STATE_DIR", lab.lab.state());
        said(command.output().unwrap())
    };
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    if online.trim() == "0" {
        let _ = writeln!(std::io::stderr(), "SKIPPED: a part of a machine: it has one logical CPU");
        return;
    }
    let said = bound();
    assert_eq!(
        (said.code, said.stderr.contains("the logical CPUs 0 of")),
        (Some(3), true),
        "{}",
        said.stderr
    );
    assert_eq!(names(&lab.cell_folder("n1.1")), ["attempts.jsonl", "cell.json", "exit"]);
    // What Slurm says of a job is asked of scontrol.
    let path = tools(&lab, "scontrol", "#!/bin/sh\necho \"JobId=$4 OverSubscribe=OK x\"\n");
    let in_job = |node: &str| {
        let mut command = lab.cell_command("n1.1");
        command.env("PATH", &path).env("SLURM_JOB_ID", "12").env("SLURMD_NODENAME", node);
        crate::harness::said(command.output().unwrap())
    };
    let shared = in_job("n1");
    assert_eq!(
        (shared.code, shared.stderr.contains("OverSubscribe=OK")),
        (Some(3), true),
        "{}",
        shared.stderr
    );
    let elsewhere = in_job("n7");
    assert!(elsewhere.stderr.contains("has n1 for this cell, and the job is on n7"), "{}", elsewhere.stderr);
    assert_eq!(lab.record("n1.1")["job"], "12");
}

#[test]
fn a_boot_is_measured_once_where_the_plan_asks_for_it() {
    let lab = one(&study(2, 8), 2, "boots = \"require\"");
    assert_eq!(on_boot(&lab, "n1.1", 1).code, Some(0));
    let same = on_boot(&lab, "n1.2", 1);
    assert_eq!(
        (same.code, same.stderr.contains("has already measured n1.1")),
        (Some(3), true),
        "{}",
        same.stderr
    );
    assert_eq!(on_boot(&lab, "n1.2", 2).code, Some(0));
    assert_eq!(lab.record("n1.2")["earlier"].as_array().unwrap().len(), 1);
}

#[test]
fn a_second_signal_does_not_lose_the_file_and_the_study_goes_on() {
    let lab = one(&study(20, 8), 1, "");
    let child = lab.cell_command("n1.1").spawn().unwrap();
    wait_for("a block", || blocks(lab.aside("n1.1")) >= 1);
    term(&child);
    term(&child);
    let stopped = said(child.wait_with_output().unwrap());
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    assert_eq!(lab.cells(), [".n1.1"]);
    assert!((1..8).contains(&blocks(lab.aside("n1.1"))));
    // An empty queue, and one that cannot be asked.
    let path = tools(&lab, "squeue", "#!/bin/sh\nexit $QUEUE\n");
    let status = |code: &str| {
        let mut command = lab.lab.command(&["fleet", "status", "f"]);
        said(command.env("PATH", &path).env("QUEUE", code).output().unwrap()).stdout
    };
    assert!(status("0").contains("1 stopped"), "{}", status("0"));
    assert!(
        status("1").contains("1 submitted") && status("1").contains("squeue ended with"),
        "{}",
        status("1")
    );
    let goes_on = lab.cell("n1.1");
    assert_eq!(goes_on.code, Some(0), "{}", goes_on.stderr);
    let record = lab.record("n1.1");
    assert!(record["earlier"][0]["how"].as_str().unwrap().contains("stopped after"), "{record}");
    assert_eq!(record["earlier"].as_array().unwrap().len(), 1);
    // The first attempt's blocks are in the result.
    let store = Store::open(&lab.cell_folder("n1.1").join("study.threadwise")).unwrap();
    assert_eq!((store.complete_blocks().unwrap().len(), store.boots().unwrap().len()), (8, 1));
}

#[test]
fn after_another_boot_the_study_begins_again_and_the_first_part_is_kept() {
    let lab = one(&study(20, 8), 1, "");
    let root = boot(&lab, 1);
    let child = lab.cell_command("n1.1").env("THREADWISE_TEST_ROOT", &root).spawn().unwrap();
    wait_for("a block", || blocks(lab.aside("n1.1")) >= 1);
    term(&child);
    assert_eq!(said(child.wait_with_output().unwrap()).code, Some(130));
    let said = on_boot(&lab, "n1.1", 2);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let folder = lab.cell_folder("n1.1");
    assert_eq!(names(&folder), ["before-boot2-1.threadwise", "cell.json", "exit", "study.threadwise"]);
    let (first, last) = (
        Store::open(&folder.join("before-boot2-1.threadwise")).unwrap(),
        Store::open(&folder.join("study.threadwise")).unwrap(),
    );
    assert_eq!((first.state().unwrap(), last.state().unwrap()), (EndState::Stopped, EndState::Complete));
    assert!(first.study() == last.study() && !first.complete_blocks().unwrap().is_empty());
    let ids: Vec<Option<String>> = last.boots().unwrap().into_iter().map(|boot| boot.boot_id).collect();
    assert_eq!(ids, [Some("6c1ea6c2-3f5d-4a39-9c53-000000000002".to_owned())]);
    let record = lab.record("n1.1");
    assert_eq!(record["boot_id"], "6c1ea6c2-3f5d-4a39-9c53-000000000002");
    assert!(record["notes"][0].as_str().unwrap().contains("before-boot2-1.threadwise"), "{record}");
}

#[test]
fn of_two_processes_one_measures() {
    let lab = one(&study(20, 8), 1, "");
    let child = lab.cell_command("n1.1").spawn().unwrap();
    wait_for("a study", || lab.aside("n1.1").is_some_and(|folder| folder.join("study.threadwise").exists()));
    let second = lab.cell("n1.1");
    assert_eq!(
        (second.code, second.stderr.contains("another process")),
        (Some(3), true),
        "{}",
        second.stderr
    );
    assert_eq!(said(child.wait_with_output().unwrap()).code, Some(0));
    assert_eq!((lab.cells(), lab.exit("n1.1")), (vec!["n1.1".to_owned()], "0".to_owned()));
}
