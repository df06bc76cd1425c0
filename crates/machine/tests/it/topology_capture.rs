//! A recording reads like the machine it was made of, and names no user and no machine.

#![allow(clippy::unwrap_used)]

use crate::fixtures;

use crate::fixtures::Root;
use std::fs;
use std::path::Path;
use threadwise_machine::topology::{Topology, TopologyError, capture};

/// Reads both; the path of a quota's file has neutral names, so only its last part is compared.
fn same_after_capture(root: &Path, name: &str) -> tempfile::TempDir {
    let to = fixtures::space();
    let summary = capture(root, to.path()).unwrap();
    assert!(summary.files > 0 || name == "bare", "{name}");
    let mut machine = Topology::read(root, None).unwrap();
    let mut recording = Topology::read(to.path(), None).unwrap();
    let source = |topology: &mut Topology| {
        topology.limits.quota_source.take().map(|path| path.file_name().unwrap().to_owned())
    };
    assert_eq!(source(&mut machine), source(&mut recording), "{name}");
    assert_eq!(recording, machine, "{name}");
    to
}

/// Every path and every content below a folder, as one text.
fn everything(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text.push_str(&format!("{}\n", path.file_name().unwrap().display()));
        if path.is_dir() {
            text.push_str(&everything(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
    }
    text
}

#[test]
fn every_machine_of_ours_reads_the_same() {
    for (name, root) in fixtures::all() {
        same_after_capture(root.path(), name);
    }
    same_after_capture(fixtures::large().path(), "large");
}

#[test]
fn this_machine_reads_the_same() {
    same_after_capture(Path::new("/"), "this machine");
}

#[test]
fn nothing_that_names_the_machine_is_recorded() {
    let root = fixtures::container();
    let secrets = [
        ("sys/class/dmi/id/product_serial", "SERIAL-4242"),
        ("sys/class/dmi/id/product_uuid", "0b5ec7e1-uuid"),
        ("sys/class/net/eth0/address", "52:54:00:12:34:56"),
        ("sys/devices/system/cpu/cpu0/topology/ppin", "PPIN-99"),
        ("proc/sys/kernel/hostname", "alices-host"),
        ("proc/version", "Linux version 6.1 (alice@alices-host)"),
        ("etc/hostname", "alices-host"),
    ];
    for (path, text) in secrets {
        root.put(path, text);
    }
    root.put("sys/class/dmi/id/sys_vendor", "QEMU\n");
    root.put("proc/meminfo", "MemTotal:  4194304 kB\nHardwareCorrupted: 31337 kB\n");
    let cpuinfo = "processor : 0\nvendor_id : GenuineIntel\nmicrocode : 0x5002f01\nSerial : 00000000deadbeef\n\
                   processor 0: version = 00,  identification = 279F25,  machine = 2817\n";
    root.put("proc/cpuinfo", cpuinfo);
    let to = same_after_capture(root.path(), "container");
    let text = everything(to.path());
    for secret in [
        "SERIAL", "uuid", "52:54", "PPIN", "alice", "host", "deadbeef", "279F25", "5002f01", "31337", "4711",
        "9f3c",
    ] {
        assert!(!text.contains(secret), "{secret} is in the recording");
    }
    for kept in ["kubepods", "group1", "group2", "GenuineIntel", "QEMU"] {
        assert!(text.contains(kept), "{kept} is not in the recording");
    }
}

#[test]
fn an_own_mount_point_gets_a_neutral_name() {
    let root = fixtures::server();
    root.put("proc/mounts", "cgroup2 /home/alice/groups cgroup2 rw 0 0\n");
    root.put("proc/self/cgroup", "0::/x/y/x\n");
    root.put("home/alice/groups/x/y/x/cpu.max", "50000 100000\n");
    let to = fixtures::space();
    let summary = capture(root.path(), to.path()).unwrap();
    assert_eq!(summary.renamed, 3, "the mount point and two names");
    let recording = Topology::read(to.path(), None).unwrap();
    assert_eq!(recording.limits.quota_cpus, Some(0.5));
    let source = recording.limits.quota_source.unwrap();
    assert_eq!(source, Path::new("cgroup1/group1/group2/group1/cpu.max"), "the same name each time");
    assert!(!everything(to.path()).contains("alice"));
}

#[test]
fn a_target_with_something_in_it_is_refused() {
    let root = fixtures::server();
    let to = Root::new();
    to.put("mine", "keep\n");
    let error = capture(root.path(), to.path()).unwrap_err();
    assert!(matches!(&error, TopologyError::Record { .. }), "{error}");
    assert!(error.to_string().contains("not empty"), "{error}");
    assert_eq!(everything(to.path()), "mine\nkeep\n");
    let a_file = to.path().join("mine");
    assert!(matches!(capture(root.path(), &a_file), Err(TopologyError::Record { .. })));
    let new = to.path().join("a/new/one");
    capture(root.path(), &new).unwrap();
    assert!(Topology::read(&new, None).is_ok());
    // A root without CPUs leaves nothing behind.
    let none = to.path().join("none");
    assert!(matches!(capture(to.path(), &none), Err(TopologyError::NoSys { .. })));
    assert!(!none.exists());
}
