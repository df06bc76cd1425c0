//! Doing something as the user of a process, where root lacks the right to do it as root.
//!
//! Root in a container usually has no `CAP_SYS_PTRACE` (which reading another user's /proc/PID/cwd
//! takes) and no `CAP_SYS_NICE` (which setting another user's masks takes), yet it may become that
//! user, who needs neither. Source: `ptrace(2)` ("Ptrace access mode checking"),
//! `sched_setaffinity(2)`, `credentials(7)` and `setresuid(2)`: to the kernel, users belong to
//! threads, so a thread of its own takes the other user's part and ends with it. A process of one thread
//! becomes another user as a whole, and for good.

use crate::proc;
use crate::users::{self, Account};
use rustix::process::{DumpableBehavior, Gid, Uid, dumpable_behavior, set_dumpable_behavior};
use rustix::thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::io;
use std::sync::{Mutex, PoisonError};

/// One at a time, since all of them change what the whole process has in common, see `run`.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What `action` gives, done with the effective user and group of the process `pid`. `None` where
/// that changes nothing or cannot be: we are not root, the process is root's too, or has ended.
pub(crate) fn run<T: Send>(pid: u32, action: impl FnOnce() -> T + Send) -> Option<T> {
    let owner = proc::owner(pid).filter(|owner| users::is_root() && owner.uid != 0)?;
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // The kernel protects a process that has changed its user from others' eyes (`prctl(2)`,
    // PR_SET_DUMPABLE); it had no secrets before and has none afterwards.
    let before = dumpable_behavior();
    let result =
        std::thread::scope(|scope| scope.spawn(|| become_user(owner).ok().map(|()| action())).join());
    if before == Ok(DumpableBehavior::Dumpable) {
        // Without it other tools of this user see less of us, and nothing else happens.
        let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    }
    result.ok().flatten()
}

/// The calling thread's effective user and group; the group first, while it still may.
fn become_user(owner: proc::Owner) -> rustix::io::Result<()> {
    set_thread_res_gid(None::<Gid>, Gid::from_raw(owner.gid), None::<Gid>)?;
    set_thread_res_uid(None::<Uid>, Uid::from_raw(owner.uid), None::<Uid>)
}

/// Gives this whole process to a user for good: further groups, group and user, real, effective and saved,
/// and no way back by a program with a set-user-ID bit. To be called before any thread is started.
///
/// # Errors
/// The kernel's, the user is root, or the process has more than one thread: it must end then, since it
/// may be another user in part.
pub fn become_for_good(account: &Account) -> io::Result<()> {
    if account.uid == 0 || std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("only a process of one thread becomes another user, and never root"));
    }
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    let groups: Vec<Gid> = account.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    // The groups first, while it still may.
    set_thread_groups(&groups)?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    set_no_new_privs(true)?;
    // In user namespaces and under security modules a call may do less than it says.
    match set_thread_res_uid(None::<Uid>, Uid::ROOT, None::<Uid>) {
        Ok(()) => Err(io::Error::other("the process can still become root again")),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_itself_stays_who_it_is() {
        let before = proc::owner(std::process::id()).unwrap();
        assert_eq!(run(std::process::id(), || ()), None, "our own user is no other user");
        assert_eq!(run(u32::MAX, || ()), None);
        assert_eq!(proc::owner(std::process::id()).unwrap(), before);
    }

    #[test]
    fn a_process_with_threads_becomes_nobody_else() {
        let account = Account { uid: 12_345, gid: 12_345, groups: Vec::new() };
        let (first, release) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || release.recv().is_err());
        assert!(become_for_good(&account).unwrap_err().to_string().contains("one thread"));
        assert!(become_for_good(&Account { uid: 0, ..account }).is_err());
        drop(first);
        assert!(other.join().unwrap());
    }
}
