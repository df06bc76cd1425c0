//! Damaged and hostile roots: an error that names the file, or a gap; never a panic, never a hang,
//! never a file outside of the root.

#![allow(clippy::unwrap_used)]

use crate::fixtures;

use crate::fixtures::{CPU, NODE, Root, list};
use std::fs;
use std::path::{Path, PathBuf};
use threadwise_machine::topology::{Topology, TopologyError};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Without the files of CPUs other than 0 and 4, which stand for the others.
fn one_cpus_files(root: &Path) -> Vec<PathBuf> {
    let others = ["/cpu1", "/cpu2", "/cpu3", "/cpu5", "/cpu6", "/cpu7", "/cpu8", "/cpu9"];
    let counts = |path: &PathBuf| !others.iter().any(|other| path.to_string_lossy().contains(other));
    files(root).into_iter().filter(counts).collect()
}

/// The machines that differ in what is read; the other ones are variants of the server.
fn machines() -> impl Iterator<Item = (&'static str, Root)> {
    let left_out = ["server", "offline_sibling", "memory_only", "power 8"];
    fixtures::all().into_iter().filter(move |(name, _)| !left_out.contains(name))
}

/// Reads; an error must name a file below the root and fit on a line.
fn read_or_named(root: &Root, about: &str) -> Option<Topology> {
    match Topology::read(root.path(), None) {
        Ok(topology) => Some(topology),
        Err(error) => {
            let text = error.to_string();
            let base = root.path().canonicalize().unwrap();
            let named = match &error {
                TopologyError::File { path, .. } => path.starts_with(&base),
                TopologyError::NoSys { root } | TopologyError::NoCpu { root } => root.starts_with(&base),
                other => panic!("{about}: {other}"),
            };
            assert!(named && !text.contains('\n') && text.len() < 600, "{about}: {text}");
            None
        }
    }
}

#[test]
fn every_file_in_turn_empty_cut_short_or_garbage() {
    type Change = fn(&[u8]) -> Vec<u8>;
    let damage: [(&str, Change); 7] = [
        ("empty", |_| Vec::new()),
        ("cut", |old| old[..old.len() / 2].to_vec()),
        ("text", |_| b"not what you think \x1b[31m\n\n".to_vec()),
        ("bytes", |_| vec![0xff, 0xfe, 0, 0x80, b'0']),
        ("negative", |_| b"-7\n".to_vec()),
        ("enormous", |_| b"0-65535:1,99999999999999999999\n".to_vec()),
        ("other CPUs", |_| b"3-9,11\n".to_vec()),
    ];
    for (name, root) in machines() {
        for path in &one_cpus_files(root.path()) {
            let old = fs::read(path).unwrap();
            for (kind, change) in damage {
                fs::write(path, change(&old)).unwrap();
                if let Some(topology) = read_or_named(&root, &format!("{name}, {kind}: {}", path.display())) {
                    let in_cores: usize = topology.cores.iter().map(|core| core.cpus.len()).sum();
                    assert_eq!(in_cores, topology.allowed().len(), "{name}, {kind}: {}", path.display());
                }
            }
            fs::write(path, old).unwrap();
        }
    }
}

#[test]
fn every_file_in_turn_missing_or_a_folder() {
    for (name, root) in machines() {
        for path in &one_cpus_files(root.path()) {
            let old = fs::read(path).unwrap();
            fs::remove_file(path).unwrap();
            read_or_named(&root, &format!("{name}, missing: {}", path.display()));
            fs::create_dir(path).unwrap();
            read_or_named(&root, &format!("{name}, a folder: {}", path.display()));
            fs::remove_dir(path).unwrap();
            fs::write(path, old).unwrap();
        }
    }
}

#[test]
fn garbage_is_an_error_that_names_the_file() {
    let cases = [
        (format!("{CPU}/online"), "0-"),
        (format!("{CPU}/cpu0/topology/physical_package_id"), "zero"),
        (format!("{CPU}/cpu0/cache/index2/size"), "much"),
        (format!("{NODE}/node0/cpulist"), "a-b"),
        ("sys/fs/cgroup/kubepods/cpu.max".to_owned(), "fast"),
        ("sys/fs/cgroup/kubepods/memory.max".to_owned(), "1G"),
    ];
    for (path, text) in cases {
        let root = fixtures::container();
        root.put(&path, text);
        let error = Topology::read(root.path(), None).unwrap_err().to_string();
        assert!(error.contains(&path) && error.contains(text), "{error}");
    }
}

#[test]
fn one_good_form_of_a_set_is_enough() {
    let root = fixtures::server();
    root.put(&format!("{CPU}/cpu0/topology/core_cpus_list"), "0,\n");
    let topology = Topology::read(root.path(), None).unwrap();
    assert_eq!(topology.cores[0].cpus, list("0,8"), "taken from thread_siblings");
}

#[test]
fn links_do_not_lead_out_of_the_root() {
    let outside = Root::new();
    outside.put("secret/core_id", "77\n");
    outside.put("secret/cpulist", "0-15\n");
    let target = outside.path().to_str().unwrap();
    let root = fixtures::server();
    // Absolute, and relative with more steps up than there are.
    root.remove(&format!("{CPU}/cpu0/topology/core_id"));
    root.link(&format!("{CPU}/cpu0/topology/core_id"), &format!("{target}/secret/core_id"));
    root.link(&format!("{NODE}/node7"), &format!("{}{target}/secret", "../".repeat(40)));
    let topology = Topology::read(root.path(), None).unwrap();
    assert_eq!(topology.cores[0].os_id, None);
    assert_eq!(topology.numa_nodes.len(), 2);
    // A link to itself ends.
    root.link("sys/hypervisor", "hypervisor");
    root.link(&format!("{CPU}/cpu1/topology/x"), "x");
    assert_eq!(Topology::read(root.path(), None).unwrap(), topology);
}

#[test]
fn absolute_links_count_from_the_root() {
    let root = fixtures::server();
    let before = Topology::read(root.path(), None).unwrap();
    let moved = |from: &str, to: &str| {
        let target = root.path().join(to.trim_start_matches('/'));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::rename(root.path().join(from), target).unwrap();
        root.link(from, to);
    };
    moved(&format!("{CPU}/cpu3"), "/elsewhere/cpu3");
    moved("proc/meminfo", "/elsewhere/meminfo");
    moved("sys/devices/system/node", "/elsewhere/node");
    assert_eq!(Topology::read(root.path(), None).unwrap(), before);
}

#[test]
fn numbers_that_no_kernel_has_take_no_memory() {
    // A set of CPUs takes a bit for each number up to its highest: half a GiB for this one. That it is not
    // taken is seen by the test of inputs in crates/fuzz/regressions/sysfs, whose memory is bounded.
    let highest = u32::MAX;
    let root = fixtures::bare_cpuinfo();
    let before = Topology::read(root.path(), None).unwrap();
    let cpuinfo = fs::read_to_string(root.path().join("proc/cpuinfo")).unwrap();
    root.put("proc/cpuinfo", &format!("{cpuinfo}processor : {highest}\nphysical id : 0\ncore id : 7\n"));
    assert_eq!(Topology::read(root.path(), None).unwrap(), before);
}

#[test]
fn pipes_and_large_files_do_not_hang() {
    let root = fixtures::server();
    let pipe = root.path().join(CPU).join("cpu0/topology/core_id");
    fs::remove_file(&pipe).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert_eq!(Topology::read(root.path(), None).unwrap().cores[0].os_id, None);
    let large = fs::File::create(root.path().join(CPU).join("present")).unwrap();
    large.set_len(1 << 40).unwrap();
    let error = Topology::read(root.path(), None).unwrap_err().to_string();
    assert!(error.contains("cpu/present") && error.contains("larger than"), "{error}");
    root.counts("0-65535", "0-15");
    let error = Topology::read(root.path(), None).unwrap_err().to_string();
    assert!(error.contains("cpu/present") && error.contains("8192"), "{error}");
}
