//! Files that are missing, damaged, huge, links, pipes, or not ours to read.

use super::support::{Root, machine};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use threadwise_doctor::{Check, Facts, Outcome, examine};

/// Every file that the checks rest on, with a content that gives no cause for complaint, and the check
/// that must become unknown when it says nothing.
const FILES: [(&str, &str, Option<&str>); 30] = [
    ("proc/cmdline", "quiet\n", None),
    (
        "proc/meminfo",
        "MemTotal: 16777216 kB\nHugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n",
        Some("reserved-hugepages"),
    ),
    ("proc/swaps", "Filename Type Size Used Priority\n", Some("swap")),
    ("proc/self/cgroup", "0::/\n", None),
    ("proc/irq/default_smp_affinity", "f\n", None),
    ("proc/1/comm", "init\n", None),
    ("proc/2/comm", "kthreadd\n", None),
    ("proc/sys/kernel/numa_balancing", "0\n", Some("numa-balancing")),
    ("proc/sys/kernel/nmi_watchdog", "0\n", Some("nmi-watchdog")),
    ("proc/sys/kernel/sched_autogroup_enabled", "0\n", Some("autogroup")),
    ("proc/sys/kernel/perf_event_paranoid", "0\n", Some("perf")),
    ("proc/sys/vm/swappiness", "60\n", Some("swappiness")),
    ("sys/bus/event_source/devices/cpu/type", "4\n", None),
    ("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n", None),
    ("sys/class/thermal/thermal_zone0/temp", "40000\n", Some("thermal")),
    ("sys/class/thermal/thermal_zone0/trip_point_0_type", "critical\n", Some("thermal")),
    ("sys/class/thermal/thermal_zone0/trip_point_0_temp", "100000\n", Some("thermal")),
    ("sys/class/power_supply/AC/type", "Mains\n", None),
    ("sys/devices/system/cpu/isolated", "\n", None),
    ("sys/devices/system/cpu/smt/control", "on\n", Some("smt")),
    ("sys/devices/system/cpu/smt/active", "1\n", None),
    ("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n", None),
    ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n", Some("idle-states")),
    ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n", None),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n", Some("turbo")),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n", Some("governor")),
    (
        "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference",
        "performance\n",
        Some("energy-preference"),
    ),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n", Some("time-source")),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n", Some("transparent-hugepages")),
    ("sys/kernel/mm/ksm/run", "0\n", Some("samepage-merging")),
];

/// Checks whose good content also leaves them unknown, as nothing was measured.
const MEASURED: [&str; 5] = ["other-load", "database-server", "steal", "neighbour", "core-scheduling"];

fn good() -> Root {
    let root = Root::new();
    FILES.iter().for_each(|(path, text, _)| root.put(path, text));
    root
}

fn all(root: &Root) -> BTreeMap<&'static str, Check> {
    root.all(&machine(), None)
}

/// What must hold whatever the files say.
#[track_caller]
pub fn fit_for_a_terminal(checks: &[&Check]) {
    for check in checks {
        let texts = [Some(&check.found), Some(&check.source), check.remedy.as_ref()];
        for text in texts.into_iter().flatten() {
            assert!(!text.is_empty() && text.trim() == text, "{check:#?}");
            assert!(!text.chars().any(char::is_control), "{check:#?}");
            assert!(text.chars().count() <= 500, "{check:#?}");
        }
        let calls_for_one = matches!(check.outcome, Outcome::Warning | Outcome::Problem);
        assert!(!calls_for_one || check.remedy.is_some(), "no remedy: {check:#?}");
    }
}

#[test]
fn a_good_machine_gives_no_cause_for_complaint() {
    for (name, check) in all(&good()) {
        let expected = if MEASURED.contains(&name) { Outcome::Unknown } else { Outcome::Ok };
        assert_eq!(check.outcome, expected, "{check:#?}");
    }
}

#[test]
fn damage_makes_its_check_unknown_and_no_other_a_problem() {
    type Damage = fn(&Root, &str);
    let kinds: [(&str, Damage); 6] = [
        ("garbage", |root, path| root.put(path, b"\x1b[2J\xff\xfe\x00[\x07$(reboot)] \xe2\x80\xaex\n\n9")),
        ("huge", |root, path| root.put(path, vec![b'7'; 1 << 20])),
        ("empty", |root, path| root.put(path, "")),
        ("folder", |root, path| fs::create_dir(root.path().join(path)).unwrap()),
        ("link outside", |root, path| symlink("/proc/self/status", root.path().join(path)).unwrap()),
        ("pipe", |root, path| {
            let made = Command::new("mkfifo").arg(root.path().join(path)).status().unwrap();
            assert!(made.success());
        }),
    ];
    let root = good();
    for (kind, damage) in kinds {
        for (path, text, name) in FILES {
            root.remove(path);
            damage(&root, path);
            let checks = all(&root);
            fit_for_a_terminal(&checks.values().collect::<Vec<_>>());
            for check in checks.values() {
                assert_ne!(check.outcome, Outcome::Problem, "{kind} {path}: {check:#?}");
            }
            // A link that leads outside is as good as no file, which some kernels do not have.
            if let Some(name) = name
                && kind != "link outside"
            {
                assert_eq!(checks[name].outcome, Outcome::Unknown, "{kind} {path}: {:#?}", checks[name]);
            }
            match kind {
                "folder" => fs::remove_dir(root.path().join(path)).unwrap(),
                _ => root.remove(path),
            }
            root.put(path, text);
        }
    }
}

#[test]
fn a_missing_file_is_never_a_complaint() {
    let root = good();
    for (path, text, _) in FILES {
        root.remove(path);
        for check in all(&root).values() {
            assert!(check.outcome < Outcome::Warning, "without {path}: {check:#?}");
        }
        root.put(path, text);
    }
}

/// Root may read everything, so a second process without rights looks at the same folder.
#[test]
fn what_may_not_be_read_is_unknown_and_says_what_would_help() {
    const FOLDER: &str = "THREADWISE_TEST_DENIED";
    if let Ok(folder) = std::env::var(FOLDER) {
        let topology = machine();
        let checks = examine(&Facts { root: Path::new(&folder), topology: &topology, live: None });
        for name in ["smt", "swap", "governor"] {
            let check = checks.iter().find(|check| check.name == name).unwrap();
            assert_eq!(check.outcome, Outcome::Unknown, "{check:#?}");
            assert!(check.found.contains("may not read"), "{check:#?}");
            assert!(check.remedy.as_ref().unwrap().contains("as root"), "{check:#?}");
        }
        return;
    }
    let root = good();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for path in [
        "sys/devices/system/cpu/smt/control",
        "proc/swaps",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    ] {
        fs::set_permissions(root.path().join(path), fs::Permissions::from_mode(0o0)).unwrap();
    }
    // The folder of tests may be closed to others.
    let program = root.path().join("program");
    // Another process writes it, so that none that a thread beside has just forked has it open (ETXTBSY, execve(2)).
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let mut child = Command::new(&program);
    child.args(["--exact", "damage::what_may_not_be_read_is_unknown_and_says_what_would_help"]);
    child.env(FOLDER, root.path()).current_dir(root.path());
    let is_root =
        fs::metadata("/proc/self").map(|entry| std::os::unix::fs::MetadataExt::uid(&entry) == 0).unwrap();
    if is_root {
        child.uid(65_534).gid(65_534);
    }
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{output:?}");
}
