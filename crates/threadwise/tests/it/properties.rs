//! What an engine says of itself: by programs in other languages, and in result files of before it was said.

use crate::harness::{Lab, Said, said};
use rusqlite::Connection;
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/WORKER.md");

/// A lab with the worker of docs/WORKER.md as the engine `sum`, which says that it is a model.
fn lab() -> Lab {
    let lab = Lab::new();
    let program = PAGE.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let hello = "reply(\"hello\", protocol=1, engine=\"python-sum\", ";
    let properties = "{\"simulated\": True, \"service_threads\": False, \"block_bytes\": 16384}";
    let said = program.replace(hello, &format!("{hello}properties={properties}, "));
    assert_ne!(said, program);
    let source = lab.tmp().join("worker.txt");
    std::fs::write(&source, format!("#!/usr/bin/env python3\n{said}")).unwrap();
    // By another process: a descriptor open for writing, inherited elsewhere, would forbid running it.
    let program = lab.path().join("threadwise-engine-sum");
    let made = Command::new("install").args(["-m", "755"]).args([&source, &program]).status().unwrap();
    assert!(made.success());
    std::fs::remove_file(&source).unwrap();
    lab
}

fn run(lab: &Lab, args: &[&str]) -> Said {
    let path = format!("{}:{}", lab.path().display(), std::env::var("PATH").unwrap_or_default());
    said(lab.command(args).env("PATH", path).output().unwrap())
}

#[test]
fn a_program_in_another_language_is_planned_and_reported_by_its_own_words() {
    if !crate::harness::has_python("an engine in another language") {
        return;
    }
    let lab = lab();
    let args = ["run", "--engine", "sum", "--allow-busy", "--placement=1c1t", "--blocks=2", "--rounds=20"];
    let refused = run(&lab, &[&args[..], &["--plan", "--service=near"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("engine sum has no service threads"), "{}", refused.stderr);
    let one = ["--set", "data=l2", "--slice=1ms", "--no-probe", "--no-html", "--output", "s.threadwise"];
    let done = run(&lab, &[&args[..], &one].concat());
    assert!(done.stdout.contains("SIMULATED"), "{}\n{}", done.stdout, done.stderr);
    // Its own words are in the file, since no other program knows the engine.
    assert!(lab.ok(&["report", "--all", "s.threadwise"]).stdout.contains("SIMULATED"));
    let blocks = |lines: &str| lines.lines().find(|line| line.starts_with("blocks = ")).unwrap().to_owned();
    // They are the user's, and in no card.
    let card = lab.ok(&["card", "s.threadwise"]).stdout;
    assert!(card.contains("\"engine\":\"other\",\"engine_version\":\"\"") && !card.contains("sum"), "{card}");
    let stored = toml(&lab, "s.threadwise");
    assert!(stored.contains("block_bytes = 16384"), "{stored}");
    let usual =
        lab.simulated("t.threadwise", &["--placement=1c1t", "--set", "data=l2", "--blocks=1", "--no-html"]);
    assert_eq!(usual.code, Some(0), "{}", usual.stderr);
    assert_ne!(blocks(&stored), blocks(&toml(&lab, "t.threadwise")), "a level is fewer blocks of 16 KiB");
}

#[test]
fn a_file_from_before_gives_the_same_report() {
    let lab = Lab::new();
    let done = lab.simulated("s.threadwise", &["--placement=2c1t", "--blocks=2", "--no-html"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let reports = || {
        lab.ok(&["report", "--all", "s.threadwise", "--html", "s.html"]);
        let html = std::fs::read_to_string(lab.path().join("s.html")).unwrap();
        std::fs::remove_file(lab.path().join("s.html")).unwrap();
        let json = lab.ok(&["report", "s.threadwise", "--json"]).stdout;
        (lab.ok(&["report", "--all", "s.threadwise"]).stdout, json, html)
    };
    let now = reports();
    assert!(now.0.contains("SIMULATED"));
    let stored = toml(&lab, "s.threadwise");
    let (before, rest) = stored.split_once("[engine_properties]\n").unwrap();
    let older = format!("{before}{}", rest.split_once("\n\n").unwrap().1);
    let connection = Connection::open(lab.path().join("s.threadwise")).unwrap();
    assert_eq!(connection.execute("UPDATE study SET toml = ?", [&older]).unwrap(), 1);
    drop(connection);
    assert!(!toml(&lab, "s.threadwise").contains("engine_properties"));
    assert!(reports() == now, "{}", lab.ok(&["report", "--all", "s.threadwise"]).stdout);
}

fn toml(lab: &Lab, name: &str) -> String {
    let connection = Connection::open(lab.path().join(name)).unwrap();
    connection.query_row("SELECT toml FROM study", [], |row| row.get(0)).unwrap()
}
