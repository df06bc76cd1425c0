//! One line of a journal: a uniquely identified thread, and the mask that it had.
//!
//! Source: `proc_pid_stat(5)`, `random(4)` (boot_id), `pid_namespaces(7)`.

use std::fs;
use threadwise_machine::CpuSet;

/// Replaces a part that the kernel does not show.
pub(super) const UNKNOWN: &str = "-";

/// Start of every line.
pub(super) const VERSION: &str = "v1";

/// Boot and PID namespace, in which thread numbers are valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootNamespace {
    /// The kernel's id of this boot.
    pub boot: String,
    /// Inode number of the PID namespace.
    pub pid_namespace: String,
}

impl BootNamespace {
    /// This boot and namespace. A part that the kernel does not show is `-`.
    pub fn now() -> Self {
        let word =
            |text: Option<String>| text.filter(|text| is_word(text)).unwrap_or_else(|| UNKNOWN.to_owned());
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        let number = namespace
            .and_then(|link| Some(link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.to_owned()));
        Self { boot: word(boot.map(|boot| boot.trim().to_owned())), pid_namespace: word(number) }
    }

    /// Whether the kernel shows the boot id, without which no journal can be restored.
    pub fn is_known(&self) -> bool {
        self.boot != UNKNOWN
    }
}

impl std::fmt::Display for BootNamespace {
    /// Two words of a line: boot and PID namespace.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.boot, self.pid_namespace)
    }
}

fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A uniquely identified thread: its numbers may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread {
    /// Number of the process.
    pub pid: u32,
    /// Number of the thread.
    pub tid: u32,
    /// When it started, clock ticks since boot.
    pub start: u64,
}

/// A thread and the mask that it had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where the numbers are valid.
    pub here: BootNamespace,
    /// Which thread.
    pub thread: Thread,
    /// Its logical CPUs.
    pub mask: CpuSet,
}

impl Entry {
    /// Its line, with the line end.
    pub fn line(&self) -> String {
        let Thread { pid, tid, start } = self.thread;
        format!("{VERSION} {} {pid} {tid} {start} {}\n", self.here, self.mask)
    }

    /// Reads a line without its end.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let [VERSION, boot, pid_namespace, pid, tid, start, mask] = words[..] else {
            return Err(format!("it is not '{VERSION}' and six words"));
        };
        if !is_word(boot) || !is_word(pid_namespace) {
            return Err("its boot or its PID namespace is not a word".into());
        }
        let number = |word: &str| match word.parse::<u32>() {
            // A server may be process 1 of its container.
            Ok(number) if number > 0 && i32::try_from(number).is_ok() => Ok(number),
            _ => Err("a process or thread number is not a number".to_owned()),
        };
        let thread = Thread {
            pid: number(pid)?,
            tid: number(tid)?,
            start: start.parse().map_err(|_| "its start time is not a number".to_owned())?,
        };
        let mask = CpuSet::parse_list(mask).map_err(|error| error.to_string())?;
        if mask.is_empty() {
            return Err("its mask is empty".into());
        }
        let here = BootNamespace { boot: boot.to_owned(), pid_namespace: pid_namespace.to_owned() };
        Ok(Self { here, thread, mask })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let here = BootNamespace { boot: "3f2a-b".into(), pid_namespace: "4026531836".into() };
        let mask = CpuSet::parse_list("0-3,8").unwrap();
        Entry { here, thread: Thread { pid: 77, tid: 78, start: 1234 }, mask }
    }

    #[test]
    fn a_line_reads_back() {
        assert_eq!(entry().line(), "v1 3f2a-b 4026531836 77 78 1234 0-3,8\n");
        assert_eq!(Entry::parse(entry().line().trim_end()).unwrap(), entry());
    }

    #[test]
    fn every_damaged_line_is_refused() {
        for line in [
            "",
            "v2 b 1 77 78 1234 0",
            "v1 b 1 77 78 1234",
            "v1 b 1 77 78 1234 0 1",
            "v1 b 1 77 78 1234 ",
            "v1 b 1 77 78 1234 0-",
            "v1 b 1 77 78 1234 3-1",
            "v1 b 1 77 78 soon 0",
            "v1 b 1 0 0 1234 0",
            "v1 b 1 -77 78 1234 0",
            "v1 b 1 77 4294967295 1234 0",
            "v1 ../b 1 77 78 1234 0",
            "v1  1 77 78 1234 0",
            "v1 b 1 77 78 1234 0\tx",
        ] {
            assert!(Entry::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn this_place_can_be_written_down() {
        let here = BootNamespace::now();
        assert_eq!(here, BootNamespace::now());
        let parsed = Entry::parse(Entry { here: here.clone(), ..entry() }.line().trim_end()).unwrap();
        assert_eq!(parsed.here, here);
    }
}
