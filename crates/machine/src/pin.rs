//! Binding threads to logical CPUs, with read-back, and their priority. The only module of this crate with `unsafe`.
//!
//! Source: `sched_setaffinity(2)`, `proc_pid_status(5)`. The kernel drops logical CPUs that are
//! offline or outside the cpuset from a mask without an error, so every binding is read back.
#![allow(unsafe_code)]

use std::io;

use crate::CpuSet;
use crate::cpuset::MAX_CPUS;

/// Why a thread is not bound as requested.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The wanted set is empty.
    #[error("cannot bind a thread to an empty set of logical CPUs")]
    Empty,
    /// The kernel refused the mask.
    #[error(
        "cannot bind the thread to logical CPUs {wanted} (it may use {actual}): {source}; check the cpuset, the affinity mask and which CPUs are online"
    )]
    Refused {
        /// The wanted set.
        wanted: CpuSet,
        /// The set that the thread has instead.
        actual: CpuSet,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The kernel accepted another mask.
    #[error(
        "the thread was bound to logical CPUs {wanted} but its mask reads back {actual}: check the cpuset and for \
         offline CPUs"
    )]
    Differs {
        /// The wanted set.
        wanted: CpuSet,
        /// The set read back.
        actual: CpuSet,
    },
    /// The mask could not be read back.
    #[error("the thread was bound to logical CPUs {wanted} and its mask cannot be read back: {source}")]
    Unread {
        /// The wanted set.
        wanted: CpuSet,
        /// The cause.
        source: io::Error,
    },
}

/// The logical CPUs that the calling thread may run on and that are active.
///
/// # Errors
/// The kernel's; for the calling thread it means a kernel with more than [`MAX_CPUS`] CPUs.
pub fn current_affinity() -> io::Result<CpuSet> {
    // 1024 CPUs first; the kernel answers EINVAL if the buffer is shorter than its own mask.
    let mut words = vec![0_u64; 16];
    loop {
        // SAFETY: the pointer and the length describe one live, writable, zeroed allocation.
        let status =
            unsafe { libc::sched_getaffinity(0, size_of_val(words.as_slice()), words.as_mut_ptr().cast()) };
        if status == 0 {
            return Ok(CpuSet::from_words(&words));
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || words.len() * 64 >= MAX_CPUS as usize {
            return Err(error);
        }
        words = vec![0; words.len() * 2];
    }
}

/// Gives the calling thread, and no child of it, priority over all ordinary ones (`sched(7)`, SCHED_FIFO), if the
/// system permits it; returns whether it did. For threads that run for less than a millisecond at a time, far below
/// the kernel's throttle of real-time threads.
pub fn prefer_current_thread() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the pointer is to a live value of the type that the call reads; 0 is the calling thread.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const lowest) == 0
    }
}

/// OS number of the logical CPU that the calling thread is on at this moment (`sched_getcpu(3)`); `None` if unknown.
pub fn current_cpu() -> Option<u32> {
    // SAFETY: the call has no argument and writes no memory of this process.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Binds the calling thread to `wanted` and reads the mask back.
///
/// # Errors
/// An empty set, the kernel's refusal, or a mask that reads back differently.
pub fn pin_current_thread(wanted: &CpuSet) -> Result<(), PinError> {
    if wanted.is_empty() {
        return Err(PinError::Empty);
    }
    if let Err(source) = set_affinity_raw(wanted.words()) {
        let actual = current_affinity().unwrap_or_default();
        return Err(PinError::Refused { wanted: wanted.clone(), actual, source });
    }
    let actual = current_affinity().map_err(|source| PinError::Unread { wanted: wanted.clone(), source })?;
    if actual != *wanted {
        return Err(PinError::Differs { wanted: wanted.clone(), actual });
    }
    Ok(())
}

/// The logical CPUs that any thread may run on, from `/proc/PID/task/TID/status`.
///
/// Unlike [`current_affinity`] this includes offline CPUs of the mask.
///
/// # Errors
/// The thread is gone, or its status has no `Cpus_allowed_list`.
pub fn thread_affinity(pid: u32, tid: u32) -> io::Result<CpuSet> {
    let path = format!("/proc/{pid}/task/{tid}/status");
    parse_status(&std::fs::read_to_string(&path)?)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{path} has no Cpus_allowed_list")))
}

fn parse_status(status: &str) -> Option<CpuSet> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    CpuSet::parse_list(list).ok()
}

/// The calling thread's OS number: the last part of the link `/proc/thread-self` (proc(5)); `None` if /proc is
/// not mounted.
pub fn current_thread_id() -> Option<u32> {
    std::fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()
}

/// Binds the calling thread to the CPUs of `words` (64 a word, lowest first), without read-back.
///
/// It does not allocate, takes no lock and makes one system call, so it may run between `fork` and `exec`.
///
/// # Errors
/// The kernel's.
pub fn set_affinity_raw(words: &[u64]) -> io::Result<()> {
    // SAFETY: the pointer and the length describe one live slice; the kernel only reads it. Its `unsigned long` words
    // and these have the same layout on 64-bit and on little-endian targets.
    let status = unsafe { libc::sched_setaffinity(0, size_of_val(words), words.as_ptr().cast()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Binds any thread to `cpus`, without read-back.
///
/// # Errors
/// The kernel's: `ESRCH` for a thread that has ended, `EPERM` for one of another user without
/// `CAP_SYS_NICE`, `EINVAL` for a set without any allowed CPU.
pub fn set_thread_affinity(tid: u32, cpus: &CpuSet) -> io::Result<()> {
    // 0 would be the calling thread.
    let number = libc::pid_t::try_from(tid).ok().filter(|&number| number > 0);
    let number = number.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    let words = cpus.words();
    // SAFETY: the pointer and the length describe one live slice; the kernel only reads it; layout as in
    // `set_affinity_raw`.
    let status = unsafe { libc::sched_setaffinity(number, size_of_val(words), words.as_ptr().cast()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_ids() -> (u32, u32) {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        let parts: Vec<&str> = link.to_str().unwrap().split('/').collect();
        (parts[0].parse().unwrap(), parts[2].parse().unwrap())
    }

    #[test]
    fn every_allowed_cpu_can_be_had_and_reads_back_two_ways() {
        // A thread of its own, so that no other test inherits the mask.
        std::thread::spawn(|| {
            let before = current_affinity().unwrap();
            assert!(!before.is_empty());
            for cpu in before.iter().take(8) {
                let one: CpuSet = [cpu].into_iter().collect();
                pin_current_thread(&one).unwrap();
                assert_eq!(current_affinity().unwrap(), one);
                let (pid, tid) = own_ids();
                assert_eq!(thread_affinity(pid, tid).unwrap(), one);
            }
            pin_current_thread(&before).unwrap();
            assert_eq!(current_affinity().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_that_names_both_sets() {
        std::thread::spawn(|| {
            let before = current_affinity().unwrap();
            let absent: CpuSet = [MAX_CPUS - 1].into_iter().collect();
            let error = pin_current_thread(&absent).unwrap_err();
            assert!(matches!(error, PinError::Refused { .. }), "{error}");
            assert!(error.to_string().contains(&format!("CPUs {absent} (it may use {before})")), "{error}");

            // The kernel takes the CPU that exists and drops the other in silence.
            let half = before.union(&absent);
            let error = pin_current_thread(&half).unwrap_err();
            assert!(matches!(error, PinError::Differs { .. }), "{error}");
            assert!(
                error.to_string().contains(&format!("CPUs {half} but its mask reads back {before}")),
                "{error}"
            );
        })
        .join()
        .unwrap();
    }

    #[test]
    fn nothing_wanted_is_an_error() {
        assert!(matches!(pin_current_thread(&CpuSet::new()), Err(PinError::Empty)));
    }

    #[test]
    fn raw_words_bind_as_well() {
        std::thread::spawn(|| {
            let first = current_affinity().unwrap().first().unwrap();
            let one: CpuSet = [first].into_iter().collect();
            set_affinity_raw(one.words()).unwrap();
            assert_eq!(current_affinity().unwrap(), one);
            assert!(set_affinity_raw(&[]).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn another_thread_is_bound_by_its_number_and_0_is_not_the_own_one() {
        let (send_tid, tids) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            // SAFETY: it takes nothing and gives a number.
            send_tid.send(unsafe { libc::gettid() } as u32).unwrap();
            let _ = ended.recv();
        });
        let tid = tids.recv().unwrap();
        let before = current_affinity().unwrap();
        let one: CpuSet = before.iter().last().into_iter().collect();
        set_thread_affinity(tid, &one).unwrap();
        assert_eq!(thread_affinity(std::process::id(), tid).unwrap(), one);
        assert_eq!(current_affinity().unwrap(), before);
        assert_eq!(set_thread_affinity(tid, &CpuSet::new()).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        for absent in [0, u32::MAX] {
            let error = set_thread_affinity(absent, &one).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        }
        drop(end);
        other.join().unwrap();
    }

    #[test]
    fn status_files_are_read() {
        let status =
            "Name:\tx\nCpus_allowed:\tff,0000000f\nCpus_allowed_list:\t0-3,32-39\nMems_allowed:\t1\n";
        assert_eq!(parse_status(status).unwrap().to_string(), "0-3,32-39");
        assert_eq!(parse_status("Name:\tx\n"), None);
        assert!(thread_affinity(u32::MAX, 1).is_err());
    }

    #[test]
    fn a_bound_thread_is_on_its_logical_cpu() {
        let cpu = current_affinity().unwrap().first().unwrap();
        let bound = std::thread::spawn(move || {
            pin_current_thread(&[cpu].into_iter().collect()).unwrap();
            current_cpu()
        });
        assert_eq!(bound.join().unwrap(), Some(cpu));
    }
}
