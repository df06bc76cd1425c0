//! A study that binds a running server again and again, killed at random moments: all threads have the masks that they
//! had, and no folder, journal or process is left, by its watchdog or, where that was killed first, by `threadwise
//! restore`.

use super::killed::Moments;
use super::reload_root::number;
use crate::harness::{Lab, living};
use crate::left::watchdogs;
use crate::pin_server::{Server, client, kill, kill_all, until, without_watchdog};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Killed {
    /// The process that measures; its workers end with it.
    Runner,
    /// All processes of the study but the watchdog.
    AllButWatchdog,
    /// All of them, the watchdog first.
    Everything,
}

const KINDS: [Killed; 3] = [Killed::Runner, Killed::AllButWatchdog, Killed::Everything];

/// More blocks than any of these studies lives for.
const STUDY: [&str; 10] = [
    "run",
    "command",
    "--allow-busy",
    "--no-probe",
    "--no-html",
    "--blocks=1000",
    "--seed=7",
    "--output=s.threadwise",
    "--placement=1c1t",
    "--placement=2c1t",
];

#[test]
#[ignore = "laboratory: kills"]
fn a_bound_server_at_100_moments() {
    let bound = killed(number("THREADWISE_TEST_KILLS", 102) as usize);
    assert!(bound.iter().all(|&met| met > 0), "{bound:?}");
}

/// Gives how many kills of each kind met a bound server.
pub fn killed(kills: usize) -> [usize; 3] {
    let lab = Lab::new();
    let server = Server::start(&lab);
    let (mut moments, mut bound) = (Moments(20_261_201), [0; 3]);
    for number in 0..kills {
        let kind = KINDS[number % 3];
        let was_bound = killed_once(&lab, &server, kind, &mut moments);
        bound[number % 3] += usize::from(was_bound);
        assert_eq!(server.astray(), [], "kill {number}, {kind:?}, bound: {was_bound}");
        until("the end of all processes", || all(&lab).is_empty());
        assert_eq!(lab.leftovers(), [""; 0], "kill {number}, {kind:?}, bound: {was_bound}");
        for name in ["s.threadwise", "s.threadwise-journal"] {
            let _ = std::fs::remove_file(lab.path().join(name));
        }
    }
    let line = format!("{kills} kills; the server was bound at {bound:?} of {KINDS:?}\n");
    std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
    bound
}

/// Starts a study, kills it at a random moment, and has it put back; gives whether the server was bound then.
fn killed_once(lab: &Lab, server: &Server, kind: Killed, moments: &mut Moments) -> bool {
    // Mostly runs that are over soon; in some the server starts a thread and a process, which inherit its placement.
    let name = server.pid().to_string();
    let words = match moments.next_ms(8) {
        0 => client(server),
        _ => ["--", "sleep", "0.02"].map(str::to_owned).to_vec(),
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let args = [&STUDY[..], &["--pin-server", &name], &words].concat();
    let log = lab.path().join("log");
    let mut command = lab.command(&args);
    let mut child = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
    // Every other one is hit while the server is bound or is put back, the rest from their start on.
    let is_bound = moments.next_ms(2) == 0;
    if is_bound {
        until("a bound server", || !server.astray().is_empty());
    }
    std::thread::sleep(Duration::from_millis(moments.next_ms(if is_bound { 100 } else { 800 })));
    let ended = child.try_wait().unwrap();
    assert_eq!(ended, None, "{}", std::fs::read_to_string(&log).unwrap());
    stop(lab);
    let was_bound = !server.astray().is_empty();
    if kind != Killed::Everything {
        // The watchdog begins while the others still end.
        send(&all(lab), Signal::CONT);
    }
    match kind {
        Killed::Runner => child.kill().unwrap(),
        Killed::AllButWatchdog => kill_all(|| without_watchdog(lab)),
        Killed::Everything => {
            kill(&watchdogs(lab));
            kill_all(|| all(lab));
        }
    }
    child.wait().unwrap();
    match kind {
        Killed::Everything => put_back(lab),
        _ => await_watchdog(lab),
    }
    was_bound
}

/// Waits for the watchdog's work; what it cannot put back `restore` gives the reason for.
fn await_watchdog(lab: &Lab) {
    let end = Instant::now() + Duration::from_secs(60);
    while !lab.leftovers().is_empty() {
        if Instant::now() > end {
            let (left, watchdogs, living) = (lab.leftovers(), watchdogs(lab), living(lab));
            let said = lab.run(&["restore"]);
            panic!("{left:?}, watchdogs {watchdogs:?}, others {living:?}: {}{}", said.stdout, said.stderr);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn put_back(lab: &Lab) {
    let said = lab.run(&["restore"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert_eq!(
        lab.ok(&["restore", "--status"]).stdout,
        "Nothing is left changed.\n",
        "after: {}",
        said.stdout
    );
}

/// All processes of the study.
fn all(lab: &Lab) -> Vec<String> {
    [living(lab), watchdogs(lab)].concat()
}

/// Stops them all, so that a look at the server is one at the moment of the kill.
fn stop(lab: &Lab) {
    until("a stop of all processes", || {
        let running: Vec<String> = all(lab).into_iter().filter(|pid| !is_stopped(pid)).collect();
        send(&running, Signal::STOP);
        running.is_empty()
    });
}

/// Whether a process is stopped, or has ended.
fn is_stopped(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'Z', 'X']))
}

fn send(pids: &[String], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(pid.parse().unwrap())) {
        // One that has ended is as good.
        let _ = kill_process(pid, signal);
    }
}
