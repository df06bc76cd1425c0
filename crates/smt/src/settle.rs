//! Bringing the machine to a target state, in an order in which each step is possible: logical CPUs online, then
//! those that were offline, control groups, interrupts, tasks, governors, boost. Each step reads the present state and
//! writes what differs, so that it may begin anywhere, be interrupted anywhere and be repeated.
//!
//! Source: kernel `kernel/cpu.c` (`cpu_smt_allowed`: with `smt/control` off no sibling can be brought online, so that
//! control comes first), `kernel/cgroup/cpuset.c` (a group's logical CPUs must be online and its parent's).

use crate::kernel::Kernel;
use crate::roots::Roots;
use crate::setting::Setting;
use crate::state::{MachineState, present_cpus};
use crate::tasks::{self, Task};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use threadwise_machine::CpuSet;
use threadwise_process::journal::Thread;

/// Number of passes until nothing differs.
const PASSES: u32 = 10;

/// The target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) state: MachineState,
    /// Whether `smt/control` decides which logical CPUs are online.
    pub(crate) online_by_control: bool,
}

/// Result of settling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// Settings that were written.
    pub settings: usize,
    /// Threads that were bound.
    pub threads: usize,
    /// One line for each remaining difference, with what to do.
    pub failed: Vec<String>,
}

/// A part of the work; each is checked when those before it are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Control,
    Wake,
    Sleep,
    Groups,
    Interrupts,
    Tasks,
    Clocks,
}

const STAGES: [Stage; 7] = [
    Stage::Control,
    Stage::Wake,
    Stage::Sleep,
    Stage::Groups,
    Stage::Interrupts,
    Stage::Tasks,
    Stage::Clocks,
];

/// A difference and what is written for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    File { setting: Setting, wanted: String, found: String },
    Mask { thread: Thread, wanted: CpuSetText, found: CpuSetText },
}

/// A set in its list form, which can be sorted.
type CpuSetText = String;

/// Brings the machine to `target`, and reads everything back.
pub(crate) fn settle(kernel: &dyn Kernel, target: &Target) -> Settled {
    let mut settled = Settled::default();
    let mut errors: BTreeMap<Difference, String> = BTreeMap::new();
    for _ in 0..PASSES {
        let (mut attempts, mut written) = (0, 0);
        for stage in STAGES {
            for difference in differences(kernel.roots(), target, stage) {
                attempts += 1;
                match difference.remove(kernel) {
                    Ok(()) => {
                        written += 1;
                        match difference {
                            Difference::File { .. } => settled.settings += 1,
                            Difference::Mask { .. } => settled.threads += 1,
                        }
                    }
                    Err(error) => drop(errors.insert(difference, error.to_string())),
                }
            }
        }
        if attempts == 0 {
            return settled;
        }
        kernel.pause();
        // What the kernel refuses permanently stays, and what others write again, too.
        if written == 0 && errors.values().all(|why| !why.contains("busy")) {
            break;
        }
    }
    let left = STAGES.iter().flat_map(|&stage| differences(kernel.roots(), target, stage));
    settled.failed =
        left.map(|difference| difference.line(kernel.roots(), errors.get(&difference))).collect();
    settled
}

fn differences(roots: &Roots, target: &Target, stage: Stage) -> Vec<Difference> {
    if stage == Stage::Tasks {
        return masks(roots, target);
    }
    let online = online_now(roots);
    let is_of_stage = |setting: &Setting, wanted: &str| match setting {
        Setting::Control => stage == Stage::Control,
        Setting::Online(_) if target.online_by_control => false,
        Setting::Online(_) if wanted == "1" => stage == Stage::Wake,
        Setting::Online(_) => stage == Stage::Sleep,
        Setting::Cpuset(_) => stage == Stage::Groups,
        Setting::Irq(_) => stage == Stage::Interrupts,
        _ => stage == Stage::Clocks,
    };
    let settings = target.state.settings.iter().filter(|(setting, wanted)| is_of_stage(setting, wanted));
    settings.filter_map(|(setting, wanted)| difference(roots, setting, wanted, &online)).collect()
}

fn difference(roots: &Roots, setting: &Setting, wanted: &str, online: &CpuSet) -> Option<Difference> {
    let found = match setting.read(roots) {
        Ok(Some(found)) => found,
        Ok(None) => "another value".to_owned(),
        // A group or an interrupt that has gone meanwhile has nothing to restore.
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_passing(setting) => return None,
        Err(error) => error.to_string(),
    };
    let wanted = match setting {
        Setting::Cpuset(_) | Setting::Irq(_) => {
            let cpus = CpuSet::parse_list(wanted).ok()?;
            let possible = cpus.intersection(online);
            let now = CpuSet::parse_list(&found).unwrap_or_default();
            if possible.is_empty() || agrees(&cpus, &now, online) {
                return None;
            }
            match setting {
                // The kernel accepts no offline logical CPU.
                Setting::Cpuset(_) => possible.to_string(),
                _ => wanted.to_owned(),
            }
        }
        // It has no clock while it is offline.
        Setting::Governor(policy) | Setting::PolicyBoost(policy) if !online.contains(*policy) => return None,
        _ => wanted.to_owned(),
    };
    (wanted != found).then(|| Difference::File { setting: setting.clone(), wanted, found })
}

/// Whether it may disappear by itself.
fn is_passing(setting: &Setting) -> bool {
    matches!(setting, Setting::Cpuset(_) | Setting::Irq(_))
}

/// Offline logical CPUs do not count: the kernel leaves them out at will.
fn agrees(wanted: &CpuSet, now: &CpuSet, online: &CpuSet) -> bool {
    wanted == now || now.is_subset(wanted) && wanted.intersection(online) == now.intersection(online)
}

/// Threads whose logical CPUs differ. First come those without a record, since they began later: one that has
/// exactly the mask of its process's first thread, or its parent's, inherited that, if that is to be restored.
fn masks(roots: &Roots, target: &Target) -> Vec<Difference> {
    let (now, online) = (tasks::read(roots), online_now(roots));
    let astray = |thread: &Thread| {
        let (wanted, found) = (target.state.tasks.get(thread)?, &now.get(thread)?.mask);
        let is_possible = !wanted.intersection(&online).is_empty();
        (is_possible && !agrees(wanted, found, &online)).then_some((wanted, found))
    };
    let difference = |thread: &Thread, (wanted, found): (&CpuSet, &CpuSet)| Difference::Mask {
        thread: *thread,
        wanted: wanted.to_string(),
        found: found.to_string(),
    };
    let known = target.state.tasks.keys();
    let known: Vec<Difference> =
        known.filter_map(|thread| Some(difference(thread, astray(thread)?))).collect();
    if known.is_empty() {
        // There is nothing that could have been inherited.
        return known;
    }
    let leaders: BTreeMap<u32, Thread> =
        now.keys().filter(|thread| thread.pid == thread.tid).map(|thread| (thread.pid, *thread)).collect();
    let inherited = |(thread, task): (&Thread, &Task)| {
        let ancestor = known_ancestor(thread.pid, &leaders, &now, target)?;
        let (wanted, found) = astray(&ancestor)?;
        (*found == task.mask).then(|| difference(thread, (wanted, found)))
    };
    let unknown = now.iter().filter(|(thread, _)| !target.state.tasks.contains_key(*thread));
    unknown.filter_map(inherited).chain(known).collect()
}

/// The first thread of the nearest recorded ancestor process, beginning with `pid`.
fn known_ancestor(
    pid: u32,
    leaders: &BTreeMap<u32, Thread>,
    now: &BTreeMap<Thread, Task>,
    target: &Target,
) -> Option<Thread> {
    let mut at = pid;
    // A loop would need numbers that were reused while they were read.
    for _ in 0..leaders.len() {
        let leader = leaders.get(&at)?;
        if target.state.tasks.contains_key(leader) {
            return Some(*leader);
        }
        at = now.get(leader)?.parent;
    }
    None
}

/// Logical CPUs that are online now.
pub fn online_now(roots: &Roots) -> CpuSet {
    let is_off =
        |cpu: &u32| Setting::Online(*cpu).read(roots).is_ok_and(|value| value.as_deref() == Some("0"));
    present_cpus(roots).iter().filter(|cpu| !is_off(cpu)).collect()
}

impl Difference {
    fn remove(&self, kernel: &dyn Kernel) -> io::Result<()> {
        match self {
            Self::File { setting, wanted, .. } => kernel.write(setting, wanted),
            Self::Mask { thread, wanted, .. } => {
                // Still the recorded thread; its number may have been reused.
                match tasks::look(&kernel.roots().proc, thread.pid, thread.tid) {
                    Some((now, _)) if now == *thread => {}
                    _ => return Ok(()),
                }
                let cpus = CpuSet::parse_list(wanted).map_err(io::Error::other)?;
                kernel.set_affinity(thread.tid, &cpus)
            }
        }
    }

    /// A difference and what to do, in one line.
    fn line(&self, roots: &Roots, error: Option<&String>) -> String {
        let why = error.map(|error| format!(" ({error})")).unwrap_or_default();
        match self {
            Self::File { setting, wanted, found } => {
                let path = setting.path(roots);
                format!(
                    "{setting} is {found} and must be {wanted}{why}; as root: echo {wanted} > '{}'",
                    path.display()
                )
            }
            Self::Mask { thread: Thread { pid, tid, .. }, wanted, found } => format!(
                "thread {tid} of process {pid} may use logical CPUs {found} and must have {wanted}{why}; as root: \
                 taskset -pc {wanted} {tid}"
            ),
        }
    }
}

impl fmt::Display for Settled {
    /// `4 settings and 12 threads`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |number: usize| if number == 1 { "" } else { "s" };
        let Self { settings, threads, .. } = *self;
        write!(f, "{settings} setting{} and {threads} thread{}", plural(settings), plural(threads))
    }
}
