//! Usage of the worker processes and their children: a server's backends are children of the started process.
//!
//! Source: see [`crate::proc_pid`]. CPU time and faults are sums over the processes and the
//! children that have ended and were waited for, so that nothing is lost when one ends. Context switches and
//! run-queue wait are kept only per thread and are gone with it: a thread that ended inside of the window is a
//! gap. Resident memory counts shared pages once for each process.
//!
//! Reading threads costs about 6 µs each. If that would come to more than
//! 0.3% of one CPU (hundreds of threads around windows of 50 ms), context switches and wait
//! are a gap; sessions report their own with every slice.

use super::{Counter, Span, growths, opened, reading, status_of};
use crate::proc_pid::{self, Thread, ThreadFiles};
use crate::{Moment, Sampler, Status};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use threadwise_study::Reading;

/// Opening and reading two files of a thread: 5.7 µs on the 2-CPU VM that this was written on, and half of
/// that if they are open already.
const THREAD_COST_NS: u64 = 6_000;
/// Largest share of one CPU for reading threads in the long run.
const MOST_SHARE: f64 = 0.003;
/// Reading time that may be saved up and spent at once.
const MOST_SAVED_NS: f64 = 50e6;
/// Readings that are tried while processes end.
const TRIES: u32 = 3;
/// Threads whose files stay open; two descriptors each.
const MOST_KEPT: usize = 64;
/// Trees that are remembered; a study has as many as it has workers at a time.
const MOST_TREES: usize = 1024;

const TOTALS: [&str; 4] = ["user_ns", "system_ns", "minor_faults", "major_faults"];
const OF_THREADS: [&str; 3] = ["voluntary_switches", "involuntary_switches", "run_queue_wait_ns"];

/// The sampler.
#[derive(Debug)]
pub struct Process {
    root: PathBuf,
    /// `proc/uptime`, to find processes that began inside of a window.
    uptime: Result<Counter, Status>,
    /// `proc/loadavg`, whose last word is the youngest process or thread: while it is unchanged, no tree grows.
    loadavg: Option<Counter>,
    /// Whether the kernel lists children.
    lists_children: bool,
    trees: BTreeMap<Vec<u32>, Tree>,
    kept: BTreeMap<(u32, u32), ThreadFiles>,
    /// Remaining time for reading threads.
    saved_ns: f64,
    saved_at_ns: u64,
    start_ns: u64,
    /// When the window began, in ticks since boot.
    start_ticks: Result<u64, String>,
    before: Result<Look, String>,
}

/// The named processes and their descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tree {
    youngest: Option<u64>,
    pids: Vec<u32>,
}

/// Everything at one moment.
#[derive(Debug)]
struct Look {
    processes: BTreeMap<u32, proc_pid::Process>,
    resident_bytes: u64,
    threads: Result<BTreeMap<(u32, u32), Thread>, String>,
}

impl Process {
    /// Reads processes below `root`.
    pub fn new(root: &Path) -> Self {
        let path = root.join("proc/uptime");
        let remedy = "run where /proc is not hidden from this user";
        Self {
            root: root.to_owned(),
            uptime: Counter::open(&path).map_err(|error| status_of(&path, &error, remedy)),
            loadavg: Counter::open(&root.join("proc/loadavg")).ok(),
            lists_children: root.join("proc/thread-self/children").exists(),
            trees: BTreeMap::new(),
            kept: BTreeMap::new(),
            saved_ns: MOST_SAVED_NS,
            saved_at_ns: 0,
            start_ns: 0,
            start_ticks: Err("not started".to_owned()),
            before: Err("not started".to_owned()),
        }
    }

    /// Ticks since boot.
    fn now_ticks(&mut self) -> Result<u64, String> {
        let text = opened(&mut self.uptime)?.read().map_err(|error| format!("proc/uptime: {error}"))?;
        let seconds = text.split_whitespace().next().and_then(|word| word.split_once('.'));
        seconds
            .and_then(|(whole, hundredths)| {
                whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(hundredths.parse().ok()?)
            })
            .ok_or_else(|| "proc/uptime is not readable".to_owned())
    }

    /// The tree of these processes, read again if something was started since.
    fn tree(&mut self, pids: &[u32], anew: bool) -> Vec<u32> {
        let loadavg = self.loadavg.as_mut().and_then(|counter| counter.read().ok());
        let youngest = loadavg.and_then(|text| text.split_whitespace().last()?.parse().ok());
        if let Some(tree) = self.trees.get(pids)
            && !anew
            && youngest.is_some()
            && tree.youngest == youngest
        {
            return tree.pids.clone();
        }
        let found = proc_pid::tree(&self.root, pids);
        if self.trees.len() >= MOST_TREES {
            self.trees.clear();
        }
        self.trees.insert(pids.to_vec(), Tree { youngest, pids: found.clone() });
        found
    }

    /// Reads all processes; and those of `known`, which the kernel's list may lack.
    fn look(&mut self, at: &Moment<'_>, known: Option<&Look>) -> Result<Look, String> {
        opened(&mut self.uptime)?;
        if at.pids.is_empty() {
            return Err("no process was named".to_owned());
        }
        for tried in 0..TRIES {
            let tree = self.tree(at.pids, tried > 0);
            if let Some(look) = self.look_at(at, &tree, known)? {
                return Ok(look);
            }
        }
        Err(format!("processes ended faster than they could be read, {TRIES} times"))
    }

    /// `None` if one of them ended meanwhile: its times have gone to its parent, which was read before.
    fn look_at(
        &mut self,
        at: &Moment<'_>,
        tree: &[u32],
        known: Option<&Look>,
    ) -> Result<Option<Look>, String> {
        let mut look =
            Look { processes: BTreeMap::new(), resident_bytes: 0, threads: Err("not read".to_owned()) };
        for &pid in tree {
            let figures = proc_pid::process(&self.root, pid).zip(proc_pid::resident_bytes(&self.root, pid));
            match figures {
                Some((process, bytes)) => {
                    look.processes.insert(pid, process);
                    look.resident_bytes = look.resident_bytes.saturating_add(bytes);
                }
                None if at.pids.contains(&pid) => return Err(format!("process {pid} has ended")),
                None => return Ok(None),
            }
        }
        for (&pid, earlier) in known.iter().flat_map(|known| &known.processes) {
            if !look.processes.contains_key(&pid)
                && let Some(process) = proc_pid::process(&self.root, pid)
                && process.began_ticks == earlier.began_ticks
            {
                look.processes.insert(pid, process);
            }
        }
        look.threads = self.threads(at.now_ns, &look.processes);
        Ok(Some(look))
    }

    fn threads(
        &mut self,
        now_ns: u64,
        processes: &BTreeMap<u32, proc_pid::Process>,
    ) -> Result<BTreeMap<(u32, u32), Thread>, String> {
        let count = processes.values().fold(0, |count: u64, process| count.saturating_add(process.threads));
        let earned_ns = now_ns.saturating_sub(self.saved_at_ns) as f64 * MOST_SHARE;
        self.saved_ns = (self.saved_ns + earned_ns).min(MOST_SAVED_NS);
        self.saved_at_ns = now_ns;
        let cost_ns = count.saturating_mul(THREAD_COST_NS) as f64;
        if cost_ns > self.saved_ns {
            return Err(format!("{count} threads are too many to read around such short windows"));
        }
        self.saved_ns -= cost_ns;
        let mut counts = BTreeMap::new();
        for &pid in processes.keys() {
            let before = counts.len();
            for tid in proc_pid::threads(&self.root, pid) {
                // One that ended since the listing counts as ended before it.
                if let Some(thread) = self.thread(pid, tid) {
                    counts.insert((pid, tid), thread);
                }
            }
            if counts.len() == before {
                return Err(format!("no thread of process {pid} has a readable status and schedstat"));
            }
        }
        Ok(counts)
    }

    fn thread(&mut self, pid: u32, tid: u32) -> Option<Thread> {
        if let Some(thread) = self.kept.get(&(pid, tid)).and_then(ThreadFiles::read) {
            return Some(thread);
        }
        let files = ThreadFiles::open(&self.root, pid, tid)?;
        let thread = files.read();
        if self.kept.len() >= MOST_KEPT {
            // Those of ended threads go too; the others are opened again.
            self.kept.clear();
        }
        self.kept.insert((pid, tid), files);
        thread
    }
}

/// Sums of a reading.
fn totals(look: &Look) -> Result<[u64; 4], String> {
    let mut sums = [0_u64; 4];
    for one in look.processes.values() {
        let counts = [one.user_ns, one.system_ns, one.minor_faults, one.major_faults];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = added(*sum, count)?;
        }
    }
    Ok(sums)
}

/// A kernel's counts never overflow; those of a file below another root may.
fn added(sum: u64, count: u64) -> Result<u64, String> {
    sum.checked_add(count).ok_or_else(|| "the counts of these processes are too large to add".to_owned())
}

/// Refuses a process that is new here and older than the window: the window's share of its times is unknown.
fn check_new(before: &Look, after: &Look, start_ticks: u64) -> Result<(), String> {
    let unseen = after.processes.iter().find(|(pid, process)| {
        let same = before.processes.get(pid).is_some_and(|early| early.began_ticks == process.began_ticks);
        !same && process.began_ticks < start_ticks
    });
    unseen.map_or(Ok(()), |(pid, _)| Err(format!("process {pid} was not seen at the window's start")))
}

/// Growth of all threads between two readings. A new one did everything inside of the window.
fn of_threads(before: &Look, after: &Look) -> Result<[u64; 3], String> {
    let (early, late) = (before.threads.as_ref(), after.threads.as_ref());
    let (early, late) = (early.map_err(Clone::clone)?, late.map_err(Clone::clone)?);
    let ended = early.keys().filter(|key| !late.contains_key(key)).count();
    if ended > 0 {
        return Err(format!("{ended} threads ended inside of the window, and their counts with them"));
    }
    let mut sums = [0_u64; 3];
    for (key, late) in late {
        let early = early.get(key).copied().unwrap_or_default();
        let grown = [
            late.voluntary.checked_sub(early.voluntary),
            late.involuntary.checked_sub(early.involuntary),
            late.wait_ns.checked_sub(early.wait_ns),
        ];
        for (sum, grown) in sums.iter_mut().zip(grown) {
            let grown = grown.ok_or_else(|| format!("the counts of thread {} ran backwards", key.1))?;
            *sum = added(*sum, grown)?;
        }
    }
    Ok(sums)
}

impl Sampler for Process {
    fn name(&self) -> &'static str {
        "process"
    }

    fn status(&self) -> Status {
        self.uptime.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.start_ticks = self.now_ticks();
        self.before = self.look(at, None);
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        let before = std::mem::replace(&mut self.before, Err("not started".to_owned()));
        let after = self.look(at, before.as_ref().ok());
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let name = self.name();
        let both = before.and_then(|before| {
            let after = after?;
            check_new(&before, &after, self.start_ticks.clone()?)?;
            Ok((before, after))
        });
        let (early, late) = match &both {
            Ok((before, after)) => (totals(before), totals(after)),
            Err(why) => (Err(why.clone()), Err(why.clone())),
        };
        growths(name, TOTALS, span, (&early, &late), readings);
        let threads =
            both.as_ref().map_err(Clone::clone).and_then(|(before, after)| of_threads(before, after));
        growths(name, OF_THREADS, span, (&Ok([0; 3]), &threads), readings);
        let mean = |value: fn(&Look) -> f64| {
            both.as_ref().map(|(a, b)| (value(a) + value(b)) / 2.0 * span.length_ns()).map_err(Clone::clone)
        };
        let resident = mean(|look| look.resident_bytes as f64);
        readings.push(reading(name, "resident_bytes_ns", None, span, resident));
        let processes = match self.lists_children {
            true => mean(|look| look.processes.len() as f64),
            false => {
                Err("the kernel lists no children (CONFIG_PROC_CHILDREN): only what was started counts"
                    .into())
            }
        };
        readings.push(reading(name, "processes_ns", None, span, processes));
    }
}

#[cfg(test)]
mod tests;
