//! Sets the stop flag of a study when its time is over, so that whatever is under way (the probe, data,
//! a server that starts, a long window) ends as if the user had asked for it.
//!
//! A thread sleeps until then and does not run while slices are measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Instant;

/// A time at which the flag is set; dropping this value cancels it.
#[derive(Debug)]
pub struct Alarm {
    times: Sender<Instant>,
    bell: Bell,
}

#[derive(Debug, Clone)]
struct Bell {
    stop: Arc<AtomicBool>,
    rang: Arc<AtomicBool>,
}

impl Bell {
    fn ring(&self) {
        // A user who stopped before counts as the cause.
        self.rang.fetch_or(!self.stop.load(Ordering::SeqCst), Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
    }
}

impl Alarm {
    /// An alarm without a time.
    pub fn new(stop: &Arc<AtomicBool>) -> Self {
        let bell = Bell { stop: Arc::clone(stop), rang: Arc::default() };
        let (times, received) = mpsc::channel();
        let thread = bell.clone();
        // Without a thread the limit is still checked between blocks.
        let _ = std::thread::Builder::new().spawn(move || wait(&received, &thread));
        Self { times, bell }
    }

    /// Sets the time, replacing the one before.
    pub fn set(&self, at: Instant) {
        // The thread ends when it rings.
        let _ = self.times.send(at);
    }

    /// Rings now.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// Whether the alarm stopped the study.
    pub fn has_rung(&self) -> bool {
        self.bell.rang.load(Ordering::SeqCst)
    }
}

fn wait(times: &Receiver<Instant>, bell: &Bell) {
    let mut next = times.recv().map_err(RecvTimeoutError::from);
    while let Ok(at) = next {
        next = times.recv_timeout(at.saturating_duration_since(Instant::now()));
    }
    if next == Err(RecvTimeoutError::Timeout) {
        bell.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn rings(alarm: &Alarm, stop: &AtomicBool) -> bool {
        let until = Instant::now() + Duration::from_secs(120);
        while !stop.load(Ordering::SeqCst) {
            assert!(Instant::now() < until, "it did not ring");
            std::thread::sleep(Duration::from_millis(1));
        }
        alarm.has_rung()
    }

    #[test]
    fn it_rings_at_the_last_time_that_was_set() {
        let stop = Arc::new(AtomicBool::new(false));
        let alarm = Alarm::new(&stop);
        alarm.set(Instant::now() + Duration::from_secs(3600));
        alarm.set(Instant::now());
        assert!(rings(&alarm, &stop));
    }

    #[test]
    fn a_user_who_was_first_is_who_stopped() {
        let stop = Arc::new(AtomicBool::new(true));
        let alarm = Alarm::new(&stop);
        alarm.ring();
        assert!(!alarm.has_rung());
    }
}
