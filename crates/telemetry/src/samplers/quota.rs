//! Whether a CPU quota throttled this process: `cpu.stat` of its own cgroup and of those above it.
//!
//! Source: kernel `Documentation/admin-guide/cgroup-v2.rst` (cpu.stat: `nr_throttled`,
//! `throttled_usec`) and `Documentation/scheduler/sched-bwc.rst` (v1: `throttled_time` in
//! nanoseconds). A quota of a parent cgroup is counted there and not in the process's own, hence the whole path.

use super::{Counter, Span, growths};
use crate::{Moment, Sampler, Status};
use std::path::{Path, PathBuf};
use threadwise_study::Reading;

/// The sampler.
#[derive(Debug)]
pub struct Quota {
    levels: Vec<Counter>,
    start_ns: u64,
    before: Result<Throttling, String>,
}

/// How often and how long a quota throttled this process, all levels of cgroups together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throttling {
    /// Periods in which the quota ran out.
    pub periods: u64,
    /// Throttled time of CPUs, nanoseconds.
    pub throttled_ns: u64,
}

/// Parses a `cpu.stat` text; `None` without a line about throttling (v2's root cgroup, or a
/// cgroup without the cpu controller).
fn parse(text: &str) -> Option<Throttling> {
    let value = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    let throttled_ns =
        value("throttled_time").or_else(|| value("throttled_usec")?.checked_mul(1000)).unwrap_or(0);
    Some(Throttling { periods: value("nr_throttled")?, throttled_ns })
}

/// Folders below which the own cgroup's `cpu.stat` may be, with the path inside: the line of v1's
/// cpu controller, or v2's. `proc/self/cgroup` has lines `ID:CONTROLLERS:PATH` (cgroups(7)).
fn candidates(root: &Path, cgroups: &str) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for line in cgroups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(id), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let mounts: &[&str] = match (id, controllers) {
            ("0", "") => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            (_, list) if list.split(',').any(|controller| controller == "cpu") => {
                &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpuacct,cpu"]
            }
            _ => continue,
        };
        // Only plain names: `/../..` is how a cgroup outside the own namespace shows.
        let inside: PathBuf = Path::new(path)
            .components()
            .filter(|part| matches!(part, std::path::Component::Normal(_)))
            .collect();
        found.extend(mounts.iter().map(|mount| (root.join(mount), inside.clone())));
    }
    found
}

/// The `cpu.stat` files with throttling, from the own cgroup up to the mount.
fn stat_files(root: &Path) -> Vec<Counter> {
    let cgroups = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    for (mount, inside) in candidates(root, &cgroups) {
        // In a container the mount may already be the own cgroup while the path is the host's:
        // missing levels are skipped.
        let levels: Vec<Counter> = inside
            .ancestors()
            .filter_map(|level| Counter::open(&mount.join(level).join("cpu.stat")).ok())
            .filter_map(|mut counter| {
                let tells = counter.read().ok().and_then(parse).is_some();
                tells.then_some(counter)
            })
            .collect();
        if !levels.is_empty() {
            return levels;
        }
    }
    Vec::new()
}

impl Quota {
    /// Finds the own cgroup below `root`.
    pub fn new(root: &Path) -> Self {
        Self { levels: stat_files(root), start_ns: 0, before: Err("not started".to_owned()) }
    }

    /// Throttling so far.
    ///
    /// # Errors
    /// Why it is unknown, in one line.
    pub fn throttling(&mut self) -> Result<Throttling, String> {
        if self.levels.is_empty() {
            return Err("no cgroup has a cpu.stat with throttling counts".to_owned());
        }
        let mut sum = Throttling::default();
        for level in &mut self.levels {
            let text = level.read().map_err(|error| format!("cpu.stat: {error}"))?;
            let level = parse(text).ok_or("cpu.stat has no readable line nr_throttled")?;
            sum.periods = sum.periods.saturating_add(level.periods);
            sum.throttled_ns = sum.throttled_ns.saturating_add(level.throttled_ns);
        }
        Ok(sum)
    }
}

impl Sampler for Quota {
    fn name(&self) -> &'static str {
        "quota"
    }

    fn status(&self) -> Status {
        match self.levels.is_empty() {
            false => Status::Ready,
            true => Status::Unsupported {
                why: "no cgroup has a cpu.stat with throttling counts (so no quota applies here)".to_owned(),
            },
        }
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.before = self.throttling();
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let after = self.throttling();
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let both =
            |side: &Result<Throttling, String>| side.clone().map(|side| [side.periods, side.throttled_ns]);
        let metrics = ["throttled_periods", "throttled_ns"];
        growths(self.name(), metrics, span, (&both(&self.before), &both(&after)), readings);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, write};
    use super::*;

    const V2: &str =
        "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 9\nnr_throttled 2\nthrottled_usec 70\n";

    #[test]
    fn the_second_version_counts_own_and_outer_cgroups() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "proc/self/cgroup", "0::/outer/inner\n");
        write(root.path(), "sys/fs/cgroup/outer/inner/cpu.stat", "usage_usec 1\n");
        write(root.path(), "sys/fs/cgroup/outer/cpu.stat", V2);
        write(root.path(), "sys/fs/cgroup/cpu.stat", "usage_usec 1\n");
        let mut sampler = Quota::new(root.path());
        assert_eq!(sampler.status(), Status::Ready);
        assert_eq!(sampler.throttling().unwrap(), Throttling { periods: 2, throttled_ns: 70_000 });
        sampler.start(&at(0));
        let later = V2.replace("nr_throttled 2", "nr_throttled 3");
        write(root.path(), "sys/fs/cgroup/outer/cpu.stat", &later);
        let mut readings = Vec::new();
        sampler.finish(&at(1), &mut readings);
        assert_eq!(readings[0].metric, "throttled_periods");
        assert_eq!(readings[0].value, Some(1.0));
        assert_eq!(readings[1].value, Some(0.0));
    }

    #[test]
    fn the_first_version_is_read_also_in_a_container() {
        let root = tempfile::tempdir().unwrap();
        // Docker without cgroup namespaces: the path is the host's, the mount is the own cgroup.
        write(root.path(), "proc/self/cgroup", "4:memory:/docker/ab\n3:cpu,cpuacct:/docker/ab\n0::/\n");
        let text = "nr_periods 4\nnr_throttled 1\nthrottled_time 55\n";
        write(root.path(), "sys/fs/cgroup/cpu,cpuacct/cpu.stat", text);
        assert_eq!(
            Quota::new(root.path()).throttling().unwrap(),
            Throttling { periods: 1, throttled_ns: 55 }
        );
    }

    #[test]
    fn garbage_and_missing_files_are_a_gap() {
        for text in ["", "nr_throttled", "nr_throttled x", "nr_throttledx 5", "nr_throttled -1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "proc/self/cgroup", "nonsense\n::\n0::/../../x\n");
        write(root.path(), "sys/fs/cgroup/x/cpu.stat", V2);
        let mut sampler = Quota::new(root.path());
        assert!(sampler.throttling().is_ok(), "dots are no way out of the mount");
        write(root.path(), "sys/fs/cgroup/x/cpu.stat", "gone");
        assert!(sampler.throttling().unwrap_err().contains("nr_throttled"));
    }
}
