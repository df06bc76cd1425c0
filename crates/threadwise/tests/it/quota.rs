//! Studies in a control group with a real CPU quota, where one can be made.

use crate::harness::metric_of;
use crate::harness::{Lab, Said, said};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A control group of our own with a quota in periods of 10.0 ms, which goes with it.
struct Group(PathBuf);

impl Group {
    /// `None` where no group can be made: without the right to it, or where the cpu controller is not delegated.
    fn new(quota_us: u32) -> Option<Self> {
        let name = format!("threadwise-test-{}-{quota_us}", std::process::id());
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        // Version 1 has the controller in a hierarchy of its own; in version 2 the root may have children.
        let parents = match groups.lines().any(|line| line.split(':').nth(1) == Some("cpu")) {
            true => ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"].map(Path::new),
            false => ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new),
        };
        let group =
            parents.iter().map(|parent| parent.join(&name)).find(|path| fs::create_dir(path).is_ok())?;
        let made = Self(group);
        let is_set = made.set("cpu.max", &format!("{quota_us} 10000"))
            || (made.set("cpu.cfs_period_us", "10000")
                && made.set("cpu.cfs_quota_us", &quota_us.to_string()));
        is_set.then_some(made)
    }

    fn set(&self, file: &str, value: &str) -> bool {
        let path = self.0.join(file);
        path.exists() && fs::write(path, value).is_ok()
    }

    /// Runs the program inside.
    fn run(&self, lab: &Lab, args: &[&str]) -> Said {
        let inside = lab.command(args);
        let mut shell = std::process::Command::new("sh");
        let script = "echo $$ > \"$0\"/cgroup.procs || exit 99; exec \"$@\"";
        shell.args(["-c", script]).arg(&self.0).arg(inside.get_program()).args(args);
        for (name, value) in inside.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            shell.env(name, value);
        }
        shell.current_dir(lab.path());
        said(shell.output().unwrap())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Ended processes may need a moment to leave.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        said_aloud(&format!("{} is left behind", self.0.display()));
    }
}

/// Not by the macro, whose output the test program keeps back.
fn said_aloud(line: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
}

const STUDY: [&str; 12] = [
    "run",
    "--allow-busy",
    "--no-html",
    "--no-probe",
    "--seed",
    "5",
    "--blocks",
    "2",
    "--rounds",
    "2",
    "--set",
    "data=l2",
];

/// These take a control group of their own with the cpu controller, and processors that are not all taken.
mod lab_clock {
    use super::*;

    #[test]
    #[ignore = "laboratory: clock"]
    fn what_is_beyond_the_quota_is_measured_and_marked() {
        // Half a CPU: even on a busy machine each session wants more.
        let group = Group::new(5_000).unwrap();
        let lab = Lab::new();
        let args: Vec<&str> = STUDY.iter().copied().chain(["--output", "q.threadwise"]).collect();
        let said = group.run(&lab, &args);
        assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
        assert!(said.stdout.contains("CPU quota of 0.5 CPUs in periods of 10.0 ms"), "{}", said.stdout);
        let report = lab.ok(&["report", "q.threadwise", "--json"]).stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["study"]["design"]["slice_ns"], 100_000_000, "ten periods");
        for treatment in report["treatments"].as_array().unwrap() {
            let named = treatment["treatment"].as_str().unwrap();
            let metric = |name: &str| metric_of(&report, named, name);
            assert_eq!(treatment["runs"], 2, "{treatment}");
            assert!(metric("throttled_periods_per_s") > Some(1.0), "{treatment}");
            assert!(metric("throttled_share") > Some(0.01), "{treatment}");
        }
        let first = report["findings"].as_array().unwrap().iter().find(|one| one["kind"] == "quota").unwrap();
        let text = first["text"].as_str().unwrap();
        assert!(text.starts_with("The quota of 0.5 CPUs holds no session that is always busy"), "{text}");
        assert_eq!(lab.leftovers(), Vec::<String>::new());
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn a_plan_under_a_quota_has_the_same_sessions_on_whole_cpus() {
        let group = Group::new(15_000).unwrap();
        let lab = Lab::new();
        let args: Vec<&str> = STUDY.iter().copied().chain(["--plan", "--placement", "all"]).collect();
        let said = group.run(&lab, &args);
        assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
        let cpus = std::thread::available_parallelism().unwrap().get();
        let named = said.stdout.contains("whole-1 all");
        assert_eq!(named, cpus > 1, "{}", said.stdout);
        let free = lab.ok(&args).stdout;
        assert!(!free.contains("whole-1") && !free.contains("CPU quota of 1.5"), "{free}");
    }
}
