//! What a study that was interrupted keeps of its first start, and what has to be said again.

use crate::harness::Lab;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use threadwise_store::Store;

/// Blocks of more than a second, so that the first one can be interrupted.
const STUDY: &str = "version = 1\nname = \"long\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n\n[options]\n\
                     blocks = 500\n\n[design]\nblocks = 2\nrounds = 1\nslice_ms = 500\nrewarm_ms = 1\n\n[baseline]\n\
                     placement = \"1c1t\"\n\n[[treatment]]\nname = \"two\"\nplacement = \"one-cpu\"\nsessions = 2\n";

/// Runs a study in two parts, the first of which ends in its first block, and the second in each of these ways; gives
/// the probes that are stored after the first, and after each second.
fn probes_of_two_parts(first: &[&str], seconds: &[&[&str]]) -> (usize, Vec<usize>) {
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
    let interrupted = std::fs::read(lab.path().join("s.threadwise")).unwrap();
    let after = seconds.iter().map(|second| {
        std::fs::write(lab.path().join("s.threadwise"), &interrupted).unwrap();
        lab.ok(&[&again[..], second].concat());
        assert_eq!(lab.leftovers(), Vec::<String>::new());
        store().probes().unwrap().len()
    });
    (before, after.collect())
}

#[test]
fn a_study_that_goes_on_probes_as_it_began() {
    assert_eq!(probes_of_two_parts(&["--no-probe"], &[&[]]), (0, vec![0]));
    assert_eq!(probes_of_two_parts(&[], &[&[], &["--no-probe"]]), (1, vec![2, 1]), "what is said counts");
}

#[test]
fn a_study_that_was_killed_before_its_first_run_is_still_not_probed() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("long.toml"), STUDY).unwrap();
    let args = ["run", "long.toml", "--allow-busy", "--no-html", "--no-probe", "-o", "s.threadwise"];
    let store = || Store::open(&lab.path().join("s.threadwise")).unwrap();
    // On a busy machine we may come to it too late; then another one will do.
    let killed_in_time = (0..50).any(|_| {
        let _ = std::fs::remove_file(lab.path().join("s.threadwise"));
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
        store().runs().unwrap().is_empty()
    });
    assert!(killed_in_time);
    lab.ok(&["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"]);
    assert_eq!((store().probes().unwrap().len(), store().runs().unwrap().is_empty()), (0, false));
}

#[test]
fn what_has_to_be_given_again_is_in_the_help() {
    let help = Lab::new().ok(&["run", "--help-all"]).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("--allow-busy, --data-dir, --budget and, if it runs commands, --allow-commands"),
        "{words}"
    );
}
