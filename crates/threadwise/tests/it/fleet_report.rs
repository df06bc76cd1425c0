//! `fleet report`: a planned folder, and result files from anywhere.

use crate::fleet_harness::{FleetLab, head, study};
use crate::harness::Lab;
use serde_json::Value;

/// A result file on the model engine with a planted ratio.
fn result(lab: &Lab, name: &str, seed: u64, ratio: f64) {
    std::fs::write(lab.path().join("s.toml"), study(4, 8)).unwrap();
    let (seed, ratio) = (format!("--seed={seed}"), format!("ratio.two={ratio}"));
    lab.ok(&[
        "run",
        "s.toml",
        "--no-html",
        "--no-probe",
        "--allow-busy",
        "-o",
        name,
        &seed,
        "--engine-option",
        &ratio,
    ]);
}

fn json(lab: &Lab, args: &[&str]) -> Value {
    let said = lab.ok(&[&["fleet", "report", "--json"], args].concat());
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn result_files_from_anywhere_are_machines_by_the_names_that_are_given() {
    let lab = Lab::new();
    for (name, seed, ratio) in [("a", 1, 1.4), ("b", 2, 1.5), ("c", 3, 1.6), ("c2", 4, 1.6)] {
        result(&lab, name, seed, ratio);
    }
    let value = json(&lab, &["n1=a", "n2=b", "n3=c", "n3=c2"]);
    assert_eq!((&value["study"], &value["kinds"][0]["machines"]), (&"two-sessions".into(), &3.into()));
    assert!(!value["cautions"].to_string().contains("result files"), "{}", value["cautions"]);
    let cell = &value["comparisons"][0]["cells"][0];
    assert!((cell["mean"]["value"].as_f64().unwrap() / 1.498 - 1.0).abs() < 0.02, "{cell}");
    assert_eq!(value["studies"][3]["repeat"], 2);
    // Without names all are of one boot, so that there is one machine, and no verdict.
    let value = json(&lab, &["a", "b", "c"]);
    assert_eq!(value["kinds"][0]["machines"], 1);
    assert!(value["cautions"].to_string().contains("3 of 3 result files"), "{}", value["cautions"]);
    assert!(value["comparisons"][0]["cells"][0]["mean"].is_null());
    let page = lab.ok(&["fleet", "report", "n1=a", "n2=b", "n3=c", "--html", "r.html"]);
    assert!(page.stdout.contains("SIMULATED"), "{}", page.stdout);
    assert!(lab.path().join("r.html").exists());
}

#[test]
fn what_is_no_fleet_is_refused() {
    let lab = Lab::new();
    result(&lab, "a", 1, 1.4);
    lab.simulated("other", &["--no-html"]);
    let said = lab.run(&["fleet", "report", "a", "other"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("results of several studies (placement, two-sessions)"), "{}", said.stderr);
    let said = lab.run(&["fleet", "report", "n1=missing"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    std::fs::write(lab.path().join("taken.html"), "mine").unwrap();
    assert_eq!(lab.run(&["fleet", "report", "a", "--html", "taken.html"]).code, Some(2));
}

#[test]
fn a_folder_has_its_kinds_and_names_what_is_absent() {
    let fleet = format!(
        "{}[[kind]]\nname = \"a\"\nnodes = [\"n1\", \"n2\"]\nstudy_engine_options = {{ \"ratio.two\" = 1.5 }}\n\
         [[kind]]\nname = \"b\"\nmachines = 1\nselector = {{ constraint = \"b\" }}\n",
        head(1, "")
    );
    let lab = FleetLab::planned(&study(4, 8), &fleet);
    for cell in ["n1.1", "b-1.1"] {
        assert_eq!(lab.cell(cell).code, Some(0), "{cell}");
    }
    std::fs::create_dir(lab.cell_folder("n2.1")).unwrap();
    let value = json(&lab.lab, &["f"]);
    assert_eq!(value["kinds"][0]["machines_planned"], 2);
    assert_eq!((&value["kinds"][0]["machines"], &value["kinds"][1]["machines"]), (&1.into(), &1.into()));
    let absent = &value["absent"][0];
    assert_eq!((&absent["node"], &absent["reason"]), (&"n2".into(), &"failed".into()), "{absent}");
    assert!(absent["why"].as_str().unwrap().contains("cell.json"), "{absent}");
    // A cell's own record says where a file was measured, wherever the file is named.
    let files = ["f/cells/n1.1/study.threadwise", "f/cells/b-1.1/study.threadwise"];
    let value = json(&lab.lab, &files);
    assert_eq!((&value["kinds"][0]["name"], &value["kinds"][1]["name"]), (&"a".into(), &"b".into()));
    let said = lab.lab.run(&["fleet", "submit", "f"]);
    assert!(said.code != Some(0) && !said.stdout.contains("submitted: n2"), "{}", said.stdout);
}
