//! A fleet by Ansible on this machine, which stands for three hosts: `ansible_connection=local`, one after the other.

use crate::fleet_harness::{FleetLab, head, names, study};
use crate::harness::{Said, said};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Names the folder of Ansible's programs, which `cargo xtask lab fleets` fetches.
const VARIABLE: &str = "THREADWISE_TEST_FLEETS";

/// The folder.
fn ansible() -> PathBuf {
    std::env::var_os(VARIABLE).expect("THREADWISE_TEST_FLEETS is not set: cargo xtask lab fleets").into()
}

/// A planned fleet with an inventory of its user.
struct Hosts {
    lab: FleetLab,
    programs: PathBuf,
}

impl Hosts {
    /// A study on each of these hosts, which are this machine.
    fn planned(nodes: &[&str], repeats: u32, more: &str) -> Self {
        let programs = ansible();
        let lab = FleetLab::new(&study(2, 8), "");
        let path = lab.lab.path().display().to_string();
        let options = format!(
            "{more}\n[engine_options]\nforks = 1\ninventory = \"{path}/hosts.ini\"\nremote_dir = \"{path}/remote\"\n"
        );
        let kind = format!("[[kind]]\nname = \"k\"\nnodes = {nodes:?}\n");
        let fleet = head(repeats, &options).replace("engine = \"slurm\"", "engine = \"ansible\"");
        std::fs::write(lab.lab.path().join("fleet.toml"), format!("{fleet}{kind}")).unwrap();
        let hosts = Self { lab, programs };
        hosts.inventory("");
        hosts.lab.lab.ok(&["fleet", "plan", "fleet.toml", "-o", "f"]);
        hosts
    }

    /// The user's inventory: these lines, and what is the same for all hosts.
    fn inventory(&self, more: &str) {
        let text = format!(
            "{more}\n[all:vars]\nansible_connection=local\nansible_pipelining=true\nansible_python_interpreter={}\n",
            self.programs.join("python").display()
        );
        std::fs::write(self.lab.lab.path().join("hosts.ini"), text).unwrap();
    }

    /// A Python for which this shell command comes first.
    fn python(&self, name: &str, before: &str) -> String {
        let path = self.lab.lab.path().join(name);
        let python = self.programs.join("python");
        std::fs::write(&path, format!("#!/bin/sh\n{before} {} \"$@\"\n", python.display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn run(&self, step: &str) -> Said {
        let mut command = self.lab.lab.command(&["fleet", step, "f"]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.programs.display()));
        command.env("HOME", self.lab.lab.path()).env("LC_ALL", "C.UTF-8");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ANSIBLE")) {
            command.env_remove(name);
        }
        said(command.output().unwrap())
    }

    /// How a cell ended, as its record here has it.
    fn outcome(&self, cell: &str) -> String {
        self.lab.record(cell)["outcome"].as_str().unwrap().to_owned()
    }

    fn remote(&self, host: &str) -> PathBuf {
        let plan = std::fs::read(self.lab.dir().join("plan.json")).unwrap();
        let hash = threadwise_fleet::plan::sha256(&plan);
        self.lab.lab.path().join("remote").join(&hash[..16]).join(host)
    }
}

#[test]
#[ignore = "laboratory: fleets"]
fn one_failing_cell_keeps_no_other_from_running_and_the_second_run_does_only_that_one() {
    let hosts = Hosts::planned(&["n1", "n2", "n3"], 1, "");
    // On the second host a process has no room for temporary files.
    let broken = hosts.python("python-n2", "TMPDIR=/nonexistent exec");
    hosts.inventory(&format!("n2 ansible_python_interpreter={broken}"));
    let first = hosts.run("submit");
    let shown = format!("{}{}", first.stdout, first.stderr);
    assert_eq!(first.code, Some(1), "{shown}");
    assert_eq!(hosts.lab.cells(), ["n1.1", "n2.1", "n3.1"], "{shown}");
    let outcomes = || ["n1.1", "n2.1", "n3.1"].map(|cell| hosts.outcome(cell));
    assert_eq!(outcomes(), ["measured", "failed", "measured"], "{shown}");
    assert_eq!((hosts.lab.exit("n1.1"), hosts.lab.exit("n2.1")), ("0".to_owned(), "2".to_owned()));
    // What came is what a cell on a shared folder leaves, and says which host it was.
    assert_eq!(names(&hosts.lab.cell_folder("n3.1")), ["cell.json", "exit", "study.threadwise"]);
    assert_eq!(hosts.lab.record("n3.1")["node"], "n3");
    let why = hosts.lab.record("n2.1")["reason"].as_str().unwrap().to_owned();
    assert!(shown.contains(&format!("n2.1: threadwise: {why}")), "{why}: {shown}");
    let before = hosts.lab.record("n1.1");
    // The host is put right; the second run has one cell, and goes on with the attempt that failed.
    hosts.inventory("");
    let second = hosts.run("submit");
    assert_eq!(second.code, Some(0), "{}{}", second.stdout, second.stderr);
    assert!(second.stdout.contains("nothing to submit for 2 cells"), "{}", second.stdout);
    assert!(
        second.stdout.contains("Measure n2.1") && !second.stdout.contains("Measure n1.1"),
        "{}",
        second.stdout
    );
    assert_eq!(outcomes(), ["measured", "measured", "measured"]);
    assert_eq!(hosts.lab.record("n1.1"), before);
    assert_eq!(hosts.lab.record("n2.1")["earlier"][0]["how"], why.as_str());
    assert!(hosts.lab.dir().join("replaced/n2.1.1/cell.json").exists());
    let third = hosts.run("submit");
    assert_eq!((third.code, third.stdout.contains("PLAY")), (Some(0), false), "{}", third.stdout);
    assert_eq!(hosts.run("collect").code, Some(0));
}

#[test]
#[ignore = "laboratory: fleets"]
fn what_was_measured_on_a_host_and_lost_on_its_way_is_brought_and_not_measured_again() {
    let hosts = Hosts::planned(&["n1"], 2, "apart = \"1s\"");
    let first = hosts.run("submit");
    assert_eq!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    let started = |cell: &str| hosts.lab.record(cell)["started_utc"].as_str().unwrap().to_owned();
    let before = [started("n1.1"), started("n1.2")];
    assert!(before[0] < before[1], "{before:?}");
    std::fs::remove_dir_all(hosts.lab.cell_folder("n1.1")).unwrap();
    let brought = hosts.run("collect");
    assert_eq!(brought.code, Some(0), "{}{}", brought.stdout, brought.stderr);
    assert_eq!([started("n1.1"), started("n1.2")], before);
    // The same by submit: creates sees the exit file on the host. Another program there is replaced by the plan's first.
    std::fs::remove_dir_all(hosts.lab.cell_folder("n1.2")).unwrap();
    let program = hosts.remote("n1").join("threadwise");
    std::fs::write(&program, "another").unwrap();
    let second = hosts.run("submit");
    assert_eq!(second.code, Some(0), "{}{}", second.stdout, second.stderr);
    assert_eq!([started("n1.1"), started("n1.2")], before);
    let task =
        second.stdout.split("TASK [Measure n1.2]").nth(1).and_then(|rest| rest.lines().nth(1)).unwrap();
    assert!(task.starts_with("ok: "), "{task}: {}", second.stdout);
    let sha = |path: PathBuf| threadwise_fleet::plan::sha256(&std::fs::read(path).unwrap());
    assert_eq!(sha(program), sha(hosts.lab.dir().join("threadwise")));
}

#[test]
#[ignore = "laboratory: fleets"]
fn an_unreachable_host_costs_its_own_cells_alone() {
    let hosts = Hosts::planned(&["n1", "n2"], 1, "");
    // Nothing listens there.
    hosts.inventory("n1 ansible_connection=ssh ansible_host=127.0.0.1 ansible_port=1");
    let first = hosts.run("submit");
    let shown = format!("{}{}", first.stdout, first.stderr);
    assert_eq!(first.code, Some(1), "{shown}");
    assert!(shown.contains("UNREACHABLE") && shown.contains("unreachable=1"), "{shown}");
    assert_eq!(hosts.lab.cells(), ["n2.1"], "{shown}");
    let status = hosts.run("status");
    assert!(
        status.stdout.contains("1 measured") && status.stdout.contains("n1.1 lost: ansible-playbook ended"),
        "{}",
        status.stdout
    );
    let json = hosts.lab.lab.ok(&["fleet", "status", "f", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["counts"]["measured"], &json["next"]), (&1.into(), &"submit".into()), "{json}");
}

#[test]
#[ignore = "laboratory: fleets"]
fn an_inventory_that_cannot_be_read_is_refused_before_anything_is_started() {
    let hosts = Hosts::planned(&["n1"], 1, "");
    let inventory = hosts.lab.lab.path().join("hosts.ini");
    let refused = |why: &str| {
        let said = hosts.run("submit");
        assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
        assert!(
            said.stdout.contains("not submitted: all hosts: env: ") && said.stdout.contains(why),
            "{}",
            said.stdout
        );
        assert!(!said.stdout.contains("PLAY"), "{}", said.stdout);
        assert_eq!(hosts.lab.cells(), Vec::<String>::new());
        assert!(!hosts.lab.lab.path().join("remote").exists());
    };
    std::fs::write(&inventory, "[hosts\nn1 = = \"\n").unwrap();
    refused("Failed to parse");
    std::fs::remove_file(&inventory).unwrap();
    refused("hosts.ini");
}
