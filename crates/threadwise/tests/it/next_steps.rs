//! Command lines that the program prints as a next step: each can be run as it stands, or has options that its command
//! takes.

use crate::harness::Lab;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Commands that measure, and say with `--plan` what they would do.
const PLANNED: [&str; 5] = ["run", "pool", "maxdop", "bind", "ab"];

/// Runs a printed command line, which must be understood; one that measures only plans.
fn assert_runs(lab: &Lab, line: &str) {
    let words = threadwise_study::command::split(line).unwrap();
    let (program, args) = words.split_first().unwrap();
    assert_eq!(program, "threadwise", "{line}");
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    if PLANNED.contains(&args[0]) {
        // --json says how it is printed and --plan prints no report.
        args.retain(|word| *word != "--json");
        args.insert(1, "--plan");
    }
    let said = lab.run(&args);
    assert_eq!(said.code, Some(0), "{line}\n{}", said.stderr);
}

/// What stands behind some words in a text, up to the end of its line.
fn behind<'a>(text: &'a str, words: &str) -> &'a str {
    let at = text.find(words).unwrap_or_else(|| panic!("no '{words}' in {text}"));
    text[at + words.len()..].lines().next().unwrap().trim()
}

/// Starts a study and interrupts it in a block; gives what it said.
fn interrupted(lab: &Lab, args: &[&str]) -> String {
    let mut child = lab.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
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
    rest
}

#[test]
fn a_study_goes_on_by_the_line_that_is_printed() {
    let lab = Lab::new();
    let database = lab.path().join("my shop.db");
    rusqlite::Connection::open(&database)
        .unwrap()
        .execute_batch("CREATE TABLE c(n); INSERT INTO c VALUES (0)")
        .unwrap();
    std::fs::write(lab.path().join("page.sql"), "UPDATE c SET n = n + 1").unwrap();
    std::fs::create_dir(lab.path().join("the data")).unwrap();
    let (option, path) = (format!("database={}", database.display()), database.display().to_string());
    let same = ["--allow-busy", "--no-probe", "--no-html", "--blocks=50", "--data-dir", "the data", "-o"];
    let writes = [
        "pool",
        "--all",
        "--transaction=page.sql",
        "--may-write",
        &path,
        "--engine-option",
        &option,
        "--sessions=1,2",
    ];
    let said = interrupted(&lab, &[&writes[..], &same, &["w.threadwise"]].concat());
    let line = behind(&said, "continue with: ");
    for part in ["--may-write", "--data-dir 'the data'", "--allow-busy", "--no-html"] {
        assert!(line.contains(part), "{line}");
    }
    assert_runs(&lab, line);
    let command = ["run", "--all", "command", "--placement=all"];
    let said = interrupted(&lab, &[&command[..], &same, &["c.threadwise", "--", "sleep", "0.2"]].concat());
    assert_runs(&lab, behind(&said, "continue with: "));
}

#[test]
fn the_last_words_of_a_study_can_be_typed_again() {
    let lab = Lab::new();
    let said = lab.simulated("my study.threadwise", &["--no-html"]);
    assert_runs(&lab, behind(&said.stdout, "Again:"));
    // What a refusal of two commands names.
    for (file, word) in [("old", "a b"), ("new", "c")] {
        let quick = [
            "run",
            "command",
            "--placement=all",
            "--allow-busy",
            "--no-probe",
            "--no-html",
            "--blocks=2",
            "-o",
        ];
        lab.ok(&[&quick[..], &[file, "--", "echo", word]].concat());
    }
    let said = lab.run(&["compare", "--all", "--before", "old", "--after", "new"]);
    assert_runs(&lab, &format!("threadwise ab {}", behind(&said.stderr, "threadwise ab")));
}

/// Which options a command takes, by its help.
fn options_of(lab: &Lab, command: &[&str]) -> Option<BTreeSet<String>> {
    let said = lab.run(&[command, &["--help-all"]].concat());
    let usage = said.stdout.split("Examples:").next().unwrap_or_default().to_owned();
    let is_option = |c: char| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit();
    let found =
        usage.match_indices("--").map(|(at, _)| usage[at..].chars().take_while(|c| is_option(*c)).collect());
    (said.code == Some(0)).then(|| found.collect())
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if !["tests", "target", "benches", "fixtures"].contains(&name.as_str()) => {
                sources(&path, all)
            }
            true => {}
            false
                if ["rs", "md", "tsv", "toml"].iter().any(|end| name.ends_with(end))
                    && !name.contains("tests") =>
            {
                all.push(path);
            }
            false => {}
        }
    }
}

/// Every `threadwise COMMAND …` in the sources and the documents: the command is one, and the options behind it, up to what
/// ends a command line in a text, are options of it.
#[test]
fn every_command_line_in_texts_names_commands_and_options_that_there_are() {
    let lab = Lab::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    for folder in ["crates", "docs", "gallery", "published"] {
        sources(&root.join(folder), &mut files);
    }
    let help = lab.ok(&["--help"]).stdout;
    let listed = help.split("Usage:").nth(1).unwrap().split("Options:").next().unwrap();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for word in listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|word| !word.is_empty())
    {
        known.insert(word.to_owned(), options_of(&lab, &[word]).unwrap_or_default());
    }
    known.insert("study".to_owned(), known["run"].clone());
    for (command, subs) in [
        ("fleet", &["plan", "submit", "status", "collect", "report", "cell"][..]),
        ("engine", &["add", "list", "remove"]),
        ("smt", &["off", "on", "status"]),
        ("probe", &["spins"]),
    ] {
        for sub in subs {
            let more = options_of(&lab, &[command, sub]).unwrap_or_else(|| panic!("no {command} {sub}"));
            known.get_mut(command).unwrap().extend(more);
        }
    }
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("threadwise ") {
            // Not the end of a file's name, and not the name of our package.
            if text[..at].ends_with('.') || text[..at].ends_with("-p ") {
                continue;
            }
            let rest = &text[at + "threadwise ".len()..];
            let name: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            // What ends a command line in a sentence, a table, a string or a line of examples.
            let end = rest.find(['`', '"', ';', '\n', ')', '|', ',']).unwrap_or(rest.len());
            let line = rest[..end].split(" -- ").next().unwrap().split("   ").next().unwrap();
            let options: Vec<&str> =
                line.split([' ', '=', '.', ':']).filter(|word| word.starts_with("--")).collect();
            let Some(takes) = known.get(&name) else {
                if options.iter().any(|option| !["--help", "--help-all"].contains(option)) && name != "worker"
                {
                    wrong.push(format!("{}: threadwise {line}", file.display()));
                }
                continue;
            };
            seen += 1;
            for option in options.into_iter().filter(|option| *option != "--" && *option != "---") {
                if !takes.contains(option) {
                    wrong.push(format!("{}: threadwise {line}: {name} takes no {option}", file.display()));
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Headings of examples stand alone, so that nothing of the program's source got into a text.
#[test]
fn every_help_has_its_examples_under_their_own_heading() {
    let lab = Lab::new();
    let help = lab.ok(&["--help"]).stdout;
    let listed = help.split("Usage:").nth(1).unwrap().split("Options:").next().unwrap();
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut seen = 0;
    for name in names.filter(|name| !name.is_empty() && *name != "help") {
        for form in ["--help", "--help-all"] {
            let said = lab.ok(&[name, form]).stdout;
            let headings: Vec<&str> = said.lines().filter(|line| line.contains("Examples")).collect();
            assert!(headings.iter().all(|line| *line == "Examples:"), "{name} {form}: {headings:?}");
            seen += headings.len();
        }
    }
    assert!(seen > 30, "{seen}");
}

/// What advice tells to try is taken by the commands whose reports have it.
#[test]
fn what_advice_names_is_taken_by_the_command_that_was_run() {
    let lab = Lab::new();
    let takes = |command: &str, option: &str| options_of(&lab, &[command]).unwrap().contains(option);
    for (command, options) in [
        ("run", &["--rewarm", "--slice", "--rounds", "--sessions", "--headline"][..]),
        ("pool", &["--rewarm", "--slice", "--rounds", "--connections-at-most"]),
        ("ab", &["--rewarm", "--slice", "--rounds", "--headline"]),
        ("bind", &["--headline", "--metric", "--parse"]),
    ] {
        for option in options {
            assert!(takes(command, option), "{command} {option}");
        }
    }
    // Each is not only named but parsed.
    for (command, more) in [
        ("pool", &["--rewarm=60ms", "--slice=100ms", "--rounds=20"][..]),
        ("pool", &["--connections-at-most=8"]),
        ("ab", &["--a", "work_unit=16", "--rewarm=60ms", "--slice=100ms", "--rounds=20"]),
    ] {
        let said = lab.ok(&[&[command, "--engine=simulated", "--plan"][..], more].concat());
        assert!(
            !more.contains(&"--connections-at-most=8") || said.stdout.contains("sessions-8"),
            "{}",
            said.stdout
        );
    }
    for (args, says) in [
        (&["pool", "--all", "--connections-at-most", "1"][..], "2.."),
        (&["pool", "--all", "--connections-at-most", "8", "--sessions", "1,2"], "cannot be used with"),
    ] {
        let said = lab.run(args);
        assert!(said.code == Some(2) && said.stderr.contains(says), "{args:?}: {}", said.stderr);
    }
}
