//! The window in milliseconds of the engine's clock.
//!
//! The engine runs on this machine and reads the same clock (CLOCK_REALTIME, cut to milliseconds:
//! Firebird's `TimeStamp::getCurrentTimeStamp` and `'NOW'`). So a window begins and ends on whole milliseconds,
//! at most half a millisecond from the requested times, the same for all sessions; its length is exact if it
//! is a whole number of milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};
use threadwise_engine::Window;
use threadwise_engine::clock::monotonic_ns;

/// Pairs of readings of both clocks; the closest pair counts.
const ROUNDS: u32 = 5;

/// CLOCK_REALTIME minus CLOCK_MONOTONIC, nanoseconds.
pub(super) fn offset_ns() -> i128 {
    let look = || {
        let before_ns = monotonic_ns();
        // On a machine without a clock the time is before 1970; the window is then empty, which is reported.
        let real_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let after_ns = monotonic_ns();
        (after_ns - before_ns, real_ns as i128 - i128::from(before_ns.midpoint(after_ns)))
    };
    (0..ROUNDS).map(|_| look()).min().map_or(0, |(_, offset_ns)| offset_ns)
}

/// First millisecond of a window since 1970, and the first after it.
pub(super) fn window_ms(window: &Window, offset_ns: i128) -> (i64, i64) {
    let nearest = |ns: i128| (ns + 500_000).div_euclid(1_000_000) as i64;
    let start_ms = nearest(i128::from(window.start_ns) + offset_ns);
    (start_ms, start_ms + nearest(i128::from(window.end_ns.saturating_sub(window.start_ns))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_on_the_nearest_millisecond_and_keep_their_length() {
        let window = |start_ns: u64, length_ns: u64| Window {
            sequence: 0,
            start_ns,
            end_ns: start_ns + length_ns,
            piece_ns: None,
        };
        let offset_ns = 1_795_313_194_000_400_000;
        for (start_ns, expected) in [(0, 0), (99_999, 0), (100_000, 1), (1_099_999, 1)] {
            let (start_ms, end_ms) = window_ms(&window(start_ns, 50_000_000), offset_ns);
            assert_eq!((start_ms - 1_795_313_194_000, end_ms - start_ms), (expected, 50), "{start_ns}");
        }
        assert_eq!(window_ms(&window(0, 1_600_000), 0), (0, 2));
    }
}
