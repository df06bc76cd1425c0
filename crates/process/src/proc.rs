//! /proc of any process and thread: CPU time, run-queue wait, context switches, children,
//! titles, owners, start times.
//!
//! Source: `proc_pid_stat(5)`, `proc_pid_status(5)`, `proc_pid_cmdline(5)`, kernel
//! `Documentation/scheduler/sched-stats.rst` (`/proc/PID/schedstat`), `proc_tid_children(5)`. All of it
//! may be read for processes of any user. `None` and empty lists mean that the process or the thread
//! has ended, or that the kernel lacks the file.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::fs;

/// A thread's usage since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadTimes {
    /// Time on a CPU. Exact for a thread that sleeps; for a running one it may lack the time since
    /// the last timer tick.
    pub cpu_ns: u64,
    /// Time ready to run and waiting for a CPU.
    pub wait_ns: u64,
}

/// How often a thread left its CPU since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// Because it waited for something.
    pub voluntary: u64,
    /// Because another thread took the CPU.
    pub involuntary: u64,
}

/// Effective user and group of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// User number.
    pub uid: u32,
    /// Group number.
    pub gid: u32,
}

/// CPU time and run-queue wait of a thread.
pub fn thread_times(pid: u32, tid: u32) -> Option<ThreadTimes> {
    parse_schedstat(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?)
}

/// Context switches of a thread.
pub fn switches(pid: u32, tid: u32) -> Option<Switches> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    Some(Switches {
        voluntary: field(&status, "voluntary_ctxt_switches:")?.trim().parse().ok()?,
        involuntary: field(&status, "nonvoluntary_ctxt_switches:")?.trim().parse().ok()?,
    })
}

/// When a thread started, in clock ticks since boot: with the numbers it identifies a
/// thread, since a number alone may be reused.
pub fn start_time(pid: u32, tid: u32) -> Option<u64> {
    stat_field(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?, 22)?.parse().ok()
}

/// Where a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunsOn {
    /// Logical CPU on which it last ran, or runs.
    pub cpu: u32,
    /// Whether it runs, or waits for a CPU.
    pub is_runnable: bool,
}

/// On which logical CPU a process of one thread is, and whether it is runnable.
pub fn runs_on(pid: u32) -> Option<RunsOn> {
    parse_runs_on(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_runs_on(stat: &str) -> Option<RunsOn> {
    Some(RunsOn { cpu: stat_field(stat, 39)?.parse().ok()?, is_runnable: stat_field(stat, 3)? == "R" })
}

/// Whether a process has ended; it may still be a zombie. One whose first thread alone has ended has not, and looks like
/// a zombie: of a process that was killed, another thread may still be in the system call that it was in.
pub fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat_field(&stat, 3).is_none_or(|state| matches!(state, "Z" | "X")) && thread_numbers(pid).len() <= 1
}

/// Sends a signal to a process if `is_meant` confirms it, which is called once a pidfd holds it: a number
/// may be reused in between, a pidfd may not. `false` if it has ended or is another. Source: `pidfd_open(2)`,
/// `pidfd_send_signal(2)`.
///
/// # Errors
/// The signal may not be sent.
pub fn signal_if(pid: u32, signal: Signal, is_meant: impl FnOnce() -> bool) -> rustix::io::Result<bool> {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    let handle = pidfd_open(number, PidfdFlags::empty());
    if handle.as_ref().is_err_and(|error| *error == Errno::SRCH) || !is_meant() {
        return Ok(false);
    }
    let sent = match handle {
        Ok(handle) => pidfd_send_signal(handle, signal),
        // Before Linux 5.3, or hidden by a seccomp filter: by number, right after the check.
        Err(_) => kill_process(number, signal),
    };
    match sent {
        Err(Errno::SRCH) => Ok(false),
        other => other.map(|()| true),
    }
}

/// CPU time, user and system, of the children that a process has waited for, in clock ticks: `cutime`
/// and `cstime` in the text of its `/proc/PID/stat`. A server's parallel workers live for one query.
pub fn ended_children_ticks(stat: &str) -> Option<u64> {
    let [user, system] = [16, 17].map(|number| stat_field(stat, number)?.parse::<u64>().ok());
    user?.checked_add(system?)
}

/// The parent of `pid`.
pub fn parent(pid: u32) -> Option<u32> {
    stat_field(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, 4)?.parse().ok()
}

/// Effective user and group of a process.
pub fn owner(pid: u32) -> Option<Owner> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let effective = |name| field(&status, name)?.split_whitespace().nth(1)?.parse().ok();
    Some(Owner { uid: effective("Uid:")?, gid: effective("Gid:")? })
}

/// Children of a process, of all its threads.
pub fn children(pid: u32) -> Vec<u32> {
    children_by_threads(pid).unwrap_or_else(|| children_by_parent(pid))
}

/// Command line of a process, which servers rewrite to show what a process does:
/// `postgres: walwriter`. A process that was just started may still have its parent's. `None` for one
/// without any, such as a kernel thread.
pub fn title(pid: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let title = String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned();
    (!title.is_empty()).then_some(title)
}

/// Name of a process's program, at most 15 bytes of it (proc_pid_comm(5)).
pub fn comm(pid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').to_owned())
}

/// Threads of a process with their names, by number.
pub fn threads(pid: u32) -> Vec<(u32, String)> {
    let mut threads: Vec<(u32, String)> = numbers(&format!("/proc/{pid}/task"))
        .into_iter()
        .filter_map(|tid| {
            let name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
            Some((tid, String::from_utf8_lossy(&name).trim_end_matches('\n').to_owned()))
        })
        .collect();
    threads.sort_unstable();
    threads
}

/// Numbers of the threads of a process, in order; none if it has ended.
pub fn thread_numbers(pid: u32) -> Vec<u32> {
    let mut threads = numbers(&format!("/proc/{pid}/task"));
    threads.sort_unstable();
    threads
}

/// The process of a thread: the number itself for a first thread.
pub fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    field(&status, "Tgid:")?.trim().parse().ok()
}

/// Numbers of all processes that /proc shows.
pub fn processes() -> Vec<u32> {
    numbers("/proc")
}

/// Entries of a folder whose names are numbers.
pub(crate) fn numbers(folder: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// `None` if the kernel has no such file (`CONFIG_PROC_CHILDREN`).
fn children_by_threads(pid: u32) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for tid in numbers(&format!("/proc/{pid}/task")) {
        match fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")) {
            Ok(list) => children.extend(list.split_whitespace().filter_map(|word| word.parse::<u32>().ok())),
            // The folder of a thread that has just ended is gone with the file.
            Err(_) if !fs::exists(format!("/proc/{pid}/task/{tid}")).unwrap_or(false) => {}
            Err(_) => return None,
        }
    }
    children.sort_unstable();
    Some(children)
}

fn children_by_parent(pid: u32) -> Vec<u32> {
    let mut children = processes();
    children.retain(|&other| parent(other) == Some(pid));
    children.sort_unstable();
    children
}

fn parse_schedstat(text: &str) -> Option<ThreadTimes> {
    let mut words = text.split_whitespace();
    Some(ThreadTimes { cpu_ns: words.next()?.parse().ok()?, wait_ns: words.next()?.parse().ok()? })
}

/// A field of a stat file by its number in the manual page, from 3 on: the second, the name of the
/// program, is in brackets and may itself hold brackets and spaces.
pub fn stat_field(stat: &str, number: usize) -> Option<&str> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number.checked_sub(3)?)
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn ticks_of_ended_children_are_found_behind_any_name() {
        let stat = "7 (post) gres) S 1 2 3 4 5 6 7 8 9 10 11 12 130 24 20 0 1 0";
        assert_eq!(ended_children_ticks(stat), Some(154));
        assert_eq!((ended_children_ticks("7 (x) S 1"), ended_children_ticks("")), (None, None));
    }

    #[test]
    fn a_process_has_ended_with_its_last_thread() {
        let script = "import ctypes, threading, time; \
                      threading.Thread(target=time.sleep, args=(600,)).start(); ctypes.CDLL(None).pthread_exit(None)";
        let Ok(mut child) = Command::new("python3").args(["-c", script]).stdin(Stdio::null()).spawn() else {
            let line = "SKIPPED: a process whose first thread has ended: no python3 (Debian: python3)\n";
            std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
            return;
        };
        let stat = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        while stat_field(&stat(), 3) != Some("Z") {
            std::thread::yield_now();
        }
        assert!(!has_ended(child.id()), "its other thread sleeps");
        child.kill().unwrap();
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(has_ended(child.id()));
    }

    #[test]
    fn where_a_process_runs_is_behind_its_state() {
        let zeros = "0 ".repeat(35);
        let stat = |state: &str| format!("7 (a) b) {state} {zeros}5 0 0");
        let here = |is_runnable| Some(RunsOn { cpu: 5, is_runnable });
        assert_eq!((parse_runs_on(&stat("R")), parse_runs_on(&stat("S"))), (here(true), here(false)));
        assert_eq!((parse_runs_on("7 (x) R 1"), runs_on(u32::MAX)), (None, None));
        assert!(runs_on(std::process::id()).is_some());
    }

    #[test]
    fn files_are_parsed_and_damage_is_none() {
        let times = parse_schedstat("1500 20 3\n").unwrap();
        assert_eq!(times, ThreadTimes { cpu_ns: 1500, wait_ns: 20 });
        assert_eq!(parse_schedstat("15"), None);
        let stat = "7 (a) b (c) S 3 7 7 0 -1 1 0 0 0 0 0 0 0 0 20 0 1 0 4242 9 9";
        assert_eq!(stat_field(stat, 3), Some("S"));
        assert_eq!(stat_field(stat, 4), Some("3"));
        assert_eq!(stat_field(stat, 22), Some("4242"));
        assert_eq!(stat_field("7 (a", 22), None);
        assert_eq!(stat_field(stat, 2), None);
    }

    #[test]
    fn the_own_thread_is_known_and_its_figures_grow() {
        std::thread::Builder::new()
            .name("measured one".into())
            .spawn(|| {
                let pid = std::process::id();
                let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
                let before = (thread_times(pid, tid), switches(pid, tid).unwrap());
                assert!(start_time(pid, tid).unwrap() >= start_time(pid, pid).unwrap());
                for _ in 0..20 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                let after = (thread_times(pid, tid), switches(pid, tid).unwrap());
                // Some kernels count no times of threads.
                let is_counted = std::path::Path::new("/proc/self/schedstat").exists();
                assert_eq!((before.0.is_some(), after.0.is_some()), (is_counted, is_counted));
                let cpu_ns = |times: Option<ThreadTimes>| times.map(|times| times.cpu_ns);
                assert!(!is_counted || cpu_ns(after.0) > cpu_ns(before.0), "{before:?} {after:?}");
                assert!(after.1.voluntary >= before.1.voluntary + 20, "{before:?} {after:?}");
                assert!(threads(pid).contains(&(tid, "measured one".into())), "{:?}", threads(pid));
            })
            .unwrap()
            .join()
            .unwrap();
    }

    #[test]
    fn children_are_found_both_ways_and_titles_have_no_zero_bytes() {
        let mut child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let this = std::process::id();
        assert!(children(this).contains(&child.id()));
        assert!(children_by_parent(this).contains(&child.id()));
        assert_eq!(parent(child.id()), Some(this));
        assert_eq!(owner(child.id()), owner(this));
        // Until the program begins, the child still carries our own title.
        while title(child.id()).as_deref() != Some("sleep 600") {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children(this).contains(&child.id()));
        assert_eq!((thread_times(child.id(), child.id()), title(child.id())), (None, None));
        assert_eq!((switches(child.id(), child.id()), start_time(child.id(), child.id())), (None, None));
    }
}
