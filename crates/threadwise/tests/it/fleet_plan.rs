//! `fleet plan`: what is written and shown, and what is refused before anything is.

use crate::fleet_harness::{FleetLab, ONE, head, names, study};
use std::path::Path;

fn refused(fleet: &str, dir: &str, why: &str) {
    let lab = FleetLab::new(&study(2, 2), fleet);
    let said = lab.lab.run(&["fleet", "plan", "fleet.toml", "-o", dir]);
    assert_eq!(said.code, Some(2), "{fleet}: {}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains(why), "{fleet}: {}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    assert!(!lab.lab.path().join(dir).join("plan.json").exists());
}

#[test]
fn a_plan_is_written_shown_and_the_same_when_it_is_made_again() {
    let two = format!(
        "{}{ONE}price = {{ amount = 0.5, currency = \"EUR\", date = \"2026-01-15\", source = \"a list\" }}\n",
        head(2, "")
    );
    let lab = FleetLab::new(&study(2, 2), &two.replace("seed = 7\n", ""));
    let first = lab.lab.ok(&["fleet", "plan", "fleet.toml", "-o", "f"]);
    for wanted in [
        "Test fleet",
        "Kind:     k: n1, 0.5 EUR an hour (a list, 2026-01-15)",
        "Cells:    2 (2 on each of 1 machine)",
        "sbatch --parsable --array=1,2%1",
        "Next: threadwise fleet submit f",
    ] {
        assert!(first.stdout.contains(wanted), "{wanted}: {}", first.stdout);
    }
    let written = names(&lab.dir());
    assert_eq!(written, ["README.txt", "cells", "logs", "plan.json", "slurm", "study.toml", "threadwise"]);
    let plan = std::fs::read(lab.dir().join("plan.json")).unwrap();
    // A seed that the user did not choose is kept.
    let again = lab.lab.ok(&["fleet", "plan", "fleet.toml", "-o", "f"]);
    assert!(again.stderr.contains("already had this plan"), "{}", again.stderr);
    assert_eq!(std::fs::read(lab.dir().join("plan.json")).unwrap(), plan);
    let text = std::fs::read_to_string(lab.lab.path().join("fleet.toml")).unwrap();
    std::fs::write(lab.lab.path().join("fleet.toml"), text.replace("repeats = 2", "repeats = 3")).unwrap();
    let other = lab.lab.run(&["fleet", "plan", "fleet.toml", "-o", "f"]);
    assert_eq!((other.code, other.stderr.contains("another plan")), (Some(2), true), "{}", other.stderr);
    assert_eq!(std::fs::read(lab.dir().join("plan.json")).unwrap(), plan);
}

#[test]
fn a_study_that_this_machine_would_refuse_is_planned_with_a_remark() {
    let fleet = format!("{}{ONE}", head(1, "budget = \"2s\"")).replace("study.toml", "placement");
    let lab = FleetLab::new(&study(2, 2), &fleet);
    let said = lab.lab.ok(&["fleet", "plan", "fleet.toml", "-o", "f"]);
    assert!(said.stderr.contains("this machine would refuse the study"), "{}", said.stderr);
    assert!(said.stderr.contains("cannot hold 8 blocks"), "{}", said.stderr);
    let odd = fleet.replace("no_probe = true", "no_probe = true\nengine = \"postgres://u:secret@h/d\"");
    refused(&odd, "f", "an address must not contain a password");
}

#[test]
fn a_folder_with_something_else_is_left_alone() {
    let lab = FleetLab::new(&study(2, 2), &format!("{}{ONE}", head(1, "")));
    std::fs::create_dir(lab.dir()).unwrap();
    std::fs::write(lab.dir().join("thesis.tex"), "mine").unwrap();
    let said = lab.lab.run(&["fleet", "plan", "fleet.toml", "-o", "f"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("it is not empty (it has thesis.tex)"), "{}", said.stderr);
    assert_eq!(names(&lab.dir()), ["thesis.tex"]);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let fleet = format!("{}{ONE}", head(1, ""));
    refused(&fleet.replace("\"n1\"", "\"n1;reboot\""), "f", "fleet.toml:13:10: 'n1;reboot' is not a name");
    refused(&fleet.replace("repeats", "repeat"), "f", "unknown field `repeat`");
    refused(&fleet.replace("study.toml", "plaecment"), "f", "there is no preset 'plaecment'");
    refused(&fleet.replace("study.toml", "smt-boots"), "f", "external arms");
    refused(&fleet.replace("study.toml", "missing.toml"), "f", "cannot read missing.toml");
}

#[test]
fn slurm_says_what_it_cannot_express() {
    for (options, why) in [
        ("hint = \"nomultithread\"", "may not have 'hint'"),
        ("threads-per-core = 1", "may not have 'threads-per-core'"),
        ("exclusive = false", "use measures"),
        ("time = 5", "use time_limit"),
        ("\"comment\" = \"a'b\"", "cannot hold"),
        ("account = [\"a\"]", "a list or table"),
        ("\"-A\" = \"x\"", "long names"),
    ] {
        let fleet = format!("{}[engine_options]\n{options}\n{ONE}", head(1, ""));
        let lab = FleetLab::new(&study(2, 2), &fleet);
        let said = lab.lab.run(&["fleet", "plan", "fleet.toml", "-o", "f"]);
        assert_eq!(said.code, Some(1), "{options}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{options}: {}", said.stderr);
        assert!(!lab.dir().join("plan.json").exists());
    }
    let pool = format!("{}[[kind]]\nname = \"k\"\nmachines = 2\n", head(1, ""));
    let lab = FleetLab::new(&study(2, 2), &pool);
    let said = lab.lab.run(&["fleet", "plan", "fleet.toml", "-o", "f"]);
    assert!(said.stderr.contains("a pool without a selector"), "{}", said.stderr);
}

#[test]
fn a_folder_may_have_spaces_and_no_quotes() {
    let lab = FleetLab::new(&study(2, 2), &format!("{}{ONE}", head(1, "")));
    lab.lab.ok(&["fleet", "plan", "fleet.toml", "-o", "a $(touch x) b"]);
    let script = lab.lab.path().join("a $(touch x) b/slurm/n1.sh");
    let script = std::fs::read_to_string(script).unwrap();
    assert!(script.contains("a $(touch x) b' --cell \"n1.$SLURM_ARRAY_TASK_ID\""), "{script}");
    let checked = std::process::Command::new("sh").args(["-n", "-c", &script]).status().unwrap();
    assert!(checked.success());
    let said = lab.lab.run(&["fleet", "plan", "fleet.toml", "-o", "it's"]);
    assert!(said.stderr.contains("cannot hold"), "{}", said.stderr);
    assert!(!Path::new("x").exists() && !lab.lab.path().join("x").exists());
}

#[test]
fn what_has_no_plan_is_no_fleet() {
    let lab = FleetLab::new(&study(2, 2), &format!("{}{ONE}", head(1, "")));
    for step in ["submit", "status", "collect"] {
        let said = lab.lab.run(&["fleet", step, "f"]);
        assert_eq!(said.code, Some(2), "{step}: {}", said.stderr);
        assert!(said.stderr.contains("threadwise fleet plan FILE -o DIR"), "{step}: {}", said.stderr);
    }
    std::fs::create_dir(lab.dir()).unwrap();
    for step in ["submit", "status", "collect", "report"] {
        let said = lab.lab.run(&["fleet", step, "f"]);
        assert_eq!(
            (said.code, said.stderr.contains("it has no plan.json")),
            (Some(2), true),
            "{step}: {}",
            said.stderr
        );
    }
    let said = lab.lab.run(&["fleet", "cell", "--dir", "f", "--cell", "n1.1"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
}
