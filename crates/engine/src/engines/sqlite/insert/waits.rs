//! Waiting for SQLite's one writer, counted.
//!
//! SQLite has no queue: a session that finds the write lock taken sleeps and tries again. The pauses
//! are those of `sqlite3_busy_timeout` (main.c, sqliteDefaultBusyCallback), so that sessions wait as
//! in any application; this handler only adds the counting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::{Window, clock};

/// Pauses of one wait, milliseconds; the last one repeats.
const PAUSES_MS: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// Pauses after which a session gives up: ten minutes. A holder of the lock for that long is stuck.
const MOST_PAUSES: i32 = 6000;

/// Pauses of one connection in the current window. Only the session's own thread counts here.
///
/// They are counted by the clock and not by steps: a session that gets no turn in a whole window ends
/// no step in it, but has waited.
#[derive(Debug, Default)]
pub(super) struct Waits {
    start_ns: AtomicU64,
    end_ns: AtomicU64,
    count: AtomicU64,
    total_ns: AtomicU64,
}

impl Waits {
    /// Starts counting for a window.
    pub(super) fn begin(&self, window: &Window) {
        self.start_ns.store(window.start_ns, Ordering::Relaxed);
        self.end_ns.store(window.end_ns, Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
        self.total_ns.store(0, Ordering::Relaxed);
    }

    /// Pauses that ended inside the window, and the nanoseconds of all pauses inside it.
    pub(super) fn read(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed), self.total_ns.load(Ordering::Relaxed))
    }

    fn pause(&self, before: i32) -> bool {
        if before >= MOST_PAUSES {
            return false;
        }
        let began_ns = clock::monotonic_ns();
        thread::sleep(pause_of(before));
        self.add(began_ns, clock::monotonic_ns());
        true
    }

    fn add(&self, began_ns: u64, ended_ns: u64) {
        let (start_ns, end_ns) = (self.start_ns.load(Ordering::Relaxed), self.end_ns.load(Ordering::Relaxed));
        // As for steps: those that end inside (start, end].
        let ended_inside = ended_ns > start_ns && ended_ns <= end_ns;
        self.count.fetch_add(u64::from(ended_inside), Ordering::Relaxed);
        let inside_ns = ended_ns.min(end_ns).saturating_sub(began_ns.max(start_ns));
        self.total_ns.fetch_add(inside_ns, Ordering::Relaxed);
    }
}

/// The pause after `before` pauses for the same lock.
fn pause_of(before: i32) -> Duration {
    let at = usize::try_from(before).unwrap_or(0).min(PAUSES_MS.len() - 1);
    Duration::from_millis(PAUSES_MS[at])
}

/// SQLite's busy handler: called with the number of earlier calls for the same lock.
pub(super) fn handler(waits: Arc<Waits>) -> impl FnMut(i32) -> bool + Send + 'static {
    move |before| waits.pause(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Vec<u128> = (0..14).map(|before| pause_of(before).as_millis()).collect();
        assert_eq!(pauses, [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100, 100, 100]);
        let waits = Arc::new(Waits::default());
        waits.begin(&Window { sequence: 0, start_ns: 0, end_ns: u64::MAX, piece_ns: None, arrivals: None });
        let mut handler = handler(Arc::clone(&waits));
        assert!(handler(0) && handler(1) && !handler(MOST_PAUSES));
        let (count, total_ns) = waits.read();
        assert!(count == 2 && total_ns >= 3_000_000, "{count} {total_ns}");
    }

    #[test]
    fn what_lies_outside_of_the_window_is_left_out() {
        let waits = Waits::default();
        waits.begin(&Window { sequence: 0, start_ns: 100, end_ns: 200, piece_ns: None, arrivals: None });
        let cases =
            [(10, 90, 0, 0), (60, 110, 1, 10), (110, 150, 1, 40), (180, 260, 0, 20), (250, 260, 0, 0)];
        let (mut count, mut total_ns) = (0, 0);
        for (began_ns, ended_ns, counts, inside_ns) in cases {
            waits.add(began_ns, ended_ns);
            (count, total_ns) = (count + counts, total_ns + inside_ns);
            assert_eq!(waits.read(), (count, total_ns), "{began_ns} to {ended_ns}");
        }
        waits.begin(&Window { sequence: 1, start_ns: 300, end_ns: 400, piece_ns: None, arrivals: None });
        assert_eq!(waits.read(), (0, 0));
    }
}
