//! `threadwise run command --pin-server`: a real server of several processes and threads that is already
//! running is bound for every run, what it starts meanwhile too, and every thread has its own mask again,
//! whatever was killed.

use crate::harness::metric_of;
use crate::harness::{Lab, Said};
use crate::harness::{living, wait_until_clean};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use threadwise_machine::{CpuSet, pin};

/// Listens with two more threads and a child that has a mask of its own; starts a thread and a process
/// for each client that connects.
const SERVER: &str = r#"
import os, socket, sys, threading, time
def wait(): time.sleep(600)
def thread(): threading.Thread(target=wait, daemon=True).start()
def process(mask=None):
    pid = os.fork()
    if pid: return pid
    if mask: os.sched_setaffinity(0, mask)
    thread()
    wait()
listener = socket.create_server(("127.0.0.1", 0))
thread(); thread()
special = process({int(sys.argv[1])})
unix = socket.socket(socket.AF_UNIX); unix.bind(os.path.abspath("socket")); unix.listen()
with open("ready.new", "w") as file: file.write(f"{listener.getsockname()[1]} {special}\n")
os.rename("ready.new", "ready")
while True:
    client, _ = listener.accept()
    thread(); process()
    client.sendall(b"started\n"); client.close()
"#;

/// Has the server start more, and prints how many threads of it exist and how many are elsewhere.
const CLIENT: &str = r#"
import glob, os, re, socket, sys, time
port, root, cpus = int(sys.argv[1]), sys.argv[2], sys.argv[3]
with socket.create_connection(("127.0.0.1", port)) as server:
    assert server.makefile().readline() == "started\n"
time.sleep(0.15)
def field(path, name): return re.search(rf"^{name}:\s*(\S+)", open(path).read(), re.M).group(1)
def of_server(pid):
    while pid not in (root, "0"): pid = field(f"/proc/{pid}/status", "PPid")
    return pid == root
seen = astray = 0
for task in glob.glob("/proc/[0-9]*/task/[0-9]*/status"):
    try:
        if not of_server(task.split("/")[2]): continue
        seen += 1
        astray += field(task, "Cpus_allowed_list") != cpus
    except (OSError, AttributeError): pass
print(f"seen = {seen}\nastray = {astray}")
"#;

pub struct Server {
    child: Child,
    port: u16,
    /// The child with a mask of its own.
    special: u32,
    /// What it had at first.
    whole: CpuSet,
    /// The mask of the special one.
    special_mask: CpuSet,
}

impl Server {
    pub fn start(lab: &Lab) -> Self {
        std::fs::write(lab.path().join("client.py"), CLIENT).unwrap();
        Self::start_script(lab, SERVER)
    }

    fn start_script(lab: &Lab, script: &str) -> Self {
        let whole = pin::current_affinity().unwrap();
        assert!(whole.len() > 1, "this takes two logical CPUs");
        let last = whole.iter().last().unwrap();
        let mut command = Command::new("python3");
        command.args(["-c", script, &last.to_string()]).current_dir(lab.path()).process_group(0);
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let ready = lab.path().join("ready");
        until("the server", || ready.exists());
        let text = std::fs::read_to_string(ready).unwrap();
        let numbers: Vec<u32> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let special_mask = [last].into_iter().collect();
        Self { child, port: numbers[0] as u16, special: numbers[1], whole, special_mask }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Masks of all its threads by process and thread: of the process and all below it.
    pub fn masks(&self) -> BTreeMap<(u32, u32), CpuSet> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.pid()];
        while let Some(pid) = open.pop() {
            for entry in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
                let tid: u32 = entry.file_name().to_str().unwrap().parse().unwrap();
                found.extend(pin::thread_affinity(pid, tid).ok().map(|mask| ((pid, tid), mask)));
                let children = std::fs::read_to_string(entry.path().join("children")).unwrap_or_default();
                open.extend(children.split_whitespace().map(|word| word.parse::<u32>().unwrap()));
            }
        }
        found
    }

    /// Those that have not the mask that they should have by themselves.
    pub fn astray(&self) -> Vec<((u32, u32), CpuSet)> {
        let wanted = |pid: u32| if pid == self.special { &self.special_mask } else { &self.whole };
        self.masks().into_iter().filter(|((pid, _), mask)| mask != wanted(*pid)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its group is its own as long as it is not waited for.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-9", &group])
            .stderr(Stdio::null())
            .status();
        let _ = self.child.wait();
    }
}

/// Waits for something that must come; a bound, not a measurement.
pub fn until(what: &str, is_there: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_there() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const QUICK: [&str; 10] = [
    "run",
    "command",
    "--allow-busy",
    "--no-probe",
    "--no-html",
    "--blocks=4",
    "--seed=7",
    "--output=s.threadwise",
    "--placement=1c1t",
    "--placement=2c1t",
];

fn quick(lab: &Lab, name: &str, more: &[&str]) -> Said {
    lab.run(&[&QUICK[..], &["--pin-server", name], more].concat())
}

pub fn client(server: &Server) -> Vec<String> {
    let (port, pid) = (server.port.to_string(), server.pid().to_string());
    let metrics = ["seen", "astray"].map(|name| format!("--metric={name}=1 none regex:{name} = ([0-9]+)"));
    let words = ["--", "python3", "client.py", &port, &pid, "{cpus}"].map(str::to_owned);
    [&metrics[..], &words].concat()
}

/// Starts a study whose command has the server start more and then waits for ever.
pub fn start_waiting(lab: &Lab, server: &Server) -> Child {
    let script =
        format!("python3 client.py {} {} {{cpus}} && touch at-work && sleep 1000", server.port, server.pid());
    let name = format!("port:{}", server.port);
    let args = [&QUICK[..], &["--pin-server", &name, "--", "sh", "-c", &script]].concat();
    let child = lab.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the command", || lab.path().join("at-work").exists());
    // What it started meanwhile is bound at the next look.
    until("one mask for all of the server", || {
        let masks: std::collections::BTreeSet<String> =
            server.masks().values().map(|mask| format!("{mask}")).collect();
        masks.len() == 1
    });
    child
}

pub fn kill(pids: &[String]) {
    let words = [&["-9".to_owned()], pids].concat();
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(words)
            .stderr(Stdio::null())
            .status()
            .is_ok()
    );
}

/// Kills until no process lives: a shell may start one between the list and the kill.
pub fn kill_all(living: impl Fn() -> Vec<String>) {
    until("the end of all processes", || {
        let found = living();
        kill(&found);
        found.is_empty()
    });
}

#[test]
fn a_server_that_another_study_binds_is_refused_before_anything_is_touched() {
    if !crate::harness::has_python("binding a server") {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(&lab);
    let mut first = start_waiting(&lab, &server);
    let bound = server.masks();
    for name in [format!("port:{}", server.port), server.pid().to_string()] {
        let quick: Vec<&str> = QUICK.iter().copied().filter(|arg| !arg.starts_with("--output")).collect();
        let args =
            [&quick[..], &["--output=second.threadwise", "--pin-server", &name, "--", "true"]].concat();
        let said = lab.run(&args);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        let why = format!("threadwise (process {}) has bound it for another study", first.id());
        assert!(said.stderr.contains(&why), "{}", said.stderr);
    }
    assert_eq!(server.masks(), bound);
    assert!(
        Command::new("sh")
            .args(["-c", "kill \"$@\"", "kill"])
            .args(["-2", &first.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    first.wait().unwrap();
    assert_eq!((server.astray(), lab.leftovers()), (vec![], vec![]));
    std::fs::remove_file(lab.path().join("s.threadwise")).unwrap();
    let said = quick(&lab, &format!("port:{}", server.port), &["--", "true"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// All processes of the lab but the watchdog, which has no environment.
pub fn without_watchdog(lab: &Lab) -> Vec<String> {
    let command = |pid: &String| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_watchdog = |pid: &String| command(pid).split(|&byte| byte == 0).any(|word| word == b"watchdog");
    living(lab).into_iter().filter(|pid| !is_watchdog(pid)).collect()
}

#[test]
fn killed_with_a_server_bound_every_thread_has_its_own_mask_again() {
    if !crate::harness::has_python("binding a server") {
        return;
    }
    for everything in [false, true] {
        let lab = Lab::new();
        let server = Server::start(&lab);
        let mut child = start_waiting(&lab, &server);
        match everything {
            // The runner alone; its worker and the command go with it.
            false => child.kill().unwrap(),
            true => {
                until("runner, worker, sh and sleep", || without_watchdog(&lab).len() >= 4);
                kill_all(|| without_watchdog(&lab));
            }
        }
        child.wait().unwrap();
        wait_until_clean(&lab);
        assert_eq!(server.astray(), [], "everything: {everything}");
        assert!(server.masks().len() > 5);
        until("the end of all processes", || living(&lab).is_empty());
    }
}

#[test]
fn a_killed_worker_is_a_failed_run_and_ctrl_c_puts_everything_back() {
    if !crate::harness::has_python("binding a server") {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(&lab);
    let child = start_waiting(&lab, &server);
    let interrupted = Command::new("sh")
        .args(["-c", "kill \"$@\"", "kill"])
        .args(["-2", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    let mut child = child;
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((server.astray(), lab.leftovers(), living(&lab)), (vec![], vec![], vec![]));

    std::fs::remove_file(lab.path().join("s.threadwise")).unwrap();
    let name = format!("port:{}", server.port);
    let said = quick(&lab, &name, &["--", "sh", "-c", "kill -9 $PPID; sleep 1000"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("ended by signal 9"), "{}", said.stderr);
    assert_eq!((server.astray(), lab.leftovers(), living(&lab)), (vec![], vec![], vec![]));
}

#[test]
fn a_thread_that_leaves_its_place_fails_the_run() {
    if !crate::harness::has_python("binding a server") {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(&lab);
    // From any placement to another one.
    let script = "import os, sys, time; own = os.sched_getaffinity(0); pid = int(sys.argv[1]); \
                  os.sched_setaffinity(pid, {min(own)} if len(own) > 1 else set(range(os.cpu_count())) - own); time.sleep(600)"
        .replace('{', "{{")
        .replace('}', "}}");
    let said =
        quick(&lab, &server.pid().to_string(), &["--", "python3", "-c", &script, &server.pid().to_string()]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let expected = format!("thread {} (python3) of the server may run on CPUs", server.pid());
    assert!(said.stderr.contains(&expected) && said.stderr.contains("lost-pin"), "{}", said.stderr);
    assert_eq!((server.astray(), lab.leftovers()), (vec![], vec![]));
}

/// Takes 50 ms of CPU time for each who connects.
const BUSY_SERVER: &str = r#"
import os, socket, time
listener = socket.create_server(("127.0.0.1", 0))
with open("ready.new", "w") as file: file.write(f"{listener.getsockname()[1]} {os.getpid()}\n")
os.rename("ready.new", "ready")
while True:
    client, _ = listener.accept()
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
    client.sendall(b"done\n"); client.close()
"#;

/// Asks it for a fixed time, at least four times, and says what CPU time it took itself.
const FIXED_TIME: &str = r#"
import resource, socket, sys, time
begin, served = time.monotonic(), 0
while served < 4 or time.monotonic() < begin + 0.2:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        assert server.makefile().readline() == "done\n"
    served += 1
own = resource.getrusage(resource.RUSAGE_SELF)
print(f"served = {served}\ntps = {served / (time.monotonic() - begin)}\nclient = {own.ru_utime + own.ru_stime}")
"#;

#[test]
fn what_must_not_be_bound_is_refused_and_nothing_is_touched() {
    if !crate::harness::has_python("binding a server") {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(&lab);
    let this = std::process::id().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // A client's own port: nothing listens on it, and no other process gets it while the client lives.
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let unheard = format!("port:{}", client.local_addr().unwrap().port());
    let cases = [
        ("4194305", "there is no process 4194305"),
        (unheard.as_str(), "nothing listens on TCP port"),
        ("no-such-unit", "no unit no-such-unit.service"),
        ("1", "process 1"),
        (this.as_str(), "threadwise was started"),
        ("db.example:5432", "another machine"),
        ("a b", "systemd unit"),
    ];
    for (name, part) in cases {
        let said = quick(&lab, name, &["--", "touch", "it-ran"]);
        assert!(said.code == Some(2) && said.stderr.contains(part), "{name}: {}", said.stderr);
    }
    let plan = quick(&lab, &server.pid().to_string(), &["--plan", "--", "touch", "it-ran"]);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let expected =
        format!("Server of process {0}: python3 (process {0}), 5 threads in 2 processes", server.pid());
    assert!(plan.stdout.contains(&expected), "{}", plan.stdout);
    let socket = lab.path().join("socket");
    let plan = quick(&lab, socket.to_str().unwrap(), &["--plan", "--", "touch", "it-ran"]);
    assert!(plan.stdout.contains("5 threads in 2 processes"), "{}{}", plan.stdout, plan.stderr);
    assert!(!lab.path().join("it-ran").exists() && !lab.path().join("s.threadwise").exists());
    assert_eq!(server.astray(), []);
}

/// New threads have to be found within a moment, and CPU times are figures of the machine.
mod lab_clock {
    use super::*;

    #[test]
    #[ignore = "laboratory: clock"]
    fn everything_of_a_server_is_bound_for_every_run_and_has_its_own_mask_afterwards() {
        if !crate::harness::has_python("binding a server") {
            return;
        }
        let lab = Lab::new();
        let server = Server::start(&lab);
        // The child says that it is there before its thread is.
        let threads = 5;
        until("the child's thread", || server.masks().len() == threads);
        let names = [server.pid().to_string(), format!("port:{}", server.port)];
        let more = client(&server);
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        for name in names {
            let said = quick(&lab, &name, &more);
            assert_eq!(said.code, Some(0), "{name}: {}\n{}", said.stdout, said.stderr);
            assert!(
                said.stdout.contains(&format!("python3 (process {}), ", server.pid())),
                "{}",
                said.stdout
            );
            let report: Value =
                serde_json::from_str(&lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap();
            for treatment in report["treatments"].as_array().unwrap() {
                assert_eq!(treatment["failed"], 0, "{treatment}");
                let name = treatment["treatment"].as_str().unwrap();
                let mean = |metric: &str| metric_of(&report, name, metric).unwrap();
                assert!(mean("metric/astray") < 1e-9, "{treatment}");
                assert!(mean("metric/seen") > threads as f64, "it started some in each run: {treatment}");
            }
            assert_eq!(server.astray(), [], "{name}");
            assert_eq!((lab.leftovers(), living(&lab)), (Vec::new(), Vec::new()));
            std::fs::remove_file(lab.path().join("s.threadwise")).unwrap();
        }
        assert!(server.masks().len() > threads + 20);
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn cpu_of_a_command_and_what_it_does_includes_that_of_the_bound_server() {
        if !crate::harness::has_python("binding a server") {
            return;
        }
        let lab = Lab::new();
        let server = Server::start_script(&lab, BUSY_SERVER);
        std::fs::write(lab.path().join("client.py"), FIXED_TIME).unwrap();
        let metrics = [
            "--metric=tps=tx/s higher regex:tps = (.+)",
            "--metric=served=1 none regex:served = (.+)",
            "--metric=client=s none regex:client = (.+)",
        ];
        let port = server.port.to_string();
        let more = [&metrics[..], &["--", "python3", "client.py", &port]].concat();
        let said = quick(&lab, &server.pid().to_string(), &more);
        assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
        assert!(said.stdout.contains("server included"), "{}", said.stdout);
        let report: Value =
            serde_json::from_str(&lab.ok(&["report", "s.threadwise", "--json"]).stdout).unwrap();
        for treatment in report["treatments"].as_array().unwrap() {
            let name = treatment["treatment"].as_str().unwrap();
            let mean = |metric: &str| metric_of(&report, name, metric).unwrap();
            // The client's CPU time and nearly all of the server's. Geometric means of sums are no smaller than
            // sums of geometric means.
            let both_ns = mean("metric/client") * 1e9 + mean("metric/served") * 48e6;
            assert!(mean("cpu_ns") > both_ns, "{treatment}");
            assert!(mean("busy_cpus") * mean("elapsed_ns") > both_ns, "{treatment}");
        }
    }
}
