//! A server that is bound with all its processes, including later ones.
//!
//! Such processes have no line of their own, and there may be thousands during a study. One line
//! for the server and each mask that it is given covers them: `server BOOT PIDNS PID START FIRST GIVEN
//! GROUP`. A process of the server that has no line and exactly a mask that was given has inherited that, and
//! gets the first mask of its nearest ancestor with a line (if there is none, of the first process in the same control
//! group). A process with another mask set it itself and keeps it.

use super::entry::{self, BootNamespace, Entry, Thread};
use super::error::JournalError;
use super::file::read;
use super::put_back::{Restored, agrees, online, put_back};
use super::{Journal, look};
use crate::find::{self, Families, Identity, Server};
use crate::proc;
use rustix::fs::OFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use threadwise_machine::CpuSet;

/// First word of such a line.
const WORD: &str = "server";
/// Passes after which a server counts as starting processes faster than they can be restored.
const LOOKS: u32 = 200;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerEntry {
    pub(super) here: BootNamespace,
    pub(super) server: Server,
    /// Mask that its first process had.
    pub(super) first: CpuSet,
    /// Mask that its processes are given.
    pub(super) given: CpuSet,
}

/// The contents of a line, if it is one of a server.
pub(super) fn parse(line: &str) -> Option<Result<ServerEntry, String>> {
    let rest = line.strip_prefix(WORD)?.strip_prefix(' ')?;
    Some(ServerEntry::parse(rest))
}

impl ServerEntry {
    pub(super) fn line(&self) -> String {
        let Self { here: BootNamespace { boot, pid_namespace }, server, first, given } = self;
        let (pid, start) = server.root;
        let group = server.group.as_ref().map_or_else(|| "-".to_owned(), |group| group.display().to_string());
        format!("{WORD} {boot} {pid_namespace} {pid} {start} {first} {given} {group}\n")
    }

    fn parse(rest: &str) -> Result<Self, String> {
        let words: Vec<&str> = rest.split(' ').collect();
        let [boot, pid_namespace, pid, start, first, given, group] = words[..] else {
            return Err(format!("it is not '{WORD}' and seven words"));
        };
        // Its numbers and its first mask have the form of a thread's.
        let of_thread = format!("{} {boot} {pid_namespace} {pid} {pid} {start}", entry::VERSION);
        let Entry { here, thread, mask: first } = Entry::parse(&format!("{of_thread} {first}"))?;
        let given = Entry::parse(&format!("{of_thread} {given}"))?.mask;
        let group = match group {
            "-" => None,
            path if is_group(Path::new(path)) => Some(PathBuf::from(path)),
            _ => return Err("its control group is not a path".into()),
        };
        Ok(Self { here, server: Server { root: (thread.pid, thread.start), group }, first, given })
    }
}

/// Whether a path can be that of a group, and be written as one word.
pub(super) fn is_group(path: &Path) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    path.starts_with("/sys/fs/cgroup")
        && path.components().all(|step| step != Component::ParentDir)
        && path.to_str().is_some_and(|text| text.bytes().all(is_plain))
}

/// A journal's records for a boot and namespace.
pub(super) struct Known<'a> {
    pub(super) threads: BTreeSet<Thread>,
    /// First masks of processes: those of their first threads.
    pub(super) processes: BTreeMap<Identity, &'a CpuSet>,
    servers: &'a [ServerEntry],
}

impl<'a> Known<'a> {
    pub(super) fn of(entries: &'a [Entry], servers: &'a [ServerEntry]) -> Self {
        let mut processes = BTreeMap::new();
        for Entry { thread, mask, .. } in entries.iter().filter(|entry| entry.thread.pid == entry.thread.tid)
        {
            processes.entry((thread.pid, thread.start)).or_insert(mask);
        }
        Self { threads: entries.iter().map(|entry| entry.thread).collect(), processes, servers }
    }

    pub(super) fn was_given(&self, mask: &CpuSet) -> bool {
        self.servers.iter().any(|entry| entry.given == *mask)
    }

    /// The mask that a process without a line would have had without threadwise.
    pub(super) fn inherited(&self, families: &Families, pid: u32) -> Option<CpuSet> {
        let of_ancestor = || families.nearest(pid, |process| self.processes.get(&process).copied().cloned());
        let of_group = || {
            let is_in = |entry: &&ServerEntry| {
                entry.server.group.as_deref().is_some_and(|group| find::is_in_group(pid, group))
            };
            self.servers.iter().find(is_in).map(|entry| entry.first.clone())
        };
        of_ancestor().or_else(of_group)
    }
}

impl Journal {
    /// Start time of the process of that number in any line.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn server_start(&self, pid: u32) -> Result<Option<u64>, JournalError> {
        let mut file = self.open_file(OFlags::empty())?;
        let text = read(&mut file, &self.path)?;
        let (_, servers) = of_here(&text, &BootNamespace::now());
        Ok(servers.iter().map(|entry| entry.server.root).find(|root| root.0 == pid).map(|root| root.1))
    }
}

/// Lines of threads and of servers that were written on this boot, in this namespace.
pub(super) fn of_here(text: &str, here: &BootNamespace) -> (Vec<Entry>, Vec<ServerEntry>) {
    let entries = text.lines().filter_map(|line| Entry::parse(line).ok());
    let servers = text.lines().filter_map(|line| parse(line)?.ok());
    (
        entries.filter(|entry| entry.here == *here).collect(),
        servers.filter(|entry| entry.here == *here).collect(),
    )
}

/// Restores what has no line, repeatedly until two passes find nothing: a process that is not
/// restored yet may start another meanwhile, and a restored one starts only correct ones.
pub(super) fn put_back_heirs(entries: &[Entry], servers: &[ServerEntry], restored: &mut Restored) {
    let known = Known::of(entries, servers);
    let mut in_vain = BTreeSet::new();
    let mut quiet = 0;
    for _ in 0..LOOKS {
        let found = heirs(&known, &in_vain);
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            return;
        }
        for entry in found {
            match put_back(&entry) {
                Ok(true) => restored.put_back += 1,
                Ok(false) => {}
                Err(why) => {
                    in_vain.insert(entry.thread);
                    let Thread { pid, tid, .. } = entry.thread;
                    restored.failed.push(format!("thread {tid} of process {pid}: {why}"));
                }
            }
        }
    }
    restored.failed.push("the server starts processes faster than their masks can be restored".to_owned());
}

/// Threads without a line that have now inherited a mask that threadwise gave.
pub(super) fn heirs_of(entries: &[Entry], servers: &[ServerEntry]) -> Vec<Entry> {
    heirs(&Known::of(entries, servers), &BTreeSet::new())
}

/// Threads that have inherited such a mask, with the one that they should have.
fn heirs(known: &Known<'_>, in_vain: &BTreeSet<Thread>) -> Vec<Entry> {
    let processes: BTreeSet<Identity> = known.processes.keys().copied().collect();
    let (online, here) = (online(), BootNamespace::now());
    let members = known.servers.iter().flat_map(|entry| entry.server.members(&processes));
    let pids: BTreeSet<u32> = members.map(|member| member.process.0).collect();
    let families = Families::now();
    let mut found = Vec::new();
    for pid in pids {
        let threads = proc::thread_numbers(pid).into_iter().filter_map(|tid| look(pid, tid));
        let ours = threads.filter(|(thread, mask)| {
            !known.threads.contains(thread) && !in_vain.contains(thread) && known.was_given(mask)
        });
        let ours: Vec<(Thread, CpuSet)> = ours.collect();
        let Some(mask) = (!ours.is_empty()).then(|| known.inherited(&families, pid)).flatten() else {
            continue;
        };
        let astray = ours.into_iter().filter(|(_, present)| !agrees(&mask, present, online.as_ref()));
        found.extend(astray.map(|(thread, _)| Entry { here: here.clone(), thread, mask: mask.clone() }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(group: Option<&str>) -> ServerEntry {
        let set = |list| CpuSet::parse_list(list).unwrap();
        let here = BootNamespace { boot: "3f2a-b".into(), pid_namespace: "4026531836".into() };
        let server = Server { root: (77, 1234), group: group.map(PathBuf::from) };
        ServerEntry { here, server, first: set("0-3,8"), given: set("1") }
    }

    #[test]
    fn a_line_reads_back() {
        assert_eq!(entry(None).line(), "server 3f2a-b 4026531836 77 1234 0-3,8 1 -\n");
        let group = "/sys/fs/cgroup/system.slice/db@1\\x2d.service";
        for group in [None, Some(group)] {
            let line = entry(group).line();
            assert_eq!(parse(line.trim_end()).unwrap().unwrap(), entry(group));
            assert!(Entry::parse(line.trim_end()).is_err(), "it is no line of a thread");
        }
    }

    #[test]
    fn every_damaged_line_is_refused() {
        assert_eq!(parse("v1 b 1 77 78 1234 0"), None);
        for rest in [
            "",
            "b 1 77 1234 0 1",
            "b 1 77 1234 0 1 - -",
            "b 1 0 1234 0 1 -",
            "b 1 77 soon 0 1 -",
            "b 1 77 1234  1 -",
            "b 1 77 1234 0 x -",
            "b 1 77 1234 0 1 /etc",
            "b 1 77 1234 0 1 /sys/fs/cgroup/../../etc",
            "../b 1 77 1234 0 1 -",
        ] {
            assert!(parse(&format!("server {rest}")).unwrap().is_err(), "{rest}");
        }
    }
}
