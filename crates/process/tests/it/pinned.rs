//! A whole server bound, and put back: its processes, those that it starts while it is bound, and those
//! with a mask of their own.

use super::{Killed, pids_in, set_mode, wait_until};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::find::{Server, by_pid};
use threadwise_process::journal::{Journal, JournalError, close, expect_unbound, new_path, restore};
use threadwise_process::masks::set_thread;
use threadwise_process::proc;

/// A server of shells: one that lives on, and one that starts another for each line of a pipe.
struct Bench {
    folder: TempDir,
    first: Killed,
    pids: Vec<u32>,
}

/// Notes its own number; for each line that it reads it starts a process that does so too. The pipe is opened
/// once, for both directions: opened again for each line, it would end with the previous writer.
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
            // The number of an ended one may be another process's by now; ours are known by their folder.
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
    assert_eq!(restore(&bench.journal()).unwrap().put_back, 2, "no process inherits the mask any more");
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

/// A journal of a study that runs: its name says that this process measures.
fn of_a_study(folder: &Path) -> PathBuf {
    folder.join(new_path().unwrap().file_name().unwrap())
}

#[test]
fn a_server_that_one_study_binds_is_refused_to_another() {
    let bench = Bench::new();
    let (first, second) = (of_a_study(bench.folder.path()), of_a_study(bench.folder.path()));
    let (server, [low, high]) = (bench.server(), ends());
    let threads: Vec<(u32, u32)> = bench.pids.iter().map(|&pid| (pid, pid)).collect();
    let before: Vec<CpuSet> = bench.pids.iter().map(|&pid| mask(pid)).collect();
    expect_unbound(&second, &server).unwrap();
    Journal::open(&first).unwrap().record_server(&server, &low, &threads).unwrap();
    threads.iter().for_each(|(_, tid)| set_thread(*tid, &low).unwrap());
    // The whole of it, a part of it, and before it and after it was put back between two runs.
    let part = by_pid(bench.pids[1]).unwrap();
    let other = Journal::open(&second).unwrap();
    for put_back in [false, true] {
        for server in [&server, &part] {
            let errors =
                [expect_unbound(&second, server), other.record_server(server, &high, &threads).map(drop)];
            for error in errors.map(Result::unwrap_err) {
                assert!(matches!(error, JournalError::Bound { pid } if pid == std::process::id()), "{error}");
            }
        }
        let text = fs::read_to_string(&second).unwrap();
        assert!(text.lines().all(|line| line.starts_with("owner ")), "{text}");
        if !put_back {
            restore(&first).unwrap();
        }
    }
    // Threads that are bound by themselves: what another study gave them is not their own mask.
    threads.iter().for_each(|(_, tid)| set_thread(*tid, &low).unwrap());
    other.record_all(&threads[1..]).unwrap();
    set_thread(threads[1].1, &high).unwrap();
    close(&first, std::time::Duration::from_secs(60)).unwrap();
    set_thread(threads[1].1, &high).unwrap();
    restore(&second).unwrap();
    assert_eq!(bench.pids.iter().map(|&pid| mask(pid)).collect::<Vec<_>>(), before);
    // The first study has ended, and the second binds threads of the server, not the server.
    expect_unbound(&of_a_study(bench.folder.path()), &server).unwrap();
    expect_unbound(&of_a_study(bench.folder.path()), &part).unwrap_err();
    close(&second, std::time::Duration::from_secs(60)).unwrap();
    expect_unbound(&second, &part).unwrap();
}

#[test]
fn of_two_studies_that_begin_at_once_one_binds() {
    let bench = Bench::new();
    let (server, [low, _]) = (bench.server(), ends());
    let threads: Vec<(u32, u32)> = bench.pids.iter().map(|&pid| (pid, pid)).collect();
    let taken = std::thread::scope(|scope| {
        let studies: Vec<_> = (0..8)
            .map(|_| {
                let (path, server, low, threads) = (of_a_study(bench.folder.path()), &server, &low, &threads);
                scope.spawn(move || Journal::open(&path).unwrap().record_server(server, low, threads).is_ok())
            })
            .collect();
        studies.into_iter().map(|study| study.join().unwrap()).filter(|taken| *taken).count()
    });
    assert_eq!(taken, 1);
}
