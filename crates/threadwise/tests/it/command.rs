//! `threadwise run command`: a study of a command from the command line and from a file, and that nothing
//! runs that the user did not allow and nothing lives on, however the program ends.

use crate::harness::{Lab, Said, said};
use crate::harness::{estimates_of, metric_of};
use crate::harness::{living, wait_until_clean};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// What every study here has: it is not the machine that is tested.
const QUICK: [&str; 7] = ["run", "command", "--allow-busy", "--no-probe", "--blocks", "8", "--seed=7"];

fn quick(lab: &Lab, output: &str, more: &[&str]) -> Said {
    lab.run(&[&QUICK[..], &["--all", "--output", output], more].concat())
}

fn report(lab: &Lab, file: &str) -> Value {
    serde_json::from_str(&lab.ok(&["report", file, "--json"]).stdout).unwrap()
}

fn estimate(report: &Value, treatment: &str, metric: &str) -> Value {
    let estimates = estimates_of(report, "comparisons");
    let found = estimates.iter().find(|one| one["treatment"] == treatment && one["metric"] == metric);
    Value::clone(found.unwrap_or_else(|| panic!("no {metric} of {treatment} in {estimates:?}")))
}

/// Waits for something that must come; a bound, not a measurement.
fn until(what: &str, is_there: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_there() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_metric_of_the_command_is_in_the_report_as_it_was_printed() {
    let lab = Lab::new();
    let script = "echo tps = {sessions}0.5; echo block {block} of {treatment} on {cpus}";
    let said = quick(
        &lab,
        "s.threadwise",
        &[
            "--placement",
            "1c1t",
            "--placement",
            "2c1t",
            "--metric",
            "tps=tx/s higher regex:^tps = ([0-9.]+)$",
            "--",
            "sh",
            "-c",
            script,
        ],
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for part in ["Commands:", script, "metric tps in tx/s, higher is better"] {
        assert!(said.stdout.contains(part), "{part} in {}", said.stdout);
    }
    let report = report(&lab, "s.threadwise");
    let treatments = report["treatments"].as_array().unwrap();
    assert_eq!(treatments.len(), 4);
    for treatment in treatments {
        let name = treatment["treatment"].as_str().unwrap();
        let sessions = if name == "2c1t" { 2.0 } else { 1.0 };
        assert_eq!(treatment["failed"], 0, "{treatment}");
        let tps = metric_of(&report, name, "metric/tps").unwrap();
        assert!((tps - (sessions * 10.0 + 0.5)).abs() < 1e-9, "{tps}");
        assert!(metric_of(&report, name, "elapsed_ns") > Some(0.0));
        assert!(metric_of(&report, name, "cpu_ns") > Some(0.0));
    }
    let units = estimates_of(&report, "treatments");
    let units: Vec<&&Value> = units.iter().filter(|one| one["metric"] == "metric/tps").collect();
    assert!(units.len() == 4 && units.iter().all(|one| one["unit"] == "tx/s"), "{units:?}");
    let tps = estimate(&report, "2c1t", "metric/tps");
    assert!((tps["value"].as_f64().unwrap() - 20.5 / 10.5).abs() < 1e-9, "{tps}");
    assert_eq!((&tps["direction"], &tps["answer"]), (&"higher-is-better".into(), &"larger".into()));
    let same = estimate(&report, "1c1t", "metric/tps");
    assert_eq!((&same["value"], &same["answer"]), (&1.0.into(), &"equivalent".into()));
    assert!(lab.leftovers().is_empty() && living(&lab).is_empty());
}

#[test]
fn one_process_for_each_session_has_its_own_logical_cpu_and_their_metrics_are_added() {
    let lab = Lab::new();
    let script = "echo n = 1 >&2; grep Cpus_allowed_list: /proc/self/status > {out}/cpus; \
                  grep -c -- {cpus}'$' {out}/cpus";
    let said = quick(
        &lab,
        "s.threadwise",
        &[
            "--each=session",
            "--placement=2c1t",
            "--metric=n=1 higher regex@stderr:n = ([0-9]+)",
            "--metric=own=1 none regex:([01])",
            "--metric=cpu=1 none regex@file=cpus:([0-9]+)$",
            "--",
            "sh",
            "-c",
            script,
        ],
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let report = report(&lab, "s.threadwise");
    let mean = |treatment: &str, metric: &str| metric_of(&report, treatment, metric);
    assert_eq!((mean("2c1t", "metric/n"), mean("alone", "metric/n")), (Some(2.0), Some(1.0)), "{report}");
    assert_eq!(mean("2c1t", "metric/own"), Some(1.0));
}

#[test]
fn what_a_file_names_runs_only_when_it_is_allowed() {
    let lab = Lab::new();
    let marker = lab.path().join("it-ran");
    let text = format!(
        "version = 1\nname = \"mine\"\nengine = \"command\"\nworkload = \"command\"\n[options]\n\
         command = \"touch '{}'\"\nmetric.n = \"1 none json@file=x:\"\nsetup = \"sh -c 'echo 5 > {{out}}/x'\"\n\
         [design]\nblocks = 8\n[[treatment]]\nplacement = \"2c1t\"\n",
        marker.display()
    );
    std::fs::write(lab.path().join("mine.toml"), text).unwrap();
    let refused = lab.run(&["run", "mine.toml", "--allow-busy", "--no-probe"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("touch") && refused.stderr.contains("--allow-commands"),
        "{}",
        refused.stderr
    );
    let plan = lab.ok(&["run", "mine.toml", "--plan"]);
    assert!(
        plan.stdout.contains("command  touch") && plan.stdout.contains("metric n in 1"),
        "{}",
        plan.stdout
    );
    let terms =
        "  one process per treatment; headline elapsed; at most 3600 s a command; exit code 0 is a success\n";
    assert!(plan.stdout.contains(terms), "{}", plan.stdout);
    let more = ["--each=session", "--set=timeout_s=5", "--set=success=0,3", "--headline=n"];
    let plan = lab.ok(&[&["run", "mine.toml", "--plan"][..], &more].concat());
    let terms =
        "  one process per session; headline n; at most 5 s a command; exit codes 0, 3 are a success\n";
    assert!(plan.stdout.contains(terms), "{}", plan.stdout);
    assert_eq!((marker.exists(), lab.files()), (false, vec!["mine.toml".to_owned()]));
    // A command of the command line does not allow those of the file.
    let half = lab.run(&["run", "mine.toml", "--allow-busy", "--no-probe", "--", "true"]);
    assert!(half.code == Some(3) && half.stderr.contains("setup"), "{}", half.stderr);

    let all = ["run", "mine.toml", "--allow-busy", "--no-probe", "--allow-commands", "--output=s.threadwise"];
    lab.ok(&all);
    assert!(marker.exists());
    std::fs::remove_file(&marker).unwrap();
    let report = report(&lab, "s.threadwise");
    let treatment = report["treatments"][2]["treatment"].as_str().unwrap();
    let mean = metric_of(&report, treatment, "metric/n").unwrap();
    assert!((mean - 5.0).abs() < 1e-9, "{mean}");
    for reader in [
        &["report", "--all", "s.threadwise"][..],
        &["export", "s.threadwise"],
        &["run", "--all", "--resume", "s.threadwise", "--no-html"],
    ] {
        lab.ok(reader);
    }
    assert!(!marker.exists(), "reading a study ran its command");
}

/// Starts a study whose command waits for ever beside a child in a session of its own, and waits until
/// it is at work.
fn start_waiting(lab: &Lab, file: &str) -> Child {
    let note = |word: &str| format!("sh -c 'echo {word} >> {}/log'", lab.path().display());
    let (setup, teardown) =
        (format!("--setup={}", note("setup")), format!("--teardown={}", note("teardown")));
    let script = "touch at-work; (setsid sleep 1000 &) ; sleep 1000 & wait";
    let more = ["--placement=2c1t", &setup, &teardown, "--no-html", "--", "sh", "-c", script];
    let args = [&QUICK[..], &["--output", file], &more].concat();
    let child = lab.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the command", || lab.path().join("at-work").exists());
    child
}

fn log(lab: &Lab) -> String {
    std::fs::read_to_string(lab.path().join("log")).unwrap_or_default()
}

fn signal(child: &Child, signal: i32) {
    // The number is that of our own child, which was not waited for.
    let sent = std::process::Command::new("sh")
        .args(["-c", "kill \"$@\"", "kill"])
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn ctrl_c_ends_the_command_runs_teardown_and_a_resume_asks_again() {
    let lab = Lab::new();
    let child = start_waiting(&lab, "s.threadwise");
    signal(&child, 2);
    let ended = said(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(log(&lab), "setup\nteardown\n");
    assert_eq!((living(&lab), lab.leftovers()), (vec![], vec![]));

    std::fs::remove_file(lab.path().join("at-work")).unwrap();
    let refused = lab.run(&["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("sleep 1000") && refused.stderr.contains("--allow-commands"));
    assert!(!lab.path().join("at-work").exists());
}

#[test]
fn a_killed_program_leaves_no_process_of_its_commands() {
    let lab = Lab::new();
    let mut child = start_waiting(&lab, "s.threadwise");
    // The command says that it is at work before it starts its children.
    until("the command's children", || living(&lab).len() >= 4);
    child.kill().unwrap();
    child.wait().unwrap();
    until("the end of all processes", || living(&lab).is_empty());
    wait_until_clean(&lab);
}

#[test]
fn commands_have_the_environment_and_no_file_has_its_passwords() {
    let lab = Lab::new();
    let secret = "geheim-0815-wort";
    let more = [
        "--output=s.threadwise",
        "--html=s.html",
        "--placement=2c1t",
        "--",
        "sh",
        "-c",
        "test \"$PGPASSWORD\" = \"$(printf geheim-%s-wort 0815)\"",
    ];
    let mut command = lab.command(&[&QUICK[..], &more].concat());
    let ended = said(command.env("PGPASSWORD", secret).output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(report(&lab, "s.threadwise")["treatments"][2]["failed"], 0);
    let holds = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
    };
    for file in ["s.threadwise", "s.html"] {
        assert!(!holds(&lab.path().join(file)), "{file} holds the password");
    }
    assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret));
    // One on the command line is the user's own, and is warned of by name.
    let warned = lab.ok(&["run", "command", "--plan", "--", "echo", "--password=x"]);
    assert!(warned.stdout.contains("--password looks like a password"), "{}", warned.stdout);
}

#[test]
fn what_cannot_be_is_refused_before_a_file_is_made() {
    let lab = Lab::new();
    let metric = "--metric=tps=tx/s higher regex:(";
    let both = "--metric=tps=tx/s higher regex:x";
    let cases: [(&[&str], &str); 14] = [
        (&["run", "--all", "command"], "after --"),
        (&["run", "--all", "command", "--", "no-such-program-here"], "on PATH"),
        (&["run", "--all", "command", "--", "echo", "{cpu}"], "is not a placeholder"),
        (&["run", "--all", "command", "--setup=a | b", "--", "true"], "sh -c"),
        (&["run", "--all", "command", metric, "--", "true"], "unclosed group"),
        (
            &["run", "--all", "command", "--parse=pgbench", both, "--", "true"],
            "--metric tps and --parse pgbench both",
        ),
        // An option is named as it was typed.
        (&["run", "--all", "command", "--setup=", "--", "true"], ": --setup: it is empty"),
        (&["run", "--all", "command", "--teardown='", "--", "true"], ": --teardown: "),
        (&["run", "--all", "command", "--set=setup=", "--", "true"], "--set setup="),
        (&["run", "--all", "command", "--setup=true", "--set=setup=", "--", "true"], "--set setup="),
        (&["run", "--all", "command", "--parse=oracle", "--", "true"], "parsers are pgbench"),
        (&["run", "--all", "command", "--rounds=3", "--", "true"], "once in every block"),
        (&["run", "--all", "command", "--slice=1s", "--", "true"], "timeout_s"),
        (&["run", "--all", "concurrent-inserts", "--", "true"], "studies of commands"),
    ];
    for (args, part) in cases {
        let said = lab.run(args);
        assert!(said.code == Some(2) && said.stderr.contains(part), "{args:?}: {}", said.stderr);
    }
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}

#[test]
fn a_command_that_kills_its_worker_leaves_nothing_to_the_next_treatment() {
    let lab = Lab::new();
    // It counts the processes of its kind that are there already: none may be. The number is ours alone.
    let long = 1_000_000 + std::process::id();
    let script = format!(
        "grep -la '^sleep.{long}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l >> seen; \
         (setsid sleep {long} &); kill -9 $PPID; sleep {long}"
    );
    let said = quick(&lab, "s.threadwise", &["--placement=2c1t", "--no-html", "--", "sh", "-c", &script]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("ended by signal 9"), "{}", said.stderr);
    let seen = std::fs::read_to_string(lab.path().join("seen")).unwrap();
    assert!(seen.lines().count() == 6 && seen.lines().all(|line| line == "0"), "{seen}");
    assert_eq!((living(&lab), lab.leftovers()), (vec![], vec![]));
}

#[test]
fn a_command_that_fails_says_why() {
    let lab = Lab::new();
    let said = quick(
        &lab,
        "s.threadwise",
        &["--placement=2c1t", "--no-html", "--", "sh", "-c", "echo no table >&2; exit 5"],
    );
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("ended with exit code 5: no table"), "{}", said.stderr);
}
