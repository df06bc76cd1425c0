//! A server made for the test, of shells, in a private folder.

use super::*;
use crate::LoadRequest;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use threadwise_study::{OptionValue, Options};

/// For each line of a pipe it starts a process that notes its number; `out` has it leave its parent. The pipe is
/// opened once, for both directions: opened again for each line, it would end with the previous writer.
const SERVER: &str = "mkfifo go; exec 3<>go; echo $$ >> pids; while read line <&3; do \
     if [ \"$line\" = out ]; then (sh -c 'echo $$ >> pids; exec sleep 600' &); \
     else sh -c 'echo $$ >> pids; exec sleep 600' & fi; done";

struct Bench {
    folder: tempfile::TempDir,
    child: Child,
    pids: Vec<u32>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SERVER]).current_dir(folder.path()).stdin(Stdio::null());
        let child = command.spawn().unwrap();
        let mut bench = Self { folder, child, pids: Vec::new() };
        bench.wait_for(1);
        bench
    }

    fn wait_for(&mut self, count: usize) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.pids.len() < count {
            assert!(Instant::now() < end, "the server did not start a process");
            std::thread::sleep(Duration::from_millis(2));
            let text = std::fs::read_to_string(self.folder.path().join("pids")).unwrap_or_default();
            self.pids = text.lines().filter_map(|line| line.parse().ok()).collect();
        }
    }

    fn start_another(&mut self, how: &str) -> u32 {
        std::fs::write(self.folder.path().join("go"), format!("{how}\n")).unwrap();
        self.wait_for(self.pids.len() + 1);
        *self.pids.last().unwrap()
    }

    fn pinned(&self, name: &str, cpus: &CpuSet) -> Result<Pinned, EngineError> {
        let text = |text: &str| OptionValue::Text(text.to_owned());
        let options = Options::from([("command".into(), text("true")), ("pin_server".into(), text(name))]);
        let load = LoadRequest {
            workload: "command".into(),
            options,
            engine_options: Options::new(),
            data_dir: self.folder.path().to_owned(),
            treatment: "x".into(),
            sessions: 1,
            seed: 1,
        };
        let read = CommandOptions::read(&load.options).unwrap();
        let journal = Some(self.folder.path().join("masks"));
        let sessions = vec![cpus.clone()];
        let request = StartRequest { load, sessions, service: cpus.clone(), seed: 1, journal };
        // As a process of its own would: what we started is refused.
        Pinned::of(&read, &request, cpus).map(Option::unwrap)
    }

    /// Past the refusal of what the test program itself has started.
    fn unchecked(&self, cpus: &CpuSet) -> Pinned {
        let (pid, path) = (self.child.id(), self.folder.path().join("masks"));
        let state = Mutex::new(BoundServer::of(find::by_pid(pid).unwrap()));
        let journal = Journal::open(&path).unwrap();
        Pinned { name: ServerName::Pid(pid), cpus: cpus.clone(), journal, path, state }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for &pid in &self.pids {
            let is_ours = || std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| is(&cwd, self));
            let _ = proc::signal_if(pid, threadwise_process::Signal::KILL, is_ours);
        }
        let _ = self.child.wait();
    }
}

fn is(cwd: &Path, bench: &Bench) -> bool {
    cwd == bench.folder.path()
}

fn mask(pid: u32) -> CpuSet {
    pin::thread_affinity(pid, pid).unwrap()
}

fn ends() -> [CpuSet; 2] {
    let cpus = pin::current_affinity().unwrap();
    assert!(cpus.len() > 1, "this takes two logical CPUs");
    [cpus.first(), cpus.iter().last()].map(|cpu| cpu.into_iter().collect())
}

#[test]
fn everything_is_bound_looked_for_and_put_back() {
    let [low, high] = ends();
    let mut bench = Bench::new();
    let early = bench.start_another("in");
    let whole = mask(early);
    masks::set_thread(early, &high).unwrap();
    let pinned = bench.unchecked(&low);
    pinned.bind().unwrap();
    assert_eq!(pinned.placed().len(), 2);
    pinned.begin();
    let heir = bench.start_another("in");
    let other = bench.start_another("in");
    masks::set_thread(other, &high).unwrap();
    assert_eq!(pinned.look(), None);
    assert_eq!([mask(early), mask(heir), mask(other)], [low.clone(), low.clone(), low.clone()]);
    pinned.end();
    assert!(pinned.used_ns().is_some());
    pinned.put_back().unwrap();
    assert_eq!([mask(bench.pids[0]), mask(heir)], [whole.clone(), whole]);
    assert_eq!([mask(early), mask(other)], [high.clone(), high], "they had their own");
}

#[test]
fn what_was_bound_and_is_elsewhere_is_reported() {
    let [low, high] = ends();
    let mut bench = Bench::new();
    let early = bench.start_another("in");
    let pinned = bench.unchecked(&low);
    pinned.bind().unwrap();
    masks::set_thread(early, &high).unwrap();
    let lost = pinned.look().unwrap();
    assert!(lost.contains(&format!("thread {early} ")) && lost.contains("instead of"), "{lost}");
    pinned.bind().unwrap();
    assert_eq!((pinned.look(), mask(early)), (None, low));
    bench.child.kill().unwrap();
    bench.child.wait().unwrap();
    assert!(pinned.look().unwrap().contains("has ended"));
    let why = pinned.bind().unwrap_err().to_string();
    assert!(why.contains("there is no process"), "{why}");
}

#[test]
fn a_process_that_lost_its_parents_is_put_back_where_it_was_seen_before() {
    let [low, _] = ends();
    let mut bench = Bench::new();
    let whole = mask(bench.pids[0]);
    let pinned = bench.unchecked(&low);
    pinned.bind().unwrap();
    let heir = bench.start_another("in");
    assert_eq!(pinned.look(), None);
    bench.child.kill().unwrap();
    bench.child.wait().unwrap();
    assert_eq!(mask(heir), low);
    pinned.put_back().unwrap();
    assert_eq!(mask(heir), whole);
}

#[test]
fn what_must_not_be_bound_is_refused() {
    let bench = Bench::new();
    let cpus = pin::current_affinity().unwrap();
    let refused = |name: &str| bench.pinned(name, &cpus).unwrap_err().to_string();
    assert!(refused("1").contains("process 1"));
    assert!(refused(&std::process::id().to_string()).contains("started by threadwise"));
    assert!(refused(&bench.child.id().to_string()).contains("already has its placement"));
    assert!(refused("4194305").contains("there is no process 4194305"));
    assert!(refused("no-such-unit").contains("no unit no-such-unit.service"));
    assert!(refused("/proc/no/such/socket").contains("nothing listens on socket"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(refused(&format!("port:{port}")).contains("started by threadwise"));
    // A client's own port: nothing listens on it, and no other process gets it while the client lives.
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = client.local_addr().unwrap().port();
    assert!(refused(&format!("port:{port}")).contains("nothing listens on TCP port"));
}

#[test]
fn room_is_what_the_control_group_leaves() {
    let server = find::by_pid(std::process::id()).unwrap();
    assert_eq!(expect_allowed(&server, &CpuSet::new()), Ok(()));
    let elsewhere: CpuSet = [4000].into_iter().collect();
    match find::allowed_cpus(server.root.0) {
        Some(_) => assert!(expect_allowed(&server, &elsewhere).unwrap_err().to_string().contains("4000")),
        None => assert_eq!(expect_allowed(&server, &elsewhere), Ok(())),
    }
}
