//! What a plan becomes, and what is refused. Whole plays are in the program's own tests (fleet_ansible.rs).

use super::*;
use crate::engines::fetched;
use crate::plan::tests::plan;
use std::path::Path;
use std::process::Command;

const TWO: &str =
    "engine = \"ansible\"\napart = \"90s\"\n[[kind]]\nname = \"a\"\nnodes = [\"n1\", \"n2.example\"]\n";

fn location() -> FleetLocation {
    FleetLocation::new(Path::new("/srv/a fleet")).unwrap()
}

fn with(options: &str) -> Result<Vec<String>, FleetError> {
    let plan = plan(&TWO.replace("[[kind]]", &format!("[engine_options]\n{options}\n[[kind]]")), 1);
    Ansible.check(&plan, &location()).and_then(|()| arguments(&plan, "I", "P"))
}

#[test]
fn an_inventory_has_the_missing_cells_of_each_host_in_order() {
    let plan = plan(TWO, 3);
    let missing: Vec<CellId> =
        ["n1.3", "n1.1", "n2.example.2"].iter().map(|cell| cell.parse().unwrap()).collect();
    let batches = Ansible.batches(&plan, &location(), &missing, 4).unwrap();
    assert_eq!((batches.len(), &batches[0].cells, batches[0].waits), (1, &missing, true));
    let text = &batches[0].files[0].text;
    assert!(text.contains("\"n1\":\n      threadwise_cells: [\"n1.1\", \"n1.3\"]\n"), "{text}");
    assert!(text.contains("\"n2.example\":\n      threadwise_cells: [\"n2.example.2\"]\n"), "{text}");
    assert!(text.contains("threadwise_folder: !unsafe \"/srv/a fleet\"\n"), "{text}");
    let remote = text.lines().find(|line| line.contains("threadwise_remote")).unwrap();
    assert!(remote.contains("!unsafe \"~/.threadwise-fleet/"), "{remote}");
    assert!(
        text.contains("threadwise_apart_s: 90\n") && text.contains("threadwise_attempt: \"4\"\n"),
        "{text}"
    );
    let start = "ansible-playbook --inventory=ansible/submit-4.yml ansible/playbook.yml";
    assert_eq!(batches[0].start.shown(), start);
    let check = batches[0].check.as_ref().unwrap().shown();
    assert!(
        check.starts_with("env ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=True ansible-playbook --list-hosts")
    );
    assert_eq!(Ansible.batches(&plan, &location(), &[], 5).unwrap(), []);
    assert_eq!(Ansible.collection(&plan, &location(), &missing).len(), 1);
    assert_eq!(Ansible.collection(&plan, &location(), &[]), []);
}

#[test]
fn options_are_passed_on_unchanged() {
    let options = "forks = 1\nbecome = true\ndiff = false\ninventory = [\"/a b\", \"~/h\", \"h1,\"]\nextra-vars = { x = \"y z\" }\n\
                   remote_dir = \"/var/tmp/tw\"";
    let wanted = [
        "--become",
        "--extra-vars={\"x\":\"y z\"}",
        "--forks=1",
        "--inventory=/a b",
        "--inventory=~/h",
        "--inventory=h1,",
        "--inventory=I",
        "P",
    ];
    assert_eq!(with(options).unwrap(), wanted);
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    for (options, why) in [
        ("limit = \"n1\"", "use nodes of a kind"),
        ("tags = \"x\"", "may not have 'tags'"),
        ("check = true", "measure nothing"),
        ("ask-become-pass = true", "become-password-file"),
        ("inventory = \"hosts.ini\"", "absolute path"),
        ("private-key = [\"id\"]", "absolute path"),
        ("\"-i\" = \"/x\"", "long names"),
        ("remote_dir = \"tmp\"", "begins with / or ~/"),
        ("remote_dir = \"/tmp/$(reboot)\"", "begins with / or ~/"),
        ("remote_dir = \"/tmp/../etc\"", "begins with / or ~/"),
        ("remote_dir = \"/tmp/{{ 1 }}\"", "begins with / or ~/"),
    ] {
        let error = with(options).unwrap_err().to_string();
        assert!(
            error.starts_with("ansible: ") && error.contains(why) && !error.contains('\n'),
            "{options}: {error}"
        );
    }
    for (from, to, why) in [
        ("nodes = [\"n1\", \"n2.example\"]", "machines = 2", "ansible -i INVENTORY GROUP"),
        ("nodes = [\"n1\", \"n2.example\"]", "nodes = [\"localhost\"]", "has a special meaning"),
        ("name = \"a\"", "name = \"a\"\nselector = { group = \"web\" }", "choose hosts by nodes"),
        ("name = \"a\"", "name = \"a\"\nengine_options = { forks = 1 }", "give them to all"),
    ] {
        let error = Ansible.check(&plan(&TWO.replace(from, to), 1), &location()).unwrap_err().to_string();
        assert!(error.contains(why), "{to}: {error}");
    }
    for dir in ["/a$HOME", "/a{{ x }}", "/it's", "/a\"b", "/a\\b", "/~x"] {
        assert!(Ansible.check(&plan(TWO, 1), &FleetLocation::new(Path::new(dir)).unwrap()).is_err(), "{dir}");
    }
}

/// What a plan says ends in no file that a shell or a template reads: only in the inventory, quoted.
#[test]
fn constant_files_have_nothing_of_a_plan() {
    let files = Ansible.files(&plan(TWO, 1), &location()).unwrap();
    let (inventory, others): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.path == WHOLE);
    assert_eq!((inventory.len(), others.len()), (1, CONSTANT.len()));
    assert!(others.iter().all(|file| !file.text.contains("n2.example") && !file.text.contains("/srv/")));
}

#[test]
fn what_was_fetched_is_placed_whole_and_a_measured_cell_is_never_replaced() {
    let lab = tempfile::tempdir().unwrap();
    let folder = lab.path().join("a fleet");
    let script = lab.path().join("place.sh");
    std::fs::write(&script, include_str!("../place.sh")).unwrap();
    std::fs::create_dir_all(folder.join("cells")).unwrap();
    let fetched = |outcome: &str, files: &[&str]| {
        let from = folder.join("ansible/fetched/1/n1.1");
        std::fs::create_dir_all(&from).unwrap();
        for file in files {
            std::fs::write(from.join(file), format!("{{\n  \"outcome\": \"{outcome}\",\n}}\n")).unwrap();
        }
        let mut command = Command::new("sh");
        command.arg(&script).arg(&folder).arg("n1.1").arg(&from);
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let said = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap_or_default();
    let (is_placed, why) = fetched("failed", &["exit"]);
    assert!(!is_placed && why.contains("n1.1: what came of it has no cell.json"), "{why}");
    assert!(fetched("failed", &["cell.json", "exit"]).0);
    assert!(said("cells/n1.1/cell.json").contains("failed"));
    assert!(fetched("refused", &["cell.json", "exit"]).0);
    assert!(fetched("measured", &["cell.json", "exit", "study.threadwise"]).0);
    assert!(
        said("replaced/n1.1.1/cell.json").contains("failed")
            && said("replaced/n1.1.2/cell.json").contains("refused")
    );
    let (is_placed, why) = fetched("failed", &["cell.json", "exit"]);
    assert!(!is_placed && why.contains("left as it is"), "{why}");
    assert!(said("cells/n1.1/cell.json").contains("measured"));
}

mod lab_fleets {
    use super::*;

    #[test]
    #[ignore = "laboratory: fleets"]
    fn ansible_reads_the_inventory_and_both_playbooks_as_they_were_meant() {
        let programs = fetched();
        let lab = tempfile::tempdir().unwrap();
        let location = FleetLocation::new(&lab.path().join("größe 🦀 %s")).unwrap();
        let files = Ansible.files(&plan(TWO, 2), &location).unwrap();
        for file in &files {
            let path = lab.path().join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &file.text).unwrap();
        }
        let run = |program: &str, args: &[&str]| {
            let mut command = Command::new(programs.join(program));
            command.args(args).current_dir(lab.path()).env("HOME", lab.path()).env("LC_ALL", "C.UTF-8");
            let output = command.output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let listed = run("ansible-inventory", &["-i", WHOLE, "--list"]);
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let vars = &listed["_meta"]["hostvars"]["n2.example"];
        assert_eq!(vars["threadwise_cells"], serde_json::json!(["n2.example.1", "n2.example.2"]), "{listed}");
        // What is not a template is shown with its mark.
        let folder = vars["threadwise_folder"].get("__ansible_unsafe").unwrap_or(&vars["threadwise_folder"]);
        assert_eq!(folder, &serde_json::json!(location.dir), "{listed}");
        for (playbook, task) in
            [("ansible/playbook.yml", "Compare the program"), ("ansible/collect.yml", "Bring each cell")]
        {
            let tasks = run("ansible-playbook", &["-i", WHOLE, "--list-tasks", playbook]);
            assert!(tasks.contains("threadwise_fleet") && tasks.contains(task), "{tasks}");
        }
    }
}
