//! A short real study on embedded SQLite: whatever the machine, the books must balance.

use crate::harness::Lab;
use crate::harness::metric_of;
use serde_json::Value;

const SHORT: [&str; 14] = [
    "run",
    "--allow-busy",
    "--seed",
    "3",
    "--rounds",
    "2",
    "--slice",
    "250ms",
    "--blocks",
    "2",
    "--set",
    "blocks=2000",
    "--output",
    "s.threadwise",
];

#[test]
fn a_short_study_on_sqlite_counts_what_it_reads() {
    let lab = Lab::new();
    let said = lab.ok(&SHORT);
    assert!(!said.stdout.contains("SIMULATED"), "{}", said.stdout);
    assert_eq!(lab.files(), ["s.html", "s.threadwise"]);
    assert_eq!(lab.leftovers(), Vec::<String>::new());

    let slices = lab.ok(&["export", "s.threadwise", "--what", "slices", "--format", "jsonl"]).stdout;
    let mut rows = 0;
    for line in slices.lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        for session in slice["sessions"].as_array().unwrap() {
            assert_eq!(session["answers_wrong"], 0, "{line}");
            assert_eq!(session["answers_checked"], session["steps"], "{line}");
            assert_eq!(session["counters"]["physical_reads"].as_u64().unwrap_or(0), 0, "{line}");
            rows += session["rows"].as_u64().unwrap();
        }
    }
    assert!(rows > 0);

    let json: Value = serde_json::from_str(&lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap();
    let treatments = json["treatments"].as_array().unwrap();
    for treatment in treatments {
        let runs: u64 =
            ["runs", "failed", "excluded"].iter().map(|key| treatment[key].as_u64().unwrap()).sum();
        assert!(runs >= 2, "{treatment}");
        assert_eq!(treatment["failed"], 0, "{treatment}");
        // Two or three levels of b-tree, one leaf a row, one index leaf for many rows.
        let reads = metric_of(&json, treatment["treatment"].as_str().unwrap(), "reads_per_row").unwrap();
        assert!((1.0..3.2).contains(&reads), "{treatment}");
    }
    // The hardware was probed first, and looked at before and after every slice.
    assert_eq!(json["probe"]["form"], "short");
    assert_eq!(json["probe"]["interrupted"], false);
    let runs = lab.ok(&["export", "s.threadwise", "--format", "jsonl"]).stdout;
    for run in runs.lines() {
        let run: Value = serde_json::from_str(run).unwrap();
        let readings = run["readings"].as_array().unwrap();
        let looks = readings.iter().filter(|reading| reading["sampler"] == "neighbour");
        let cpus: std::collections::BTreeSet<u64> =
            run["cpus"].as_array().unwrap().iter().map(|cpu| cpu.as_u64().unwrap()).collect();
        assert_eq!(looks.count(), 4 * cpus.len(), "two figures before and two after: {run}");
    }
    let taken = &json["details"]["looks"]["taken"];
    assert_eq!((&taken["before"], &taken["after"]), (&slices.lines().count().into(), &taken["before"]));
    // How many there are within slices, the machine decides: one that is due when the answer is there is left out.
    assert!(taken["during"].is_u64(), "{taken}");
    let looked_at = json["details"]["looks"]["cpus"].as_array().unwrap().len();
    let looks = lab.ok(&["export", "s.threadwise", "--what", "looks"]).stdout;
    let of_moment = |moment: &str| looks.lines().filter(|line| line.contains(&format!(",{moment},"))).count();
    assert_eq!([of_moment("before"), of_moment("after")], [looked_at * slices.lines().count(); 2]);
    let two_on_one_cpu = treatments.iter().any(|treatment| treatment["placement"] == "one-cpu");
    assert!(two_on_one_cpu, "every machine can do one-cpu");
}

#[test]
fn a_plan_is_said_without_running() {
    let lab = Lab::new();
    let said = lab.ok(&["run", "--plan"]);
    assert!(said.stdout.contains("one-cpu"), "{}", said.stdout);
    assert_eq!(lab.files(), Vec::<String>::new());
    assert_eq!(lab.leftovers(), Vec::<String>::new());
}
