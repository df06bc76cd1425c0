//! Trees of sysfs and /proc below a folder: small recorded shapes with some files changed.
//!
//! An input is a text: the machine's name, then the changes ([`super::tree`]). The trees stay in place, and changes are
//! undone, since writing a whole tree takes milliseconds.

use super::machines;
use super::machines::Machine;
use super::tree::{Change, Put, apply, changes, read_below};
use crate::mutate;
use crate::random::Random;
use crate::target::{Judged, Target, first_line, hold, one_line};
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
    judge: fn(&Path, &Topology) -> Result<(), String>,
}

/// The target of topologies.
pub fn sysfs() -> Result<Target, String> {
    let machines = machines::all();
    made(machines, judge_topology, |_| true)
}

/// The target of doctor and samplers.
pub fn proc() -> Result<Target, String> {
    let wanted = ["container", "quota_v1"];
    let machines: Vec<Machine> =
        machines::all().into_iter().filter(|(name, _)| wanted.contains(name)).collect();
    for (_, root) in &machines {
        changes(PROC.as_bytes()).into_iter().try_for_each(|change| apply(root.path(), &change))?;
    }
    let mentioned: Vec<String> = changes(PROC.as_bytes()).into_iter().map(|change| change.path).collect();
    made(machines, judge_proc, move |path| mentioned.iter().any(|one| one == path))
}

fn made(
    machines: Vec<Machine>,
    judge: fn(&Path, &Topology) -> Result<(), String>,
    is_changed: impl Fn(&str) -> bool,
) -> Result<Target, String> {
    let listed = |machine: &Machine| -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut files = BTreeMap::new();
        read_below(machine.1.path(), Path::new(""), &mut files).map_err(|error| error.to_string())?;
        Ok(files.into_iter().filter(|(path, _)| is_changed(path)).collect())
    };
    let files = machines.iter().map(listed).collect::<Result<_, _>>()?;
    Ok(Target::with(Trees { machines, files, judge }, Trees::input, Trees::judge))
}

impl Trees {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let at = random.below(self.machines.len());
        let files = &self.files[at];
        let mut input = format!("{}\n", self.machines[at].0).into_bytes();
        let donors: Vec<Vec<u8>> = (0..2).map(|_| random.pick(files).1.clone()).collect();
        for _ in 0..random.times(4) {
            let (path, bytes) = random.pick(files);
            let mut bytes = bytes.clone();
            match random.below(20) {
                0 => input.extend(format!("-- {path}\n").bytes()),
                1 => input.extend(format!("dd {path}\n").bytes()),
                2 => {
                    let target = if random.percent(50) { "/etc/passwd" } else { "online" };
                    input.extend(format!("ll {path} {target}\n").bytes());
                }
                kind => {
                    match kind {
                        3 => bytes.clear(),
                        4 => bytes.clone_from(&donors[0]),
                        _ => {
                            let times = random.times(3);
                            mutate::text(random, &mut bytes, times, &donors);
                        }
                    }
                    input.extend(format!("== {path}\n").bytes());
                    input.extend(bytes);
                    input.push(b'\n');
                }
            }
        }
        input
    }

    fn judge(&self, input: &[u8]) -> Judged {
        let (name, changed) = first_line(input);
        let Some(at) = self.machines.iter().position(|(known, _)| known.as_bytes() == name) else {
            return Ok(false);
        };
        let (root, files) = (self.machines[at].1.path().to_owned(), &self.files[at]);
        let changes: Vec<Change> = changes(changed)
            .into_iter()
            .filter(|change| files.iter().any(|(path, _)| *path == change.path))
            .collect();
        changes.iter().try_for_each(|change| apply(&root, change))?;
        let judged = std::panic::catch_unwind(|| match Topology::read(&root, None) {
            Ok(topology) => (self.judge)(&root, &topology).map(|()| true),
            Err(error) => one_line(&error.to_string()).map(|()| false),
        });
        for (path, bytes) in
            files.iter().filter(|(path, _)| changes.iter().any(|change| change.path == *path))
        {
            apply(&root, &Change { path: path.clone(), put: Put::Bytes(bytes.clone()) })?;
        }
        judged.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn judge_topology(root: &Path, topology: &Topology) -> Result<(), String> {
    hold(Topology::read(root, None).ok().as_ref() == Some(topology), || {
        "two readings of one tree".to_owned()
    })?;
    let allowed = topology.allowed();
    let in_cores = topology.cores.iter().fold(0, |sum, core| sum + core.cpus.len());
    hold(in_cores == allowed.len(), || format!("{in_cores} logical CPUs in cores, {allowed} allowed"))?;
    let draw = Draw::for_block(topology, 5, 2);
    for text in ["all", "one-cpu", "same-core", "cross-package", "spread:3", "2c1t", "1c2t"] {
        let parsed: Placement = text.parse().map_err(|error| format!("{text}: {error}"))?;
        match placement::resolve(&parsed, topology, &draw, 2, Pin::Each) {
            Ok(found) => hold(found.set().is_subset(&allowed), || format!("{text} is {}", found.set()))?,
            Err(error) => hold(text != "all", || format!("'all' is not possible: {error}"))?,
        }
    }
    drawing::topology_line(topology);
    drawing::drawing(topology, STYLE);
    let boxes = picture::boxes(topology, None, STYLE);
    let fits = boxes.lines().all(|line| line.chars().count() <= STYLE.width);
    hold(fits, || format!("a picture is too wide:\n{boxes}"))?;
    html::picture(topology, None).map_err(|error| error.to_string())?;
    let text = json::topology(topology, &[]);
    serde_json::from_str::<serde_json::Value>(&text)
        .map(drop)
        .map_err(|error| format!("topology's JSON: {error}"))
}

fn judge_proc(root: &Path, topology: &Topology) -> Result<(), String> {
    for check in examine(&Facts { root, topology, live: None }) {
        let texts = [Some(check.found), Some(check.source), check.remedy];
        let clean = texts.iter().flatten().all(|text| !text.contains(char::is_control));
        hold(clean, || format!("doctor's {} shows control characters", check.name))?;
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
        hold(sound, || {
            format!("{}'s {}: {:?}, {:?}", reading.sampler, reading.metric, reading.value, reading.gap)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_as_it_was_after_each_input() {
        let mut target =
            made(machines::all(), |_, _| Ok(()), |_| true).unwrap_or_else(|error| panic!("{error}"));
        let input = (target.input)(&mut Random::of(1, 1));
        let first = (target.judge)(b"server\n");
        assert!((target.judge)(&input).is_ok());
        assert_eq!((target.judge)(b"server\n"), first);
        assert_eq!(first, Ok(true));
    }
}
