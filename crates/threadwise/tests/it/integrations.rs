//! The steps of integrations/, as their services run them: the text of the script with its variables.

use crate::harness::{Lab, Said, program, said};
use std::path::Path;
use std::process::Command;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The script of a file of YAML: the block after a line that ends with `|`, without its indent.
fn script(file: &str) -> String {
    let text = std::fs::read_to_string(repository().join("integrations").join(file)).unwrap();
    let (_, block) = text.split_once("|\n").unwrap();
    let indent = block.len() - block.trim_start().len();
    let lines =
        block.lines().take_while(|line| line.is_empty() || line.len() - line.trim_start().len() >= indent);
    lines.map(|line| line.get(indent..).unwrap_or_default().to_owned() + "\n").collect()
}

/// Runs a script in its folder with three pairs of the model engine, whose `new` has another rate.
fn run(lab: &Lab, file: &str, new_rows_per_s: u32, options: &str) -> Said {
    let measure = format!(
        "if [ $VERSION = new ]; then rate={new_rows_per_s}; else rate=1000000; fi; threadwise run --engine simulated \
         --allow-busy --no-probe --no-html --blocks=4 --placement 2c1t --set data=l2 --engine-option drift_sd=0 \
         --engine-option noise_sd=0.01 --engine-option base_rows_per_s=$rate --output \"$STUDY\" > studies.log 2>&1"
    );
    run_with(
        lab,
        file,
        [("MEASURE", &measure), ("PAIRS", "3"), ("OPTIONS", options), ("FOLDER", "change of 1")],
    )
}

fn run_with(lab: &Lab, file: &str, variables: [(&str, &str); 4]) -> Said {
    let bin = lab.path().join("bin");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(program(), bin.join("threadwise")).unwrap();
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(script(file)).current_dir(lab.path()).env("TMPDIR", lab.tmp());
    command.env("THREADWISE_STATE_DIR", lab.state());
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    command.envs(variables);
    for name in ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"] {
        command.env(name, lab.path().join(name));
    }
    said(command.output().unwrap())
}

#[test]
fn a_workflow_fails_with_a_regression_and_says_where() {
    let lab = Lab::new();
    let ran = run(&lab, "github/action.yml", 500_000, "");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("::error title=threadwise%3A regression::2c1t: 0.50x ["), "{}", ran.stdout);
    let text = |name: &str| std::fs::read_to_string(lab.path().join(name)).unwrap();
    assert_eq!(text("GITHUB_OUTPUT"), "outcome=regression\n");
    assert!(text("GITHUB_STEP_SUMMARY").starts_with("<!-- threadwise-compare -->\n### SIMULATED: "));
    assert_eq!(text("GITHUB_STEP_SUMMARY"), text("change of 1/comment.md"));
    assert!(text("change of 1/junit.xml").contains("<failure type=\"regression\""));
    assert!(ran.stderr.contains("threadwise: regression of rows/s in 2 treatments"), "{}", ran.stderr);
    // A folder that is there is not used again.
    let again = run(&lab, "github/action.yml", 500_000, "");
    assert!(again.code != Some(0) && again.stderr.contains("change of 1"), "{}", again.stderr);
}

#[test]
fn a_job_passes_without_a_regression_and_keeps_its_report() {
    let lab = Lab::new();
    let ran = run(&lab, "gitlab.yml", 1_000_000, "--undecided pass --metric rows_per_s");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("after / before"), "{}", ran.stdout);
    let junit = std::fs::read_to_string(lab.path().join("change of 1/junit.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"0\""), "{junit}");
}

#[test]
fn the_examples_of_the_files_measure_what_they_show() {
    let bench = "#!/bin/sh\nif [ $VERSION = new ]; then rate=500; else rate=1000; fi\ncat <<END\n\
                 number of failed transactions: 0 (0.000%)\nlatency average = 1.0 ms\n\
                 tps = $rate.5 (without initial connection time)\nEND\n";
    for (file, key) in [("github/action.yml", "measure: "), ("gitlab.yml", "MEASURE: ")] {
        let lab = Lab::new();
        let text = std::fs::read_to_string(repository().join("integrations").join(file)).unwrap();
        let example = text.lines().find_map(|line| line.strip_prefix('#')?.trim().strip_prefix(key)).unwrap();
        let options = "--no-html --allow-busy --no-probe --blocks=2";
        let measure =
            example.replace("$$", "$").replace("--no-html", options).replace("./bench.sh", "sh bench.sh");
        std::fs::write(lab.path().join("bench.sh"), bench).unwrap();
        let ran = run_with(
            &lab,
            file,
            [("MEASURE", &measure), ("PAIRS", "3"), ("OPTIONS", ""), ("FOLDER", "change")],
        );
        assert_eq!(ran.code, Some(4), "{measure}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn what_is_not_measured_is_no_answer() {
    for file in ["github/action.yml", "gitlab.yml"] {
        let lab = Lab::new();
        let tried = |measure: &str, pairs: &str| {
            let variables = [("MEASURE", measure), ("PAIRS", pairs), ("OPTIONS", ""), ("FOLDER", "change")];
            run_with(&lab, file, variables)
        };
        // Refused before anything is measured.
        for pairs in ["2", "x", ""] {
            let ran = tried("echo > measured", pairs);
            let line = format!("PAIRS is '{pairs}', and a test needs 3 or more");
            assert!(ran.code == Some(2) && ran.stderr.contains(&line), "{file}: {}", ran.stderr);
            assert!(!lab.files().iter().any(|name| name == "measured" || name == "change"));
        }
        // 4 and 5 would be a regression and an undecided one.
        assert_eq!(tried("exit 5", "3").code, Some(1), "{file}");
        std::fs::remove_dir(lab.path().join("change")).unwrap();
        // Without a study there is no report, and none that is empty.
        assert_eq!(tried("true", "3").code, Some(2), "{file}");
        assert!(!lab.path().join("change/junit.xml").exists());
    }
}

#[test]
fn both_services_measure_alike() {
    let [github, gitlab] = ["github/action.yml", "gitlab.yml"].map(script);
    let until = "comment.md\" 2> /dev/null || true\n";
    let [one, other] = [&github, &gitlab].map(|text| text.split_once(until).unwrap().0);
    assert_eq!(one, other);
}
