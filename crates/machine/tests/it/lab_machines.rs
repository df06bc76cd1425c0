//! Reads the machines that others recorded, in the folder that THREADWISE_MACHINES names, and compares with the
//! counts in its index. The folder is not part of the project.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::fixtures;
use crate::placement_support::resolve;

use std::path::{Path, PathBuf};
use std::process::Command;
use threadwise_machine::topology::capture;
use threadwise_machine::{Draw, Topology};

/// Packages, cores, logical CPUs and NUMA nodes.
fn counts(topology: &Topology) -> [usize; 4] {
    [topology.packages.len(), topology.cores.len(), topology.allowed().len(), topology.numa_nodes.len()]
}

/// Unpacks an archive and gives the one folder in it.
fn unpack(archive: &Path, to: &Path) -> PathBuf {
    let status = Command::new("tar").arg("-xjf").arg(archive).arg("-C").arg(to).status();
    assert!(status.expect("the program tar is needed").success(), "tar cannot unpack {}", archive.display());
    let mut entries = std::fs::read_dir(to).unwrap().map(|entry| entry.unwrap().path());
    let top = entries.next().expect("the archive is empty");
    assert_eq!(entries.next(), None, "{} has more than one folder", archive.display());
    top
}

/// What must hold for any machine, whatever its counts.
fn consistent(topology: &Topology, name: &str) {
    let allowed = topology.allowed();
    let all_of = |sets: Vec<&threadwise_machine::CpuSet>| sets.iter().map(|set| set.len()).sum::<usize>();
    assert_eq!(all_of(topology.cores.iter().map(|core| &core.cpus).collect()), allowed.len(), "{name}");
    assert_eq!(all_of(topology.kinds.iter().map(|kind| &kind.cpus).collect()), allowed.len(), "{name}");
    for groups in [&topology.packages, &topology.llc_domains, &topology.dies, &topology.clusters] {
        let sum = all_of(groups.iter().map(|group| &group.cpus).collect());
        assert!(sum == 0 || sum == allowed.len(), "{name}: {groups:?}");
        let firsts: Vec<u32> = groups.iter().map(|group| group.cpus.first().unwrap_or(u32::MAX)).collect();
        assert!(firsts.is_sorted(), "{name}: {groups:?}");
    }
    for cpu in &topology.logical_cpus {
        assert_eq!(cpu.core.is_some(), cpu.allowed && cpu.online, "{name}: {cpu:?}");
        assert_eq!(cpu.siblings.contains(cpu.os_id), cpu.online, "{name}: {cpu:?}");
        let Some(core) = cpu.core else { continue };
        assert!(topology.cores[core as usize].cpus.contains(cpu.os_id), "{name}: {cpu:?}");
        assert!(topology.cores[core as usize].cpus.is_subset(&cpu.siblings), "{name}: {cpu:?}");
        assert_eq!(topology.cores[core as usize].package, cpu.package, "{name}: {cpu:?}");
    }
}

/// The index counts each core of it as a package. Its kernel writes -1 for every package and the core's set for the
/// package's, which is how it says that it does not know.
const WITHOUT_PACKAGES: &str = "256ppc-8n8s4t";

/// The names and orders of [`EXPECTED`].
const TEXTS: [&str; 11] = [
    "same-core",
    "same-l2",
    "same-l3",
    "cross-l3",
    "same-node",
    "cross-node",
    "same-package",
    "cross-package",
    "spread:8",
    "packed:8",
    "packed-cores:8",
];

/// The logical CPUs of each placement on each machine, in the machine's own order of cores; `-` for what it lacks.
const EXPECTED: &str = include_str!("lab_machines/placements.tsv");

#[test]
#[ignore = "laboratory: machines"]
fn placements_by_level_on_recorded_machines() {
    let folder = std::env::var_os("THREADWISE_MACHINES").map(PathBuf::from).unwrap();
    let mut wrong = Vec::new();
    for line in EXPECTED.lines() {
        let (name, expected) = line.split_once('\t').unwrap();
        let space = fixtures::space();
        let root = unpack(&folder.join(format!("{name}.tar.bz2")), space.path());
        let topology = Topology::read(&root, None).unwrap();
        let draw = Draw::identity(&topology);
        let set = |text: &&str| match resolve(text, &topology, &draw) {
            Ok(found) => found.set().to_string(),
            Err(_) => "-".to_owned(),
        };
        let found: Vec<String> = TEXTS.iter().map(set).collect();
        if found.join("\t") != expected {
            wrong.push(format!("{name}: {} instead of {expected}", found.join("\t")));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", TEXTS.join(" "), wrong.join("\n"));
}

#[test]
#[ignore = "laboratory: machines"]
fn recorded_machines_have_the_expected_counts() {
    let folder = std::env::var_os("THREADWISE_MACHINES").map(PathBuf::from).unwrap();
    let index = std::fs::read_to_string(folder.join("INDEX.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for line in index.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let mut expected: Vec<usize> =
            fields[1..].iter().map(|count| count.trim().parse().unwrap()).collect();
        if fields[0] == WITHOUT_PACKAGES {
            expected[0] = 0;
        }
        let space = fixtures::space();
        let root = unpack(&folder.join(format!("{}.tar.bz2", fields[0])), space.path());
        let topology = Topology::read(&root, None).unwrap_or_else(|error| panic!("{}: {error}", fields[0]));
        if counts(&topology)[..] != expected[..] {
            wrong.push(format!("{}: {:?} instead of {expected:?}", fields[0], counts(&topology)));
        }
        consistent(&topology, fields[0]);
        let copy = fixtures::space();
        capture(&root, copy.path()).unwrap();
        assert_eq!(Topology::read(copy.path(), None).unwrap(), topology, "{} recorded again", fields[0]);
        checked += 1;
    }
    assert!(wrong.is_empty(), "packages, cores, logical CPUs, NUMA nodes:\n{}", wrong.join("\n"));
    assert_eq!(checked, index.lines().count() - 1);
    assert!(checked > 0, "{} lists no machine", folder.join("INDEX.tsv").display());
}
