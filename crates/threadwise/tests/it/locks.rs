//! The preset `locks`: what it has on this machine, measured for a moment, and what its report says.

use crate::harness::Lab;
use crate::harness::estimates_of;
use serde_json::Value;
use std::collections::BTreeSet;
use threadwise_store::Store;
use threadwise_study::OptionValue;

const FILE: &str = "s.threadwise";

fn small() -> Vec<&'static str> {
    let shape =
        ["--blocks", "2", "--rounds", "1", "--slice", "100ms", "--rewarm", "1ms", "--set", "rows=20000"];
    let quiet = ["--allow-busy", "--no-html", "--no-probe", "--seed", "4", "-o", FILE];
    ["run", "--all", "locks"].into_iter().chain(shape).chain(quiet).collect()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

#[test]
fn every_lock_operation_and_order_is_measured_and_every_gain_stands_in_one_table() {
    let lab = Lab::new();
    let said = lab.ok(&small());
    let store = Store::open(&lab.path().join(FILE)).unwrap();
    let study = store.study();
    let groups: BTreeSet<&str> = study.groups().into_iter().collect();
    assert_eq!(groups.len(), 12, "{groups:?}");
    for run in store.runs().unwrap() {
        assert!(run.status.is_valid(), "{run:?}");
        let (_, treatment) = study.treatment(&run.treatment).unwrap();
        let has_lock = treatment.options["lock"] != OptionValue::Text("lock-free".to_owned());
        for session in run.slices.iter().flat_map(|slice| &slice.sessions).filter(|one| one.steps > 0) {
            let taken = session.counters.get("lock_acquisitions").copied();
            assert_eq!(taken, has_lock.then_some(session.rows), "{}", treatment.name);
            assert_eq!((session.answers_checked, session.answers_wrong), (session.rows, 0));
        }
    }
    let json: Value = serde_json::from_str(&lab.ok(&["report", FILE, "--json"]).stdout).unwrap();
    let pairs = estimates_of(&json, "lock-gains");
    let gains: BTreeSet<&str> =
        pairs.iter().flat_map(|pair| [text(pair, "treatment"), text(pair, "baseline")]).collect();
    // What is gained, which a machine has or lacks under every lock.
    let of: BTreeSet<&str> = pairs
        .iter()
        .map(|pair| text(&pair["place"], "comparison").rsplit_once("; ").unwrap().1.trim_end_matches(')'))
        .collect();
    assert!(
        !of.is_empty() && of.iter().all(|heading| said.stdout.contains(heading)),
        "{of:?}: {}",
        said.stdout
    );
    // Under each of four combinations three gains and three pairs of them; a pair without rows in any block has no ratio.
    let has_rows = store
        .runs()
        .unwrap()
        .iter()
        .flat_map(|run| &run.slices)
        .all(|slice| slice.sessions.iter().all(|one| one.rows > 0));
    let most = 12 * of.len();
    assert!(pairs.len() <= most && gains.len() <= most, "{gains:?}");
    assert!(!has_rows || (pairs.len(), gains.len()) == (most, most), "{} pairs of {gains:?}", pairs.len());
    let compared = estimates_of(&json, "comparisons");
    assert!(gains.iter().all(|name| compared.iter().any(|one| text(&one["place"], "comparison") == *name)));
    assert!(said.stdout.contains("\nGains\n"), "{}", said.stdout);
}

#[test]
fn what_an_index_cannot_have_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    let refused = |more: &[&str], part: &str| {
        let said = lab.run(&[&small()[..], more].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(part), "{}", said.stderr);
        assert!(!lab.path().join(FILE).exists());
    };
    refused(&["--set", "lock=mutex"], "spin, mcs, lock-free");
    refused(&["--set", "structure=trie"], "b-tree, hash");
    refused(&["--set", "buckets=8"], "allowed: operation");
}
