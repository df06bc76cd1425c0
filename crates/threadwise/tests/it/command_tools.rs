//! `threadwise run command` with real benchmark tools, as docs/COMMANDS.md has them: what the tool
//! printed is what the study has, and a server that set-up starts is placed and gone at the end.

use crate::harness::{Lab, Said};

/// Two blocks of one logical CPU, compared with all; every run leaves what its tool printed in `said/`.
pub fn study(lab: &Lab, setup: &str, command: &str) -> String {
    format!(
        "version = 1\nname = \"short\"\nengine = \"command\"\nworkload = \"command\"\n\n\
         [options]\n{setup}command = '''sh -c '{command} | tee \"{}/said/{{treatment}}.{{block}}\"' '''\n\n\
         [design]\nblocks = 2\n\n[baseline]\nplacement = \"1c1t\"\nsessions = 2\n\n\
         [[treatment]]\nname = \"everywhere\"\nplacement = \"all\"\nsessions = 2\n",
        lab.path().display()
    )
}

/// Runs the study with a parser.
pub fn run(lab: &Lab, text: &str, parser: &str) -> Said {
    std::fs::write(lab.path().join("short.toml"), text).unwrap();
    lab.run(&[
        "run",
        "short.toml",
        "--parse",
        parser,
        "--allow-commands",
        "--allow-busy",
        "--no-probe",
        "--no-html",
        "--seed",
        "5",
        "-o",
        "s.threadwise",
    ])
}

/// Where a metric stands: its name, what its line holds, what stands before the number in it.
pub type Place = (&'static str, &'static str, &'static str);

/// The number of a place in the last line that holds its label, read without the program's own means.
pub fn printed(text: &str, (_, label, before): Place) -> f64 {
    let line = text.lines().rfind(|line| line.contains(label)).unwrap_or_else(|| panic!("{label}: {text}"));
    let rest = line.split_once(before).unwrap().1.trim_start();
    rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap().parse().unwrap()
}

#[test]
fn an_unknown_parser_is_refused_with_the_known_ones() {
    let lab = Lab::new();
    let said = lab.run(&["run", "--all", "command", "--parse", "oracle", "--", "true"]);
    assert_eq!(said.code, Some(2), "{}\n{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("'oracle'") && said.stderr.contains("pgbench-progress"), "{}", said.stderr);
    assert_eq!(lab.files(), Vec::<String>::new());
}

#[test]
fn a_tool_that_prints_another_form_is_a_failed_run_that_names_the_metric() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("said")).unwrap();
    let command = "echo nothing that pgbench would print";
    let said = run(&lab, &study(&lab, "", command), "pgbench");
    assert_eq!(said.code, Some(1), "{}\n{}", said.stdout, said.stderr);
    for words in ["metric 'failed' in standard output: nothing matches", "nothing that pgbench would print"] {
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
}
