//! The watchdog: a process that outlives a study that was killed, and puts the server's affinity back.
//!
//! It is this program itself with other arguments. The login comes as to any worker, by its environment or from a file
//! that is read at the start; it lies in the watchdog's memory and nowhere else.

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

/// The first argument of the watchdog; the journal's path and the engine's options follow as `NAME=VALUE`.
pub const WATCHDOG: &str = "affinity-watchdog";

/// How long a server that does not answer is tried: it may be starting.
const TRIES: Duration = Duration::from_secs(60);
/// Pause before trying again.
const BETWEEN: Duration = Duration::from_secs(1);

/// A watchdog at work, as its starter sees it.
pub(super) struct Watchdog(Child);

impl Watchdog {
    pub(super) fn start(journal: &Path, engine_options: &Options) -> io::Result<Self> {
        let mut args = vec![WATCHDOG.to_owned(), journal.display().to_string()];
        args.extend(engine_options.iter().map(|(name, value)| format!("{name}={value}")));
        // What carries our mark is ended with the study, and the descriptor of replies is the worker's.
        let environment = std::env::vars_os().filter(|(name, _)| {
            name.to_str().is_none_or(|name| ![marked::VARIABLE, REPLY_FD].contains(&name))
        });
        spawn::detached(&std::env::current_exe()?, &args, environment).map(Self)
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Lets it end; waits for that where nothing is left for it.
    pub(super) fn end(mut self, is_waited_for: bool) {
        drop(self.0.stdin.take());
        if is_waited_for {
            let _ = self.0.wait();
        }
    }
}

/// What the watchdog does: waits for the end of `stdin`, then puts back what the journal has.
///
/// # Errors
/// The arguments are not those of a watchdog, or the server could not be put back; the next study there tries again.
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
    // The login is tried while it can still be said that it does not work.
    let server = find(&options)?;
    let opened = Locked::open(journal).map_err(|error| refused(error.to_string()))?;
    let mut opened = opened.ok_or_else(|| refused("its journal is not there".to_owned()))?;
    opened.enter().map_err(|error| refused(error.to_string()))?;
    drop(opened);
    // An error is an end, too.
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
