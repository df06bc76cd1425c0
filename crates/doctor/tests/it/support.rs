//! Small machines as folders, and topologies as values.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use threadwise_doctor::{Check, Facts, Live, Outcome, examine};
use threadwise_machine::topology::{Core, Group, Identity, LogicalCpu, NumaNode};
use threadwise_machine::{CpuSet, Topology};

pub const GIB: u64 = 1 << 30;

/// A folder that is filled file by file.
pub struct Root {
    dir: TempDir,
}

impl Root {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// In memory where that can be had: for thousands of files.
    pub fn in_memory() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { dir: dir.unwrap() }
    }

    /// With these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let root = Self::new();
        files.iter().for_each(|(path, text)| root.put(path, text));
        root
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path().join(path)).unwrap();
    }

    /// One check on this folder, a machine of four logical CPUs.
    pub fn check(&self, name: &str) -> Check {
        self.check_on(name, &machine(), None)
    }

    pub fn check_on(&self, name: &str, topology: &Topology, live: Option<&Live>) -> Check {
        let checks = examine(&Facts { root: self.path(), topology, live });
        checks.into_iter().find(|check| check.name == name).unwrap()
    }

    pub fn all(&self, topology: &Topology, live: Option<&Live>) -> BTreeMap<&'static str, Check> {
        let checks = examine(&Facts { root: self.path(), topology, live });
        checks.into_iter().map(|check| (check.name, check)).collect()
    }
}

/// One check on one file, or on several.
pub fn check(name: &str, files: &[(&str, &str)]) -> Check {
    Root::with(files).check(name)
}

/// Asserts outcome and words of a check.
#[track_caller]
pub fn says(check: &Check, outcome: Outcome, words: &[&str]) {
    assert_eq!(check.outcome, outcome, "{check:#?}");
    for word in words {
        let text = format!("{} | {} | {}", check.found, check.source, check.remedy.as_deref().unwrap_or(""));
        assert!(text.contains(word), "'{word}' is not in: {text}");
    }
}

/// Two cores with two logical CPUs each, one package, one node, all allowed, no hypervisor.
pub fn machine() -> Topology {
    let set = |text: &str| CpuSet::parse_list(text).unwrap();
    let cpu = |os_id: u32| LogicalCpu {
        os_id,
        core: Some(os_id / 2),
        package: Some(0),
        numa_node: Some(0),
        siblings: set(if os_id < 2 { "0-1" } else { "2-3" }),
        allowed: true,
        online: true,
        ..LogicalCpu::default()
    };
    let core = |cpus: &str| Core { cpus: set(cpus), package: Some(0), ..Core::default() };
    Topology {
        logical_cpus: (0..4).map(cpu).collect(),
        cores: vec![core("0-1"), core("2-3")],
        packages: vec![Group { os_id: Some(0), cpus: set("0-3") }],
        numa_nodes: vec![NumaNode { os_id: Some(0), cpus: set("0-3"), memory_bytes: Some(16 * GIB) }],
        identity: Identity {
            cpu_model: Some("Model X".to_owned()),
            memory_bytes: Some(16 * GIB),
            ..Identity::default()
        },
        ..Topology::default()
    }
}

/// The same under a hypervisor.
pub fn virtual_machine() -> Topology {
    let mut topology = machine();
    topology.identity.hypervisor = Some("KVM".to_owned());
    topology
}
