//! `probe` and `doctor` on the machine at hand: what must hold on any machine, and bad input.

use crate::harness::{Lab, said};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn json(lab: &Lab, args: &[&str]) -> Value {
    serde_json::from_str(&lab.ok(args).stdout).unwrap()
}

#[test]
fn cpus_that_cannot_be_probed_are_refused_in_one_line() {
    let lab = Lab::new();
    for (list, part) in [
        ("0,60000", "cannot probe logical CPU 60000: this machine does not have it"),
        ("", "empty"),
        ("3-1", "descending"),
        ("zero", "not a number"),
    ] {
        let said = lab.run(&["probe", "--allow-busy", "--cpus", list]);
        assert_eq!(said.code, Some(2), "{list}: {}", said.stderr);
        assert!(said.stderr.contains(part) && said.stderr.lines().count() == 1, "{list}: {}", said.stderr);
        assert!(said.stdout.is_empty());
    }
    let said = lab.run(&["probe", "--all", "--short", "--full"]);
    assert_eq!((said.code, said.stderr.lines().count()), (Some(2), 1), "{}", said.stderr);
    let said = lab.run(&["probe", "--all", "--html", "nowhere/probe.html"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(lab.files().is_empty());
}

#[test]
fn errors_that_nobody_can_read_change_nothing() {
    let lab = Lab::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let refused = lab.command(&["probe", "--all", "--cpus", "60000"]).stderr(full()).status().unwrap();
    assert_eq!(refused.code(), Some(2));
    let mut probe = lab.command(&["probe", "--all", "--short", "--allow-busy"]);
    let said = said(probe.stdout(Stdio::piped()).stderr(full()).spawn().unwrap().wait_with_output().unwrap());
    assert_eq!(said.code, Some(0));
    assert!(said.stdout.contains("short form"), "{}", said.stdout);
}

#[test]
fn one_logical_cpu_is_a_gap_and_not_an_answer() {
    let lab = Lab::new();
    let first = threadwise_machine::pin::current_affinity().unwrap().first().unwrap().to_string();
    let probe = json(&lab, &["probe", "--short", "--allow-busy", "--json", "--cpus", &first]);
    assert_eq!(probe["pairs"].as_array().unwrap().len(), 0);
    assert_eq!(probe["latencies"].as_array().unwrap().len(), 0);
    assert!(probe["gaps"].to_string().contains("one logical CPU"), "{}", probe["gaps"]);
    assert_eq!(probe["neighbours"].as_array().unwrap().len(), 1);
    assert_eq!(probe["measured_cores"].as_array().unwrap().len(), 0, "{}", probe["measured_cores"]);
}

#[test]
fn a_short_probe_answers_every_pair_and_leaves_a_page() {
    let lab = Lab::new();
    let args = ["probe", "--short", "--allow-busy", "--json", "--html", "probe.html", "--seed", "1"];
    let probe = json(&lab, &args);
    let cpus = threadwise_machine::pin::current_affinity().unwrap().len();
    assert_eq!((&probe["version"], &probe["form"]), (&Value::from(1), &Value::from("short")));
    let counts = probe["pair_counts"].as_object().unwrap();
    let pairs: u64 = counts.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(pairs as usize, cpus * (cpus - 1) / 2, "{counts:?}");
    for latency in probe["latencies"].as_array().unwrap() {
        for method in ["cas", "two_lines"] {
            let least_ns = latency[method]["min_ns"].as_f64().unwrap();
            assert!(
                least_ns > 0.0 && least_ns <= latency[method]["median_ns"].as_f64().unwrap(),
                "{latency}"
            );
        }
    }
    let page = std::fs::read_to_string(lab.path().join("probe.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("generator\" content=\"threadwise"));
    let again = lab.run(&args);
    assert_eq!(again.code, Some(2), "the page is not overwritten: {}", again.stderr);
}

#[test]
fn an_interrupted_probe_tells_what_it_has() {
    let lab = Lab::new();
    let mut command = lab.command(&["probe", "--all", "--allow-busy"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    // The first line comes when it measures: from then on signals are caught.
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut line).unwrap();
    assert!(line.starts_with("measuring"), "{line}");
    let signal = std::process::Command::new("sh")
        .args(["-c", "kill \"$@\"", "kill"])
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(signal.success());
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stdout);
    assert!(
        said.stdout.contains("standard form") && said.stdout.contains("Stopped before its end"),
        "{}",
        said.stdout
    );
}

#[test]
fn the_doctor_tells_every_check_in_both_forms() {
    let lab = Lab::new();
    let doctor = json(&lab, &["doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap();
    let counted: u64 =
        doctor["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted as usize, checks.len());
    let text = lab.ok(&["doctor"]).stdout;
    for check in checks {
        assert!(text.contains(check["name"].as_str().unwrap()), "{check}");
        assert!(!check["found"].as_str().unwrap().contains("not measured"), "{check}");
    }
    assert!(lab.files().is_empty() && lab.leftovers().is_empty());
}
