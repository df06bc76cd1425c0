//! The owner's process: it does what root asks, with the rights of the owner.

use super::link::Link;
use super::root::ROOT;
use super::wire::{self, Answer, Request, Task};
use crate::driver::Driver;
use crate::error::ItemError;
use crate::options::ItemOptions;
use crate::report::Stage;
use crate::{item, recover, run};
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use threadwise_process::as_owner::become_for_good;

/// The owner's process: reads the request, becomes the owner, executes it, and answers. SIGTERM must set `stop`.
/// Call it before any thread is started.
///
/// # Errors
/// There is no request, or the process cannot become the owner: nothing was touched.
pub fn serve(socket: OwnedFd, stop: Arc<AtomicBool>) -> io::Result<()> {
    let mut link = Link::new(UnixStream::from(socket));
    let request = link.request()?;
    // Without a terminal it can neither be stopped by its keys nor type into root's.
    setsid()?;
    become_for_good(&request.owner)?;
    // After it, since a change of user clears the request (`PR_SET_PDEATHSIG(2const)`).
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(request.parent) {
        return Err(io::Error::other("the run has ended"));
    }
    let link = ROOT.get_or_init(|| Mutex::new(link));
    let send = |line: &str| link.lock().unwrap_or_else(PoisonError::into_inner).send(line);
    // The end of the run ends this process too.
    let on_stage = |stage: Stage| drop(send(&wire::stage_line(stage)));
    let answer = done(&request, stop, &on_stage);
    send(&wire::answer_line(&answer))
}

/// The request, executed with the rights of this process.
fn done(request: &Request, stop: Arc<AtomicBool>, on_stage: &dyn Fn(Stage)) -> Result<Answer, ItemError> {
    let (path, settings) = (&request.database, &request.settings);
    let driver = || -> Result<Box<dyn Driver>, ItemError> {
        crate::driver(&request.engine, settings).ok_or_else(|| ItemError::skip("the engine is unknown"))
    };
    match request.task {
        Task::Reload(originals) => {
            let options = ItemOptions { settings: settings.clone(), originals, stop, hook: None };
            let report = item::reload(path, driver()?.as_ref(), &options, on_stage);
            Ok(Answer::Report(Box::new(report)))
        }
        Task::Recover => recover::recover(path, settings).map(Answer::Recovered),
        Task::Unseal => recover::unseal(path, settings, driver()?.as_ref()).map(Answer::Unsealed),
        Task::Look => run::look(path, driver()?.as_ref(), settings).map(|()| Answer::Looked),
    }
}
