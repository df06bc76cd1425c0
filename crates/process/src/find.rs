//! Finding a running server by its process number, a socket that it listens on or its systemd unit, and finding its
//! processes.
//!
//! A server is a process and all its descendants and, if a unit was named, all processes of
//! that unit's control group. Source: `proc_pid_stat(5)`, `proc_pid_net(5)`, `proc_pid_fd(5)`,
//! `unix(7)`, `systemd.resource-control(5)` (a unit has a group of its name), kernel
//! `Documentation/admin-guide/cgroup-v2.rst` (`cgroup.procs`).

mod cpuset;
mod group;
mod listening;
mod unit;

use crate::{proc, users};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

pub use cpuset::allowed_cpus;
pub(crate) use group::is_in_group;
pub use listening::{by_port, by_socket};
pub use unit::by_unit;

/// A process by number and start time, which together are unique.
pub type Identity = (u32, u64);

/// Flag of kernel threads in field 9 of a stat file (`PF_KTHREAD` of the kernel's sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Why no single server was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// There is no such server.
    #[error("{what}: {next}")]
    Absent {
        /// What was looked for and not found.
        what: String,
        /// The next step.
        next: &'static str,
    },
    /// The name is ambiguous.
    #[error("{what} is ambiguous: {found}; name one by its process number")]
    Several {
        /// What was looked for.
        what: String,
        /// The processes.
        found: String,
    },
    /// The listening process is not the server.
    #[error(
        "{what} belongs to {program} (process {pid}), which forwards connections: name the process of the server \
         itself, if it is on this machine"
    )]
    Proxy {
        /// What was looked for.
        what: String,
        /// Name of the program that listens.
        program: String,
        /// Its process.
        pid: u32,
    },
    /// Its processes are not visible.
    #[error(
        "{what} belongs to a process of {owner}, which this user cannot inspect: run as that user or as root"
    )]
    Hidden {
        /// What was looked for.
        what: String,
        /// The user.
        owner: String,
    },
}

/// A server, by its first process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its first process.
    pub root: Identity,
    /// Folder of its control group, if it has one for itself.
    pub group: Option<PathBuf>,
}

/// A process of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Number and start time.
    pub process: Identity,
    /// Whether it is known only from earlier: its parent has ended.
    pub is_orphan: bool,
}

/// The server of a process that the user names.
///
/// # Errors
/// There is no such process, or it is a thread of another.
pub fn by_pid(pid: u32) -> Result<Server, FindError> {
    // A thread's number also works as a process number below /proc (`proc_tid(5)`), but is not listed there.
    if let Some(process) = proc::process_of(pid).filter(|&process| process != pid) {
        let what = format!("{pid} is a thread of process {process}");
        return Err(FindError::Absent { what, next: "name the process" });
    }
    match proc::start_time(pid, pid).filter(|_| !proc::has_ended(pid)) {
        Some(start) => Ok(Server { root: (pid, start), group: None }),
        None => Err(FindError::Absent {
            what: format!("there is no process {pid}"),
            next: "look its number up again, or name its port as port:N",
        }),
    }
}

impl Server {
    /// Whether its first process, or any of its group, still exists.
    pub fn is_alive(&self) -> bool {
        let (pid, start) = self.root;
        let is_there = || proc::start_time(pid, pid) == Some(start) && !proc::has_ended(pid);
        self.group.as_deref().map_or_else(is_there, |group| !group::processes(group).is_empty())
    }

    /// Its processes; also those of `known` that still live and their descendants, since a process whose
    /// parent has ended has no ancestors.
    pub fn members(&self, known: &BTreeSet<Identity>) -> Vec<Member> {
        let table = table();
        let group = self.group.as_deref().map(group::processes).unwrap_or_default();
        let is_own = |process: Identity| process == self.root || group.contains(&process.0);
        let is_known = |process: Identity| is_own(process) || known.contains(&process);
        let is_member = |pid: u32| ancestors(&table, pid).any(is_known);
        let members = table.iter().filter(|(pid, _)| is_member(**pid));
        members
            .map(|(&pid, row)| {
                let process = (pid, row.start);
                Member { process, is_orphan: !is_own(process) && !is_member(row.parent) }
            })
            .collect()
    }

    /// Why its masks may not be changed, or could not be restored.
    pub fn refusal(&self) -> Option<String> {
        let (root, this) = (self.root.0, std::process::id());
        if root == 1 {
            return Some("process 1 is the ancestor of all others: name the server itself".into());
        }
        let table = table();
        if table.get(&root).is_some_and(|row| row.is_kernel) {
            return Some(format!("process {root} is a kernel thread, which the kernel places"));
        }
        if ancestors(&table, root).any(|(pid, _)| pid == this) {
            return Some(format!("process {root} was started by threadwise and already has its placement"));
        }
        let members = self.members(&BTreeSet::new());
        if members.iter().any(|member| member.process.0 == this) {
            return Some(format!("threadwise was started by process {root}, or is in its unit"));
        }
        members.iter().find_map(|member| {
            let (pid, uid) = (member.process.0, proc::owner(member.process.0)?.uid);
            let may = users::is_root() || uid == rustix::process::geteuid().as_raw();
            (!may).then(|| {
                format!(
                    "{} (process {pid}) belongs to {}: run as that user or as root",
                    proc::comm(pid).unwrap_or_default(),
                    user(uid)
                )
            })
        })
    }

    /// As text: `postgres (process 812), 9 threads in 7 processes`.
    pub fn described(&self) -> String {
        let members = self.members(&BTreeSet::new());
        let threads: usize = members.iter().map(|member| proc::thread_numbers(member.process.0).len()).sum();
        let plural =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        format!(
            "{} (process {}), {} in {}",
            proc::comm(self.root.0).unwrap_or_default(),
            self.root.0,
            plural(threads, "thread", "threads"),
            plural(members.len(), "process", "processes")
        )
    }

    /// CPU time of its control group since the group was made; `None` if it has none for itself, or the
    /// group does not count.
    pub fn group_cpu_ns(&self) -> Option<u64> {
        let text = fs::read_to_string(self.group.as_ref()?.join("cpu.stat")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        line.trim().parse::<u64>().ok()?.checked_mul(1000)
    }
}

/// A user by name if it has one here.
fn user(uid: u32) -> String {
    users::name_of(uid).map_or_else(|| format!("user number {uid}"), |name| format!("user {name}"))
}

/// What one reading of all processes shows of each.
struct Row {
    parent: u32,
    start: u64,
    is_kernel: bool,
}

fn table() -> BTreeMap<u32, Row> {
    let row = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let number = |field: usize| proc::stat_field(&stat, field)?.parse::<u64>().ok();
        let parent = u32::try_from(number(4)?).ok()?;
        Some((pid, Row { parent, start: number(22)?, is_kernel: number(9)? & KERNEL_THREAD != 0 }))
    };
    proc::processes().into_iter().filter_map(row).collect()
}

/// A process, its parent, that one's parent and so on, as far as the table has them.
fn ancestors(table: &BTreeMap<u32, Row>, pid: u32) -> impl Iterator<Item = Identity> + '_ {
    let mut next = Some(pid);
    // Rows are of different moments, so that reused numbers could make a ring.
    (0..table.len()).map_while(move |_| {
        let pid = next?;
        let row = table.get(&pid)?;
        next = Some(row.parent);
        Some((pid, row.start))
    })
}

/// Parents of all processes at one moment, for many questions, since reading all processes takes long.
pub(crate) struct Families(BTreeMap<u32, Row>);

impl Families {
    pub(crate) fn now() -> Self {
        Self(table())
    }

    /// The nearest of a process and its ancestors for which `of` gives something.
    pub(crate) fn nearest<T>(&self, pid: u32, what: impl Fn(Identity) -> Option<T>) -> Option<T> {
        ancestors(&self.0, pid).find_map(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_own_process_is_found_and_refused() {
        let this = std::process::id();
        let server = by_pid(this).unwrap();
        assert!(server.is_alive());
        assert!(server.described().contains(&format!("process {this}")), "{}", server.described());
        assert!(server.refusal().unwrap().contains("started by threadwise"));
        let parent = by_pid(proc::parent(this).unwrap()).unwrap();
        assert!(parent.refusal().unwrap().contains(if parent.root.0 == 1 {
            "process 1"
        } else {
            "threadwise"
        }));
        assert!(by_pid(1).unwrap().refusal().unwrap().contains("process 1"));
        assert!(by_pid(u32::MAX).unwrap_err().to_string().contains("port:N"));
        let of_thread = std::thread::spawn(|| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            by_pid(tid).unwrap_err().to_string()
        });
        assert!(of_thread.join().unwrap().contains(&format!("is a thread of process {this}")));
        let again = Server { root: (this, server.root.1 + 1), group: None };
        assert!(!again.is_alive() && again.members(&BTreeSet::new()).is_empty());
    }

    #[test]
    fn members_are_descendants_and_what_is_remembered() {
        let mut child =
            Command::new("sh").args(["-c", "sleep 600 & wait"]).stdin(Stdio::null()).spawn().unwrap();
        let server = by_pid(child.id()).unwrap();
        let grandchild = loop {
            if let Some(pid) = proc::children(child.id()).first() {
                break *pid;
            }
            std::thread::yield_now();
        };
        let known: BTreeSet<Identity> =
            server.members(&BTreeSet::new()).iter().map(|member| member.process).collect();
        assert!(known.iter().any(|(pid, _)| *pid == grandchild) && known.len() == 2, "{known:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!server.is_alive() && server.members(&BTreeSet::new()).is_empty());
        let orphans = server.members(&known);
        assert_eq!(orphans.len(), 1);
        assert!(orphans[0].process.0 == grandchild && orphans[0].is_orphan);
        let process = orphans[0].process;
        let _ = proc::signal_if(grandchild, crate::Signal::KILL, || known.contains(&process));
    }

    #[test]
    fn a_ring_of_numbers_has_an_end() {
        let row = |parent| Row { parent, start: 1, is_kernel: false };
        let table = BTreeMap::from([(7, row(8)), (8, row(7))]);
        assert_eq!(ancestors(&table, 7).count(), 2);
    }
}
