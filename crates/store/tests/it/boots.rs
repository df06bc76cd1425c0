//! Boots: stored once each, named by the blocks that ran on them, and refused where they cannot be.

use crate::made;
use std::collections::BTreeMap;
use std::path::Path;
use threadwise_machine::BootFacts;
use threadwise_store::{EndState, Expectation, Problem, Store, StoreError};
use threadwise_study::{Boot, External, Study};

const NOW: &str = "2026-01-01T00:00:00Z";

fn facts(boot: u32, machine: u32) -> BootFacts {
    BootFacts {
        boot_id: Some(format!("6c1ea6c2-3f5d-4a39-9c53-{boot:012}")),
        machine_id: Some(format!("{machine:032}")),
        kernel: Some("6.1.0-28".into()),
        microcode: Some("0x1".into()),
        smt_active: Some(true),
        smt_control: Some("on".into()),
        online_cpus: Some(8),
        instance_type: Some("m7i.large".into()),
        parameters: Some("mitigations=off".into()),
    }
}

fn create(path: &Path) -> Store {
    Store::create(path, &made::study(), &made::topology(), &made::versions()).unwrap()
}

pub fn resume(path: &Path) -> Result<Store, StoreError> {
    let (topology, versions) = (made::topology(), made::versions());
    resume_as(path, &topology, &versions.engine_version)
}

fn resume_as(
    path: &Path,
    topology: &threadwise_machine::Topology,
    engine_version: &str,
) -> Result<Store, StoreError> {
    let versions = made::versions();
    let (program, engine) = (versions.program.as_str(), versions.engine.as_str());
    Store::resume(path, &Expectation { topology, program, engine, engine_version, study: None })
}

fn block(store: &mut Store, block: u32, attempt: u32) {
    store.block_started(block, attempt, f64::from(block)).unwrap();
    store.append_run(&made::run(u64::from(block), block, attempt, 1, 2, 4)).unwrap();
    store.block_complete(block, attempt, f64::from(block) + 0.5).unwrap();
}

#[test]
fn boots_come_back_and_blocks_name_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut store = create(&path);
    assert_eq!(store.enter_boot(&facts(1, 1), Some("on"), "3.50.0", NOW).unwrap(), 1);
    block(&mut store, 0, 0);
    // Broken off, and done again on the next boot.
    store.block_started(1, 0, 1.0).unwrap();
    drop(store);
    let mut store = resume(&path).unwrap();
    assert_eq!(
        store.enter_boot(&facts(1, 1), Some("on"), "3.50.0", NOW).unwrap(),
        1,
        "the same boot is the same row"
    );
    store.supersede_incomplete_blocks().unwrap();
    assert_eq!(store.enter_boot(&facts(2, 1), Some("off"), "3.50.1", NOW).unwrap(), 2);
    block(&mut store, 1, 1);
    let unknown = BootFacts::default();
    assert_eq!(store.enter_boot(&unknown, None, "3.50.0", NOW).unwrap(), 3);
    block(&mut store, 2, 0);
    assert_eq!(
        store.enter_boot(&unknown, None, "3.50.0", NOW).unwrap(),
        3,
        "what is unknown is taken for the same"
    );
    drop(store);

    let store = Store::open(&path).unwrap();
    let boots = store.boots().unwrap();
    assert_eq!(store.block_boots().unwrap(), [(0, 1), (1, 2), (2, 3)]);
    let first = Boot {
        number: 1,
        boot_id: facts(1, 1).boot_id,
        machine_hash: boots[0].machine_hash.clone(),
        started_utc: NOW.into(),
        arm: Some("on".into()),
        kernel: Some("6.1.0-28".into()),
        microcode: Some("0x1".into()),
        smt_active: Some(true),
        smt_control: Some("on".into()),
        online_cpus: Some(8),
        engine_version: "3.50.0".into(),
        instance_type: Some("m7i.large".into()),
        parameters: Some("mitigations=off".into()),
    };
    assert_eq!(boots[0], first);
    assert_eq!((boots[1].machine_hash.clone(), boots[1].arm.as_deref()), (first.machine_hash, Some("off")));
    assert_eq!((boots[2].boot_id.clone(), boots[2].online_cpus), (None, None));
    assert_eq!(store.runs().unwrap().len(), 3);
}

#[test]
fn the_same_boot_in_another_arm_is_another_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = create(&folder.path().join("s"));
    let mut enter = |arm| store.enter_boot(&facts(1, 1), arm, "3.50.0", NOW).unwrap();
    assert_eq!([Some("on"), Some("off"), Some("off"), None].map(&mut enter), [1, 2, 2, 3]);
}

#[test]
fn a_machine_has_another_hash_in_every_file_and_its_id_in_none() {
    let folder = tempfile::tempdir().unwrap();
    let hash = |name: &str| {
        let path = folder.path().join(name);
        let mut store = create(&path);
        store.enter_boot(&facts(1, 7), None, "3.50.0", NOW).unwrap();
        store.enter_boot(&facts(2, 8), None, "3.50.0", NOW).unwrap();
        drop(store);
        let bytes = std::fs::read(&path).unwrap();
        for machine in [7, 8] {
            let id = format!("{machine:032}");
            assert!(!bytes.windows(32).any(|window| window == id.as_bytes()), "the id is in the file");
        }
        let boots = Store::open(&path).unwrap().boots().unwrap();
        assert_ne!(boots[0].machine_hash, boots[1].machine_hash);
        boots[0].machine_hash.clone().unwrap()
    };
    let [one, other] = ["a", "b"].map(hash);
    assert!(one.len() == 64 && one != other, "{one}");
}

#[test]
fn external_arms_go_on_on_another_machine_and_not_with_another_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let external = External {
        arms: vec!["on".into(), "off".into()],
        boots: 4,
        blocks: 2,
        expect: BTreeMap::new(),
        switch: BTreeMap::from([("off".to_owned(), vec!["/bin/true".to_owned()])]),
        session_per_cpu: Default::default(),
        optional: Default::default(),
        treatments: 4,
    };
    let study = Study { external: Some(external), ..made::study() };
    let mut store = Store::create(&path, &study, &made::topology(), &made::versions()).unwrap();
    store.enter_boot(&facts(1, 1), Some("on"), "3.50.0", NOW).unwrap();
    store.finish(EndState::Stopped).unwrap();
    drop(store);
    let mut other = made::topology();
    other.packages.clear();
    for core in &mut other.cores {
        core.package = None;
    }
    for cpu in &mut other.logical_cpus {
        cpu.package = None;
    }
    let before = std::fs::read(&path).unwrap();
    let refused = resume_as(&path, &other, "4.0.0").unwrap_err().to_string();
    assert!(
        refused.contains("the major version of the engine has changed: it was 3.50.0 and is 4.0.0"),
        "{refused}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let store = resume_as(&path, &other, "3.51.2").unwrap();
    assert_eq!(store.study(), &study);
}

#[test]
fn boots_that_cannot_be_are_damage_and_are_not_stored() {
    let refused = |sql: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let mut store = create(&path);
        store.enter_boot(&facts(1, 1), None, "3.50.0", NOW).unwrap();
        block(&mut store, 0, 0);
        drop(store);
        let plain = rusqlite::Connection::open(&path).unwrap();
        plain
            .execute_batch(&format!("PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1; {sql}"))
            .unwrap();
        drop(plain);
        let store = Store::open(&path).unwrap();
        store.block_boots().unwrap_err().to_string()
    };
    let set = |path: &str, value: &str| {
        refused(&format!("UPDATE boots SET json = json_set(json, '$.{path}', {value})"))
    };
    assert!(set("online_cpus", "0").contains("boots.json is not valid: online_cpus is 0"));
    assert!(set("smt_active", "7").contains("boots.json is not valid: invalid type: integer `7`"));
    assert!(set("kernel", "hex(zeroblob(40000))").contains("more than 65536"));
    assert!(set("other", "1").contains("unknown field `other`"));
    assert!(set("number", "2").contains("boots.json has number 2"));
    assert!(refused("UPDATE boots SET id = 5").contains("boots.id is 5 instead of 1"));
    assert!(refused("UPDATE blocks SET boot = 2").contains("blocks.boot is 2, but there are 1"));
    let folder = tempfile::tempdir().unwrap();
    let mut store = create(&folder.path().join("s"));
    let long = BootFacts { kernel: Some("x".repeat(70_000)), ..facts(1, 1) };
    assert!(matches!(
        store.enter_boot(&long, None, "3.50.0", NOW).unwrap_err(),
        StoreError { problem: Problem::Unstorable(_), .. }
    ));
    assert_eq!(store.boots().unwrap(), Vec::new());
}
