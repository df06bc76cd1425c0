//! Trees of sysfs and /proc below a folder: small recorded shapes with some files changed.
//!
//! An input is a text: the machine's name, then the changes ([`super::tree`]). The trees stay in place, and changes are
//! undone, since writing a whole tree takes milliseconds.

use super::machines;
use super::machines::Machine;
use super::tree::{Change, Put, apply, changes, read_below};
use crate::mutate;
use crate::random::Random;
use crate::target::{Target, first_line, one_line};
use std::collections::BTreeMap;
use std::path::Path;
use threadwise_doctor::{Facts, examine};
use threadwise_machine::{Draw, Pin, Placement, Topology, placement};
use threadwise_report::terminal::Style;
use threadwise_report::{drawing, html, json, picture};
use threadwise_telemetry::{Moment, samplers};

/// Files of /proc and /sys beside a topology, recorded on a small machine.
const PROC: &str = include_str!("../../corpus/proc.tree");
const STYLE: Style = Style { color: false, unicode: true, width: 100 };

struct Trees {
    machines: Vec<Machine>,
    /// For each machine its files with their bytes, in order.
    files: Vec<Vec<(String, Vec<u8>)>>,
    judge: fn(&Path, &Topology),
}

/// The target of topologies.
pub fn sysfs() -> Target {
    made(machines::all(), judge_topology, |_| true)
}

/// The target of doctor and samplers.
pub fn proc() -> Target {
    let mut machines = machines::all();
    machines.retain(|(name, _)| ["container", "quota_v1"].contains(name));
    let changes = changes(PROC.as_bytes());
    for (_, root) in &machines {
        changes.iter().for_each(|change| apply(root.path(), change));
    }
    made(machines, judge_proc, move |path| changes.iter().any(|change| change.path == path))
}

fn made(machines: Vec<Machine>, judge: fn(&Path, &Topology), is_changed: impl Fn(&str) -> bool) -> Target {
    let listed = |machine: &Machine| -> Vec<(String, Vec<u8>)> {
        let mut files = BTreeMap::new();
        read_below(machine.1.path(), Path::new(""), &mut files);
        files.into_iter().filter(|(path, _)| is_changed(path)).collect()
    };
    let files = machines.iter().map(listed).collect();
    Target::with(Trees { machines, files, judge }, Trees::input, Trees::judge)
}

impl Trees {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let at = random.below(self.machines.len());
        let files = &self.files[at];
        let mut input = format!("{}\n", self.machines[at].0).into_bytes();
        let donors: Vec<Vec<u8>> = (0..2).map(|_| random.pick(files).1.clone()).collect();
        for _ in 0..random.times(4) {
            let (path, bytes) = random.pick(files);
            let (mut bytes, times) = (bytes.clone(), random.times(3));
            let head = match random.below(20) {
                0 => format!("-- {path}\n"),
                1 => format!("dd {path}\n"),
                2 => format!("ll {path} {}\n", random.pick(&["/etc/passwd", "online"])),
                _ => format!("== {path}\n"),
            };
            match random.below(17) {
                0 => bytes.clear(),
                1 => bytes.clone_from(&donors[0]),
                _ => mutate::text(random, &mut bytes, times, &donors),
            }
            input.extend(head.bytes());
            if head.starts_with("==") {
                input.extend([&bytes[..], b"\n"].concat());
            }
        }
        input
    }

    fn judge(&self, input: &[u8]) -> bool {
        let (name, changed) = first_line(input);
        let Some(at) = self.machines.iter().position(|(known, _)| known.as_bytes() == name) else {
            return false;
        };
        let (root, files) = (self.machines[at].1.path(), &self.files[at]);
        let mut changes = changes(changed);
        changes.retain(|change| files.iter().any(|(path, _)| *path == change.path));
        changes.iter().for_each(|change| apply(root, change));
        let judged = std::panic::catch_unwind(|| match Topology::read(root, None) {
            Ok(topology) => {
                (self.judge)(root, &topology);
                true
            }
            Err(error) => {
                one_line(&error);
                false
            }
        });
        let is_changed = |path: &String| changes.iter().any(|change| change.path == *path);
        for (path, bytes) in files.iter().filter(|(path, _)| is_changed(path)) {
            apply(root, &Change { path: path.clone(), put: Put::Bytes(bytes.clone()) });
        }
        judged.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn judge_topology(root: &Path, topology: &Topology) {
    assert_eq!(Topology::read(root, None).ok().as_ref(), Some(topology), "two readings of one tree");
    let allowed = topology.allowed();
    let in_cores = topology.cores.iter().fold(0, |sum, core| sum + core.cpus.len());
    assert_eq!(in_cores, allowed.len(), "logical CPUs in cores, and allowed ones");
    let draw = Draw::for_block(topology, 5, 2);
    for text in ["all", "one-cpu", "same-core", "cross-package", "spread:3", "2c1t", "1c2t"] {
        let parsed: Placement = text.parse().expect("a placement");
        match placement::resolve(&parsed, topology, &draw, 2, Pin::Each) {
            Ok(found) => assert!(found.set().is_subset(&allowed), "{text} is {}", found.set()),
            Err(error) => assert_ne!(text, "all", "it is not possible: {error}"),
        }
    }
    drawing::topology_line(topology);
    drawing::drawing(topology, STYLE);
    let boxes = picture::boxes(topology, None, STYLE);
    let fits = boxes.lines().all(|line| line.chars().count() <= STYLE.width);
    assert!(fits, "a picture is too wide:\n{boxes}");
    html::picture(topology, None).expect("a picture");
    let text = json::topology(topology, &[]);
    serde_json::from_str::<serde_json::Value>(&text).expect("topology's JSON");
}

fn judge_proc(root: &Path, topology: &Topology) {
    for check in examine(&Facts { root, topology, live: None }) {
        let texts = [Some(check.found), Some(check.source), check.remedy];
        let clean = texts.iter().flatten().all(|text| !text.contains(char::is_control));
        assert!(clean, "doctor's {} shows control characters", check.name);
    }
    let mut readings = Vec::new();
    for mut sampler in samplers::all(root, topology) {
        let allowed = topology.allowed();
        let moment = |now_ns| Moment { now_ns, cpus: &allowed, pids: &[4711] };
        sampler.start(&moment(1_000_000));
        sampler.tick(&moment(40_000_000));
        sampler.finish(&moment(51_000_000), &mut readings);
    }
    for reading in &readings {
        let sound =
            reading.value.is_none_or(f64::is_finite) && reading.value.is_some() != reading.gap.is_some();
        assert!(sound, "{}'s {}: {:?}, {:?}", reading.sampler, reading.metric, reading.value, reading.gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_as_it_was_after_each_input() {
        let mut target = made(machines::all(), |_, _| (), |_| true);
        let input = (target.input)(&mut Random::of(1, 1));
        assert!((target.judge)(b"server\n"));
        (target.judge)(&input);
        assert!((target.judge)(b"server\n"));
    }
}
