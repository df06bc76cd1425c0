//! Clocks and per-thread accounting of the running thread.
//!
//! Sources: `clock_gettime(2)`, `clock_nanosleep(2)`, `getrusage(2)` (`RUSAGE_THREAD`), and kernel
//! `Documentation/scheduler/sched-stats.rst` for `/proc/thread-self/schedstat` (time on the CPU,
//! time waiting on a run queue, number of time slices; the times in nanoseconds).
#![allow(unsafe_code)]

use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;

const NS_PER_S: u64 = 1_000_000_000;

/// Context switches of a thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// The thread gave up its CPU (it waited for something).
    pub voluntary: u64,
    /// The kernel took the CPU away.
    pub involuntary: u64,
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the whole call. The call fails only for a
    // clock that does not exist; all callers but `process_cpu_ns` name clocks that every Linux since
    // 2.6.12 has, and a failure leaves the zeros above.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC in nanoseconds; the same clock in all processes of the machine.
pub fn monotonic_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread in nanoseconds, user and system together.
pub fn thread_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of a process in nanoseconds, all its threads included, also those that have ended; 0 if
/// there is no such process. Its clock number (`clock_getcpuclockid(3)`) is the process number
/// inverted, followed by 2 (`CPUCLOCK_SCHED` of the kernel's posix-timers.h).
pub fn process_cpu_ns(pid: u32) -> u64 {
    let Ok(pid) = libc::clockid_t::try_from(pid) else { return 0 };
    read_clock((!pid << 3) | 2)
}

/// Context switches of the calling thread since it began.
pub fn thread_switches() -> Switches {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid, writable and as large as the kernel expects; a zeroed rusage is a
    // valid value (it holds integers only), so it may be read also if the call failed.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

/// Sleeps until CLOCK_MONOTONIC reaches `deadline_ns`; returns at once if it has.
pub fn sleep_until_ns(deadline_ns: u64) {
    let deadline = libc::timespec {
        tv_sec: (deadline_ns / NS_PER_S) as libc::time_t,
        tv_nsec: (deadline_ns % NS_PER_S) as libc::c_long,
    };
    loop {
        // SAFETY: `deadline` is a valid timespec with tv_nsec below 1e9; a null remainder is
        // allowed for an absolute sleep.
        let result = unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &deadline, std::ptr::null_mut())
        };
        if result != libc::EINTR {
            return;
        }
    }
}

/// The calling thread's sleeps end as soon as the kernel can, until this is dropped: by default its timers may be late by
/// 50 µs, so that it can wake several threads at once (`PR_SET_TIMERSLACK` in prctl(2)).
#[derive(Debug)]
pub struct ExactSleeps {
    /// The slack before, in nanoseconds.
    before_ns: Option<NonZeroU64>,
}

impl ExactSleeps {
    /// Begins; where the kernel refuses, sleeps end as before.
    pub fn begin() -> Self {
        let before_ns = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Self { before_ns }
    }
}

impl Drop for ExactSleeps {
    fn drop(&mut self) {
        // Without a value the kernel sets its default.
        let _ = rustix::thread::set_current_timer_slack(self.before_ns);
    }
}

/// The calling thread's schedstat file, kept open so that a reading costs one `pread`.
#[derive(Debug)]
pub struct RunQueueWait(Option<File>);

impl RunQueueWait {
    /// Opens the file of the calling thread; readings are always of that thread.
    pub fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds that the thread has waited on run queues so far; `None` if the kernel does not
    /// count them (no `CONFIG_SCHED_INFO`, or /proc hidden).
    pub fn read_ns(&self) -> Option<u64> {
        let mut buffer = [0_u8; 96];
        let length = self.0.as_ref()?.read_at(&mut buffer, 0).ok()?;
        run_queue_field(std::str::from_utf8(&buffer[..length]).ok()?)
    }
}

/// Nanoseconds that the calling thread has waited on run queues so far; `None` as above.
pub fn run_queue_wait_ns() -> Option<u64> {
    RunQueueWait::of_this_thread().read_ns()
}

fn run_queue_field(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward_and_sleep_reaches_its_deadline() {
        let before = monotonic_ns();
        sleep_until_ns(before + 2_000_000);
        assert!(monotonic_ns() >= before + 2_000_000);
        sleep_until_ns(before); // in the past: returns
        let cpu = thread_cpu_ns();
        let mut sum = 0_u64;
        while thread_cpu_ns() < cpu + 1_000_000 {
            sum = sum.wrapping_add(monotonic_ns());
        }
        assert!(sum != 0);
        assert!(process_cpu_ns(std::process::id()) >= 1_000_000);
        assert_eq!((process_cpu_ns(u32::MAX), process_cpu_ns(4_194_305)), (0, 0));
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = thread_switches();
        sleep_until_ns(monotonic_ns() + 1_000_000);
        assert!(thread_switches().voluntary > before.voluntary);
    }

    #[test]
    fn run_queue_wait_is_the_second_field() {
        assert_eq!(run_queue_field("12 3456 7\n"), Some(3456));
        assert_eq!(run_queue_field(""), None);
        assert_eq!(run_queue_field("12 x 7"), None);
        let first = run_queue_wait_ns();
        let again = run_queue_wait_ns();
        assert!(again >= first);
    }
}
