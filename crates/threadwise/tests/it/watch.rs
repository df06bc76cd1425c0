//! `watch` on the machine at hand: its lines and objects, how it ends, and bad input.

use crate::harness::{Lab, said};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use threadwise_probe::neighbour::FREE_ADDS;

const STATES: [&str; 7] = ["alone", "one-core", "neighbour", "slowed", "apart", "away", "unknown"];

#[test]
fn every_look_is_an_object_on_a_line() {
    let lab = Lab::new();
    let said = lab.ok(&["watch", "--json", "--every", "10ms", "--count", "5"]);
    let looks: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let allowed = threadwise_machine::pin::current_affinity().unwrap().len().min(16);
    assert_eq!(looks.len(), 5);
    for look in looks {
        assert_eq!(look["cpus"].as_array().unwrap().len(), allowed);
        assert_eq!(look["lines"].as_array().unwrap().len(), allowed / 2, "each is in one pair at most");
        for cpu in look["cpus"].as_array().unwrap() {
            let state = cpu["state"].as_str().unwrap();
            assert!(STATES.contains(&state), "{state}");
            assert_eq!(cpu["with"].is_null(), state != "one-core", "{cpu}");
            // One that ran has no width where another did not come to the second part of the look.
            assert!(state != "away" || cpu["adds_per_step"].is_null(), "{cpu}");
            let by_width = ["alone", "neighbour", "slowed"].contains(&state);
            assert!(!by_width || cpu["adds_per_step"].is_number(), "{cpu}");
        }
    }
    assert!(lab.files().is_empty());
}

#[test]
fn an_interrupt_ends_it_with_a_summary() {
    let lab = Lab::new();
    let mut watch = lab
        .command(&["watch", "--every", "10ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut stdout = BufReader::new(watch.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    assert!(first.contains(':') && first.ends_with('\n'), "{first}");
    let stopped = Command::new("sh")
        .args(["-c", "kill \"$@\"", "kill"])
        .args(["-INT", &watch.id().to_string()])
        .status()
        .unwrap();
    assert!(stopped.success());
    let rest: Vec<String> = stdout.lines().map(Result::unwrap).collect();
    let ended = said(watch.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let summary = rest.iter().position(|line| line.contains(" in ")).unwrap();
    let cpus = rest[summary + 1..].iter().filter(|line| line.starts_with("  logical CPU ")).count();
    assert_eq!(cpus, rest.len() - summary - 1);
    assert!(cpus > 0, "{rest:?}");
}

#[test]
fn one_logical_cpu_is_watched_alone() {
    let lab = Lab::new();
    let first = threadwise_machine::pin::current_affinity().unwrap().first().unwrap().to_string();
    let said = lab.ok(&["watch", "--cpus", &first, "--every", "10ms", "--count", "2"]);
    assert_eq!(said.stdout.lines().count(), 2 + 3, "{}", said.stdout);
    assert!(!said.stdout.contains("line") && said.stderr.contains("1 logical CPU"), "{}", said.stdout);
    for word in ["one core", "apart", "slowed"] {
        assert!(!said.stdout.contains(word), "there is no other: {}", said.stdout);
    }
    let unknown = "the width of this processor's cores is unknown";
    assert_eq!(said.stderr.contains(unknown), FREE_ADDS.is_none(), "{}", said.stderr);
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let lab = Lab::new();
    for (args, part) in [
        (["--cpus", "60000"], "logical CPU 60000: this machine does not have it"),
        (["--every", "1ms"], "10ms to 1h"),
        (["--every", "2"], "is not a time"),
        (["--count", "0"], "'0' for '--count"),
    ] {
        let said = lab.run(&["watch", args[0], args[1]]);
        assert_eq!((said.code, said.stderr.lines().count()), (Some(2), 1), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(part), "{args:?}: {}", said.stderr);
        assert!(said.stdout.is_empty());
    }
}
