//! `threadwise fit`: laws of other people's figures and of a study, and what is refused.

use crate::harness::Lab;
use serde_json::Value;

/// Throughput of a machine of 8 cores of 2 threads: λ 1000, y 1.3, σ 0.02, κ 0, within half a percent.
fn sweep() -> String {
    let mut text = "sessions,throughput,cores,threads_per_core\n".to_owned();
    for (at, n) in [1, 2, 3, 4, 6, 8, 10, 12, 14, 16].into_iter().enumerate() {
        let both = f64::from(n).max(8.0) - 8.0;
        let cores = f64::from(n.min(8)) + 0.3 * both;
        let noise = 1.0 + 0.005 * (at % 3) as f64 - 0.005;
        let rate = noise * 1000.0 * cores / (1.0 + 0.02 * (f64::from(n) - 1.0));
        text.push_str(&format!("{n},{rate:.1},8,2\n"));
    }
    text
}

#[test]
fn a_law_of_figures_holds_what_they_were_made_with() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("sweep.csv"), sweep()).unwrap();
    let said = lab.ok(&[
        "fit",
        "--all",
        "sweep.csv",
        "--predict",
        "8c1t",
        "--predict",
        "16c2t",
        "--html",
        "fit.html",
    ]);
    // Lines are cut to the terminal's width.
    let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("second threads of cores pay off up to 16 sessions"), "{words}");
    assert!(words.contains("of the largest point; extrapolated"), "{words}");
    let json = lab.ok(&["fit", "sweep.csv", "--predict", "8c1t", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let law = &json["series"][0]["law"];
    let holds = |value: &Value, truth: f64| {
        let [low, high] = ["low", "high"].map(|end| value[end].as_f64().unwrap());
        assert!(low <= truth && truth <= high, "{truth} {value}");
    };
    holds(&law["rate_per_s"], 1000.0);
    holds(&law["yields"][0], 1.3);
    holds(&law["sigma"], 0.02);
    holds(&law["predictions"][0]["rate_per_s"], 1000.0 * 8.0 / 1.14);
    assert_eq!(law["predictions"][0]["is_extrapolated"], false);
    assert_eq!(lab.files(), ["fit.html", "sweep.csv"]);
}

#[test]
fn a_sweep_has_its_law_in_the_report_and_by_itself() {
    let lab = Lab::new();
    let said = lab.run(&[
        "run",
        "session-sweep",
        "--engine",
        "simulated",
        "--seed",
        "7",
        "--blocks",
        "8",
        "--allow-busy",
        "--no-html",
        "--no-probe",
        "-o",
        "s.threadwise",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let report: Value = serde_json::from_str(&lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap();
    let all = report["details"]["scaling_laws"].as_array().unwrap();
    let has_law = all.iter().any(|one| one["law"].is_object());
    // Two logical CPUs are two loads, which is no curve: then it says so.
    let said = lab.run(&["fit", "s.threadwise", "--json"]);
    assert_eq!(said.code, Some(if has_law { 0 } else { 2 }), "{}", said.stderr);
    if has_law {
        let alone: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(alone["simulated"], true);
        let series = |all: &Value| -> Vec<Value> {
            all.as_array().unwrap().iter().map(|one| one["series"].clone()).collect()
        };
        assert_eq!(series(&report["details"]["scaling_laws"]), series(&alone["series"]));
    } else {
        assert!(said.stderr.contains("a scaling law needs at least 3 different numbers"), "{}", said.stderr);
        assert!(all[0]["gap"].as_str().unwrap().contains("needs at least 3"), "{report:#}");
    }
}

#[test]
fn names_are_told_apart_to_their_end_and_a_machine_is_not_made_up() {
    let lab = Lab::new();
    let mut text = "\u{feff}series,sessions,throughput\n".to_owned();
    for (buffers, one) in [("1GB", 100.0), ("8GB", 400.0)] {
        for n in [1, 2, 4, 8] {
            let rate = one * f64::from(n) / (1.0 + 0.03 * (f64::from(n) - 1.0));
            let command = "pgbench -n -S -c {sessions} -j {sessions} -T 60 -M prepared -h /run/postgresql -p 5432 bench";
            text.push_str(&format!("{command} shared_buffers={buffers},{n},{rate:.2}\n"));
        }
    }
    std::fs::write(lab.path().join("long.csv"), text).unwrap();
    let said = lab.ok(&["fit", "--all", "long.csv"]).stdout;
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("… shared_buffers=1GB: Throughput of one session 100"), "{words}");
    assert!(words.contains("… shared_buffers=8GB: Throughput of one session 400"), "{words}");
    // Nothing says how many logical CPUs there are.
    assert!(words.contains("most throughput at 8, the most in the file."), "{words}");
    assert!(!words.contains("logical CPUs"), "{words}");
    let json: Value = serde_json::from_str(&lab.ok(&["fit", "long.csv", "--json"]).stdout).unwrap();
    assert_eq!(json["series"].as_array().unwrap().len(), 2);
    assert!(json["series"][1]["series"].as_str().unwrap().ends_with("bench shared_buffers=8GB"), "{json}");
    let turns = &json["series"][0]["law"]["turns"];
    assert!(
        turns["cores"].is_null() && turns["logical_cpus"].is_null() && turns["peak"].is_object(),
        "{turns}"
    );
    std::fs::write(lab.path().join("sweep.csv"), sweep()).unwrap();
    assert!(lab.ok(&["fit", "--all", "sweep.csv"]).stdout.contains("(all logical CPUs)"));
}

#[test]
fn what_cannot_be_fitted_is_refused_in_one_line() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("two.csv"), "sessions,throughput\n1,5\n2,9\n").unwrap();
    std::fs::write(lab.path().join("nan.csv"), "sessions,throughput\n1,5\n2,NaN\n").unwrap();
    std::fs::write(lab.path().join("bytes"), [0xff, 0xfe, 0x00]).unwrap();
    for (args, wanted) in [
        (
            &["fit", "--all", "two.csv"][..],
            "two.csv: a scaling law needs at least 3 different numbers of busy sessions, and these are 2: measure more",
        ),
        (&["fit", "--all", "nan.csv"], "line 3, throughput: 'NaN' is not a number above 0"),
        (&["fit", "--all", "bytes"], "neither a result file nor text"),
        (&["fit", "--all", "absent.csv"], "absent.csv: No such file"),
        (&["fit", "--all", "two.csv", "--predict", "8"], "'8' is not a machine shape"),
        (&["fit", "--all", "two.csv", "--html", "two.csv"], "exists and is not overwritten"),
    ] {
        let said = lab.run(args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}: {}", said.stderr);
        assert_eq!(said.stderr.trim_end().lines().count(), 1, "{}", said.stderr);
        assert!(said.stderr.contains(wanted), "{args:?}: {}", said.stderr);
    }
}
