//! Texts from elsewhere (an engine's version, notes, messages and counters; a study's title; a path) that
//! would act on a terminal or deceive its reader: none of them comes out as it is, in any form.

use crate::harness::{Lab, Said, said};
use std::path::PathBuf;
use std::process::Command;
use threadwise_machine::text::is_deceptive;

/// Escape, CSI in one character, bell, direction marks, no space at all, a soft hyphen, tags.
const HOSTILE: &str = "a\u{1b}[31m\u{9b}2J\u{7}\u{202e}b\u{200b}\u{2066}c\u{ad}d\u{e0001}\u{e0041}\u{2028}e";

/// A worker whose every text is hostile. The treatment `extra` fails with such a message.
const WORKER: &str = r#"#!/usr/bin/env python3
import json, os, sys, threading, time
reply = os.fdopen(int(os.environ["THREADWISE_REPLY_FD"]), "w", buffering=1)
bad = BAD
def say(**message):
    reply.write(json.dumps(message) + "\n")
def session(cpus, tids, ready):
    low, _, high = cpus.partition("-")
    os.sched_setaffinity(0, range(int(low), int(high or low) + 1))
    tids.append(threading.get_native_id())
    ready.set()
    threading.Event().wait()
print(bad, flush=True)
say(type="hello", protocol=1, engine="hostile", version="1 " + bad)
fault, tids = "", []
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "load":
        say(type="loaded", bytes_per_session=4096, rows_per_session=1, notes=["loaded " + bad])
    elif request["type"] == "prepare":
        fault = request["load"]["treatment"]
        for entry in request["sessions"]:
            ready = threading.Event()
            threading.Thread(target=session, args=(entry["cpus"], tids, ready), daemon=True).start()
            ready.wait()
        say(type="ready", tids=tids, notes=["ready " + bad])
    elif request["type"] == "go":
        if fault.startswith("extra"):
            say(type="failed", kind="engine" + bad, message="no table " + bad)
            sys.exit(1)
        one = {"steps": 10, "rows": 640, "answers_checked": 10, "answers_wrong": 0, "cpu_ns": 5,
               "counters": {"logical_reads": 1300, "physical_reads": 0, "pages" + bad: 3}}
        start = time.monotonic_ns() + request["warmup_ns"]
        time.sleep((request["warmup_ns"] + request["window_ns"]) / 1e9)
        say(type="slice", sequence=request["sequence"], start_ns=start, window_ns=request["window_ns"],
            sessions=[one] * len(tids), counters={"waits/" + bad: 1, "waits_sampled": 1})
    else:
        say(type="done")
        break
"#;

/// The title is the file's own; names of treatments with such characters are refused.
const STUDY: &str = r#"version = 1
name = "hostile"
title = "TITLE"
engine = "hostile"
workload = "logical-io"
[options]
blocks = 8
[design]
rounds = 2
slice_ms = 1
rewarm_ms = 1
blocks = 2
[baseline]
placement = "1c1t"
sessions = 1
[[treatment]]
name = "other"
placement = "1c1t"
sessions = 1
[[treatment]]
name = "extra"
placement = "1c1t"
sessions = 1
"#;

fn escaped_for_toml_and_json(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// A lab with the engine on its PATH and the study.
fn lab() -> Lab {
    let lab = Lab::new();
    let bad = format!("\"{}\"", escaped_for_toml_and_json(HOSTILE));
    let source = lab.tmp().join("worker.txt");
    // Python knows no surrogates for one character; JSON's own decoder does.
    std::fs::write(&source, WORKER.replace("BAD", &format!("json.loads(r'{bad}')"))).unwrap();
    let program = lab.path().join("threadwise-engine-hostile");
    // By another process: a descriptor open for writing, inherited elsewhere, would forbid running it.
    let made = Command::new("install").args(["-m", "755"]).args([&source, &program]).status().unwrap();
    assert!(made.success());
    std::fs::remove_file(&source).unwrap();
    // TOML has escapes for characters and none for surrogates.
    let title: String = HOSTILE.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    std::fs::write(lab.path().join("study.toml"), STUDY.replace("TITLE", &title)).unwrap();
    lab
}

fn run(lab: &Lab, args: &[&str]) -> Said {
    let path = std::env::join_paths(
        std::iter::once(lab.path().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()))
            .collect::<Vec<PathBuf>>(),
    );
    said(lab.command(args).env("PATH", path.unwrap()).output().unwrap())
}

#[track_caller]
fn is_clean(what: &str, text: &str) {
    let line = text.lines().find(|line| line.contains(|c| is_deceptive(c) && c != '\t'));
    let shown = line.map(|line| line.chars().take(200).collect::<String>().escape_debug().to_string());
    assert_eq!(shown, None, "{what}");
}

#[test]
fn nothing_deceptive_of_a_study_comes_out_in_any_form() {
    if !crate::harness::has_python("texts of a hostile worker") {
        return;
    }
    let lab = lab();
    let args =
        ["run", "study.toml", "--output", "s.threadwise", "--html", "s.html", "--allow-busy", "--no-probe"];
    let plan = run(&lab, &[&args[..2], &["--plan", "--allow-busy"]].concat());
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let measured = run(&lab, &args);
    assert!(lab.path().join("s.html").exists(), "{}\n{}", measured.stdout, measured.stderr);
    for (what, said) in [("plan", &plan), ("run", &measured)] {
        is_clean(what, &said.stdout);
        is_clean(what, &said.stderr);
    }
    // It is there, only not as it was.
    assert!(measured.stdout.contains("[31m"), "{}", measured.stdout);
    // The libraries of its charts, one line each, are not from elsewhere, and know such characters.
    let page = std::fs::read_to_string(lab.path().join("s.html")).unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| !line.starts_with("!function(t,")).collect();
    is_clean("html", &lines.join("\n"));
    let forms: [&[&str]; 12] = [
        &["report", "--all", "s.threadwise"],
        &["report", "s.threadwise", "--json"],
        &["report", "s.threadwise", "--csv"],
        &["compare", "--all", "s.threadwise", "s.threadwise"],
        &["compare", "s.threadwise", "s.threadwise", "--json"],
        &["export", "s.threadwise", "--format", "csv", "--what", "runs"],
        &["export", "s.threadwise", "--format", "csv", "--what", "slices"],
        &["export", "s.threadwise", "--format", "jsonl", "--what", "runs"],
        &["export", "s.threadwise", "--format", "jsonl", "--what", "slices"],
        &["list"],
        &["list", "--json"],
        &["report", "--all", HOSTILE],
    ];
    for args in forms {
        let said = run(&lab, args);
        is_clean(&args.join(" "), &said.stdout);
        is_clean(&args.join(" "), &said.stderr);
        assert!(!said.stdout.is_empty() || !said.stderr.is_empty(), "{args:?} said nothing");
    }
    // JSON says the same as the file, with escapes.
    let json: serde_json::Value =
        serde_json::from_str(&run(&lab, &["report", "s.threadwise", "--json"]).stdout).unwrap();
    assert_eq!(json["study"]["title"], HOSTILE);
    let notes = json["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note == "ready a [31m 2J b c d e"), "{notes:?}");
}

#[test]
fn names_and_arguments_that_deceive_are_shown_in_escapes() {
    let lab = lab();
    let file = lab.path().join("bad.toml");
    for (from, to) in
        [("name = \"other\"", "name = \"oth\\u202eer\""), ("name = \"other\"", "name = \"o\\u200b\"")]
    {
        let study = std::fs::read_to_string(lab.path().join("study.toml")).unwrap();
        std::fs::write(&file, study.replace(from, to)).unwrap();
        let said = run(&lab, &["run", "bad.toml", "--allow-busy"]);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains("control or format character"), "{}", said.stderr);
        is_clean("name", &said.stderr);
    }
    let output = format!("no such folder {HOSTILE}/s.threadwise");
    for args in [
        &["run", "--all", HOSTILE][..],
        &["run", "--all", "--engine", HOSTILE],
        &["run", "--placement", HOSTILE, "--allow-busy"],
        &["run", "--all", "--set", HOSTILE],
        &["run", "--all", "--output", &output, "--engine", "simulated"],
        &["topology", "--root", HOSTILE],
        &["doctor", "--root", HOSTILE],
        &["engine", "add", HOSTILE],
        &["reload", "--engine", "sqlite", HOSTILE],
        &[HOSTILE],
    ] {
        let said = run(&lab, args);
        is_clean(&args.join(" "), &said.stdout);
        is_clean(&args.join(" "), &said.stderr);
        assert!(!said.stderr.is_empty() || !said.stdout.is_empty(), "{args:?}");
    }
}
