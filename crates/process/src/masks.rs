//! Binding threads of other processes to logical CPUs, with read-back.
//!
//! Source: `sched_setaffinity(2)`. A mask binds one thread, and what that thread starts later; existing threads
//! and processes keep theirs. Changes to masks of foreign processes are recorded first, see [`crate::journal`].

use crate::as_owner;
use rustix::io::Errno;
use std::io;
use threadwise_machine::{CpuSet, pin};

/// Why a thread is not bound as requested.
#[derive(Debug, thiserror::Error)]
pub enum MaskError {
    /// The wanted set is empty.
    #[error("thread {tid} cannot be bound to an empty set of logical CPUs")]
    Empty {
        /// The thread.
        tid: u32,
    },
    /// The thread has ended.
    #[error("thread {tid} has ended; look for the server's threads again")]
    Ended {
        /// The thread.
        tid: u32,
    },
    /// The thread belongs to another user.
    #[error(
        "thread {tid} may not be bound by this user: run as the server's user, as root, or with CAP_SYS_NICE"
    )]
    NotAllowed {
        /// The thread.
        tid: u32,
    },
    /// The kernel refused for another reason.
    #[error(
        "thread {tid} cannot be bound to logical CPUs {wanted}: {source}; check which CPUs are online and in the server's cpuset"
    )]
    Refused {
        /// The thread.
        tid: u32,
        /// The wanted set.
        wanted: CpuSet,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The kernel accepted another mask.
    #[error(
        "thread {tid} was bound to logical CPUs {wanted} but its mask reads back {actual}: check the server's cpuset and for offline CPUs"
    )]
    Differs {
        /// The thread.
        tid: u32,
        /// The wanted set.
        wanted: CpuSet,
        /// The set read back.
        actual: CpuSet,
    },
}

/// Binds a thread of any process and reads its mask back.
///
/// # Errors
/// See [`MaskError`].
pub fn set_thread(tid: u32, wanted: &CpuSet) -> Result<(), MaskError> {
    let actual = set_and_read(tid, wanted)?;
    if actual != *wanted {
        return Err(MaskError::Differs { tid, wanted: wanted.clone(), actual });
    }
    Ok(())
}

/// Binds a thread and returns the mask that it then has.
pub(crate) fn set_and_read(tid: u32, wanted: &CpuSet) -> Result<CpuSet, MaskError> {
    if wanted.is_empty() {
        return Err(MaskError::Empty { tid });
    }
    let refused = |source: io::Error| match Errno::from_io_error(&source) {
        Some(Errno::SRCH) => MaskError::Ended { tid },
        Some(Errno::PERM | Errno::ACCESS) => MaskError::NotAllowed { tid },
        _ => MaskError::Refused { tid, wanted: wanted.clone(), source },
    };
    let set = || pin::set_thread_affinity(tid, wanted);
    match set() {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::PERM) => {
            as_owner::run(tid, set).unwrap_or(Err(error))
        }
        other => other,
    }
    .map_err(refused)?;
    // A thread's number also works as a process number below /proc (`proc_tid(5)`).
    pin::thread_affinity(tid, tid).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => MaskError::Ended { tid },
        _ => refused(error),
    })
}
