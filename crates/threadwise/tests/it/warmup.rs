//! Warm-ups that are measured before the first block, and halves of slices: stored, reported, and the same when a study
//! goes on.

use crate::harness::Lab;
use crate::harness::estimates_of;
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use threadwise_store::Store;
use threadwise_study::RunStatus;
use threadwise_study::observation::ROWS_FIRST_HALF;
use threadwise_study::warmup::{LEAST_NS, LIMIT_NS, Warmup};

const FILE: &str = "s.threadwise";

/// Two blocks of two rounds, with slices longer than what else runs on this machine may keep it from its logical CPU.
fn study(rewarm: &str) -> String {
    format!(
        "version = 1\nname = \"warm\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n\n[options]\nblocks = 500\n\n\
         [design]\nblocks = 2\nrounds = 2\nslice_ms = 250\n{rewarm}\n[baseline]\nplacement = \"1c1t\"\n\n\
         [[treatment]]\nname = \"two\"\nplacement = \"one-cpu\"\nsessions = 2\n"
    )
}

/// Measures the study, and says whether it is valid as a whole and every run counts.
fn measured(lab: &Lab, rewarm: &str, more: &[&str]) -> bool {
    std::fs::write(lab.path().join("warm.toml"), study(rewarm)).unwrap();
    let args = ["run", "warm.toml", "--allow-busy", "--no-html", "--no-probe", "--seed", "4", "-o", FILE];
    let said = lab.run(&[&args[..], more].concat());
    // Where something else has the logical CPU for all of a slice, the study is not valid as a whole (1), and what is
    // stored of warm-ups is the same.
    assert!(matches!(said.code, Some(0 | 1)), "{}\n{}", said.stdout, said.stderr);
    let runs = Store::open(&lab.path().join(FILE)).unwrap().runs().unwrap();
    said.code == Some(0) && runs.iter().all(|run| run.status.is_valid())
}

/// Warm-ups in the file by block and treatment, of runs that were not done again.
fn stored(lab: &Lab) -> BTreeMap<(u32, String), Option<Warmup>> {
    let runs = Store::open(&lab.path().join(FILE)).unwrap().runs().unwrap();
    let latest = runs.into_iter().filter(|run| run.status != RunStatus::Superseded);
    latest.map(|run| ((run.block, run.treatment.clone()), Warmup::of(&run.readings))).collect()
}

fn report(lab: &Lab) -> Value {
    serde_json::from_str(&lab.run(&["report", FILE, "--json"]).stdout).unwrap()
}

#[test]
fn warm_ups_and_halves_are_stored_and_reported() {
    let lab = Lab::new();
    let is_whole = measured(&lab, "", &[]);
    let all = stored(&lab);
    assert_eq!(all.len(), 6, "{all:?}");
    for ((block, treatment), warmup) in &all {
        let warmup = warmup.as_ref().unwrap();
        assert!((LEAST_NS..=LIMIT_NS).contains(&warmup.ns), "{warmup:?}");
        // A and A' have one, and later blocks have that of the first.
        assert_eq!(Some(warmup), all[&(0, treatment.clone())].as_ref(), "block {block}");
    }
    assert_eq!(all[&(0, "alone".to_owned())], all[&(0, "alone'".to_owned())]);
    let runs = Store::open(&lab.path().join(FILE)).unwrap().runs().unwrap();
    for session in runs.iter().flat_map(|run| &run.slices).flat_map(|slice| &slice.sessions) {
        assert!(session.rows == 0 || session.counters[ROWS_FIRST_HALF] <= session.rows);
    }
    let json = report(&lab);
    assert_eq!(json["study"]["design"]["rewarm_ns"], Value::Null);
    let warmups = &json["details"]["warmups"];
    assert_eq!(warmups.as_array().unwrap().len(), 3, "{warmups}");
    assert_eq!(warmups[2]["warmup_ns"], all[&(0, "two".to_owned())].as_ref().unwrap().ns);
    let halves = &json["details"]["halves"];
    let estimates = estimates_of(&json, "halves");
    let wanted = (&Value::Null, Some(&Value::from("two")));
    let got = (&halves["gap"], estimates.first().map(|one| &one["treatment"]));
    // Where something else had the logical CPU for half of a slice in each block, no block has both; that they were not
    // recorded is never so.
    assert!(!is_whole || got == wanted || halves["gap"] == "no block has both", "{halves}");
    assert!(!json.to_string().contains(ROWS_FIRST_HALF), "no counter of an engine");
}

#[test]
fn a_study_that_goes_on_has_the_warm_ups_that_it_had() {
    let lab = Lab::new();
    measured(&lab, "", &[]);
    // The second block was broken off, and the warm-ups of the first are numbers that no run would measure.
    let file = Connection::open(lab.path().join(FILE)).unwrap();
    file.execute_batch(
        "UPDATE blocks SET complete_s = NULL WHERE block = 1;
         UPDATE meta SET value = 'stopped' WHERE key = 'state';
         UPDATE readings SET value = 13131313 WHERE sampler = 'warm-up' AND metric = 'warmup_ns';",
    )
    .unwrap();
    drop(file);
    lab.ok(&["run", "--resume", FILE, "--allow-busy", "--no-html"]);
    let all = stored(&lab);
    assert_eq!(all.len(), 6, "{all:?}");
    let runs = Store::open(&lab.path().join(FILE)).unwrap().runs().unwrap();
    assert!(runs.iter().any(|run| run.block == 1 && run.attempt == 1), "the block was not done again");
    assert!(
        all.values().all(|warmup| warmup.as_ref().is_some_and(|warmup| warmup.ns == 13_131_313)),
        "{all:?}"
    );
}

#[test]
fn a_warm_up_that_is_asked_for_is_used_as_it_is() {
    for (rewarm, more) in [("rewarm_ms = 7\n", &[][..]), ("rewarm_ms = 3\n", &["--rewarm", "7ms"])] {
        let lab = Lab::new();
        measured(&lab, rewarm, more);
        assert!(stored(&lab).values().all(Option::is_none));
        let json = report(&lab);
        assert_eq!(json["study"]["design"]["rewarm_ns"], 7_000_000);
        assert_eq!(json["details"]["warmups"], Value::Null);
    }
}
