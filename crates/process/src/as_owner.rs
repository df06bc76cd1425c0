//! Acting as the user of a process, if root lacks the right.
//!
//! Root in a container usually has no `CAP_SYS_PTRACE` (needed to read another user's /proc/PID/cwd)
//! and no `CAP_SYS_NICE` (needed to set another user's masks), but it may become that
//! user, who needs neither. Source: `ptrace(2)` ("Ptrace access mode checking"),
//! `sched_setaffinity(2)`, `credentials(7)` and `setresuid(2)`: to the kernel, users belong to
//! threads, so a separate thread becomes the other user and then ends. A process with one thread
//! becomes another user as a whole, and permanently.

use crate::proc;
use crate::users::{self, Account};
use rustix::process::{DumpableBehavior, Gid, Uid, dumpable_behavior, set_dumpable_behavior};
use rustix::thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::io;
use std::sync::{Mutex, PoisonError};

/// One at a time, since all of them change process-wide state, see `run`.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The result of `action`, run with the effective user and group of the process `pid`. `None` if that
/// changes nothing or is not possible: this process is not root's, `pid` is root's too, or has ended.
pub(crate) fn run<T: Send>(pid: u32, action: impl FnOnce() -> T + Send) -> Option<T> {
    let owner = proc::owner(pid).filter(|owner| users::is_root() && owner.uid != 0)?;
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // The kernel hides a process that has changed its user from others (`prctl(2)`,
    // PR_SET_DUMPABLE); this one holds no secrets.
    let before = dumpable_behavior();
    let result =
        std::thread::scope(|scope| scope.spawn(|| become_user(owner).ok().map(|()| action())).join());
    if before == Ok(DumpableBehavior::Dumpable) {
        // Without it other tools of this user see less of this process; no other effect.
        let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    }
    result.ok().flatten()
}

/// The calling thread's effective user and group; the group first, since the new user may not.
fn become_user(owner: proc::Owner) -> rustix::io::Result<()> {
    set_thread_res_gid(None::<Gid>, Gid::from_raw(owner.gid), None::<Gid>)?;
    set_thread_res_uid(None::<Uid>, Uid::from_raw(owner.uid), None::<Uid>)
}

/// Makes this whole process another user's permanently: further groups, group and user, real, effective and saved,
/// without a way back through a program with a set-user-ID bit. Call it before any thread is started.
///
/// # Errors
/// The kernel's, the user is root, or the process has more than one thread: it must then end, since it
/// may be partly another user.
pub fn become_for_good(account: &Account) -> io::Result<()> {
    if account.uid == 0 || std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other(
            "only a process with one thread can become another user, and never root",
        ));
    }
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    let groups: Vec<Gid> = account.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    // The groups first, since the new user may not.
    set_thread_groups(&groups)?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    set_no_new_privs(true)?;
    // In user namespaces and under security modules a call may have no full effect.
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
