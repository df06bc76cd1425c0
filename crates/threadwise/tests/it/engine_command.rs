//! `threadwise engine`: environments of Python engines, made with a program in the place of Python that
//! answers as one would, and looked at in a real one.

use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ENVIRONMENT: &str = "data/threadwise/engines/analytics";

pub fn engine(lab: &Lab, args: &[&str]) -> Said {
    said(command(lab, args).output().unwrap())
}

pub fn command(lab: &Lab, args: &[&str]) -> Command {
    let words: Vec<&str> = std::iter::once("engine").chain(args.iter().copied()).collect();
    let mut command = lab.command(&words);
    command.env("XDG_DATA_HOME", lab.path().join("data"));
    command
}

fn refused(lab: &Lab, args: &[&str], code: i32, words: &[&str]) {
    let said = engine(lab, args);
    assert_eq!(said.code, Some(code), "{args:?}\n{}\n{}", said.stdout, said.stderr);
    assert_eq!(said.stdout, "", "{args:?}");
    assert_eq!(said.stderr.trim_end().lines().count(), 1, "{args:?}: {}", said.stderr);
    for word in words {
        assert!(said.stderr.contains(word), "{args:?}: '{word}' is not in: {}", said.stderr);
    }
}

/// A script that answers as a Python that fits; `pip` is what it does when it is to install.
pub fn python(lab: &Lab, pip: &str) -> String {
    let packages: String = requirements(lab)
        .lines()
        .filter_map(|line| line.trim_end_matches([' ', '\\']).split_once("=="))
        .filter(|(name, _)| !name.starts_with('#'))
        .map(|(name, version)| format!("echo version {name} {version}; "))
        .collect();
    let text = format!(
        "#!/bin/sh\nhere=$(dirname \"$0\")\ncase \"$*\" in\n\
         *importlib*) {packages} echo generator \"$here/tpchgen-cli\"; echo end ;;\n\
         *ensurepip*) printf '%s\\n' 'version 3.12.1' 'implementation cpython' 'system Linux' 'machine x86_64' \
         'bits 64' 'libc glibc 2.36' 'gil yes' 'venv yes' 'ensurepip yes' ;;\n\
         *'-m venv'*) mkdir -p \"$4/bin\"; cp \"$0\" \"$4/bin/python\"; cp /bin/true \"$4/bin/tpchgen-cli\" ;;\n\
         *'-m pip'*) {pip} ;;\n*) echo 3.12.1 ;;\nesac\n"
    );
    let source = lab.tmp().join("python.txt");
    let program = lab.tmp().join("python");
    std::fs::write(&source, text).unwrap();
    // By another process: a descriptor open for writing, inherited elsewhere, would forbid running it.
    let made = Command::new("install").args(["-m", "755"]).args([&source, &program]).status().unwrap();
    assert!(made.success());
    program.to_str().unwrap().to_owned()
}

pub fn requirements(lab: &Lab) -> String {
    engine(lab, &["add", "--print-requirements"]).stdout
}

fn listed(lab: &Lab) -> Value {
    let said = engine(lab, &["list", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn a_list_says_what_is_missing_and_makes_nothing() {
    let lab = Lab::new();
    let said = engine(&lab, &["list"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("not installed: threadwise engine add duckdb"), "{}", said.stdout);
    let list = listed(&lab);
    let names: Vec<&str> =
        list["engines"].as_array().unwrap().iter().take(2).map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!((list["version"].as_u64(), names), (Some(1), vec!["duckdb", "datafusion"]));
    assert_eq!(list["engines"][0]["state"], "not installed");
    let removed = engine(&lab, &["remove"]);
    assert!(removed.stdout.contains("nothing to remove"), "{}", removed.stdout);
    assert_eq!(lab.files(), Vec::<String>::new());
}

#[test]
fn programs_of_others_are_listed() {
    let lab = Lab::new();
    let program = lab.path().join("threadwise-engine-mine");
    threadwise_process::programs::copy(std::path::Path::new("/bin/true"), &program).unwrap();
    let mut command = command(&lab, &["list", "--json"]);
    let list = said(command.env("PATH", lab.path()).output().unwrap()).stdout;
    let list: Value = serde_json::from_str(&list).unwrap();
    let mine = list["engines"].as_array().unwrap().iter().find(|one| one["name"] == "mine").unwrap();
    assert_eq!((mine["kind"].as_str(), mine["path"].as_str()), (Some("program"), program.to_str()));
}

#[test]
fn bad_input_is_refused_and_nothing_is_made() {
    let lab = Lab::new();
    refused(&lab, &["add", "vertica"], 2, &["vertica", "duckdb, datafusion"]);
    refused(&lab, &["add"], 2, &["NAME"]);
    refused(&lab, &["remove", "vertica"], 2, &["vertica"]);
    refused(&lab, &["add", "duckdb", "--wheels", "absent"], 2, &["--wheels absent"]);
    refused(&lab, &["add", "duckdb", "--wheels", "tmp"], 2, &["--print-requirements"]);
    refused(&lab, &["add", "duckdb", "--python", "/bin/false"], 3, &["/bin/false", "not a working Python 3"]);
    refused(&lab, &["add", "duckdb", "--python", "pythonoid"], 2, &["pythonoid", "PATH"]);
    assert_eq!(lab.files(), Vec::<String>::new());
}

#[test]
fn a_data_folder_that_cannot_be_is_named() {
    let lab = Lab::new();
    let python = python(&lab, "true");
    std::fs::write(lab.path().join("data"), "").unwrap();
    refused(
        &lab,
        &["add", "duckdb", "--python", &python],
        1,
        &["data/threadwise/engines", "Not a directory"],
    );
}

#[test]
fn requirements_are_printed_with_the_way_to_use_them() {
    let lab = Lab::new();
    let text = requirements(&lab);
    for word in ["duckdb==2.", "--hash=sha256:", "pip download --require-hashes", "--wheels wheels"] {
        assert!(text.contains(word), "{word}");
    }
    assert_eq!(lab.files(), Vec::<String>::new());
}

#[test]
fn an_environment_is_made_listed_and_removed() {
    let lab = Lab::new();
    let python = python(&lab, "echo 'Downloading duckdb-2.0.0-x.whl (24.4 MB)'");
    let made = engine(&lab, &["add", "duckdb", "--python", &python]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(made.stderr.contains("downloading duckdb 2.0.0, 24.4 MB"), "{}", made.stderr);
    assert!(made.stdout.starts_with("duckdb 2") && made.stdout.contains(": ready in "), "{}", made.stdout);
    let list = listed(&lab);
    for engine in &list["engines"].as_array().unwrap()[..2] {
        assert_eq!((engine["state"].as_str(), engine["python"].as_str()), (Some("ready"), Some("3.12.1")));
        assert_eq!(engine["packages"][engine["name"].as_str().unwrap()], engine["engine_version"]);
    }
    let again = engine(&lab, &["add", "datafusion"]);
    assert!(again.stdout.contains("already in"), "{}\n{}", again.stdout, again.stderr);
    assert_eq!(lab.files(), ["data"]);
    assert_eq!(engine(&lab, &["remove"]).code, Some(0));
    assert!(!lab.path().join(ENVIRONMENT).exists());
    assert_eq!(listed(&lab)["engines"][0]["state"], "not installed");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let lab = Lab::new();
    let python = python(&lab, "true");
    let precious = lab.path().join(ENVIRONMENT).join("precious");
    std::fs::create_dir_all(precious.parent().unwrap()).unwrap();
    std::fs::write(&precious, "precious").unwrap();
    refused(&lab, &["add", "duckdb", "--force", "--python", &python], 3, &["not made by threadwise"]);
    refused(&lab, &["remove"], 3, &["not made by threadwise"]);
    assert_eq!(listed(&lab)["engines"][0]["state"], "foreign");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
}

/// Starts an installation that hangs, and waits until it does; its group is its own.
fn hanging(lab: &Lab) -> (Child, PathBuf) {
    let note = lab.tmp().join("pip");
    let python = python(lab, &format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600", note.display()));
    let mut command = command(lab, &["add", "duckdb", "--python", &python]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    wait_until("the installation runs", || note.exists());
    (child, note)
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn send(process: &str, signal: &str) {
    let done = Command::new("sh")
        .args(["-c", "kill \"$@\"", "kill"])
        .args(["-s", signal, process.trim()])
        .status()
        .unwrap();
    assert!(done.success(), "kill -s {signal} {process}");
}

fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn ctrl_c_ends_it_and_removes_what_was_begun() {
    let lab = Lab::new();
    let (child, note) = hanging(&lab);
    send(&child.id().to_string(), "INT");
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(said.stderr.contains("stopped"), "{}", said.stderr);
    assert!(!lab.path().join(ENVIRONMENT).exists());
    assert!(!is_alive(&std::fs::read_to_string(note).unwrap()));
}

#[test]
fn after_a_kill_the_next_one_waits_for_the_rest_and_starts_anew() {
    let lab = Lab::new();
    let (mut child, note) = hanging(&lab);
    child.kill().unwrap();
    child.wait().unwrap();
    let pip = std::fs::read_to_string(note).unwrap();
    assert!(is_alive(&pip), "an installer outlives its killed parent");
    assert_eq!(listed(&lab)["engines"][0]["state"], "incomplete");
    refused(&lab, &["remove"], 3, &["held by process"]);
    let rubbish = lab.path().join(ENVIRONMENT).join("rubbish");
    std::fs::write(&rubbish, "").unwrap();
    let good = python(&lab, "true");
    let mut next = command(&lab, &["add", "duckdb", "--python", &good]);
    let next = next.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(rubbish.exists(), "the old installer is still at work");
    send(&pip, "KILL");
    let said = said(next.wait_with_output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("waiting for process"), "{}", said.stderr);
    assert!(!rubbish.exists());
    assert_eq!(listed(&lab)["engines"][0]["state"], "ready");
}
