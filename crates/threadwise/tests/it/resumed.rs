//! What a study that was interrupted keeps of its first start, and what has to be said again.

use crate::harness::Lab;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use threadwise_store::Store;

/// Blocks of more than a second, so that the first one can be interrupted.
const STUDY: &str = "version = 1\nname = \"long\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n\n[options]\n\
                     blocks = 500\n\n[design]\nblocks = 2\nrounds = 1\nslice_ms = 500\nrewarm_ms = 1\n\n[baseline]\n\
                     placement = \"1c1t\"\n\n[[treatment]]\nname = \"two\"\nplacement = \"one-cpu\"\nsessions = 2\n";

/// Runs a study in two parts, the first of which ends in its first block; gives the probes that are
/// stored after each.
fn probes_of_two_parts(first: &[&str], second: &[&str]) -> (usize, usize) {
    let lab = Lab::new();
    std::fs::write(lab.path().join("long.toml"), STUDY).unwrap();
    let begin = ["run", "long.toml", "--allow-busy", "--no-html", "--seed", "4", "-o", "s.threadwise"];
    let again = ["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"];
    let mut command = lab.command(&[&begin[..], first].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // Said when the blocks begin.
    while !line.contains("telemetry runs on logical CPU") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended without a block");
    }
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("--resume s.threadwise --allow-busy"), "{rest}");
    let store = || Store::open(&lab.path().join("s.threadwise")).unwrap();
    assert!(!store().runs().unwrap().is_empty());
    let before = store().probes().unwrap().len();
    lab.ok(&[&again[..], second].concat());
    assert_eq!(lab.leftovers(), Vec::<String>::new());
    (before, store().probes().unwrap().len())
}

#[test]
fn a_study_that_goes_on_probes_as_it_began() {
    assert_eq!(probes_of_two_parts(&["--no-probe"], &[]), (0, 0));
    assert_eq!(probes_of_two_parts(&[], &[]), (1, 2));
    assert_eq!(probes_of_two_parts(&[], &["--no-probe"]), (1, 1), "what is said counts");
}

#[test]
fn a_study_that_was_killed_before_its_first_run_is_still_not_probed() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("long.toml"), STUDY).unwrap();
    let args = ["run", "long.toml", "--allow-busy", "--no-html", "--no-probe", "-o", "s.threadwise"];
    let mut child = lab.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("telemetry runs on logical CPU") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended without a block");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    Store::recover(&lab.path().join("s.threadwise")).unwrap();
    let store = || Store::open(&lab.path().join("s.threadwise")).unwrap();
    assert_eq!(store().runs().unwrap().len(), 0, "it was killed too late for this test");
    lab.ok(&["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"]);
    assert_eq!((store().probes().unwrap().len(), store().runs().unwrap().is_empty()), (0, false));
}

#[test]
fn what_has_to_be_given_again_is_in_the_help() {
    let help = Lab::new().ok(&["run", "--help"]).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("--allow-busy, --data-dir, --budget and, where it runs commands, --allow-commands"),
        "{words}"
    );
}
