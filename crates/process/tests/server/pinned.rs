//! A whole server bound, and put back: its processes, those that it starts while it is bound, and those
//! with a mask of their own.

use super::{Killed, pids_in, set_mode, wait_until};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::find::{Server, by_pid};
use threadwise_process::journal::{Journal, restore};
use threadwise_process::masks::set_thread;
use threadwise_process::proc;

/// A server of shells: one that lives on, and one that starts another for each line of a pipe.
struct Bench {
    folder: TempDir,
    first: Killed,
    pids: Vec<u32>,
}

/// Notes its own number; for each line that it reads it starts a process that does so too. The pipe is opened
/// once, for both directions: opened anew for each line it would end with the writer before.
const SERVER: &str = "echo $$ >> pids; mkfifo go; exec 3<>go; sh -c 'echo $$ >> pids; exec sleep 600' & \
     while read line <&3; do sh -c 'echo $$ >> pids; exec sleep 600' & done";

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o700);
        let first = Killed::sh(SERVER, folder.path());
        let pids = pids_in(&folder.path().join("pids"), 2);
        wait_until("its pipe", || folder.path().join("go").exists());
        Self { folder, first, pids }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("masks")
    }

    fn server(&self) -> Server {
        by_pid(self.first.id()).unwrap()
    }

    /// Has the server start another process.
    fn start_another(&mut self) -> u32 {
        fs::write(self.folder.path().join("go"), "x\n").unwrap();
        self.pids = pids_in(&self.folder.path().join("pids"), self.pids.len() + 1);
        *self.pids.last().unwrap()
    }

    fn bind(&self, cpus: &CpuSet) {
        let members = self.server().members(&BTreeSet::new());
        let threads: Vec<(u32, u32)> =
            members.iter().map(|member| (member.process.0, member.process.0)).collect();
        let journal = Journal::open(&self.journal()).unwrap();
        assert_eq!(journal.record_server(&self.server(), cpus, &threads).unwrap(), threads);
        threads.iter().for_each(|(_, tid)| set_thread(*tid, cpus).unwrap());
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for &pid in &self.pids {
            // Ended ones are none of ours any more; they are known by their folder.
            let is_ours =
                || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == self.folder.path());
            let _ = proc::signal_if(pid, threadwise_process::Signal::KILL, is_ours);
        }
    }
}

fn mask(pid: u32) -> CpuSet {
    pin::thread_affinity(pid, pid).unwrap()
}

/// The first and the last logical CPU that we may use.
fn ends() -> [CpuSet; 2] {
    let cpus = pin::current_affinity().unwrap();
    assert!(cpus.len() > 1, "this takes two logical CPUs");
    [cpus.first(), cpus.iter().last()].map(|cpu| cpu.into_iter().collect())
}

#[test]
fn a_new_process_of_a_bound_server_gets_the_first_mask_without_a_line() {
    let [low, high] = ends();
    let mut bench = Bench::new();
    let whole = mask(bench.pids[0]);
    // One has its own mask, which is just the one that the server is given.
    set_thread(bench.pids[1], &low).unwrap();
    bench.bind(&low);
    let heir = bench.start_another();
    let another = bench.start_another();
    set_thread(another, &high).unwrap();
    assert_eq!(mask(heir), low);
    let text = fs::read_to_string(bench.journal()).unwrap();
    assert!(!text.contains(&format!(" {heir} ")), "{text}");

    let restored = restore(&bench.journal()).unwrap();
    assert_eq!((restored.put_back, restored.failed.len()), (3, 0), "{restored:?}");
    assert_eq!([mask(bench.pids[0]), mask(heir)], [whole.clone(), whole.clone()]);
    assert_eq!(mask(bench.pids[1]), low, "it had this mask before");
    assert_eq!(mask(another), high, "what it set itself stays");
    assert_eq!(mask(bench.start_another()), whole);
    assert_eq!(restore(&bench.journal()).unwrap().put_back, 2, "nobody is an heir any more");
}

#[test]
fn what_began_under_one_mask_and_is_bound_to_another_gets_neither() {
    let [low, high] = ends();
    let mut bench = Bench::new();
    let whole = mask(bench.pids[0]);
    bench.bind(&low);
    let heir = bench.start_another();
    bench.bind(&high);
    let later = bench.start_another();
    assert_eq!([mask(heir), mask(later)], [high.clone(), high]);
    restore(&bench.journal()).unwrap();
    assert!(bench.pids.iter().all(|&pid| mask(pid) == whole));
    let journal = Journal::open(&bench.journal()).unwrap();
    let root = bench.server().root;
    assert_eq!(journal.server_start(root.0).unwrap(), Some(root.1));
    assert_eq!(journal.server_start(heir).unwrap(), None);
}

#[test]
fn what_is_orphaned_and_written_down_is_put_back_with_its_heirs() {
    let [low, _] = ends();
    let mut bench = Bench::new();
    let whole = mask(bench.pids[0]);
    bench.bind(&low);
    let heir = bench.start_another();
    let journal = Journal::open(&bench.journal()).unwrap();
    let (server, late) = (bench.server(), bench.start_another());
    journal.record_server(&server, &low, &[(heir, heir)]).unwrap();
    bench.first.0.kill().unwrap();
    bench.first.0.wait().unwrap();
    journal.record_server(&server, &low, &[(late, late)]).unwrap();
    assert_eq!([mask(heir), mask(late)], [low.clone(), low]);
    assert_eq!(restore(&bench.journal()).unwrap().failed, Vec::<String>::new());
    assert!(bench.pids[1..].iter().all(|&pid| mask(pid) == whole));
}

#[test]
fn a_group_that_could_not_be_written_down_is_refused() {
    let bench = Bench::new();
    let journal = Journal::open(&bench.journal()).unwrap();
    for group in ["/etc", "/sys/fs/cgroup/a b", "/sys/fs/cgroup/../x"] {
        let server = Server { group: Some(Path::new(group).to_owned()), ..bench.server() };
        let error = journal.record_server(&server, &mask(bench.pids[0]), &[]).unwrap_err();
        assert!(error.to_string().contains("control group"), "{error}");
    }
    let text = fs::read_to_string(bench.journal()).unwrap();
    assert!(text.lines().all(|line| line.starts_with("owner ")), "{text}");
}
