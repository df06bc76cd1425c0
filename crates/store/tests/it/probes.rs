//! Probes come back as they were, and what cannot be one is refused, on the way in and out.

use crate::{made, made_probe};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::CpuSet;
use threadwise_store::{Store, StoreError};
use threadwise_study::probe::{LatencyLevel, PairSharing, Probe, SetTest, Sharing};

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
    let probe = Probe {
        pairs: (0..768).flat_map(|a| (a + 1..768).map(move |b| pair(a, b))).collect(),
        sets: vec![SetTest { ran: cpus.clone(), at_full_width: even }; 20],
        cpus,
        ..Probe::default()
    };
    assert_eq!(probe.pairs.len(), 294_528);
    store.add_probe(0.0, &probe).unwrap();
    drop(store);
    assert_eq!(read(&path), [(0.0, probe)]);
}

#[test]
fn what_cannot_be_stored_is_named_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    let full = |seed: u64| {
        let probe = made_probe::probe(seed);
        let lists = [probe.pairs.len(), probe.neighbours.len(), probe.latencies.len(), probe.clocks.len()];
        lists.iter().all(|len| *len > 0).then_some(probe)
    };
    let sound = (0..).find_map(full).unwrap();
    store.add_probe(1.0, &sound).unwrap();
    type Spoil = fn(&mut Probe);
    let spoils: [(&str, Spoil); 12] = [
        ("duration of the probe is NaN", |probe| probe.duration_s = f64::NAN),
        ("duration of the probe is -1", |probe| probe.duration_s = -1.0),
        ("logical CPU 65536", |probe| probe.pairs[0].b = 65_536),
        ("share of time on a CPU is 2", |probe| probe.pairs[0].on_cpu_share = Some(2.0)),
        ("adds per step is inf", |probe| probe.neighbours[0].adds_per_step_p50 = Some(f64::INFINITY)),
        ("busy share of a sibling is -0.5", |probe| probe.neighbours[0].busy_share = Some(-0.5)),
        ("latency is 1000000000", |probe| probe.latencies[0].cas.min_ns = 1e300),
        ("latency level 99", |probe| probe.latencies[0].level = Some(99)),
        ("Bzy_MHz is -1", |probe| probe.clocks[0].bzy_mhz = Some(-1.0)),
        ("busy logical CPUs is 65537", |probe| probe.clocks[0].busy_cpus = 65_537),
        ("8193 logical CPUs", |probe| probe.cpus = (0..8_193).collect()),
        ("latency level has 300 bytes", |probe| {
            let name = Some("n".repeat(300));
            probe.levels = vec![LatencyLevel { name, low_ns: 0.0, high_ns: 0.0, groups: Vec::new() }];
        }),
    ];
    for (words, spoil) in spoils {
        let mut probe = sound.clone();
        spoil(&mut probe);
        let error = store.add_probe(2.0, &probe).unwrap_err();
        assert!(matches!(error, StoreError::Unstorable { .. }), "{words}: {error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert!(store.add_probe(f64::NAN, &sound).unwrap_err().to_string().contains("start of the probe is NaN"));
    drop(store);
    assert_eq!(read(&path), [(1.0, sound)]);
}

#[test]
fn long_texts_and_shares_a_little_beyond_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    let mut probe = Probe { pairs: vec![pair(0, 1)], gaps: vec!["é".repeat(70_000)], ..Probe::default() };
    probe.pairs[0].on_cpu_share = Some(1.0004);
    store.add_probe(0.0, &probe).unwrap();
    drop(store);
    let (_, stored) = read(&path).pop().unwrap();
    assert_eq!((stored.pairs[0].on_cpu_share, stored.gaps[0].len()), (Some(1.0), 64 << 10));
}

#[test]
fn rows_that_do_not_belong_together_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = create(&folder);
    let with_levels = |seed: u64| {
        let probe = made_probe::probe(seed);
        (probe.levels.len() > 1 && probe.latencies.iter().any(|pair| pair.level.is_some())).then_some(probe)
    };
    for probe in (0..).filter_map(with_levels).take(2) {
        store.add_probe(0.0, &probe).unwrap();
    }
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for (sql, words) in [
        ("UPDATE latencies SET level = 1 WHERE probe = 2", "level 1 is of another probe"),
        ("UPDATE latencies SET level = 0", "level is 0"),
        ("UPDATE latencies SET level = 9000", "level is 9000"),
        ("UPDATE latency_groups SET level = 9000", "latency_groups.level is 9000"),
        ("UPDATE probe_pairs SET probe = 3", "probe_pairs.probe is 3, but there are 2"),
        ("UPDATE probe_pairs SET sharing = 'brothers'", "sharing is 'brothers'"),
        ("UPDATE probe_pairs SET wide_low = NULL, wide_high = 1.5", "without all of its figures"),
        ("UPDATE probes SET form = 'long'", "probes.form is 'long'"),
        ("UPDATE probes SET cpus = '0-9000'", "9001 logical CPUs"),
        ("UPDATE probes SET duration_s = 9e999", "duration_s is not a finite number"),
        ("UPDATE clocks SET bzy_mhz = -3.5", "bzy_mhz is -3.5"),
        ("UPDATE strangers SET busy_share = 1.5", "busy_share is 1.5"),
    ] {
        std::fs::write(&path, &whole).unwrap();
        let plain = Connection::open(&path).unwrap();
        plain.execute_batch("PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF").unwrap();
        assert!(plain.execute(sql, []).unwrap() > 0, "{sql}");
        drop(plain);
        let store = Store::open(&path).unwrap();
        let error = store.probes().unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{sql}: {error}");
        assert!(error.to_string().contains(words), "{sql}: {error}");
        assert_eq!(store.runs().unwrap(), [], "the rest can still be read");
    }
}
