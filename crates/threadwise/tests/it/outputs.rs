//! One rule for all outputs: a table over every command that writes a file, and what each says of a name that it
//! cannot have.

use crate::harness::{Lab, program, said};
use std::os::unix::fs::symlink;

/// Every way to name an output; the name follows.
const OUTPUTS: [(&str, &[&str]); 9] = [
    ("run --output", &["run", "--engine", "simulated", "--allow-busy", "--no-html", "--output"]),
    ("run --html", &["run", "--engine", "simulated", "--allow-busy", "--html"]),
    ("run --plan --output", &["run", "--engine", "simulated", "--plan", "--no-html", "--output"]),
    ("run --plan --html", &["run", "--engine", "simulated", "--plan", "--html"]),
    ("report --html", &["report", "--all", "s.threadwise", "--html"]),
    ("compare --html", &["compare", "--all", "s.threadwise", "s.threadwise", "--html"]),
    ("probe --html", &["probe", "--short", "--allow-busy", "--html"]),
    ("topology --capture", &["topology", "--capture"]),
    ("topology --svg", &["topology", "--draw", "--svg"]),
];

/// Every file and folder below the lab's folder, with the bytes of files.
fn everything(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![lab.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let bytes = if entry.file_type().unwrap().is_file() {
                std::fs::read(entry.path()).unwrap()
            } else {
                vec![]
            };
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            found.push((entry.path().display().to_string(), bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn all_outputs_refuse_the_same_names_in_the_same_words() {
    let lab = Lab::new();
    assert_eq!(lab.simulated("s.threadwise", &["--no-html"]).code, Some(0));
    std::fs::write(lab.path().join("file"), "precious").unwrap();
    std::fs::create_dir(lab.path().join("folder")).unwrap();
    symlink("nowhere", lab.path().join("link")).unwrap();
    let before = everything(&lab);
    let taken = |name: &str| format!("{name} exists and is not overwritten: give another name");
    let cases = [
        ("file", taken("file")),
        ("folder", taken("folder")),
        ("link", taken("link")),
        ("absent/x", "absent is not a folder: create it, or give another name".to_owned()),
        ("file/x", "file is not a folder: create it, or give another name".to_owned()),
        ("-", "'-' is not a file name".to_owned()),
    ];
    for (output, args) in OUTPUTS {
        for (name, words) in &cases {
            let said = lab.run(&[args, &[*name]].concat());
            assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{output} {name}: {}", said.stderr);
            assert_eq!(said.stderr.trim_end().lines().count(), 1, "{output} {name}: {}", said.stderr);
            assert!(
                said.stderr.starts_with(&format!("threadwise: {words}")),
                "{output} {name}: {}",
                said.stderr
            );
            assert_eq!(everything(&lab), before, "{output} {name}");
        }
    }
}

#[test]
fn a_plan_looks_at_its_output_and_makes_nothing() {
    let lab = Lab::new();
    let before = everything(&lab);
    let said = lab.run(&["run", "--engine", "simulated", "--plan", "--output", "s.threadwise"]);
    assert_eq!((said.code, everything(&lab)), (Some(0), before), "{}", said.stderr);
}

#[test]
fn a_second_recording_and_a_second_page_are_refused_and_the_first_stay() {
    let lab = Lab::new();
    assert_eq!(lab.simulated("s.threadwise", &["--no-html"]).code, Some(0));
    for args in [
        &["topology", "--capture", "here"][..],
        &["topology", "--svg", "m.svg"],
        &["report", "--all", "s.threadwise", "--html", "r.html"],
        &["compare", "--all", "s.threadwise", "s.threadwise", "--html", "c.html"],
    ] {
        lab.ok(args);
        let before = everything(&lab);
        let again = lab.run(args);
        assert_eq!(again.code, Some(2), "{args:?}: {}", again.stderr);
        assert!(again.stderr.contains("exists and is not overwritten"), "{args:?}: {}", again.stderr);
        assert_eq!(everything(&lab), before, "{args:?}");
    }
    let page = std::fs::read_to_string(lab.path().join("c.html")).unwrap();
    assert!(page.contains("side by side") && page.contains("SIMULATED") && page.contains("</html>"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "it must work offline");
}

#[test]
fn a_file_is_written_though_nobody_reads_standard_output() {
    let lab = Lab::new();
    assert_eq!(lab.simulated("s.threadwise", &["--no-html"]).code, Some(0));
    for (name, args) in [
        ("r.html", &["report", "--all", "s.threadwise"][..]),
        ("c.html", &["compare", "--all", "s.threadwise", "s.threadwise"]),
    ] {
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let mut command = lab.command(&[args, &["--html", name]].concat());
        let status = command.stdout(write).status().unwrap();
        assert_eq!(status.code(), Some(0), "{name}");
        assert!(std::fs::read_to_string(lab.path().join(name)).unwrap().contains("</html>"), "{name}");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_with_what_to_do_and_no_signal() {
    let lab = Lab::new();
    // The result file, and a log of a worker's.
    for (blocks, args) in [
        ("0", "run --engine simulated --allow-busy --blocks 2"),
        ("400", "run concurrent-inserts --allow-busy --no-probe --blocks 2 --rounds 4"),
    ] {
        let script =
            format!("ulimit -f {blocks}; exec \"$0\" {args} --no-html --output x{blocks}.threadwise");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, &program()]).current_dir(lab.path()).env("TMPDIR", lab.tmp());
        let said = said(command.env("THREADWISE_STATE_DIR", lab.state()).output().unwrap());
        assert_eq!(said.code, Some(1), "{blocks}: {}", said.stderr);
        assert!(said.stderr.contains("raise it with ulimit -f"), "{blocks}: {}", said.stderr);
    }
}
