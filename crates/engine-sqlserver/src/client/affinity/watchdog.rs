//! The watchdog: a process that outlives a killed study and restores the server's affinity.
//!
//! It is the same program with other arguments. It gets the login like any worker, from its environment or from a file
//! that it reads at the start, and keeps it only in memory.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};
use threadwise_engine::EngineError;
use threadwise_engine::protocol::REPLY_FD;
use threadwise_process::journal::Locked;
use threadwise_process::marked;
use threadwise_process::watchdog::{Start, Tries, Watchdog, await_end};
use threadwise_study::{OptionValue, Options};

use super::held::put_back;
use crate::client::find;
use crate::failed;

/// The watchdog's first argument; the journal's path and the engine's options follow as `NAME=VALUE`.
pub const WATCHDOG: &str = "affinity-watchdog";

/// How often it tries a server that does not answer, which may be starting, and how long at most.
const TRIES: Tries = Tries { number: 60, pause: Duration::from_secs(1) };
const LIMIT: Duration = Duration::from_secs(60);

/// Starts the watchdog of a journal.
pub(super) fn start(journal: &Path, engine_options: &Options) -> io::Result<Watchdog> {
    let mut more = vec![journal.as_os_str().to_owned()];
    more.extend(engine_options.iter().map(|(name, value)| OsString::from(format!("{name}={value}"))));
    // A process with threadwise's mark would be ended with the study; the reply descriptor is the worker's.
    let is_given =
        |name: &OsString| name.to_str().is_none_or(|name| ![marked::VARIABLE, REPLY_FD].contains(&name));
    let variables = std::env::vars_os().map(|(name, _)| name).filter(is_given).collect();
    Watchdog::start(&Start { variables, ..Start::new(std::env::current_exe()?, [WATCHDOG]) }, &more)
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
    await_end(stdin, |_| ());
    let until = Instant::now() + LIMIT;
    let put_back = || {
        let mut connection = server.connect("threadwise affinity").map_err(|error| error.to_string())?;
        put_back(&mut connection, journal)
    };
    let done = TRIES.until_done(|| match put_back() {
        Err(why) if Instant::now() >= until => Ok(Err(why)),
        done => done.map(Ok),
    });
    done.and_then(|done| done).map_err(refused)
}
