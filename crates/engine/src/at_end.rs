//! What a worker does when the runner ends it by SIGTERM: it cancels statements, which would otherwise go on in the
//! user's server.
//!
//! Source: `signal(7)`; a server notices that a client has ended only when it next writes to it (PostgreSQL, "Client
//! Connection Defaults", `client_connection_check_interval`).

use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long all actions together may take; the runner waits longer before it kills.
const LIMIT: Duration = Duration::from_secs(3);

type Action = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Actions {
    next: u64,
    by_number: BTreeMap<u64, Action>,
    /// Whether a thread waits for the signal.
    is_awaited: bool,
}

static ACTIONS: Mutex<Actions> =
    Mutex::new(Actions { next: 0, by_number: BTreeMap::new(), is_awaited: false });

/// An action registered for SIGTERM, until this is dropped.
#[must_use]
pub struct AtEnd(u64);

impl fmt::Debug for AtEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AtEnd({})", self.0)
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        ACTIONS.lock().unwrap_or_else(PoisonError::into_inner).by_number.remove(&self.0);
    }
}

/// Registers an action to run on SIGTERM, after which the process ends as usual. The thread that waits for the signal
/// sleeps until then.
///
/// # Errors
/// The signal cannot be caught, or the thread cannot be started.
pub fn at_end(action: impl Fn() + Send + Sync + 'static) -> io::Result<AtEnd> {
    let mut actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if !actions.is_awaited {
        let mut signals = Signals::new([SIGTERM])?;
        std::thread::Builder::new().name("at end".into()).spawn(move || {
            if signals.forever().next().is_some() {
                do_all();
                // It ends the process.
                let _ = emulate_default_handler(SIGTERM);
            }
        })?;
        actions.is_awaited = true;
    }
    let number = actions.next;
    actions.next += 1;
    actions.by_number.insert(number, Arc::new(action));
    Ok(AtEnd(number))
}

/// Runs all actions at once, each on its own thread, since a server may not answer.
fn do_all() {
    let actions: Vec<Action> =
        ACTIONS.lock().unwrap_or_else(PoisonError::into_inner).by_number.values().cloned().collect();
    let until = Instant::now() + LIMIT;
    let (sender, done) = channel();
    for action in actions {
        let sender = sender.clone();
        // If no thread can be started, the server's own time limit remains.
        let _ = std::thread::Builder::new().spawn(move || {
            action();
            let _ = sender.send(());
        });
    }
    drop(sender);
    while done.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn actions_are_done_as_long_as_they_are_wanted() {
        let done = Arc::new(AtomicU32::new(0));
        let add = |number: u32| {
            let done = Arc::clone(&done);
            at_end(move || {
                done.fetch_add(number, Ordering::SeqCst);
            })
            .unwrap()
        };
        let (_one, two, _four) = (add(1), add(2), add(4));
        drop(two);
        do_all();
        assert_eq!(done.load(Ordering::SeqCst), 5);
    }
}
