//! The host's side: two of its logical CPUs, threads bound to them, and how long they waited there.
//!
//! Source: sched_setaffinity(2); sched(7) and chrt(1) for SCHED_FIFO; `/proc/PID/task/TID/schedstat`
//! (Documentation/scheduler/sched-stats.rst: nanoseconds on a CPU, nanoseconds in a run queue, time slices).

use crate::command::Task;
use crate::files;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;

/// Two logical CPUs that this process may use, of different cores as far as the host shows.
///
/// # Errors
/// There are no two.
pub fn two_cpus() -> Result<[usize; 2], String> {
    let allowed =
        sched_getaffinity(None).map_err(|cause| format!("cannot read the affinity mask: {cause}"))?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    apart(&cpus, core)
}

/// The first logical CPU and the next one of another core.
fn apart(cpus: &[usize], core: impl Fn(usize) -> String) -> Result<[usize; 2], String> {
    let found = cpus.split_first().and_then(|(&first, others)| {
        let first_core = core(first);
        others.iter().find(|&&other| core(other) != first_core).map(|&other| [first, other])
    });
    found.ok_or_else(|| {
        format!(
            "cannot bind two threads apart: this process may use logical CPUs {cpus:?}, which are one core"
        )
    })
}

/// The logical CPUs of its core, or itself if the host shows none.
fn core(cpu: usize) -> String {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
}

/// Binds each thread to its logical CPU and reads the mask back.
///
/// # Errors
/// The kernel refuses, or the mask reads differently.
pub fn place(threads: &[u32], cpus: [usize; 2]) -> Result<(), String> {
    threads.iter().zip(cpus).try_for_each(|(&thread, cpu)| bind(thread, &[cpu]))
}

/// Binds a thread to these logical CPUs and reads the mask back.
///
/// # Errors
/// The kernel refuses, or the mask reads differently.
pub fn bind(thread: u32, cpus: &[usize]) -> Result<(), String> {
    let failed =
        |cause: &dyn std::fmt::Display| format!("cannot bind thread {thread} to CPUs {cpus:?}: {cause}");
    let number =
        i32::try_from(thread).ok().and_then(Pid::from_raw).ok_or_else(|| failed(&"no such thread"))?;
    let mut wanted = CpuSet::new();
    cpus.iter().for_each(|&cpu| wanted.set(cpu));
    sched_setaffinity(Some(number), &wanted).map_err(|cause| failed(&cause))?;
    match sched_getaffinity(Some(number)).map_err(|cause| failed(&cause))? == wanted {
        true => Ok(()),
        false => Err(failed(&"its mask reads differently")),
    }
}

/// Gives all threads of a process priority over all ordinary ones of the host, and its first one over the others;
/// returns whether that is permitted.
pub fn prefer(process: u32) -> bool {
    prefer_at(process, 1) && Task::new("chrt --fifo --pid 2 {}", &[&process]).output().is_ok()
}

/// Gives all threads of a process this real-time priority; returns whether that is permitted.
pub fn prefer_at(process: u32, priority: u32) -> bool {
    Task::new("chrt --all-tasks --fifo --pid {} {}", &[&priority, &process]).output().is_ok()
}

/// How long each thread has waited in a run queue since it began, nanoseconds.
///
/// # Errors
/// A thread has ended, or the kernel does not show it.
pub fn waited_ns(process: u32, threads: &[u32]) -> Result<Vec<u64>, String> {
    let of_thread = |thread: &u32| {
        let path = format!("/proc/{process}/task/{thread}/schedstat");
        let text = files::read_text(&path)?;
        wait(&text).ok_or_else(|| format!("{path} has no time in a run queue: {text}"))
    };
    threads.iter().map(of_thread).collect()
}

fn wait(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cpus_are_of_two_cores() {
        let siblings = |cpu: usize| format!("{}", cpu % 2);
        assert_eq!(apart(&[0, 2, 3], siblings), Ok([0, 3]));
        assert!(apart(&[0, 2], siblings).is_err_and(|why| why.contains("CPUs [0, 2], which are one core")));
        assert!(apart(&[4], |cpu| cpu.to_string()).is_err());
        assert!(apart(&[], |cpu| cpu.to_string()).is_err());
    }

    #[test]
    fn a_thread_is_put_where_it_is_wanted() {
        let (say, said) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            say.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
            let _ = ended.recv();
        });
        let number = said.recv().unwrap();
        let allowed = sched_getaffinity(None).unwrap();
        let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)).unwrap();
        place(&[number], [last, last]).unwrap();
        let status = fs::read_to_string(format!("/proc/self/task/{number}/status")).unwrap();
        assert!(status.contains(&format!("\nCpus_allowed_list:\t{last}\n")), "{status}");
        assert!(place(&[number], [CpuSet::MAX_CPU - 1; 2]).is_err());
        assert_eq!(waited_ns(std::process::id(), &[number]).unwrap().len(), 1);
        assert!(waited_ns(std::process::id(), &[u32::MAX]).is_err());
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn the_wait_is_the_second_number() {
        assert_eq!(wait("9077 12345 31\n"), Some(12_345));
        assert_eq!(wait("9077\n"), None);
    }
}
