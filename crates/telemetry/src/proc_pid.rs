//! /proc of one process and of its threads and children.
//!
//! Source: `proc_pid_stat(5)`, `proc_pid_status(5)`, `proc_tid_children(5)`; kernel
//! `Documentation/scheduler/sched-stats.rst` (`/proc/PID/task/TID/schedstat`) and
//! `kernel/sched/cputime.c` (user and system time are whole ticks of 10 ms when shown, of which the sum is
//! exact before it is cut).

use crate::proc_stat::TICK_NS;
use crate::samplers::{number_of, numbers_of, schedstat};
use std::collections::BTreeSet;
use std::fmt::Arguments;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Text of an open file of a process, or of one of its threads. The kernel gives such a file whole or
/// its first part, and a shorter part than requested is its end (`single_open` in kernel
/// `fs/seq_file.c`), so that one call suffices for most of them, which matters with many threads.
fn text_of(file: &File) -> Option<String> {
    let mut bytes = vec![0; 4096];
    let mut length = 0;
    loop {
        length += file.read_at(&mut bytes[length..], length as u64).ok()?;
        if length < bytes.len() {
            bytes.truncate(length);
            return String::from_utf8(bytes).ok();
        }
        bytes.resize(length * 2, 0);
    }
}

fn read(root: &Path, file: Arguments<'_>) -> Option<String> {
    text_of(&File::open(root.join(file.to_string())).ok()?)
}

/// Sums over all threads of a process since it began, including those that have ended and the children that have
/// ended and were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Process {
    /// Time in user space.
    pub user_ns: u64,
    /// Time in the kernel.
    pub system_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Present number of threads.
    pub threads: u64,
    /// When it began, in ticks since boot.
    pub began_ticks: u64,
}

/// Reads `proc/PID/stat` below `root`; `None` if the process has ended.
pub fn process(root: &Path, pid: u32) -> Option<Process> {
    parse_stat(&read(root, format_args!("proc/{pid}/stat"))?)
}

/// Fields are numbered as in the manual page; the name in field 2 may hold spaces and brackets.
fn parse_stat(text: &str) -> Option<Process> {
    const FIRST: usize = 3;
    let rest = text.rsplit_once(')')?.1;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - FIRST)?.parse::<u64>().ok();
    // Those of children may be negative: they are `long`.
    let with_children = |alone: usize, children: usize| {
        let children = fields.get(children - FIRST)?.parse::<i64>().ok()?;
        field(alone)?.checked_add_signed(children)
    };
    Some(Process {
        user_ns: with_children(14, 16)?.checked_mul(TICK_NS)?,
        system_ns: with_children(15, 17)?.checked_mul(TICK_NS)?,
        minor_faults: field(10)?.checked_add(field(11)?)?,
        major_faults: field(12)?.checked_add(field(13)?)?,
        threads: field(20)?,
        began_ticks: field(22)?,
    })
}

/// Counts of one thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thread {
    /// Context switches because it waited for something.
    pub voluntary: u64,
    /// Context switches because its time was over or another thread was more urgent.
    pub involuntary: u64,
    /// Time on a run queue, waiting for a CPU.
    pub wait_ns: u64,
}

/// The two open files of a thread.
#[derive(Debug)]
pub struct ThreadFiles {
    status: File,
    schedstat: File,
}

impl ThreadFiles {
    /// Opens `status` and `schedstat` of a thread below `root`; `None` if it has ended.
    pub fn open(root: &Path, pid: u32, tid: u32) -> Option<Self> {
        let folder = root.join(format!("proc/{pid}/task/{tid}"));
        let open = |name: &str| File::open(folder.join(name)).ok();
        Some(Self { status: open("status")?, schedstat: open("schedstat")? })
    }

    /// The thread's counts; `None` if it has ended, even if its number was reused.
    pub fn read(&self) -> Option<Thread> {
        let status = text_of(&self.status)?;
        // They are the last lines; the text before them is long.
        let switches = status.find("voluntary_ctxt_switches")?;
        let words = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
        let [voluntary, involuntary] = numbers_of(&status[switches..], words);
        let wait_ns = schedstat::parse(&text_of(&self.schedstat)?)?.wait_ns;
        Some(Thread { voluntary: voluntary?, involuntary: involuntary?, wait_ns })
    }
}

/// Resident memory of a process in bytes, from `proc/PID/status` below `root`; 0 for a zombie, `None` for one that
/// does not exist.
pub fn resident_bytes(root: &Path, pid: u32) -> Option<u64> {
    let status = read(root, format_args!("proc/{pid}/status"))?;
    Some(number_of(&status, "VmRSS").unwrap_or(0).saturating_mul(1024))
}

/// Threads of a process, ascending; empty if it has ended.
pub fn threads(root: &Path, pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(root.join(format!("proc/{pid}/task"))).into_iter().flatten().flatten();
    let mut tids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    tids
}

/// The processes, their children, and so on, parents first.
pub fn tree(root: &Path, pids: &[u32]) -> Vec<u32> {
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    let mut tree: Vec<u32> = pids.iter().copied().filter(|&pid| seen.insert(pid)).collect();
    let mut at = 0;
    while let Some(&pid) = tree.get(at) {
        for tid in threads(root, pid) {
            let text = read(root, format_args!("proc/{pid}/task/{tid}/children")).unwrap_or_default();
            let children = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
            tree.extend(children.filter(|&child| seen.insert(child)));
        }
        at += 1;
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::testing::write;

    const STAT: &str = "7 (a b) c) S 1 7 7 0 -1 4194560 100 20 3 4 5 6 7 8 20 0 2 0 900 1000 50 1 1\n";

    #[test]
    fn a_name_with_brackets_does_not_move_the_fields() {
        let process = parse_stat(STAT).unwrap();
        assert_eq!(process.user_ns, (5 + 7) * TICK_NS);
        assert_eq!(process.system_ns, (6 + 8) * TICK_NS);
        assert_eq!((process.minor_faults, process.major_faults), (120, 7));
        assert_eq!((process.threads, process.began_ticks), (2, 900));
    }

    #[test]
    fn damaged_texts_are_nothing() {
        for text in ["", "7 (a", "7 (a) S 1 2 3", &STAT.replace(" 5 6 ", " x 6 "), &STAT.replace("900", "-1")]
        {
            assert_eq!(parse_stat(text), None, "{text}");
        }
    }

    #[test]
    fn a_thread_needs_both_files() {
        let root = tempfile::tempdir().unwrap();
        let status =
            "Name:\ta\nVmRSS:\t    40 kB\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t2\n";
        write(root.path(), "proc/7/task/8/status", status);
        assert!(ThreadFiles::open(root.path(), 7, 8).is_none());
        write(root.path(), "proc/7/task/8/schedstat", "100 40 3\n");
        let counts = Thread { voluntary: 3, involuntary: 2, wait_ns: 40 };
        let files = ThreadFiles::open(root.path(), 7, 8).unwrap();
        assert_eq!(files.read(), Some(counts));
        write(root.path(), "proc/7/task/8/schedstat", "100 x 3\n");
        assert_eq!(files.read(), None);
        write(root.path(), "proc/7/status", status);
        assert_eq!(resident_bytes(root.path(), 7), Some(40 * 1024));
        assert_eq!(resident_bytes(root.path(), 8), None);
    }

    #[test]
    fn children_of_any_thread_and_their_children_are_found_once() {
        let root = tempfile::tempdir().unwrap();
        for (task, children) in
            [("7/task/7", "20 "), ("7/task/9", "30"), ("20/task/20", "40 7 "), ("30/task/30", "")]
        {
            write(root.path(), &format!("proc/{task}/children"), children);
        }
        assert_eq!(tree(root.path(), &[7, 7]), [7, 20, 30, 40]);
        assert_eq!(tree(root.path(), &[]), [] as [u32; 0]);
    }

    #[test]
    fn this_very_process_has_figures_and_a_child() {
        let root = Path::new("/");
        let this = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = tree(root, &[this]);
        let figures = process(root, this).unwrap();
        let tids = threads(root, this);
        let counts = ThreadFiles::open(root, this, this).and_then(|files| files.read());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(figures.threads >= 1 && figures.began_ticks > 0);
        assert!(tids.contains(&this) && counts.is_some());
        assert!(resident_bytes(root, this).unwrap() > 0);
        if Path::new("/proc/thread-self/children").exists() {
            assert!(found.contains(&child.id()), "{found:?}");
        }
    }
}
