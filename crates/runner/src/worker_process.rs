//! One worker: its process, requests and replies, each with a deadline.
//!
//! One thread suffices: stdin and the reply pipe do not block and are waited for with `poll(2)`,
//! so that this process does not wake up while a slice runs. Source of the order in [`end`]:
//! `waitid(2)` with WNOWAIT keeps the process number reserved until the whole group was killed.
//!
//! [`end`]: WorkerProcess::end

mod hello;
mod interim;

use crate::settings::{Deadlines, Worker};
use crate::spawn::{self, Launch, LaunchError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use threadwise_engine::protocol::{self, MAX_LINE_BYTES, ProtocolError, Reply, Request};
use threadwise_machine::text::one_line;
use threadwise_machine::{CpuSet, MemoryBinding};
use threadwise_study::Counters;

pub use hello::Hello;
pub use interim::Interim;

/// Interval of checks for a request to stop.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// Most bytes of a worker's log. A worker that writes more disturbs the measurement, and would fill the
/// disk; it is found at the next check, so it may write somewhat more.
const LOG_BYTES: u64 = 64 << 20;

/// Most characters of a note of a worker.
const NOTE_CHARS: usize = 1000;

/// How long a worker may take to end after its pipe has ended.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// Kind of a failure that is not the worker's: the study was stopped.
pub const STOPPED: &str = "stopped";

/// Why a worker's run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `crash`, `timeout`, `protocol`, `stopped`, `memory-policy`, or the worker's own kind (`engine`, `option`,
    /// `wrong-answer`, `lost-pin`).
    pub kind: String,
    /// One line.
    pub message: String,
}

impl Failure {
    /// A failure with a message for people.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }

    fn protocol(error: &ProtocolError) -> Self {
        Self::new("protocol", error.to_string())
    }

    /// Whether the study was stopped, and the worker did nothing wrong.
    pub fn is_stop(&self) -> bool {
        self.kind == STOPPED
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.kind)
    }
}

/// A running worker. When it is dropped, it is interrupted, its process group killed and its process reaped.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    replies: PipeReader,
    /// Bytes from the reply pipe that are not a complete line yet.
    pending: Vec<u8>,
    /// Length of the part of `pending` that is known to hold no line end.
    scanned: usize,
    log: PathBuf,
    log_file: File,
    deadlines: Deadlines,
    /// When it was asked to end.
    asked: Option<Instant>,
    ended: Option<ExitStatus>,
}

/// How to wait for an answer.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    /// The worker's phase, for messages.
    pub phase: &'a str,
    /// The worker is killed after this time.
    pub deadline: Duration,
    /// Ends the wait.
    pub stop: Option<&'a AtomicBool>,
    /// How long to check neither `stop` nor the log, because a measurement is under way.
    pub quiet: Duration,
}

/// What a worker is started with.
#[derive(Debug, Clone, Copy)]
pub struct WorkerLaunch<'a> {
    /// Logical CPUs of the whole process; empty for all that are allowed.
    pub cpus: &'a CpuSet,
    /// Its memory policy.
    pub memory: &'a MemoryBinding,
    /// Its current folder.
    pub folder: &'a Path,
    /// Its log file.
    pub log: &'a Path,
    /// The mark of it and all its descendants, see [`threadwise_process::marked`].
    pub mark: &'a Path,
}

impl WorkerProcess {
    /// Starts the program; its `hello` is awaited by [`WorkerProcess::hello`].
    ///
    /// # Errors
    /// Kind `crash`: it cannot be started; kind `memory-policy`: the kernel refused its policy.
    pub fn start(worker: &Worker, launch: WorkerLaunch<'_>, deadlines: Deadlines) -> Result<Self, Failure> {
        let fail = |error: io::Error| {
            let program = worker.program.display();
            Failure::new("crash", format!("{program} cannot be started on CPUs {}: {error}", launch.cpus))
        };
        let launch = Launch {
            program: &worker.program,
            args: &worker.args,
            cpus: launch.cpus,
            memory: launch.memory,
            folder: launch.folder,
            log: launch.log,
            environment: &worker.environment,
            withheld: &worker.withheld,
            mark: launch.mark,
        };
        let launched = spawn::worker(launch).map_err(|error| match error {
            LaunchError::Start(error) => fail(error),
            LaunchError::MemoryPolicy { .. } => Failure::new("memory-policy", error.to_string()),
        })?;
        let process = Self {
            child: launched.child,
            replies: launched.replies,
            pending: Vec::new(),
            scanned: 0,
            log: launch.log.to_owned(),
            log_file: launched.log,
            deadlines,
            asked: None,
            ended: None,
        };
        rustix::io::ioctl_fionbio(&process.replies, true).map_err(|error| fail(error.into()))?;
        if let Some(stdin) = &process.child.stdin {
            rustix::io::ioctl_fionbio(stdin, true).map_err(|error| fail(error.into()))?;
        }
        Ok(process)
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for `hello` and returns its description of the engine.
    ///
    /// # Errors
    /// No `hello` in time, one of another protocol version or with impossible properties, or the
    /// worker's end.
    pub fn hello(&mut self, stop: &AtomicBool) -> Result<Hello, Failure> {
        match self.receive("hello", self.deadlines.hello, Some(stop))? {
            Reply::Hello { protocol, version, properties, pieces, .. } => {
                Hello::checked(protocol, version, properties, pieces).map_err(|error| self.refuse(&error))
            }
            other => Err(self.unexpected("hello", &other)),
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The worker has ended, or does not read; `stopped`.
    pub fn send(&mut self, request: &Request, stop: &AtomicBool) -> Result<(), Failure> {
        let line = protocol::encode(request).map_err(|error| Failure::protocol(&error))?;
        let until = Instant::now() + self.deadlines.hello;
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let Some(mut stdin) = self.child.stdin.as_ref() else {
                return Err(Failure::new("crash", "the worker's stdin is closed"));
            };
            match stdin.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let remaining = until.saturating_duration_since(Instant::now());
                    if remaining.is_zero() {
                        return Err(self.hang("read its request", self.deadlines.hello));
                    }
                    if stop.load(Ordering::Relaxed) {
                        return Err(given_up());
                    }
                    wait_for(PollFd::new(stdin, PollFlags::OUT), remaining.min(STOP_CHECK));
                }
                // The pipe is broken: it ended, perhaps after a last line that is still unread.
                Err(_) => return Err(self.last_word(stop)),
            }
        }
        Ok(())
    }

    /// Waits for the answer to a request.
    ///
    /// # Errors
    /// `timeout` (the worker is killed), `crash`, `protocol`, `stopped`, or the worker's own failure.
    pub fn receive(
        &mut self,
        phase: &str,
        deadline: Duration,
        stop: Option<&AtomicBool>,
    ) -> Result<Reply, Failure> {
        self.receive_meanwhile(Wait { phase, deadline, stop, quiet: Duration::ZERO }, None)
    }

    /// As [`Self::receive`]; does something meanwhile. Without it this process does not wake up in the
    /// wait's quiet time, unless the worker writes.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn receive_meanwhile(
        &mut self,
        wait: Wait<'_>,
        mut interim: Option<Interim<'_>>,
    ) -> Result<Reply, Failure> {
        let begun = Instant::now();
        loop {
            if let Some(line) = self.take_line().map_err(|error| self.refuse(&error))? {
                return self.understand(&line);
            }
            let waited = begun.elapsed();
            let quiet = wait.quiet.saturating_sub(waited);
            if quiet.is_zero() && wait.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(given_up());
            }
            let remaining = wait.deadline.saturating_sub(waited);
            if remaining.is_zero() {
                return Err(self.hang(&format!("finish '{}'", wait.phase), wait.deadline));
            }
            self.check_log()?;
            let mut step = remaining.min(if quiet.is_zero() { STOP_CHECK } else { quiet });
            if let Some(next) = interim.as_mut().and_then(|interim| interim.next(begun.elapsed())) {
                step = step.min(next);
            }
            wait_for(PollFd::new(&self.replies, PollFlags::IN), step);
            // A worker that reports a failure ends at once: its last line and the pipe's end may
            // come together, and the line counts.
            if !self.fill() && !self.pending[self.scanned..].contains(&b'\n') {
                return Err(self.crash(wait.stop));
            }
        }
    }

    /// Ends a worker whose log is too long.
    fn check_log(&mut self) -> Result<(), Failure> {
        if !self.is_log_too_long() {
            return Ok(());
        }
        self.end();
        let most = LOG_BYTES >> 20;
        let message = format!("the worker wrote more than {most} MiB to its log and was killed");
        Err(Failure::new("protocol", self.with_log(message)))
    }

    fn is_log_too_long(&self) -> bool {
        self.log_file.metadata().is_ok_and(|log| log.len() > LOG_BYTES)
    }

    fn understand(&mut self, line: &str) -> Result<Reply, Failure> {
        match protocol::decode(line).map_err(|error| self.refuse(&error))? {
            Reply::Failed { kind, message } => {
                self.end();
                Err(Failure { kind: one_line(&kind, 40), message: one_line(&message, 500) })
            }
            reply => Ok(cleaned(reply)),
        }
    }

    /// Reads what is available. `false` at the end of the pipe.
    fn fill(&mut self) -> bool {
        let mut chunk = [0_u8; 16 << 10];
        loop {
            match self.replies.read(&mut chunk) {
                Ok(0) => return false,
                Ok(length) => self.pending.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
            if self.pending.len() > MAX_LINE_BYTES {
                return true;
            }
        }
    }

    /// The next complete line, without its end.
    fn take_line(&mut self) -> Result<Option<String>, ProtocolError> {
        let Some(at) = self.pending[self.scanned..].iter().position(|&byte| byte == b'\n') else {
            self.scanned = self.pending.len();
            return match self.scanned > MAX_LINE_BYTES {
                true => Err(ProtocolError::TooLong { limit: MAX_LINE_BYTES }),
                false => Ok(None),
            };
        };
        let end = self.scanned + at + 1;
        self.scanned = 0;
        let bytes: Vec<u8> = self.pending.drain(..end).collect();
        protocol::read_line(&mut bytes.as_slice())
    }

    /// A valid reply of another type than requested.
    pub fn unexpected(&mut self, wanted: &str, reply: &Reply) -> Failure {
        self.end();
        let got = format!("{reply:?}");
        Failure::new("protocol", one_line(&format!("the worker answered {got} instead of '{wanted}'"), 200))
    }

    fn refuse(&mut self, error: &ProtocolError) -> Failure {
        self.end();
        let mut failure = Failure::protocol(error);
        failure.message = one_line(&failure.message, 500);
        failure
    }

    fn hang(&mut self, what: &str, deadline: Duration) -> Failure {
        // Its work in the user's server would continue there.
        self.interrupt();
        let message = format!("the worker did not {what} within {} s and was killed", deadline.as_secs_f64());
        Failure::new("timeout", self.with_log(message))
    }

    /// After a broken stdin: the worker's last message, or its crash.
    fn last_word(&mut self, stop: &AtomicBool) -> Failure {
        match self.receive("its end", EXIT_LIMIT, Some(stop)) {
            Err(failure) => failure,
            Ok(reply) => self.unexpected("nothing, its stdin being closed", &reply),
        }
    }

    /// The reply pipe has ended without a message.
    fn crash(&mut self, stop: Option<&AtomicBool>) -> Failure {
        // It may still be ending; its own exit status explains more than a kill would.
        self.wait_for_exit(EXIT_LIMIT, stop);
        let how = match self.end() {
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("was ended by signal {signal}{}", signal_name(signal)),
                (None, Some(code)) => format!("ended with exit code {code}"),
                (None, None) => format!("ended: {status}"),
            },
            None => "ended".to_owned(),
        };
        Failure::new("crash", self.with_log(format!("the worker {how} without an answer")))
    }

    fn with_log(&self, message: String) -> String {
        match last_line(&self.log) {
            Some(line) => format!("{message}; last line of its log: {line}"),
            None => message,
        }
    }

    /// Waits until the process has ended, without reaping it; not beyond `stop`, if given.
    fn wait_for_exit(&self, limit: Duration, stop: Option<&AtomicBool>) -> bool {
        let Some(pid) = Pid::from_raw(self.child.id() as i32) else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let until = Instant::now() + limit;
        loop {
            // An error means that there is nothing to wait for any more.
            if !matches!(waitid(WaitId::Pid(pid), options), Ok(None)) {
                return true;
            }
            let asked = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            if asked || Instant::now() >= until || self.is_log_too_long() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills the rest of the process group and reaps the worker.
    pub fn end(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            if let Some(group) = Pid::from_raw(self.child.id() as i32) {
                // It may have ended by itself, with nothing left to kill.
                let _ = kill_process_group(group, Signal::KILL);
            }
            self.ended = self.child.wait().ok();
        }
        self.ended
    }

    /// Ends a busy worker: one that cleans up first, as that of commands does,
    /// has [`Deadlines::interrupt`] for it.
    pub fn interrupt(&mut self) {
        if self.ended.is_none()
            && let Some(pid) = Pid::from_raw(self.child.id() as i32)
        {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
            self.awaken();
            // One that is between two requests, and whose answer came just now, waits for the next.
            drop(self.child.stdin.take());
            self.wait_for_exit(self.deadlines.interrupt, None);
        }
        self.end();
    }

    /// Resumes a worker that SIGSTOP suspended (`signal(7)`): suspended, it can neither clean up nor
    /// answer. SIGCONT does nothing to others.
    fn awaken(&self) {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, Signal::CONT);
        }
    }

    /// Asks for the end; awaited by [`WorkerProcess::stopped`].
    pub fn ask_to_stop(&mut self) {
        // Shorter than PIPE_BUF, so that it is written whole or not at all (`pipe(7)`). A worker that
        // does not read is killed after its deadline.
        if let (Ok(line), Some(mut stdin)) = (protocol::encode(&Request::Stop), self.child.stdin.as_ref()) {
            let _ = stdin.write(line.as_bytes());
        }
        self.asked = Some(Instant::now());
    }

    /// Waits for the requested end: where the memory of the treatment's server lay at last. A worker that does not end by
    /// itself is killed. If the study
    /// must stop, a suspended one is resumed, and each has at most [`Deadlines::interrupt`].
    ///
    /// # Errors
    /// It did not end in order, which does not affect slices that it finished before.
    pub fn stopped(mut self, stop: &AtomicBool) -> Result<Counters, Failure> {
        let asked = self.asked.unwrap_or_else(Instant::now);
        let limit = self.deadlines.stop;
        let mut reply = self.receive("stop", limit.saturating_sub(asked.elapsed()), Some(stop));
        if reply.as_ref().is_err_and(Failure::is_stop) {
            self.awaken();
            let limit = limit.min(self.deadlines.interrupt);
            reply = self.receive("stop", limit.saturating_sub(asked.elapsed()), None);
        }
        let memory = match reply? {
            Reply::Done { memory } => memory,
            other => return Err(self.unexpected("done", &other)),
        };
        if !self.wait_for_exit(limit, Some(stop)) && !self.wait_for_exit(limit.min(EXIT_LIMIT), None) {
            return Err(self.hang("end after 'done'", limit));
        }
        match self.end() {
            Some(status) if !status.success() => Err(Failure::new(
                "crash",
                self.with_log(format!("after 'done' the worker ended with {status}")),
            )),
            _ => Ok(memory),
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.interrupt();
        // Its last line is in the failure, if there was one; logs of all blocks would fill the disk. What
        // cannot be removed goes with the folder.
        let _ = std::fs::remove_file(&self.log);
    }
}

/// Waits until a descriptor is ready or the time is over. An interrupted wait ends early, and the
/// caller checks again.
fn wait_for(descriptor: PollFd<'_>, limit: Duration) {
    let limit = Timespec::try_from(limit).ok();
    let _ = poll(&mut [descriptor], limit.as_ref());
}

/// A reply whose texts are sanitised for a terminal where they are shown or stored as they are.
fn cleaned(reply: Reply) -> Reply {
    let lines =
        |notes: Vec<String>| -> Vec<String> { notes.iter().map(|note| one_line(note, NOTE_CHARS)).collect() };
    match reply {
        Reply::Hello { protocol, engine, version, properties, pieces } => Reply::Hello {
            protocol,
            engine: one_line(&engine, 100),
            version: one_line(&version, 200),
            properties,
            pieces,
        },
        Reply::Loaded { bytes_per_session, rows_per_session, notes, keep } => {
            Reply::Loaded { bytes_per_session, rows_per_session, notes: lines(notes), keep }
        }
        Reply::Ready { tids, placed, notes, note_codes, memory } => {
            let note_codes = note_codes.iter().map(|code| one_line(code, 100)).collect();
            Reply::Ready { tids, placed, notes: lines(notes), note_codes, memory }
        }
        other => other,
    }
}

/// The failure of what is no longer awaited, since the study stops.
fn given_up() -> Failure {
    Failure::new(STOPPED, "the study was stopped")
}

/// The last line of a log that is not blank.
fn last_line(log: &Path) -> Option<String> {
    let mut file = File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096))).ok()?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    tail.lines().map(str::trim).rfind(|line| !line.is_empty()).map(|line| one_line(line, 200))
}

/// Names of the signals by which programs end; the numbers are the same on x86, ARM and POWER.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL: killed, possibly out of memory)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_is_looked_into_and_the_answer_still_comes() {
        if std::process::Command::new("python3").arg("--version").output().is_err() {
            let line = b"SKIPPED: a long wait for a worker: no python3 here (Debian: python3)\n";
            // Not by the macro, whose output the test program keeps back.
            std::io::Write::write_all(&mut std::io::stderr(), line).unwrap();
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (log, seen) = (folder.path().join("log"), folder.path().join("seen"));
        // Answers only when it was looked at three times, so that the test does not depend on time.
        let script = format!(
            "import os, time\nwhile not os.path.exists({seen:?}): time.sleep(0.01)\nos.write(int(os.environ['{}']), b'{{\"type\":\"done\"}}\\n')",
            protocol::REPLY_FD
        );
        let worker = Worker {
            program: "python3".into(),
            args: vec!["-c".to_owned(), script],
            environment: Vec::new(),
            withheld: Vec::new(),
        };
        let (cpus, memory) = (CpuSet::new(), MemoryBinding::default());
        let launch =
            WorkerLaunch { cpus: &cpus, memory: &memory, folder: folder.path(), log: &log, mark: &log };
        let mut process = WorkerProcess::start(&worker, launch, Deadlines::default()).unwrap();
        let mut looks = 0;
        let mut act = || {
            looks += 1;
            if looks == 3 {
                std::fs::write(&seen, "").unwrap();
            }
            Some(Duration::from_millis(50))
        };
        let wait =
            Wait { phase: "test", deadline: Duration::from_secs(60), stop: None, quiet: Duration::ZERO };
        let answer = process.receive_meanwhile(wait, Some(Interim::new(Duration::from_millis(50), &mut act)));
        assert!(matches!(answer, Ok(Reply::Done { .. })), "{answer:?}");
        assert!(looks >= 3);
    }

    #[test]
    fn the_last_line_of_a_log_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(last_line(&log), None);
        std::fs::write(&log, format!("{}\nsecond\nlast \n\n \n", "x".repeat(9000))).unwrap();
        assert_eq!(last_line(&log).unwrap(), "last");
        std::fs::write(&log, b"\xff\xfe").unwrap();
        assert!(last_line(&log).is_some());
    }
}
