//! CPU times of logical CPUs and processes between two snapshots. The caller is idle in between, so that all busy time
//! belongs to others.
//!
//! Source: `proc_pid_stat(5)` (utime, stime and starttime, in ticks), `proc_stat(5)`.

use crate::live::{ProcessLoad, ProcessName};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use threadwise_study::CpuTimes;
use threadwise_telemetry::proc_stat::{self, CpuTicks, ProcStat, TICK_NS};

/// CPU times since boot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    cpus: Vec<CpuTicks>,
    processes: BTreeMap<u32, Process>,
}

#[derive(Debug, Clone, PartialEq)]
struct Process {
    name: String,
    start_ticks: u64,
    cpu_ticks: u64,
}

impl Snapshot {
    /// Reads /proc/stat last: the first snapshot, before a wait.
    ///
    /// # Errors
    /// proc/stat below `root` cannot be read. Unreadable processes are left out.
    pub fn before(root: &Path) -> io::Result<Self> {
        let processes = processes(root);
        Ok(Self { cpus: cpus(root)?, processes })
    }

    /// Reads /proc/stat first: the snapshot after a wait. The cost of reading thousands of processes is then outside
    /// the watched time.
    ///
    /// # Errors
    /// As [`Snapshot::before`].
    pub fn after(root: &Path) -> io::Result<Self> {
        let cpus = cpus(root)?;
        Ok(Self { cpus, processes: processes(root) })
    }

    /// Times of the logical CPUs between this snapshot and a later one.
    pub fn cpu_times(&self, later: &Self) -> Vec<CpuTimes> {
        proc_stat::difference(&self.cpus, &later.cpus)
    }

    /// CPU time of every process that used some between this snapshot and a later one, most first; without the process
    /// `own_pid`. A process that started in between counts from its start; one that ended is not included.
    pub fn process_loads(&self, later: &Self, own_pid: u32) -> Vec<ProcessLoad> {
        let used = |(pid, process): (&u32, &Process)| {
            let same = |earlier: &&Process| earlier.start_ticks == process.start_ticks;
            let earlier = self.processes.get(pid).filter(same).map_or(0, |earlier| earlier.cpu_ticks);
            let ticks = process.cpu_ticks.checked_sub(earlier).filter(|ticks| *ticks > 0)?;
            let name = ProcessName { pid: *pid, name: process.name.clone() };
            Some(ProcessLoad { process: name, cpu_ns: ticks.saturating_mul(TICK_NS) })
        };
        let others = later.processes.iter().filter(|(pid, _)| **pid != own_pid);
        let mut loads: Vec<ProcessLoad> = others.filter_map(used).collect();
        loads.sort_by_key(|load| (std::cmp::Reverse(load.cpu_ns), load.process.pid));
        loads
    }
}

fn cpus(root: &Path) -> io::Result<Vec<CpuTicks>> {
    let mut ticks = Vec::new();
    ProcStat::open(root)?.read(&mut ticks)?;
    Ok(ticks)
}

fn processes(root: &Path) -> BTreeMap<u32, Process> {
    let Ok(entries) = fs::read_dir(root.join("proc")) else { return BTreeMap::new() };
    let one = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        // Processes end while they are read.
        let text = fs::read(entry.path().join("stat")).ok()?;
        Some((pid, parse(&String::from_utf8_lossy(&text))?))
    };
    entries.flatten().filter_map(one).collect()
}

/// Parses `PID (NAME) STATE …`; the name may contain blanks and brackets. After the state, which is field 3,
/// utime and stime are fields 14 and 15, starttime is field 22.
fn parse(stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        name: name.to_owned(),
        start_ticks: field(22)?,
        cpu_ticks: field(14)?.checked_add(field(15)?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, pid: u32, name: &str, cpu: (u64, u64), start: u64) {
        let folder = root.join(format!("proc/{pid}"));
        fs::create_dir_all(&folder).unwrap();
        let (user, system) = cpu;
        let text =
            format!("{pid} ({name}) S 1 1 1 0 -1 4194560 9 9 9 9 {user} {system} 5 5 20 0 1 0 {start} 9 9\n");
        fs::write(folder.join("stat"), text).unwrap();
    }

    #[test]
    fn loads_are_the_growth_of_each_process() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir(root.join("proc")).unwrap();
        fs::write(root.join("proc/stat"), "cpu0 10 0 0 90\n").unwrap();
        put(root, 5, "idle (one) x", (7, 7), 100);
        put(root, 6, "busy", (10, 20), 100);
        put(root, 7, "ended", (50, 0), 100);
        put(root, 8, "own", (0, 0), 100);
        fs::create_dir(root.join("proc/9")).unwrap();
        fs::write(root.join("proc/9/stat"), "damaged").unwrap();
        let before = Snapshot::before(root).unwrap();
        fs::write(root.join("proc/stat"), "cpu0 60 0 0 140\n").unwrap();
        put(root, 6, "busy", (15, 25), 100);
        // Another process under the number of one that ended.
        put(root, 7, "new", (2, 1), 900);
        put(root, 8, "own", (99, 0), 100);
        let after = Snapshot::after(root).unwrap();
        let loads = before.process_loads(&after, 8);
        let shown: Vec<_> =
            loads.iter().map(|load| (load.process.name.as_str(), load.cpu_ns / TICK_NS)).collect();
        assert_eq!(shown, [("busy", 10), ("new", 3)]);
        assert_eq!(before.cpu_times(&after)[0].busy_ns, 50 * TICK_NS);
        assert!(Snapshot::before(&root.join("none")).is_err());
    }

    #[test]
    fn names_with_brackets_are_read() {
        assert_eq!(parse("1 (a) b) S 1").map(|process| process.name), None, "fields are missing");
        let text = "1 (a) b) S 1 1 1 0 -1 0 0 0 0 0 3 4 0 0 20 0 1 0 77 0 0";
        let process = parse(text).unwrap();
        assert_eq!((process.name.as_str(), process.cpu_ticks, process.start_ticks), ("a) b", 7, 77));
    }
}
