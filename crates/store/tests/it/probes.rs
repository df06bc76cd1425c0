//! Probes come back as they were, and what cannot be one is refused, on the way in and out.

use crate::{made, made_probe};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::CpuSet;
use threadwise_store::{Problem, Store};
use threadwise_study::probe::{PairSharing, Probe, SetTest, Sharing};

fn create(folder: &TempDir) -> (PathBuf, Store) {
    let path = folder.path().join("study.tw");
    let store = Store::create(&path, &made::study(), &made::topology(), &made::versions()).unwrap();
    (path, store)
}

fn read(path: &Path) -> Vec<(f64, Probe)> {
    let probes = Store::open(path).unwrap().probes().unwrap();
    probes.into_iter().map(|stored| (stored.started_s, stored.probe)).collect()
}

#[test]
fn probes_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    assert_eq!(store.probes().unwrap(), []);
    let mut expected = vec![(0.25, Probe::default())];
    expected.extend((0..200).map(|seed| (seed as f64 * 1e3, made_probe::probe(seed))));
    for (started_s, probe) in &expected {
        store.add_probe(*started_s, probe).unwrap();
    }
    drop(store);
    assert_eq!(read(&path), expected);
}

#[test]
fn a_probe_from_before_wake_ups_were_measured_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    let now = (0..).map(made_probe::probe).find(|probe| !probe.wakeups.is_empty()).unwrap();
    store.add_probe(0.0, &now).unwrap();
    drop(store);
    let plain = Connection::open(&path).unwrap();
    let without = "UPDATE probes SET json = json_remove(json, '$.wakeups')";
    assert_eq!(plain.execute(without, []).unwrap(), 1);
    drop(plain);
    assert_eq!(read(&path), [(0.0, Probe { wakeups: Vec::new(), ..now })]);
}

fn pair(a: u32, b: u32) -> PairSharing {
    PairSharing {
        a,
        b,
        sharing: Sharing::DifferentCores,
        wide: None,
        chain: None,
        load_store: None,
        on_cpu_share: None,
        rounds_used: 1,
        rounds: 1,
        why: String::new(),
    }
}

#[test]
fn a_probe_of_many_logical_cpus_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    let cpus: CpuSet = (0..768).collect();
    let even: CpuSet = (0..384).map(|core| 2 * core).collect();
    let mut probe = Probe {
        pairs: (0..20_000).map(|a| pair(a, a + 1)).collect(),
        sets: vec![SetTest { ran: cpus.clone(), at_full_width: even }; 20],
        cpus,
        ..Probe::default()
    };
    store.add_probe(0.0, &probe).unwrap();
    let stored = probe.clone();
    probe.pairs.extend((0..20_000).map(|a| pair(a, a + 2)));
    let error = store.add_probe(0.0, &probe).unwrap_err();
    assert!(error.to_string().contains("bytes, more than 4194304"), "{error}");
    drop(store);
    assert_eq!(read(&path), [(0.0, stored)]);
}

#[test]
fn what_cannot_be_stored_is_named_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    let full = |seed: u64| {
        let probe = made_probe::probe(seed);
        let lists = [probe.pairs.len(), probe.neighbours.len(), probe.latencies.len(), probe.clocks.len()];
        let is_full = lists.iter().all(|len| *len > 0) && !probe.wakeups.is_empty();
        is_full.then_some(probe)
    };
    let sound = (0..).find_map(full).unwrap();
    store.add_probe(1.0, &sound).unwrap();
    type Spoil = fn(&mut Probe);
    let spoils: [(&str, Spoil); 13] = [
        ("a figure is NaN", |probe| probe.duration_s = f64::NAN),
        ("a figure is -1", |probe| probe.duration_s = -1.0),
        ("logical CPU is 65536", |probe| probe.pairs[0].b = 65_536),
        ("a share is 2", |probe| probe.pairs[0].on_cpu_share = Some(2.0)),
        ("a figure is inf", |probe| probe.neighbours[0].adds_per_step_p50 = Some(f64::INFINITY)),
        ("a share is -0.5", |probe| probe.neighbours[0].busy_share = Some(-0.5)),
        ("a figure is 1000000000", |probe| probe.latencies[0].cas.min_ns = 1e300),
        ("latency level 99", |probe| probe.latencies[0].level = Some(99)),
        ("a figure is -1", |probe| probe.clocks[0].bzy_mhz = Some(-1.0)),
        ("logical CPU is 65536", |probe| probe.clocks[0].busy_cpus = 65_537),
        ("a figure is NaN", |probe| probe.wakeups[0].median_high_ns = f64::NAN),
        ("logical CPU is 65536", |probe| probe.wakeups[0].b = 65_536),
        ("number of logical CPUs is 8193", |probe| probe.cpus = (0..8_193).collect()),
    ];
    for (words, spoil) in spoils {
        let mut probe = sound.clone();
        spoil(&mut probe);
        let error = store.add_probe(2.0, &probe).unwrap_err();
        assert!(matches!(error.problem, Problem::Unstorable(_)), "{words}: {error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert!(store.add_probe(f64::NAN, &sound).unwrap_err().to_string().contains("start of the probe is NaN"));
    drop(store);
    assert_eq!(read(&path), [(1.0, sound)]);
}

#[test]
fn what_cannot_be_a_probe_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    let sound =
        (0..).map(made_probe::probe).find(|probe| !probe.latencies.is_empty() && !probe.sets.is_empty());
    store.add_probe(0.0, &sound.unwrap()).unwrap();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    let many_sets = format!("json_set(json, '$.gaps', json('[{}\"\"]'))", "\"0-65535\",".repeat(300));
    for (json, words) in [
        ("json_set(json, '$.form', 'long')", "unknown variant `long`"),
        ("json_set(json, '$.cpus', '0-9000')", "the number of logical CPUs is 9001"),
        ("json_set(json, '$.cpus', '3-1')", "not a list of logical CPUs"),
        ("json_set(json, '$.latencies[0].level', 9000)", "latency level 9000"),
        ("json_set(json, '$.duration_s', 1e300)", "a figure is 1000000"),
        ("json_set(json, '$.more', 1)", "unknown field `more`"),
        ("json_remove(json, '$.pairs')", "missing field `pairs`"),
        ("replace(json, '\"cpus\":\"', '\"cpus\":\"\\u0030-')", "expected a borrowed string"),
        (&many_sets, "has larger CPU sets than any machine"),
        ("printf('%.*c', 100000, '[')", "probes.json is not valid"),
        ("json || printf('%.*c', 4194304, ' ')", "more than 4194304"),
    ] {
        std::fs::write(&path, &whole).unwrap();
        let plain = Connection::open(&path).unwrap();
        assert_eq!(plain.execute(&format!("UPDATE probes SET json = {json}"), []).unwrap(), 1, "{json}");
        drop(plain);
        let store = Store::open(&path).unwrap();
        let error = store.probes().unwrap_err();
        assert!(matches!(error.problem, Problem::Damaged(_)), "{json}: {error}");
        assert!(error.to_string().contains(words), "{json}: {error}");
        assert_eq!(store.runs().unwrap(), [], "the rest can still be read");
    }
}
