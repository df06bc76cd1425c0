//! The watchdog: a process that outlives a killed study and restores the server's affinity.
//!
//! It is the same program with other arguments. It gets the login like any worker, from its environment or from a file
//! that it reads at the start, and keeps it only in memory.

use std::io::{self, Read};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};
use threadwise_engine::EngineError;
use threadwise_engine::protocol::REPLY_FD;
use threadwise_process::journal::Locked;
use threadwise_process::{marked, spawn};
use threadwise_study::{OptionValue, Options};

use super::held::put_back;
use crate::client::find;
use crate::failed;

/// The watchdog's first argument; the journal's path and the engine's options follow as `NAME=VALUE`.
pub const WATCHDOG: &str = "affinity-watchdog";

/// How long it tries a server that does not answer, which may be starting.
const TRIES: Duration = Duration::from_secs(60);
/// Pause before trying again.
const BETWEEN: Duration = Duration::from_secs(1);

/// A running watchdog, as its parent sees it.
pub(super) struct Watchdog(Child);

impl Watchdog {
    pub(super) fn start(journal: &Path, engine_options: &Options) -> io::Result<Self> {
        let mut args = vec![WATCHDOG.to_owned(), journal.display().to_string()];
        args.extend(engine_options.iter().map(|(name, value)| format!("{name}={value}")));
        // A process with threadwise's mark would be ended with the study; the reply descriptor is the worker's.
        let environment = std::env::vars_os().filter(|(name, _)| {
            name.to_str().is_none_or(|name| ![marked::VARIABLE, REPLY_FD].contains(&name))
        });
        spawn::detached(&std::env::current_exe()?, &args, environment).map(Self)
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Lets it end; waits for its end if it has nothing left to do.
    pub(super) fn end(mut self, is_waited_for: bool) {
        drop(self.0.stdin.take());
        if is_waited_for {
            let _ = self.0.wait();
        }
    }
}

/// The watchdog's main function: waits for the end of `stdin`, then restores the affinity of the journal.
///
/// # Errors
/// Invalid arguments, or the server could not be restored; the next study there tries again.
pub fn watch(args: &[String], stdin: &mut dyn Read) -> Result<(), EngineError> {
    let refused = |why: String| failed("watch over the server's CPU affinity", why);
    let (journal, options) = args.split_first().ok_or_else(|| refused("no journal is named".to_owned()))?;
    let journal = Path::new(journal);
    let option = |text: &String| {
        let (name, value) = text.split_once('=')?;
        Some((name.to_owned(), OptionValue::Text(value.to_owned())))
    };
    let options: Option<Options> = options.iter().map(option).collect();
    let options = options.ok_or_else(|| refused("an option is not NAME=VALUE".to_owned()))?;
    // The login is tested while an error can still be reported.
    let server = find(&options)?;
    let opened = Locked::open(journal).map_err(|error| refused(error.to_string()))?;
    let mut opened = opened.ok_or_else(|| refused("there is no such journal".to_owned()))?;
    opened.enter().map_err(|error| refused(error.to_string()))?;
    drop(opened);
    // A read error means the end, too.
    let _ = io::copy(stdin, &mut io::sink());
    let until = Instant::now() + TRIES;
    loop {
        let connected = server.connect("threadwise affinity").map_err(|error| error.to_string());
        let done = connected.and_then(|mut connection| put_back(&mut connection, journal));
        match done {
            Ok(()) => return Ok(()),
            Err(why) if Instant::now() >= until => return Err(refused(why)),
            Err(_) => std::thread::sleep(BETWEEN),
        }
    }
}
