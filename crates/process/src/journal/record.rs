//! Recording masks, in turn with other studies of this user, whose journals show a thread's own masks.

use super::entry::{BootNamespace, Entry, Thread};
use super::error::JournalError;
use super::file::{append, file_error};
use super::server::{Known, ServerEntry, is_group, of_here};
use super::{Journal, first_mask, look, others};
use crate::find::{Families, Server};
use crate::proc;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use threadwise_machine::CpuSet;

impl Journal {
    /// Records the present masks of threads (process, thread), durably, unless they are recorded already.
    /// Returns those that are now in the journal, whose masks the caller may change; the others have ended. A mask that
    /// another study set meanwhile is not the thread's own: that study's journal has the first one.
    ///
    /// # Errors
    /// The journal cannot be written, and no mask may be changed.
    pub fn record_all(&self, threads: &[(u32, u32)]) -> Result<Vec<(u32, u32)>, JournalError> {
        let _turn = others::turn(&self.path, &self.folder)?;
        let others = others::running(&self.path)?;
        let (mut file, text) = self.locked()?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let here = BootNamespace::now();
        let entries: Vec<Entry> = text[..whole]
            .lines()
            .filter_map(|line| Entry::parse(line).ok())
            .filter(|entry| entry.here == here)
            .collect();
        let mut known: BTreeSet<Thread> = entries.iter().map(|entry| entry.thread).collect();
        let (mut lines, mut recorded) = (String::new(), Vec::new());
        let mut write = |thread: Thread, mask: CpuSet| {
            if known.insert(thread) {
                lines.push_str(&Entry { here: here.clone(), thread, mask }.line());
            }
        };
        for &(pid, tid) in threads {
            let Some((thread, mask)) = look(pid, tid) else { continue };
            match first_mask(&entries, pid) {
                // Started since, perhaps by a bound thread: its present mask means nothing.
                Some(first) => write(thread, first),
                None => {
                    write(thread, others::own_mask(&others, thread, mask));
                    // All of a process at once, so that one without a line is known to be new.
                    let siblings = proc::threads(pid).into_iter().filter_map(|(other, _)| look(pid, other));
                    siblings.for_each(|(other, mask)| write(other, others::own_mask(&others, other, mask)));
                }
            }
            recorded.push((pid, tid));
        }
        if !lines.is_empty() {
            append(&mut file, whole as u64, &lines)
                .map_err(|source| file_error("write", &self.path, source))?;
        }
        Ok(recorded)
    }

    /// Records, durably, that all of a server is about to be bound to `given`, and the present masks
    /// of some of its threads (process, thread). Returns those that are now in the journal; the others
    /// have ended. Before the first call for a server nothing of it may be bound. A process whose
    /// parents have ended counts as a descendant of the server's first process.
    ///
    /// # Errors
    /// The journal cannot be written, or another study binds the server: no mask may be changed.
    pub fn record_server(
        &self,
        server: &Server,
        given: &CpuSet,
        threads: &[(u32, u32)],
    ) -> Result<Vec<(u32, u32)>, JournalError> {
        if let Some(group) = server.group.as_deref().filter(|group| !is_group(group)) {
            let why = format!("the control group {} cannot be recorded", group.display());
            return Err(JournalError::Unsafe { path: self.path.clone(), why });
        }
        let _turn = others::turn(&self.path, &self.folder)?;
        let others = others::running(&self.path)?;
        others::expect_unbound_by(&others, server)?;
        let (mut file, text) = self.locked()?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let here = BootNamespace::now();
        let (entries, servers) = of_here(&text[..whole], &here);
        let known = Known::of(&entries, &servers);
        let of_server =
            || servers.iter().find(|entry| entry.server == *server).map(|entry| entry.first.clone());
        let (mut lines, mut added, mut recorded) = (String::new(), BTreeSet::new(), Vec::new());
        let families = OnceCell::new();
        for &(pid, tid) in threads {
            let Some((thread, present)) = look(pid, tid) else { continue };
            let present = others::own_mask(&others, thread, present);
            recorded.push((pid, tid));
            if known.threads.contains(&thread) || !added.insert(thread) {
                continue;
            }
            let inherited = || known.inherited(families.get_or_init(Families::now), pid).or_else(of_server);
            let mask = known.was_given(&present).then(inherited).flatten().unwrap_or(present);
            lines.push_str(&Entry { here: here.clone(), thread, mask }.line());
        }
        let is_there = servers.iter().any(|entry| entry.server == *server && entry.given == *given);
        let root = look(server.root.0, server.root.0).filter(|(thread, _)| thread.start == server.root.1);
        if let (false, Some((_, present))) = (is_there, root) {
            let first = known.processes.get(&server.root).map_or(present, |mask| (*mask).clone());
            let entry = ServerEntry { here, server: server.clone(), first, given: given.clone() };
            lines.push_str(&entry.line());
        }
        if !lines.is_empty() {
            append(&mut file, whole as u64, &lines)
                .map_err(|source| file_error("write", &self.path, source))?;
        }
        Ok(recorded)
    }
}
