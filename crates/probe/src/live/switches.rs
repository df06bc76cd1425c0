//! Context switches forced on the calling thread.
//!
//! Source: kernel `Documentation/scheduler/sched-stats.rst` for `/proc/PID/task/TID/schedstat`: time on
//! the CPU, time waiting on a run queue, number of times it was put on a CPU. A thread that never
//! waits is put on a CPU again only after preemption, so the third number counts preemptions
//! here, and costs about a microsecond to read. `status` (`proc_pid_status(5)`) has them by name but
//! takes some tens of microseconds; it is used if the kernel has no schedstat.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Counts switches of the thread that opened it.
#[derive(Debug)]
pub enum Switches {
    /// By `schedstat`.
    Schedstat(File),
    /// By `status`.
    Status(File),
}

impl Switches {
    /// Opens the best source for the calling thread.
    ///
    /// # Errors
    /// Neither file has a count.
    pub fn of_this_thread() -> io::Result<Self> {
        let usable = |switches: &Self| switches.read().is_ok();
        let schedstat = File::open("/proc/thread-self/schedstat").map(Self::Schedstat).ok();
        if let Some(switches) = schedstat.filter(usable) {
            return Ok(switches);
        }
        let status = Self::Status(File::open("/proc/thread-self/status")?);
        status.read().map(|_| status)
    }

    /// Forced switches so far, from an arbitrary start.
    ///
    /// # Errors
    /// The file cannot be read or has no count.
    pub fn read(&self) -> io::Result<u64> {
        // `status` has about 1,500 bytes, and more with long CPU masks; its line is the last.
        let mut buffer = [0_u8; 8192];
        let (file, count): (_, fn(&str) -> Option<u64>) = match self {
            Self::Schedstat(file) => (file, schedstat_count),
            Self::Status(file) => (file, status_count),
        };
        let length = file.read_at(&mut buffer, 0)?;
        let text = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
        count(text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no count of context switches"))
    }
}

/// Times on a CPU. A running thread has been put on one, so 0 means that the kernel does not count.
fn schedstat_count(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(2)?.parse().ok().filter(|count| *count > 0)
}

fn status_count(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        assert_eq!(schedstat_count("81 22 7\n"), Some(7));
        assert_eq!(schedstat_count("0 0 0\n"), None, "the kernel counts nothing");
        assert_eq!(schedstat_count("81 22"), None);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t4\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(status_count(status), Some(9));
        assert_eq!(status_count("voluntary_ctxt_switches:\t4\n"), None);
    }

    #[test]
    fn both_sources_count_this_thread() {
        for path in ["/proc/thread-self/schedstat", "/proc/thread-self/status"] {
            // Kernels without counts of the scheduler have no such file.
            let Ok(file) = File::open(path) else { continue };
            let switches =
                if path.ends_with("status") { Switches::Status(file) } else { Switches::Schedstat(file) };
            let before = switches.read().unwrap();
            assert!(switches.read().unwrap() >= before, "{path}");
        }
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let first = Switches::of_this_thread().unwrap();
        assert_eq!(matches!(first, Switches::Schedstat(_)), schedstat_count(&text).is_some());
    }
}
