//! `threadwise worklist-run` and `threadwise worklist-sqlite` as the engine `worklist` starts them.

use crate::harness::{Lab, program};
use serde_json::{Value, json};
use std::io::Read;
use std::process::Stdio;
use threadwise_worklist::plan::{Feed, Item, Plan, Step, Summary};

fn step(name: &str, words: &[&str]) -> Step {
    let command = words.iter().map(|word| (*word).to_owned()).collect();
    Step { name: name.to_owned(), command, stdin: None }
}

/// A plan in the lab's folder, for two jobs; its file's name is `plan`.
fn plan(lab: &Lab, texts: &[String], steps: Vec<Step>, result: Option<&str>) {
    let item = |text: &String| Item { name: text.clone(), text: text.clone(), size_bytes: 0, earlier: 0 };
    let plan = Plan {
        items: texts.iter().map(item).collect(),
        order: (0..texts.len()).collect(),
        feed: Feed::Queue,
        jobs: 2,
        steps,
        result: result.map(str::to_owned),
        keep: None,
        work: lab.tmp(),
        folder: None,
        environment: std::collections::BTreeMap::new(),
        spans: lab.path().join("spans"),
    };
    std::fs::write(lab.path().join("plan"), serde_json::to_string(&plan).unwrap()).unwrap();
}

fn spans(lab: &Lab) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path().join("spans")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn database(path: &std::path::Path, rows: u32) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch("CREATE TABLE t (v TEXT); CREATE INDEX i ON t (v); BEGIN").unwrap();
    for row in 0..rows {
        connection.execute("INSERT INTO t VALUES (?1)", [format!("row {row}")]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

#[test]
fn a_plan_of_sqlite_files_is_done_and_summed_up_on_one_line() {
    let lab = Lab::new();
    let texts: Vec<String> = ["a b", "it's", "two\nlines", "-x"]
        .iter()
        .map(|name| lab.path().join(name).display().to_string())
        .collect();
    texts.iter().zip(1..).for_each(|(path, files)| database(path.as_ref(), 100 * files));
    let program_path: &str = &program();
    let steps = vec![
        step("vacuum-into", &[program_path, "worklist-sqlite", "vacuum-into", "{item}", "{work}/new.sqlite"]),
        step("integrity-check", &[program_path, "worklist-sqlite", "integrity-check", "{work}/new.sqlite"]),
    ];
    plan(&lab, &texts, steps, Some("{work}/new.sqlite"));
    let said = lab.ok(&["worklist-run", "plan"]);
    assert_eq!((said.stderr.as_str(), said.stdout.lines().count()), ("", 1));
    let summary: Summary = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((summary.items, summary.failed), (4, 0));
    let ends = || spans(&lab).into_iter().map(|span| span["end_ns"].as_u64().unwrap());
    let starts = spans(&lab).into_iter().map(|span| span["start_ns"].as_u64().unwrap());
    assert_eq!(summary.elapsed_s, (ends().max().unwrap() - starts.min().unwrap()) as f64 / 1e9);
    assert!(lab.leftovers().is_empty());
    // The same once more finds the spans of the first.
    let again = lab.run(&["worklist-run", "plan"]);
    assert!(again.code == Some(1) && again.stderr.contains("cannot make the file"), "{}", again.stderr);
}

#[test]
fn failed_items_are_reported_on_one_line_and_the_exit_code_says_so() {
    let lab = Lab::new();
    let good = lab.path().join("good").display().to_string();
    database(good.as_ref(), 10);
    let mut texts = vec![good];
    for name in ["bad1", "bad2", "bad3", "bad4"] {
        texts.push(lab.path().join(name).display().to_string());
        std::fs::write(&texts[texts.len() - 1], "no database ".repeat(100)).unwrap();
    }
    let program_path: &str = &program();
    let words = [program_path, "worklist-sqlite", "vacuum-into", "{item}", "{work}/new"];
    plan(&lab, &texts, vec![step("copy", &words)], Some("{work}/new"));
    let said = lab.run(&["worklist-run", "plan"]);
    let summary: Summary = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, summary.items, summary.failed), (Some(1), 5, 4));
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    let name = std::path::Path::new(program_path).file_name().unwrap().display();
    let first = format!("bad1: copy: {name} ended with exit code 1");
    for part in ["4 of 5 items failed", &first, "not a database", "and 1 more"] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert_eq!(spans(&lab).iter().filter(|span| span["fault"].is_null()).count(), 1);
    assert!(lab.leftovers().is_empty());
}

#[test]
fn bad_plans_are_bad_input() {
    let lab = Lab::new();
    plan(&lab, &["a".to_owned()], vec![step("backup", &["no-such-program-here"])], None);
    let said = lab.run(&["worklist-run", "plan"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(said.stderr.contains("no program 'no-such-program-here' on PATH"), "{}", said.stderr);
    std::fs::write(lab.path().join("plan"), json!({"items": 3}).to_string()).unwrap();
    assert_eq!(lab.run(&["worklist-run", "plan"]).code, Some(2));
    assert_eq!(lab.run(&["worklist-run", "absent"]).code, Some(2));
    assert_eq!(lab.files(), ["plan"]);
}

#[test]
fn sigterm_ends_a_list_with_its_processes() {
    let lab = Lab::new();
    let words = ["sh", "-c", "echo $$ >part; mv part \"$0\"; exec sleep 1000", "{item}"];
    let begun = lab.path().join("begun");
    let texts = [begun.display().to_string(), lab.path().join("second").display().to_string()];
    plan(&lab, &texts, vec![step("wait", &words)], None);
    let mut running =
        lab.command(&["worklist-run", "plan"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    while texts.iter().any(|text| !std::path::Path::new(text).exists()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pids = texts.map(|text| std::fs::read_to_string(text).unwrap().trim().to_owned());
    let number = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(number, rustix::process::Signal::TERM).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    let mut stderr = String::new();
    running.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.contains("stopped when 0 of 2 items were done"), "{stderr}");
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} lives");
    }
    assert!(spans(&lab).is_empty() && lab.leftovers().is_empty());
}

#[test]
fn steps_of_sqlite_say_on_one_line_what_is_wrong() {
    let lab = Lab::new();
    database(&lab.path().join("from"), 10);
    let said = lab.run(&["worklist-sqlite", "vacuum-into", "from", "from"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("exists") && said.stderr.lines().count() == 1, "{}", said.stderr);
    lab.ok(&["worklist-sqlite", "vacuum-into", "from", "file:to?mode=memory"]);
    lab.ok(&["worklist-sqlite", "integrity-check", "file:to?mode=memory"]);
    assert_eq!(lab.files(), ["file:to?mode=memory", "from"]);
    assert_eq!(lab.run(&["worklist-sqlite", "integrity-check", "absent"]).code, Some(1));
}
