//! Binding of a server's threads: whether their masks may be changed, and changing them. Masks of a server that
//! threadwise did not start are recorded first (`process::journal`).

use std::path::Path;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::journal::{Journal, NO_JOURNAL};
use threadwise_process::masks::{self, MaskError};

/// A thread by its process and its own number.
pub type Thread = (u32, u32);

/// Whether and how masks may be changed.
#[derive(Debug)]
pub enum Rights {
    /// Threadwise started the server and ends it.
    Ours,
    /// A foreign server: every mask is recorded before a change.
    Journalled(Journal),
    /// No mask may be changed; the reason.
    None(String),
}

impl Rights {
    /// The rights on a server whose threads are visible here: `ours` is one that threadwise started. Without a
    /// journal a foreign one is not changed.
    pub fn of(ours: bool, journal: Option<&Path>) -> Self {
        match (ours, journal) {
            (true, _) => Self::Ours,
            (false, None) => Self::None(NO_JOURNAL.into()),
            (false, Some(path)) => match Journal::open(path) {
                Ok(journal) => Self::Journalled(journal),
                Err(cause) => Self::None(cause.to_string()),
            },
        }
    }

    /// Why nothing is bound; `None` if threads are bound.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Self::None(why) => Some(why),
            Self::Ours | Self::Journalled(_) => None,
        }
    }

    /// Whether a thread may be bound at all: tried by setting the mask that it has. If one may not, none is
    /// bound. A thread that has ended is no reason against it.
    ///
    /// # Errors
    /// Why not.
    pub fn may_bind(&self, (pid, tid): Thread) -> Result<(), String> {
        if let Some(why) = self.refusal() {
            return Err(why.to_owned());
        }
        let Ok(mask) = pin::thread_affinity(pid, tid) else { return Ok(()) };
        match masks::set_thread(tid, &mask) {
            Ok(()) | Err(MaskError::Ended { .. }) => Ok(()),
            Err(cause) => Err(cause.to_string()),
        }
    }

    /// Binds a thread. One that is in place already is not changed, and so not recorded.
    ///
    /// # Errors
    /// Its mask cannot be recorded or set.
    pub fn bind(&self, thread: Thread, cpus: &CpuSet) -> Result<(), String> {
        match self.bind_running(&[thread], cpus)?.as_slice() {
            [] => Err(MaskError::Ended { tid: thread.1 }.to_string()),
            _ => Ok(()),
        }
    }

    /// Binds threads, some of which may have ended; gives those that are running. Masks are recorded together.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_running(&self, threads: &[Thread], cpus: &CpuSet) -> Result<Vec<Thread>, String> {
        let mask = |&(pid, tid): &Thread| pin::thread_affinity(pid, tid).ok();
        let running: Vec<(Thread, CpuSet)> =
            threads.iter().filter_map(|thread| Some((*thread, mask(thread)?))).collect();
        let (there, astray): (Vec<_>, Vec<_>) = running.into_iter().partition(|(_, mask)| mask == cpus);
        let mut bound: Vec<Thread> = there.into_iter().map(|(thread, _)| thread).collect();
        let mut astray: Vec<Thread> = astray.into_iter().map(|(thread, _)| thread).collect();
        match self {
            Self::None(why) => return Err(why.clone()),
            // Those that cannot be recorded have ended.
            Self::Journalled(journal) if !astray.is_empty() => {
                astray = journal.record_all(&astray).map_err(|cause| cause.to_string())?;
            }
            Self::Journalled(_) | Self::Ours => {}
        }
        for thread in astray {
            match masks::set_thread(thread.1, cpus) {
                Ok(()) => bound.push(thread),
                Err(MaskError::Ended { .. }) => {}
                Err(cause) => return Err(cause.to_string()),
            }
        }
        Ok(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A thread of this process that waits until it is released.
    fn waiting() -> (Thread, mpsc::Sender<()>) {
        let ((sender, numbers), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        std::thread::spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
            let _ = ended.recv();
        });
        ((std::process::id(), numbers.recv().unwrap()), end)
    }

    #[test]
    fn a_foreign_thread_is_written_down_before_it_moves_and_one_that_is_there_is_not() {
        let folder = tempfile::tempdir().unwrap();
        // No other user may read a journal.
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.path(), private).unwrap();
        let journal = folder.path().join("journal");
        let (thread, _end) = waiting();
        let here = pin::thread_affinity(thread.0, thread.1).unwrap();
        let one: CpuSet = here.first().into_iter().collect();
        let rights = Rights::of(false, Some(&journal));
        let written = || std::fs::read_to_string(&journal).unwrap_or_default();
        assert_eq!(rights.bind(thread, &here), Ok(()));
        assert!(!written().contains(&format!(" {} ", thread.1)), "{}", written());
        assert_eq!(rights.bind_running(&[thread, (thread.0, u32::MAX >> 2)], &one), Ok(vec![thread]));
        assert_eq!(pin::thread_affinity(thread.0, thread.1).unwrap(), one);
        let is_new = here != one;
        assert_eq!(written().contains(&format!(" {} ", thread.1)), is_new, "{}", written());
        assert!(rights.bind((thread.0, u32::MAX >> 2), &one).unwrap_err().contains("has ended"));
    }

    #[test]
    fn without_a_journal_nothing_of_a_foreign_server_is_bound() {
        let (thread, _end) = waiting();
        let here = pin::thread_affinity(thread.0, thread.1).unwrap();
        let rights = Rights::of(false, None);
        assert!(rights.refusal().is_some() && rights.bind(thread, &here).is_err());
        assert!(rights.may_bind(thread).is_err());
        let ours = Rights::of(true, None);
        assert_eq!((ours.refusal(), ours.may_bind(thread), ours.bind(thread, &here)), (None, Ok(()), Ok(())));
        assert_eq!(ours.may_bind((1 << 30, 1 << 30)), Ok(()));
    }
}
