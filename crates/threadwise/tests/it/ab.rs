//! `threadwise ab`: two versions of a program in one study, B over A first in the answer.

use crate::harness::estimates_of;
use crate::harness::{Lab, Said};
use serde_json::Value;

/// What every study here has: it is not the machine that is tested.
const QUICK: [&str; 7] = ["ab", "--allow-busy", "--no-probe", "--no-html", "--blocks=8", "--seed=7", "-o"];

fn measured(lab: &Lab, file: &str, more: &[&str]) -> Said {
    lab.ok(&[&QUICK[..1], &["--all"], &QUICK[1..], &[file], more].concat())
}

fn report(lab: &Lab, file: &str) -> Value {
    serde_json::from_str(&lab.ok(&["report", file, "--json"]).stdout).unwrap()
}

/// The answer, which stands before everything else that was found.
fn answer(report: &Value) -> String {
    let findings = report["findings"].as_array().unwrap();
    let at = |kinds: &[&str]| findings.iter().position(|one| kinds.contains(&one["kind"].as_str().unwrap()));
    let first = at(&["versions"]).unwrap_or_else(|| panic!("no answer in {findings:?}"));
    assert!(at(&["command", "scaling", "cost", "machine"]).is_none_or(|other| first < other), "{findings:?}");
    findings[first]["text"].as_str().unwrap().to_owned()
}

fn treatments(report: &Value) -> Vec<&str> {
    report["treatments"].as_array().unwrap().iter().map(|one| one["treatment"].as_str().unwrap()).collect()
}

#[test]
fn two_commands_take_turns_and_the_answer_is_b_over_a() {
    let lab = Lab::new();
    let metric = ["--metric", "tps=tx/s higher regex:tps=([0-9]+)"];
    let said =
        measured(&lab, "s", &[&metric[..], &["--", "echo", "tps=100", "---", "echo", "tps=120"]].concat());
    assert!(said.stdout.contains("Two versions, A: echo tps=100; B: echo tps=120"), "{}", said.stdout);
    let found = report(&lab, "s");
    assert_eq!(treatments(&found), ["A", "A'", "B"]);
    assert!(answer(&found).starts_with("B has 1.20x [1.20, 1.20] of A's tps, better"), "{}", answer(&found));
}

#[test]
fn settings_make_versions_of_one_command_and_of_an_engine() {
    let lab = Lab::new();
    let setup = |text: &str| format!("setup=sh -c 'echo n={text} > {{out}}/n'");
    let (a, b) = (setup("2"), setup("3"));
    let metric = "n=1 higher regex@file=n:n=([0-9])";
    measured(&lab, "s", &["--a", &a, "--b", &b, "--metric", metric, "--", "true"]);
    assert!(answer(&report(&lab, "s")).starts_with("B has 1.50x [1.50, 1.50] of A's n"));
    measured(&lab, "e", &["--engine=simulated", "--a", "work_unit=16", "--b", "work_unit=64"]);
    let found = report(&lab, "e");
    assert_eq!(treatments(&found), ["A", "A'", "B"]);
    assert!(answer(&found).starts_with("B does "), "{}", answer(&found));
    assert_eq!(found["details"]["choices"], Value::Null);
    // What both are is said first, and the table calls them so.
    let screen = lab.ok(&["report", "e"]).stdout;
    let first = "SIMULATED: Two versions, A: work_unit=16; B: work_unit=64";
    let has_row = |name: &str| screen.lines().any(|line| line.split_whitespace().next() == Some(name));
    assert!(screen.starts_with(first) && has_row("A") && has_row("B"), "{screen}");
    let plan = [
        "ab",
        "--engine=sqlite",
        "--study=concurrent-inserts",
        "--plan",
        "--placement=one-cpu",
        "--placement=all",
        "--sessions=1,2",
        "--a",
        "engine.page_size=4096",
        "--b",
        "engine.page_size=8192",
    ];
    let said = lab.run(&plan);
    // Whether or not the engine has such an option, what it says is about it, and about no treatment.
    assert!(said.code == Some(0) || said.stderr.contains("page_size"), "{}", said.stderr);
}

#[test]
fn what_is_no_pair_of_versions_is_refused() {
    let lab = Lab::new();
    for (args, says) in [
        (&[][..], "threadwise ab -- CMD_A --- CMD_B"),
        (&["--", "true"], "give two versions"),
        (&["--", "true", "---"], "give two versions"),
        (&["--", "---", "true"], "give two versions"),
        (&["--", "a", "---", "b", "---", "c"], "give two versions"),
        (&["--", "true", "---", "true"], "both versions are the same"),
        (&["--a", "each=session", "--b", "each=session", "--", "true"], "both versions are the same"),
        (&["--a", "x=1", "--", "true"], "--a x=1: x: unknown to command"),
        (&["--b", "engine.url=postgres://h/d", "--engine=postgres"], "threadwise compare A B"),
        (&["--engine=sqlite", "--", "true", "---", "false"], "remove one of them"),
        (&["--study=parallel-queries", "--engine=postgres", "--a", "scale=1"], "--factor"),
        (&["--placement=nowhere", "--", "true", "---", "false"], "nowhere"),
        (&["--", "true", "---", "no-such-program-here"], "no-such-program-here"),
    ] {
        let said = lab.run(&[&["ab", "--allow-busy", "--no-probe"][..], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
        assert_eq!(said.stderr.trim_end().lines().count(), 1, "{args:?}: {}", said.stderr);
    }
    assert!(lab.files().is_empty(), "{:?}", lab.files());
    let list = lab.ok(&["list"]).stdout;
    assert!(list.contains("questions\n") && list.contains("ab "), "{list}");
}

#[test]
fn studies_of_two_commands_name_what_differs_and_how_to_measure_it() {
    let lab = Lab::new();
    for (file, command) in [("old", "exit 0"), ("new", "exit 0; :")] {
        let quick = [
            "run",
            "command",
            "--placement=all",
            "--allow-busy",
            "--no-probe",
            "--no-html",
            "--blocks=2",
            "-o",
        ];
        lab.ok(&[&quick[..], &[file, "--", "sh", "-c", command]].concat());
    }
    let said = lab.run(&["compare", "--all", "--before", "old", "--after", "new"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    for part in [
        "the option 'command': sh -c 'exit 0' against sh -c 'exit 0; :'",
        "threadwise ab -- sh -c 'exit 0' ---",
    ] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
}

/// Times are the machine's.
mod lab_clock {
    use super::*;

    #[test]
    #[ignore = "laboratory: clock"]
    fn a_time_is_answered_for_on_each_placement() {
        let lab = Lab::new();
        // A time is taken, and of several placements each is answered for.
        measured(
            &lab,
            "t",
            &[
                "--placement=all",
                "--placement=one-cpu",
                "--",
                "sh",
                "-c",
                "sleep 0.3",
                "---",
                "sh",
                "-c",
                "exit 0",
            ],
        );
        let found = report(&lab, "t");
        assert_eq!(treatments(&found), ["A all", "A all'", "B all", "A one-cpu", "B one-cpu"]);
        let answer = answer(&found);
        assert!(
            answer.starts_with("B takes 0.") && answer.contains("of A's time on all, better; B takes 0."),
            "{answer}"
        );
        assert!(answer.contains("on one-cpu, better"), "{answer}");
        // No comparison is of both version and placement.
        let over = estimates_of(&found, "comparisons");
        assert!(over.iter().all(|one| one["place"]["comparison"] != "B one-cpu : A all") && !over.is_empty());
    }
}
