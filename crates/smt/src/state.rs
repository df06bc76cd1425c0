//! State of the machine that is recorded before any change, and the state in a journal.
//!
//! Why each part: taking a logical CPU offline removes it from `cpuset.cpus` of control groups of version 1 permanently
//! (kernel `kernel/cgroup/cpuset.c`, `hotplug_update_tasks_legacy`), from the affinity of tasks in control groups
//! (there, `update_tasks_cpumask`; kernels before 6.2 do not keep what a task had asked for) and of tasks and
//! interrupts that had no other (`kernel/sched/core.c`, `select_fallback_rq`; `kernel/irq/cpuhotplug.c`). Writing `on`
//! to `smt/control` brings every present logical CPU online (`kernel/cpu.c`, `cpuhp_smt_enable`).

use crate::roots::{self, Roots};
use crate::setting::{CPUS, CPUSETS, Setting, is_group};
use crate::tasks;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use threadwise_machine::CpuSet;
use threadwise_process::journal::{BootNamespace, Entry, Locked, Thread};

/// Deepest control group that is read.
const MAX_DEPTH: u32 = 32;
/// First word of a line that makes the change last.
const KEPT: &str = "kept";
/// First word of a line that undoes that.
const TAKEN: &str = "taken";

/// Settings and affinities of the machine at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MachineState {
    /// Files and their values.
    pub settings: BTreeMap<Setting, String>,
    /// Threads that can be bound, and their logical CPUs.
    pub tasks: BTreeMap<Thread, CpuSet>,
}

/// Contents of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Recorded {
    pub(crate) first: MachineState,
    /// Whether the change lasts until it is restored by request.
    pub(crate) is_kept: bool,
    /// Lines that cannot be used.
    pub(crate) failed: Vec<String>,
}

impl MachineState {
    /// The present state of the machine.
    ///
    /// # Errors
    /// There is a control group of version 1 whose name cannot be recorded.
    pub fn read(roots: &Roots) -> io::Result<Self> {
        let mut settings = BTreeMap::new();
        for setting in present(roots)? {
            if let Ok(Some(value)) = setting.read(roots) {
                settings.insert(setting, value);
            }
        }
        let tasks = tasks::read(roots).into_iter().map(|(thread, task)| (thread, task.mask)).collect();
        Ok(Self { settings, tasks })
    }

    /// Lines of a journal that `known` lacks.
    pub(crate) fn lines_beyond(&self, known: &Self) -> String {
        let (here, mut lines) = (BootNamespace::now(), String::new());
        let place = here.to_string();
        for (setting, value) in self.settings.iter().filter(|(key, _)| !known.settings.contains_key(key)) {
            lines.push_str(&setting.line(&place, value));
        }
        for (&thread, mask) in self.tasks.iter().filter(|(key, _)| !known.tasks.contains_key(key)) {
            lines.push_str(&Entry { here: here.clone(), thread, mask: mask.clone() }.line());
        }
        lines
    }

    /// Adds what `newer` has and this lacks.
    pub(crate) fn extend(&mut self, newer: Self) {
        newer.settings.into_iter().for_each(|(key, value)| {
            self.settings.entry(key).or_insert(value);
        });
        newer.tasks.into_iter().for_each(|(key, value)| {
            self.tasks.entry(key).or_insert(value);
        });
    }

    /// Logical CPUs that are or were online. One without a file cannot be taken offline.
    pub fn online(&self, present: &CpuSet) -> CpuSet {
        let is_off = |cpu: &u32| self.settings.get(&Setting::Online(*cpu)).is_some_and(|value| value == "0");
        present.iter().filter(|cpu| !is_off(cpu)).collect()
    }
}

impl Recorded {
    /// Reads complete lines. The first value of a setting or thread counts; lines of another boot are ignored.
    pub(crate) fn parse(lines: &str) -> Self {
        let (here, mut recorded) = (BootNamespace::now(), Self::default());
        for (index, line) in lines.lines().enumerate() {
            match recorded.add(line, &here) {
                Ok(()) => {}
                Err(why) => recorded.failed.push(format!("line {} was left out: {why}", index + 1)),
            }
        }
        recorded
    }

    fn add(&mut self, line: &str, here: &BootNamespace) -> Result<(), String> {
        if Locked::is_owner(line) {
            return Ok(());
        }
        if let Some(setting) = Setting::parse(line) {
            let (place, setting, value) = setting?;
            if is_here(&place, here)? {
                self.first.settings.entry(setting).or_insert(value);
            }
            return Ok(());
        }
        for (word, is_kept) in [(KEPT, true), (TAKEN, false)] {
            if line == format!("{word} {here}") {
                self.is_kept = is_kept;
                return Ok(());
            }
        }
        let Entry { here: place, thread, mask } = Entry::parse(line)?;
        if is_here(&place.to_string(), here)? {
            self.first.tasks.entry(thread).or_insert(mask);
        }
        Ok(())
    }
}

/// A line that makes the change last, or no longer last.
pub(crate) fn kept_line(is_kept: bool) -> String {
    format!("{} {}\n", if is_kept { KEPT } else { TAKEN }, BootNamespace::now())
}

fn is_here(place: &str, here: &BootNamespace) -> Result<bool, String> {
    match place.split_once(' ') {
        Some((boot, _)) if boot != here.boot => Ok(false),
        Some((_, namespace)) if namespace == here.pid_namespace => Ok(true),
        _ => Err("it was recorded in another PID namespace (container); restore it there".to_owned()),
    }
}

/// Logical CPUs that exist.
pub(crate) fn present_cpus(roots: &Roots) -> CpuSet {
    roots::numbered(&roots.sys.join(CPUS), "cpu").into_iter().collect()
}

/// Existing files that may be written.
fn present(roots: &Roots) -> io::Result<Vec<Setting>> {
    let mut found = vec![Setting::Control, Setting::Boost, Setting::NoTurbo];
    found.extend(present_cpus(roots).iter().map(Setting::Online));
    let policies = roots::numbered(&roots.sys.join(CPUS).join("cpufreq"), "policy");
    found.extend(
        policies.iter().flat_map(|&policy| [Setting::Governor(policy), Setting::PolicyBoost(policy)]),
    );
    found.extend(roots::numbered(&roots.proc.join("irq"), "").into_iter().map(Setting::Irq));
    let mut groups = Vec::new();
    add_groups(&roots.cgroup.join(CPUSETS), "", 0, &mut groups)?;
    found.extend(groups.into_iter().map(Setting::Cpuset));
    Ok(found)
}

/// Groups of version 1 below a mount. The first one always has all logical CPUs, and cannot be written.
fn add_groups(mount: &Path, path: &str, depth: u32, found: &mut Vec<String>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(mount.join(path)) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let name = entry.file_name();
        let below = match path {
            "" => name.to_string_lossy().into_owned(),
            _ => format!("{path}/{}", name.to_string_lossy()),
        };
        if !entry.path().join("cpuset.cpus").is_file() {
            continue;
        }
        if name.to_str().is_none() || !is_group(&below) || depth == MAX_DEPTH {
            let why = format!("the control group {below} cannot be recorded: rename it");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        found.push(below.clone());
        add_groups(mount, &below, depth + 1, found)?;
    }
    Ok(())
}
