//! Trees of sysfs and /proc below a folder: small recorded shapes with some files changed.
//!
//! An input is a text: the machine's name, then for each change a line `== PATH` and the file's new bytes,
//! `-- PATH` for a removed one, `dd PATH` for a folder in its place, `ll PATH TARGET` for a link. The
//! trees stay in place, and changes are undone, since writing a whole tree takes milliseconds.

use super::machines::Machine;
use super::{Target, hold, machines};
use crate::mutate;
use crate::random::Random;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};
use threadwise_doctor::{Facts, examine};
use threadwise_machine::{Draw, Pin, Placement, Topology, placement};
use threadwise_report::terminal::Style;
use threadwise_report::{drawing, json};
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
pub fn sysfs() -> Result<Box<dyn Target>, String> {
    let machines = machines::all();
    made(machines, judge_topology, |_| true)
}

/// The target of doctor and samplers.
pub fn proc() -> Result<Box<dyn Target>, String> {
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
) -> Result<Box<dyn Target>, String> {
    let listed = |machine: &Machine| -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut files = BTreeMap::new();
        read_below(machine.1.path(), Path::new(""), &mut files).map_err(|error| error.to_string())?;
        Ok(files.into_iter().filter(|(path, _)| is_changed(path)).collect())
    };
    let files = machines.iter().map(listed).collect::<Result<_, _>>()?;
    Ok(Box::new(Trees { machines, files, judge }))
}

fn read_below(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let (path, kind) = (folder.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            read_below(root, &path, files)?;
        } else if kind.is_file() {
            files.insert(path.to_string_lossy().into_owned(), fs::read(root.join(&path))?);
        }
    }
    Ok(())
}

/// Replacement of a file.
#[derive(Debug, PartialEq)]
enum Put {
    Bytes(Vec<u8>),
    Nothing,
    Folder,
    Link(String),
}

#[derive(Debug, PartialEq)]
struct Change {
    path: String,
    put: Put,
}

/// The changes in a text; other lines belong to the file before them.
fn changes(input: &[u8]) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        let head = std::str::from_utf8(line).ok().and_then(|line| line.trim_end().split_once(' '));
        let put = match head {
            Some(("==", _)) => Some(Put::Bytes(Vec::new())),
            Some(("--", _)) => Some(Put::Nothing),
            Some(("dd", _)) => Some(Put::Folder),
            Some(("ll", rest)) => rest.split_once(' ').map(|(_, target)| Put::Link(target.to_owned())),
            _ => None,
        };
        match (put, head, found.last_mut()) {
            (Some(put), Some((_, rest)), _) => {
                let path = if matches!(put, Put::Link(_)) {
                    rest.split_once(' ').map_or(rest, |(path, _)| path)
                } else {
                    rest
                };
                found.push(Change { path: path.to_owned(), put });
            }
            (None, _, Some(Change { put: Put::Bytes(bytes), .. })) => bytes.extend_from_slice(line),
            _ => {}
        }
    }
    // Paths are made here; a mutant of a saved input must not leave the tree.
    found.retain(|change| {
        Path::new(&change.path).components().all(|part| matches!(part, Component::Normal(_)))
    });
    found
}

fn remove(path: &Path) {
    // A missing file need not be removed.
    let _ = match fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}

fn apply(root: &Path, change: &Change) -> Result<(), String> {
    let path = root.join(&change.path);
    remove(&path);
    let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
    let put = parent.and_then(|()| match &change.put {
        Put::Bytes(bytes) => fs::write(&path, bytes),
        Put::Nothing => Ok(()),
        Put::Folder => fs::create_dir(&path),
        Put::Link(target) => std::os::unix::fs::symlink(target, &path),
    });
    put.map_err(|error| format!("{}: {error}", path.display()))
}

impl Target for Trees {
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

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let name = input.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let Some(at) = self.machines.iter().position(|(known, _)| known.as_bytes() == name) else {
            return Ok(false);
        };
        let (root, files) = (self.machines[at].1.path().to_owned(), &self.files[at]);
        let changes: Vec<Change> = changes(input)
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

fn one_line(text: &str) -> Result<(), String> {
    hold(!text.is_empty() && !text.contains('\n'), || format!("an error that is not one line: {text:?}"))
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
    fn changes_are_read_as_they_are_written_and_stay_inside() {
        let found = changes(b"server\n== a/b\nx\ny\n-- c\nll d /e f\n== ../out\nz\n== /abs\n");
        let change = |path: &str, put| Change { path: path.to_owned(), put };
        let wanted = [
            change("a/b", Put::Bytes(b"x\ny\n".to_vec())),
            change("c", Put::Nothing),
            change("d", Put::Link("/e f".to_owned())),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_tree_is_as_it_was_after_each_input() {
        let mut target =
            made(machines::all(), |_, _| Ok(()), |_| true).unwrap_or_else(|error| panic!("{error}"));
        let input = target.input(&mut Random::of(1, 1));
        let first = target.judge(b"server\n");
        assert!(target.judge(&input).is_ok());
        assert_eq!(target.judge(b"server\n"), first);
        assert_eq!(first, Ok(true));
    }
}
