//! Real processes and real files: what is started ends, what is changed is put back, what is copied is
//! whole. The test program starts itself again where a process has to be killed.

#![allow(clippy::unwrap_used)]

mod folder_processes;
mod journal;
mod left;
mod masks;
mod pinned;
mod spawn;
mod template;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use threadwise_process::{User, users};

/// Long enough for anything on a busy machine; a test that works never waits for it.
const LONG: Duration = Duration::from_secs(60);
/// Names the folder of the test to the program started again.
const FOLDER: &str = "SERVER_TEST_FOLDER";

/// Waits for something that happens in another process.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process is there and no zombie.
fn is_running(pid: u32) -> bool {
    let stat =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
    let is_alive = |stat: String| {
        stat.rsplit_once(')').is_some_and(|(_, rest)| !matches!(rest.trim().chars().next(), Some('Z' | 'X')))
    };
    // The first thread of a killed process may have ended while another one still holds its files and locks.
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.map(stat).any(is_alive)
}

/// A folder that every user may enter, by its real path.
fn open_folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o755);
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Another user than we are, which only root can become.
fn another_user() -> User {
    let uid = rustix::process::geteuid().as_raw();
    let mut found = ["daemon", "bin"].into_iter().filter_map(|name| users::find(Path::new("/"), &[name]));
    found.find(|user| user.uid != uid).unwrap()
}

/// Numbers that processes wrote to a file, one a line, once there are so many.
fn pids_in(file: &Path, count: usize) -> Vec<u32> {
    let read = || -> Vec<u32> {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(|line| line.trim().parse().ok()).collect()
    };
    wait_until("the start of all processes", || read().len() >= count);
    read()
}

/// A child that is killed when the test ends, however it ends.
struct Killed(Child);

impl Killed {
    fn sh(script: &str, folder: &Path) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir(folder).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Runs one test of this program in a process of its own, which finds `folder` in [`FOLDER`].
    fn again(test: &str, folder: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(FOLDER, folder).stdin(Stdio::null());
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.end();
    }
}

/// The folder of the test that started this program again, if one did.
fn started_again() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs `action` on a thread that lacks what root lacks in a container, where this thread is root's.
fn without_capabilities(action: impl FnOnce() + Send + 'static) {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    std::thread::spawn(move || {
        let mut sets = capabilities(None).unwrap();
        for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
            set.remove(CapabilitySet::SYS_PTRACE | CapabilitySet::SYS_NICE | CapabilitySet::KILL);
        }
        set_capabilities(None, sets).unwrap();
        action();
    })
    .join()
    .unwrap();
}
