//! Owners of a journal: the process in its name (the one that measures), and those in its
//! lines (workers, which write to it).
//!
//! Machines and containers may share a state folder, so a number means nothing without its
//! boot and PID namespace. Source: `proc_pid_stat(5)`, `random(4)` (boot_id), `pid_namespaces(7)`.

use super::entry::{BootNamespace, Entry, VERSION};
use crate::proc;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Start of the name of a journal of masks; boot, PID namespace, process, start time and a random
/// number follow.
pub(super) const MASKS: &str = "masks";
/// First word of a line that names an owner.
const WORD: &str = "owner";

/// A uniquely identified process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) here: BootNamespace,
    pub(super) pid: u32,
    pub(super) start: u64,
}

impl Owner {
    /// The calling process.
    pub(super) fn this() -> Self {
        let pid = std::process::id();
        Self { here: BootNamespace::now(), pid, start: proc::start_time(pid, pid).unwrap_or(0) }
    }

    /// Whether it lives. A zombie does not.
    pub(super) fn is_alive(&self) -> bool {
        !proc::has_ended(self.pid) && proc::start_time(self.pid, self.pid) == Some(self.start)
    }

    pub(super) fn line(&self) -> String {
        let Self { here: BootNamespace { boot, pid_namespace }, pid, start } = self;
        format!("{WORD} {boot} {pid_namespace} {pid} {start}\n")
    }

    /// The owner that a line names, if it names one.
    pub(super) fn parse(line: &str) -> Option<Result<Self, String>> {
        let rest = line.strip_prefix(WORD)?.strip_prefix(' ')?;
        let words: Vec<&str> = rest.split(' ').collect();
        let [boot, pid_namespace, pid, start] = words[..] else {
            return Some(Err(format!("it is not '{WORD}' and four words")));
        };
        // Its words have the form of a thread's.
        let entry = Entry::parse(&format!("{VERSION} {boot} {pid_namespace} {pid} {pid} {start} 0"));
        Some(entry.map(|Entry { here, thread, .. }| Self { here, pid: thread.pid, start: thread.start }))
    }

    /// A name for a new journal of this process.
    pub(super) fn new_name(&self, kind: &str) -> String {
        let Self { here: BootNamespace { boot, pid_namespace }, pid, start } = self;
        let random = RandomState::new().build_hasher().finish();
        format!("{kind}.{boot}.{pid_namespace}.{pid}.{start}.{random:016x}")
    }

    /// The owner in the name of a journal of that kind; `None` for another file.
    pub(super) fn of_name(kind: &str, name: &str) -> Option<Self> {
        let words: Vec<&str> = name.split('.').collect();
        let [first, boot, pid_namespace, pid, start, _] = words[..] else { return None };
        if first != kind {
            return None;
        }
        Self::parse(&format!("{WORD} {boot} {pid_namespace} {pid} {start}"))?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_lines_read_back() {
        let this = Owner::this();
        assert!(this.is_alive());
        assert_eq!(Owner::of_name(MASKS, &this.new_name(MASKS)), Some(this.clone()));
        assert_ne!(this.new_name(MASKS), this.new_name(MASKS));
        assert_eq!(Owner::of_name("smt", &this.new_name(MASKS)), None);
        assert_eq!(Owner::parse(this.line().trim_end()).unwrap().unwrap(), this);
        assert!(!Owner { start: this.start + 1, ..this.clone() }.is_alive(), "the number was given again");
        assert!(!Owner { pid: 1 << 23, ..this }.is_alive());
    }

    #[test]
    fn other_names_and_damaged_lines_are_none() {
        for name in ["masks", "masks.b.1.7", "masks.b.1.x.9.a", "masks.b.1.7.9.a.tmp", "other.b.1.7.9.a"] {
            assert_eq!(Owner::of_name(MASKS, name), None, "{name}");
        }
        assert_eq!(Owner::parse("v1 b 1 77 78 1234 0"), None);
        for line in ["owner ", "owner b 1 7", "owner b 1 0 9", "owner b 1 7 soon", "owner ../b 1 7 9"] {
            assert!(Owner::parse(line).unwrap().is_err(), "{line}");
        }
    }
}
