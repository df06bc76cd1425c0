//! An item in a separate process with only the rights of the database's owner: what root does
//! on a user's ground (`runs_as`).
//!
//! The process is this program again, started by root from `/proc/self/exe`. It gets a request over a socket,
//! permanently becomes the owner before it touches anything, does what any run of that user would do, and reports
//! the outcome. Root still does two things for it: it finds the processes that have a file open (`holders`), which
//! only root sees of other users, and it passes on a request to stop. Both ends exchange lines of escaped words.

mod link;
pub(crate) mod root;
mod serve;
mod wire;

use crate::driver::Settings;
use crate::error::ItemError;
use crate::holders;
use crate::metadata::Metadata;
use crate::options::ItemOptions;
use crate::report::{Outcome, Recovered, Report, Stage};
use link::Link;
use rustix::process::{Pid, Signal, kill_process};
pub use serve::serve;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use threadwise_process::stopping;
use threadwise_process::users::Account;
use wire::{Answer, Line, Request, Task};

/// Interval of root's checks whether the user asked to stop.
const STEP: Duration = Duration::from_millis(100);
/// How long a process that has answered may take to end.
const LONGEST_END: Duration = Duration::from_secs(10);
/// Variables of root's that the owner's process gets: where programs are, and the time zone.
const VARIABLES: [&str; 3] = ["PATH", "TZ", "FIREBIRD"];

/// Reloads a file in a process of its owner.
///
/// # Errors
/// The process could not be started, or ended without an answer.
pub fn reload(
    owner: &Account,
    database: &Path,
    engine: &str,
    options: &ItemOptions,
    on_stage: &dyn Fn(Stage),
) -> Result<Report, ItemError> {
    let attributes = Metadata::of(database)
        .map_err(|error| ItemError::skip(format!("cannot read its attributes: {error}")))?;
    if let Some(name) = attributes.roots_own() {
        return Err(ItemError::skip(format!("its owner cannot set the attribute {name}: remove it")));
    }
    let task = Task::Reload(options.originals);
    let request = Request::of(task, owner, database, engine, &options.settings);
    match ask(&request, &options.settings, &options.stop, on_stage)? {
        Answer::Report(mut report) => {
            if let Outcome::Skipped(why) = &mut report.outcome {
                why.push_str(&format!(" (as user {}, whose file and folder it is)", owner.uid));
            }
            Ok(*report)
        }
        _ => Err(no_answer()),
    }
}

/// Recovers a file in a process of its owner.
///
/// # Errors
/// As [`crate::recover::recover`], or the process could not be started or ended without an answer.
pub fn recover(owner: &Account, database: &Path, settings: &Settings) -> Result<Recovered, ItemError> {
    match ask_simply(Task::Recover, owner, database, "", settings)? {
        Answer::Recovered(recovered) => Ok(recovered),
        _ => Err(no_answer()),
    }
}

/// Makes a kept original usable again in a process of its owner.
///
/// # Errors
/// As [`crate::recover::unseal`], or the process could not be started or ended without an answer.
pub fn unseal(owner: &Account, file: &Path, engine: &str, settings: &Settings) -> Result<bool, ItemError> {
    match ask_simply(Task::Unseal, owner, file, engine, settings)? {
        Answer::Unsealed(was_sealed) => Ok(was_sealed),
        _ => Err(no_answer()),
    }
}

/// Checks a file in a process of its owner, for a dry run.
///
/// # Errors
/// As [`crate::run::look`], or the process could not be started or ended without an answer.
pub fn look(owner: &Account, database: &Path, engine: &str, settings: &Settings) -> Result<(), ItemError> {
    match ask_simply(Task::Look, owner, database, engine, settings)? {
        Answer::Looked => Ok(()),
        _ => Err(no_answer()),
    }
}

fn ask_simply(
    task: Task,
    owner: &Account,
    database: &Path,
    engine: &str,
    settings: &Settings,
) -> Result<Answer, ItemError> {
    let request = Request::of(task, owner, database, engine, settings);
    ask(&request, settings, &AtomicBool::new(false), &|_| ())
}

fn no_answer() -> ItemError {
    ItemError::LeftBehind("the owner's process for it ended without an answer".to_owned())
}

/// Starts the process, serves it, and returns its answer.
fn ask(
    request: &Request,
    settings: &Settings,
    stop: &AtomicBool,
    on_stage: &dyn Fn(Stage),
) -> Result<Answer, ItemError> {
    let refused = |error: io::Error| {
        let uid = request.owner.uid;
        ItemError::skip(format!("cannot start a process of its owner, user {uid}: {error}"))
    };
    let start =
        settings.as_owner.as_ref().ok_or_else(|| refused(io::Error::other("no program is set for it")))?;
    let (here, there) = UnixStream::pair().map_err(refused)?;
    let mut child = Command::new(&start.program)
        .arg0("threadwise")
        .args(&start.args)
        .env_clear()
        .envs(VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .current_dir("/")
        .stdin(OwnedFd::from(there))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(refused)?;
    let answer =
        served(Link::new(here), request, &child, stop, on_stage).unwrap_or_else(|_| Err(no_answer()));
    end(&mut child);
    answer
}

/// Sends the request and serves the process until it answers. The outer error is that of the socket, which
/// closes when the process ends.
fn served(
    mut link: Link,
    request: &Request,
    child: &Child,
    stop: &AtomicBool,
    on_stage: &dyn Fn(Stage),
) -> io::Result<Result<Answer, ItemError>> {
    link.send(&request.line())?;
    let mut was_stopped = false;
    loop {
        // Before each line: a process that waits for others asks all the time.
        if stop.load(Ordering::Relaxed) && !was_stopped {
            was_stopped = true;
            kill_process(Pid::from_child(child), Signal::TERM)?;
        }
        match link.next(STEP)? {
            None => {}
            Some(Line::Stage(stage)) => on_stage(stage),
            Some(Line::WhoHas(inode, name)) => {
                let found = holders::seen_besides(inode, OsStr::from_bytes(&name), child.id());
                link.send(&wire::holders_line(&found))?;
            }
            Some(Line::Answer(answer)) => return Ok(answer),
        }
    }
}

/// The process ends by itself once it has answered; one that does not is killed.
fn end(child: &mut Child) {
    let ended = stopping::wait(child, LONGEST_END);
    if !matches!(ended, Ok(Some(_))) {
        // Its state is unknown in any case.
        let _ = child.kill().and_then(|()| child.wait());
    }
}
