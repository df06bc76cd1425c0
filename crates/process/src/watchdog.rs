//! A process that outlives the one that starts it, and puts back what that has changed, however it ends.
//!
//! Its stdin is a pipe that nothing else holds, so that its end is the end of the process that it watches, in any way
//! (`pipe(7)`). It is in a session of its own: a Ctrl-C does not reach it.

use crate::spawn;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

/// How to start a program again, as a watchdog or for another user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub args: Vec<OsString>,
    /// Names of the variables that it gets; their values, which may be passwords, are kept nowhere.
    pub variables: Vec<OsString>,
}

impl Start {
    /// A program without an environment.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            variables: Vec::new(),
        }
    }
}

/// A running watchdog. When this is dropped, it does what is left to do, and its end is waited for.
#[derive(Debug)]
pub struct Watchdog {
    child: Child,
    is_awaited: bool,
}

impl Watchdog {
    /// Starts one; `more` follows its arguments: what it watches over.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(start: &Start, more: &[impl AsRef<OsStr>]) -> io::Result<Self> {
        let more = more.iter().map(AsRef::as_ref);
        let args: Vec<&OsStr> = start.args.iter().map(OsString::as_os_str).chain(more).collect();
        let variable = |name: &OsString| Some((name.clone(), std::env::var_os(name)?));
        let environment = start.variables.iter().filter_map(variable);
        let child = spawn::detached(&start.program, &args, environment)?;
        Ok(Self { child, is_awaited: true })
    }

    /// Sends it something to read.
    ///
    /// # Errors
    /// It has ended.
    pub fn tell(&mut self, record: &[u8]) -> io::Result<()> {
        self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(record)
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it do what is left to do without waiting for its end.
    pub fn leave(mut self) {
        self.is_awaited = false;
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if self.is_awaited {
            let _ = self.child.wait();
        }
    }
}

/// In a watchdog: passes on what it gets, until the process that it watches has ended.
pub fn await_end(stdin: &mut dyn Read, mut take: impl FnMut(&[u8])) {
    let mut buffer = [0; 4096];
    loop {
        match stdin.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => take(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// How often and how fast a watchdog tries: processes of the killed one end a moment after it, and a server may be
/// starting.
#[derive(Debug, Clone, Copy)]
pub struct Tries {
    /// How often.
    pub number: u32,
    /// Pause before trying again.
    pub pause: Duration,
}

impl Tries {
    /// Tries until it is done.
    ///
    /// # Errors
    /// That of the last try.
    pub fn until_done<T, E>(self, mut put_back: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        for _ in 1..self.number {
            if let Ok(done) = put_back() {
                return Ok(done);
            }
            std::thread::sleep(self.pause);
        }
        put_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sees_what_it_is_sent_and_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seen");
        let script = "cat > \"$1\"; echo end ${HOME+HOME} $PATH >> \"$1\"";
        let start = Start::new("/bin/sh", ["-c", script, "watchdog"]);
        let start = Start { variables: vec!["PATH".into()], ..start };
        let mut watchdog = Watchdog::start(&start, &[&file]).unwrap();
        assert!(!watchdog.has_ended());
        watchdog.tell(b"begin\n").unwrap();
        drop(watchdog);
        let path = std::env::var("PATH").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("begin\nend {path}\n"));
        assert!(Watchdog::start(&Start::new("/nowhere", [""; 0]), &["a"]).is_err());
    }

    #[test]
    fn all_that_comes_is_passed_on_and_tries_are_counted() {
        let mut seen = Vec::new();
        await_end(&mut "a-b".as_bytes(), |bytes| seen.extend_from_slice(bytes));
        assert_eq!(seen, b"a-b");
        for (number, after) in [(3, Ok(3)), (2, Err(2)), (1, Err(1))] {
            let mut made = 0;
            let tries = Tries { number, pause: Duration::ZERO };
            let done = tries.until_done(|| {
                made += 1;
                if made == 3 { Ok(made) } else { Err(made) }
            });
            assert_eq!(done, after);
        }
    }
}
