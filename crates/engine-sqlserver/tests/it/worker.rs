//! The worker program, and the protocol of docs/WORKER.md with it.

use crate::bench::Bench;
use crate::model::PASSWORD;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use threadwise_engine::protocol::{REPLY_FD, Reply, Request, decode, encode, read_line};

/// Starts the program with replies on descriptor 3, which is the pipe of the shell's standard output.
const SHELL: &str = "exec 3>&1 1>&2; exec \"$0\"";

/// A worker at work; one that is dropped is killed.
pub struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Worker {
    /// Starts it; the password is in its environment or nowhere.
    pub fn start(bench: &Bench, has_password: bool) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let log = bench.path().join(format!("worker-{number}.log"));
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SHELL, env!("CARGO_BIN_EXE_threadwise-engine-sqlserver")])
            .env_remove("SQLCMDUSER")
            .env_remove("SQLCMDPASSWORD")
            .env(REPLY_FD, "3")
            .env("THREADWISE_STATE_DIR", bench.state_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap());
        if has_password {
            command.env("SQLCMDPASSWORD", PASSWORD);
        }
        let mut child = command.spawn().unwrap();
        let (requests, replies) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, requests, replies, log }
    }

    /// The next reply.
    pub fn reply(&mut self) -> Reply {
        let line = read_line(&mut self.replies).unwrap().unwrap();
        assert!(!line.contains(PASSWORD), "{line}");
        decode(&line).unwrap()
    }

    /// Asks something, whose reply comes later.
    pub fn send(&mut self, request: &Request) {
        self.requests.as_mut().unwrap().write_all(encode(request).unwrap().as_bytes()).unwrap();
    }

    /// Asks something, and gives the reply.
    pub fn ask(&mut self, request: &Request) -> Reply {
        self.send(request);
        self.reply()
    }

    /// Ends its input.
    pub fn close(&mut self) {
        drop(self.requests.take());
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it.
    pub fn kill(mut self) -> ExitStatus {
        self.child.kill().unwrap();
        self.child.wait().unwrap()
    }

    /// Ends its input; gives how it ended and what it wrote to its log.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.close();
        let status = self.child.wait().unwrap();
        let log = std::fs::read_to_string(&self.log).unwrap();
        assert!(!log.contains(PASSWORD), "{log}");
        assert_eq!(read_line(&mut self.replies).unwrap(), None, "it said more");
        (status, log)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended already is only waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
