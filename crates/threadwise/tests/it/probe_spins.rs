//! `threadwise probe spins`: the arithmetic, what it refuses, and a running process.

use crate::harness::{Lab, said};
use serde_json::Value;
use threadwise_process::programs;

const COUNTS: [&str; 10] =
    ["probe", "spins", "--spins", "113,246,628", "--seconds", "10.434", "--ghz", "2.4", "--cpus", "5"];

#[test]
fn published_counts_give_cycles_a_spin() {
    let lab = Lab::new();
    let said_text = said(lab.command(&COUNTS).output().unwrap());
    assert_eq!(said_text.code, Some(0), "{}", said_text.stderr);
    assert!(said_text.stdout.starts_with("at most 1,106 cycles a spin: "), "{}", said_text.stdout);
    let json = said(lab.command(&COUNTS).arg("--json").output().unwrap());
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert!((json["cycles_per_spin_bound"].as_f64().unwrap() - 1105.62).abs() < 0.01, "{json}");
    assert_eq!(json["cycles_per_spin"], Value::Null);
}

#[test]
fn counts_are_needed_together_and_processes_have_to_be_there() {
    let lab = Lab::new();
    for (args, why) in [
        (&["probe", "spins"][..], "give --spins, --seconds, --ghz and --cpus together"),
        (&["probe", "spins", "--spins", "5", "--ghz", "2"], "give --spins, --seconds"),
        (&["probe", "spins", "--spins", "0"], "not a number above 0"),
        (&["probe", "spins", "--spins", "5", "--share", "120%"], "more than 100%"),
        (&["probe", "spins", "--pid", "4294967295"], "no such process"),
        (&["probe", "spins", "--pid", "1", "--seconds", "3601"], "at most an hour"),
    ] {
        let said = said(lab.command(args).output().unwrap());
        assert_eq!(said.code, Some(2), "{args:?} {}", said.stderr);
        assert!(said.stderr.contains(why), "{args:?} {}", said.stderr);
    }
}

/// A `perf` that writes what the real one does.
#[test]
fn a_process_is_sampled_with_its_children_by_perf() {
    let lab = Lab::new();
    let perf = lab.path().join("bin/perf");
    std::fs::create_dir(perf.parent().unwrap()).unwrap();
    programs::write(
        &perf,
        "#!/bin/sh\nif [ \"$1\" = record ]; then echo \"$@\" > \"${0%/*}/args\"; exit 0; fi\n\
         for s in 1 2 3; do for n in 1 2 3 4 5 6 7 8 9; do echo \" $s.00000$n: ff heap_insert\"; done; \
         echo \" $s.5: ff s_lock\"; done\n",
    )
    .unwrap();
    let path = format!("{}:/usr/bin:/bin", perf.parent().unwrap().display());
    let pid = std::process::id().to_string();
    let args = ["probe", "spins", "--pid", &pid, "--seconds", "1", "--json"];
    let sampled = said(lab.command(&args).env("PATH", &path).output().unwrap());
    assert_eq!(sampled.code, Some(0), "{}", sampled.stderr);
    let json: Value = serde_json::from_str(&sampled.stdout).unwrap();
    assert!((json["spinning"]["mean"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{json}");
    assert_eq!(
        (&json["samples"], &json["functions"][0]["function"]),
        (&Value::from(30), &Value::from("s_lock"))
    );
    let given = std::fs::read_to_string(lab.path().join("bin/args")).unwrap();
    assert!(given.contains("-e cpu-clock") && given.contains(&format!("-p {pid}")), "{given}");
    // A process that ends while it is sampled makes perf fail, and what was sampled counts.
    let ends = std::fs::read_to_string(&perf).unwrap().replace("exit 0", "exit 143");
    programs::write(&perf, &ends).unwrap();
    let sampled = said(lab.command(&args).env("PATH", &path).output().unwrap());
    assert_eq!(sampled.code, Some(0), "{}", sampled.stderr);
    programs::write(&perf, "#!/bin/sh\necho 'No permission to trace.' >&2; exit 255\n").unwrap();
    let refused = said(lab.command(&["probe", "spins", "--pid", &pid]).env("PATH", &path).output().unwrap());
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("perf cannot sample the process: No permission to trace:"),
        "{}",
        refused.stderr
    );
}
