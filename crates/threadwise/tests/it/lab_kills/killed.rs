//! SIGKILL at 50 random moments: what finished stays, the study resumes, the plan is the same, and
//! no process or folder is left.

use crate::harness::{BLOCKS, Lab, living, wait_until_clean};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

/// A small seeded generator (Knuth's MMIX constants): the moments need no quality.
pub struct Moments(pub u64);

impl Moments {
    pub fn next_ms(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Whether anything is in a file. Killed before that, it is removed, as the program asks for.
fn is_begun(lab: &Lab, file: &str) -> bool {
    // Killed inside a transaction: what is half there has to be undone before it can be read.
    let Err(error) = threadwise_store::Store::recover(&lab.path().join(file)) else { return true };
    assert!(error.to_string().ends_with("is empty: remove it and start again"), "{error}");
    std::fs::remove_file(lab.path().join(file)).unwrap();
    false
}

/// Finished runs. Those of an interrupted block are kept under the word `superseded`.
fn finished_runs(lab: &Lab, file: &str) -> BTreeSet<String> {
    let lines = lab.ok(&["export", file, "--format", "jsonl"]).stdout;
    let runs = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    runs.filter(|run| run["status"] == "valid" || run["status"] == "superseded")
        .map(|run| format!("{} {} {} {}", run["block"], run["attempt"], run["treatment"], run["cpus"]))
        .collect()
}

/// Starts or resumes the study; true when it ended by itself.
fn run_and_kill(lab: &Lab, after: Duration) -> bool {
    let resume = lab.path().join("s.threadwise").exists();
    let fresh = [
        "run",
        "--engine",
        "simulated",
        "--seed",
        "7",
        "--allow-busy",
        "--no-html",
        BLOCKS,
        "--output",
        "s.threadwise",
    ];
    let again = ["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"];
    let mut command = lab.command(if resume { &again } else { &fresh });
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    match output.status.code() {
        Some(0) => true,
        None => false,
        code => panic!("ended with {code:?}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
#[ignore = "laboratory: kills"]
fn killed_at_fifty_random_moments() {
    killed(50);
}

pub fn killed(kills: u32) {
    let lab = Lab::new();
    assert_eq!(lab.simulated("whole.threadwise", &["--no-html", BLOCKS]).code, Some(0));
    let mut moments = Moments(20_260_101);
    let mut seen = BTreeSet::new();
    let mut longest = 400;
    for kill in 0..kills {
        let ended = run_and_kill(&lab, Duration::from_millis(1 + moments.next_ms(longest)));
        wait_until_clean(&lab);
        if lab.path().join("s.threadwise").exists() && is_begun(&lab, "s.threadwise") {
            let now = finished_runs(&lab, "s.threadwise");
            assert!(now.is_superset(&seen), "kill {kill} lost {:?}", seen.difference(&now));
            seen = now;
        }
        if ended {
            // Too slow to hit it: the next study of the same seed is hit earlier.
            std::fs::remove_file(lab.path().join("s.threadwise")).unwrap();
            seen.clear();
            longest = longest / 2 + 10;
        }
    }
    if !lab.path().join("s.threadwise").exists() {
        assert_eq!(lab.simulated("s.threadwise", &["--no-html", BLOCKS]).code, Some(0));
    }
    lab.ok(&["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"]);
    assert_eq!(living(&lab), Vec::<String>::new());

    let estimates = |file: &str| {
        let json: Value = serde_json::from_str(&lab.ok(&["report", file, "--json"]).stdout).unwrap();
        json["estimates"].clone()
    };
    assert_eq!(estimates("s.threadwise"), estimates("whole.threadwise"), "the plan or its results changed");
}
