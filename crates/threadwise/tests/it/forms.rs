//! The forms of a report, made from one study on the model engine.

use crate::harness::Lab;
use crate::harness::estimates_of;
use serde_json::Value;

#[test]
fn every_form_says_that_it_is_simulated_and_agrees() {
    let lab = Lab::new();
    let said = lab.simulated("s.threadwise", &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("SIMULATED"), "{}", said.stdout);
    assert_eq!(lab.files(), ["s.html", "s.threadwise"]);
    assert_eq!(lab.leftovers(), Vec::<String>::new());

    let again = lab.ok(&["report", "--all", "s.threadwise"]);
    assert!(
        said.stdout.contains(again.stdout.trim_end()),
        "the verdict changed:\n{}\n{}",
        said.stdout,
        again.stdout
    );

    let json: Value = serde_json::from_str(&lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap();
    assert_eq!(json["version"], 1);
    let treatments = json["treatments"].as_array().unwrap();
    assert!(treatments.len() >= 3, "{json:#}");
    let all = estimates_of(&json, "treatments");
    let rates: Vec<&&Value> = all.iter().filter(|one| one["metric"] == "rows_per_s").collect();
    assert_eq!(rates.len(), treatments.len());
    for rate in rates {
        let ends = ["low", "value", "high"].map(|field| rate[field].as_f64());
        assert!(ends.is_sorted(), "{rate}");
    }
    for estimate in estimates_of(&json, "comparisons") {
        assert_eq!(estimate["unit"], "ratio");
        assert!(estimate["low"].as_f64() <= estimate["value"].as_f64(), "{estimate}");
    }
    assert!(json["findings"].to_string().contains("SIMULATED"));

    let runs: u64 = treatments.iter().map(|treatment| treatment["runs"].as_u64().unwrap()).sum();
    let exported = lab.ok(&["export", "s.threadwise"]).stdout;
    assert_eq!(exported.lines().count() as u64, 1 + runs, "one line per run and a header");
    let csv = lab.ok(&["report", "s.threadwise", "--csv"]).stdout;
    let of_family = |family: &str| csv.lines().filter(|line| line.starts_with(family)).count();
    assert_eq!(csv.lines().count(), 1 + json["estimates"].as_array().unwrap().len(), "{csv}");
    assert_eq!(of_family("comparisons,"), estimates_of(&json, "comparisons").len(), "{csv}");
    assert!(of_family("treatments,") > treatments.len(), "{csv}");
    let markdown = lab.ok(&["report", "s.threadwise", "--markdown"]).stdout;
    assert!(markdown.starts_with("### SIMULATED: ") && markdown.contains("**Trust: LOW.**"), "{markdown}");
    let slices = lab.ok(&["export", "s.threadwise", "--what", "slices", "--format", "jsonl"]).stdout;
    assert_eq!(slices.lines().count() as u64, runs * 10);
    serde_json::from_str::<Value>(slices.lines().next().unwrap()).unwrap();

    lab.ok(&["report", "--all", "s.threadwise", "--html", "again.html"]);
    let html = std::fs::read_to_string(lab.path().join("again.html")).unwrap();
    assert!(html.contains("SIMULATED") && html.contains("</html>"));
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http"), "the report must work offline");
}

#[test]
fn json_on_stdout_is_json_alone() {
    let lab = Lab::new();
    let said = lab.simulated("s.threadwise", &["--json", "--no-html"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let json: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(json["study"]["engine"], "simulated");
    let topology: Value = serde_json::from_str(&lab.ok(&["topology", "--json"]).stdout).unwrap();
    assert_eq!(topology["version"], 1);
    assert_eq!(topology["placements"], serde_json::json!([]));
    let asked = ["topology", "--json", "--placement", "one-cpu", "--placement", "99s1c1t"];
    let placed: Value = serde_json::from_str(&lab.ok(&asked).stdout).unwrap();
    assert_eq!(placed["placements"][0]["logical_cpus"].as_array().unwrap().len(), 1);
    assert!(placed["placements"][1]["lacks"].as_str().unwrap().contains("package"), "{placed}");
    assert!(topology["counts"]["logical_cpus"].as_u64().unwrap() >= 1);
    let list: Value = serde_json::from_str(&lab.ok(&["list", "--json"]).stdout).unwrap();
    assert!(list.to_string().contains("session-sweep"));
}

#[test]
fn a_machine_is_drawn_with_the_sessions_of_a_placement() {
    let lab = Lab::new();
    let drawn = lab.ok(&["topology", "--draw", "--placement", "one-cpu", "--sessions", "3"]).stdout;
    assert!(
        drawn.contains("s1-s3") && drawn.contains("placement one-cpu: 3 sessions on logical CPU "),
        "{drawn}"
    );
    assert!(lab.ok(&["topology", "--draw", "--placement", "one-cpu"]).stdout.contains("s1-s2"));
    let said = lab.ok(&["topology", "--svg", "m.svg", "--placement", "one-cpu"]).stdout;
    assert!(said.contains("placements, unless") && said.ends_with("Picture: m.svg\n"), "{said}");
    let svg = std::fs::read_to_string(lab.path().join("m.svg")).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>") && svg.contains(">s1-s2<"),
        "{svg}"
    );
    let json = lab.ok(&["topology", "--svg", "n.svg", "--json"]).stdout;
    assert_eq!(json, lab.ok(&["topology", "--json"]).stdout);
    assert!(lab.path().join("n.svg").exists());
}

#[test]
fn a_seed_gives_the_same_study_again() {
    let lab = Lab::new();
    let numbers = |name: &str| {
        assert_eq!(lab.simulated(name, &["--no-html"]).code, Some(0));
        let json: Value = serde_json::from_str(&lab.ok(&["report", name, "--json"]).stdout).unwrap();
        (json["treatments"].clone(), json["estimates"].clone())
    };
    assert_eq!(numbers("a.threadwise"), numbers("b.threadwise"));
}

#[test]
fn a_recorded_machine_is_read_back() {
    let lab = Lab::new();
    lab.ok(&["topology", "--capture", "here"]);
    let recorded: Value =
        serde_json::from_str(&lab.ok(&["topology", "--root", "here", "--json"]).stdout).unwrap();
    let live: Value = serde_json::from_str(&lab.ok(&["topology", "--json"]).stdout).unwrap();
    assert_eq!(recorded["counts"]["packages"], live["counts"]["packages"]);
    assert!(recorded["counts"]["logical_cpus"].as_u64() >= live["counts"]["logical_cpus"].as_u64());
    let again = lab.run(&["topology", "--capture", "here"]);
    assert_eq!(again.code, Some(2), "a folder with something in it is not written to");
}

#[test]
fn help_completions_and_manual_come_from_one_description() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(lab.ok(&["completions", shell]).stdout.contains("threadwise"));
    }
    let man = lab.ok(&["man"]).stdout;
    for word in ["run", "report", "topology"] {
        assert!(man.contains(word));
        let help = lab.ok(&[word, "--help"]).stdout;
        assert!(help.contains("Examples"), "{word} --help has no examples");
    }
    assert!(!lab.ok(&["--help"]).stdout.contains("watchdog"));
}

#[test]
fn no_colour_codes_reach_a_pipe() {
    let lab = Lab::new();
    let said = lab.simulated("s.threadwise", &["--no-html"]);
    assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'), "{:?}", said.stderr);
}

#[test]
fn a_study_files_seed_is_kept_and_a_resumed_complete_study_only_reports() {
    let lab = Lab::new();
    let file = "version = 1\nname = \"mine\"\nseed = 77\nengine = \"simulated\"\nworkload = \"logical-io\"\n\
                [design]\nblocks = 4\n[baseline]\nplacement = \"1c1t\"\n[[treatment]]\nname = \"pair\"\nplacement = \"one-cpu\"\nsessions = 2\n";
    std::fs::write(lab.path().join("mine.toml"), file).unwrap();
    lab.ok(&["run", "--all", "mine.toml", "--output", "s.threadwise"]);
    let json: Value = serde_json::from_str(&lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap();
    assert_eq!(json["study"]["seed"], "77");
    let before = lab.ok(&["report", "--all", "s.threadwise"]).stdout;
    let again = lab.ok(&["run", "--all", "--resume", "s.threadwise"]);
    assert!(
        again.stderr.contains("complete") && again.stdout.contains(before.trim_end()),
        "{}",
        again.stderr
    );
    assert_eq!(lab.files(), ["mine.toml", "s.html", "s.threadwise"]);
}

#[test]
fn the_report_of_a_resumed_study_is_replaced_and_a_foreign_one_is_not() {
    let lab = Lab::new();
    assert_eq!(lab.simulated("s.threadwise", &[]).code, Some(0));
    lab.ok(&["run", "--all", "--resume", "s.threadwise"]);
    std::fs::write(lab.path().join("s.html"), "precious").unwrap();
    let said = lab.run(&["run", "--all", "--resume", "s.threadwise"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert_eq!(std::fs::read_to_string(lab.path().join("s.html")).unwrap(), "precious");
}

#[test]
fn the_schema_of_study_definitions_is_printed_for_editors() {
    let lab = Lab::new();
    let schema: Value = serde_json::from_str(&lab.ok(&["list", "--schema"]).stdout).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["properties"]["design"]["properties"]["blocks"]["minimum"], 1);
    let schema: Value = serde_json::from_str(&lab.ok(&["list", "--schema=report"]).stdout).unwrap();
    assert!(schema["properties"]["estimates"].is_object() && schema["$defs"]["StudyEstimate"].is_object());
    assert_eq!(lab.run(&["list", "--schema", "--json"]).code, Some(2));
}
