//! All checks together: on this machine, and where there is nothing.

use super::damage::fit_for_a_terminal;
use super::support::Root;
use std::collections::BTreeSet;
use std::path::Path;
use threadwise_doctor::watch::Snapshot;
use threadwise_doctor::{Facts, Live, Outcome, Summary, examine};
use threadwise_machine::Topology;
use threadwise_machine::topology::LogicalCpu;

/// Scripts look for these.
const NAMES: [&str; 32] = [
    "other-load",
    "database-server",
    "steal",
    "neighbour",
    "virtual-machine",
    "container",
    "cpu-quota",
    "allowed-cpus",
    "memory-limit",
    "smt",
    "core-scheduling",
    "mitigations",
    "governor",
    "energy-preference",
    "turbo",
    "idle-states",
    "thermal",
    "battery",
    "time-source",
    "numa-balancing",
    "sub-numa",
    "transparent-hugepages",
    "reserved-hugepages",
    "samepage-merging",
    "swap",
    "swappiness",
    "irqbalance",
    "isolated-cpus",
    "scheduler",
    "autogroup",
    "nmi-watchdog",
    "perf",
];

#[test]
fn names_are_stable_unique_and_in_order() {
    let topology = Topology::default();
    let root = Root::new();
    let checks = examine(&Facts { root: root.path(), topology: &topology, live: None });
    assert_eq!(checks.iter().map(|check| check.name).collect::<Vec<_>>(), NAMES);
    assert_eq!(NAMES.iter().collect::<BTreeSet<_>>().len(), NAMES.len());
}

#[test]
fn where_there_is_nothing_nothing_is_a_problem() {
    let topology = Topology::default();
    let root = Root::new();
    for folder in [root.path(), &root.path().join("not/there")] {
        for live in [None, Some(&Live::default())] {
            let checks = examine(&Facts { root: folder, topology: &topology, live });
            fit_for_a_terminal(&checks.iter().collect::<Vec<_>>());
            for check in &checks {
                assert_eq!(check.outcome, Outcome::Unknown, "{check:#?}");
            }
        }
    }
}

/// A thousand logical CPUs, every other one different, still make lines that can be read.
#[test]
fn lines_stay_short_on_a_large_machine() {
    let root = Root::in_memory();
    let cpu = |os_id: u32| LogicalCpu { os_id, allowed: true, online: true, ..LogicalCpu::default() };
    let topology = Topology { logical_cpus: (0..1000).map(cpu).collect(), ..Topology::default() };
    for number in 0..1000 {
        let folder = format!("sys/devices/system/cpu/cpufreq/policy{number}");
        root.put(
            &format!("{folder}/scaling_governor"),
            if number % 2 == 0 { "ondemand" } else { "performance" },
        );
        root.put(&format!("{folder}/boost"), (number % 3 % 2).to_string());
        let count = format!("sys/devices/system/cpu/cpu{number}/thermal_throttle/core_throttle_count");
        root.put(&count, (number % 5).to_string());
    }
    root.put("proc/cmdline", "nohz_full=0-998:1/2\n");
    let checks = root.all(&topology, None);
    fit_for_a_terminal(&checks.values().collect::<Vec<_>>());
    for (name, word) in [
        ("governor", "ondemand on 500 CPUs (0,2,4,"),
        ("turbo", "333 CPUs (1,4,7,"),
        ("thermal", "800 CPUs"),
        ("isolated-cpus", "500 CPUs"),
    ] {
        assert_eq!(checks[name].outcome, Outcome::Warning, "{:#?}", checks[name]);
        assert!(checks[name].found.contains(word), "{:#?}", checks[name]);
        assert!(checks[name].found.chars().count() < 220, "{:#?}", checks[name]);
    }
}

/// With `--nocapture` it prints what it says of this machine.
#[test]
fn this_machine_gets_every_check_once() {
    let root = Path::new("/");
    let topology = Topology::read(root, None).unwrap();
    let before = Snapshot::before(root).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let after = Snapshot::after(root).unwrap();
    let live = Live {
        cpu_times: before.cpu_times(&after),
        processes: before.process_loads(&after, std::process::id()),
        hypervisor: threadwise_machine::hypervisor::live().map(str::to_owned),
        ..Live::default()
    };
    let checks = examine(&Facts { root, topology: &topology, live: Some(&live) });
    assert_eq!(checks.len(), NAMES.len());
    fit_for_a_terminal(&checks.iter().collect::<Vec<_>>());
    for check in &checks {
        println!("{:22} {:8} {}  [{}]", check.name, check.outcome.word(), check.found, check.source);
        check.remedy.iter().for_each(|remedy| println!("{:31} -> {remedy}", ""));
    }
    let summary = Summary::of(&checks);
    println!("{summary}");
    assert_eq!(summary.ok + summary.unknown + summary.warnings + summary.problems, NAMES.len());
}
