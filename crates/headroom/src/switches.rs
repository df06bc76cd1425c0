//! When each logical CPU of a core was busy, from switches to and from the idle task.
//!
//! Source: `perf_event_open(2)`, PERF_RECORD_SWITCH_CPU_WIDE; the idle task has PID 0 on every logical CPU.

/// A task switch on a logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub at_ns: u64,
    /// Whether the task that leaves is not the idle one.
    pub was_busy: bool,
    /// Whether the task that comes is not the idle one.
    pub is_busy: bool,
}

/// Result of task switches for a core in a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traced {
    /// Busy seconds of each logical CPU, in the order of the core's.
    pub busy_s: Vec<f64>,
    /// Seconds in which at least one of them was busy.
    pub either_s: f64,
}

/// The tasks of a core's logical CPUs, followed from window to window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    /// Whether each was busy at the last known moment; `None` if unknown.
    is_busy: Vec<Option<bool>>,
    since_ns: u64,
}

impl Follower {
    /// Begins at a moment (CLOCK_MONOTONIC) with a core of `threads` logical CPUs.
    pub fn new(threads: usize, now_ns: u64) -> Self {
        Self { is_busy: vec![None; threads], since_ns: now_ns }
    }

    /// Whether the state of each is known.
    pub fn is_known(&self) -> bool {
        self.is_busy.iter().all(Option::is_some)
    }

    /// Begins again, after records were lost.
    pub fn forget(&mut self, now_ns: u64) {
        self.is_busy.iter_mut().for_each(|state| *state = None);
        self.since_ns = now_ns;
    }

    /// The window from the last moment to `now_ns`, with each logical CPU's switches in it, by time. One that did
    /// not switch and is still unknown was in one state all the time, which `mostly_busy` gives from its busy share.
    pub fn window(&mut self, switches: &[Vec<Switch>], mostly_busy: &[bool], now_ns: u64) -> Traced {
        let now_ns = now_ns.max(self.since_ns);
        for (at, state) in self.is_busy.iter_mut().enumerate() {
            let first = switches.get(at).and_then(|all| all.first()).map(|first| first.was_busy);
            *state = Some(state.or(first).unwrap_or_else(|| mostly_busy.get(at).copied().unwrap_or(false)));
        }
        let mut all: Vec<(u64, usize, bool)> = switches
            .iter()
            .enumerate()
            .flat_map(|(at, list)| list.iter().map(move |one| (one.at_ns, at, one.is_busy)))
            .collect();
        all.sort_by_key(|&(at_ns, at, _)| (at_ns, at));
        let mut busy_ns = vec![0_u64; self.is_busy.len()];
        let mut either_ns = 0_u64;
        let mut since_ns = self.since_ns;
        let mut pass = |states: &[Option<bool>], until_ns: u64| {
            let until_ns = until_ns.clamp(since_ns, now_ns);
            let passed_ns = until_ns - since_ns;
            since_ns = until_ns;
            let mut is_any = false;
            for (sum, _) in busy_ns.iter_mut().zip(states).filter(|(_, state)| **state == Some(true)) {
                *sum += passed_ns;
                is_any = true;
            }
            either_ns += if is_any { passed_ns } else { 0 };
        };
        for (at_ns, at, is_busy) in all {
            pass(&self.is_busy, at_ns);
            if let Some(state) = self.is_busy.get_mut(at) {
                *state = Some(is_busy);
            }
        }
        pass(&self.is_busy, now_ns);
        self.since_ns = now_ns;
        let seconds = |ns: u64| ns as f64 / 1e9;
        Traced { busy_s: busy_ns.into_iter().map(seconds).collect(), either_s: seconds(either_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(at_s: f64, is_busy: bool) -> Switch {
        Switch { at_ns: (at_s * 1e9) as u64, was_busy: !is_busy, is_busy }
    }

    fn close(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-9, "{value} is not {wanted}");
    }

    #[test]
    fn two_siblings_are_followed_over_windows() {
        let mut core = Follower::new(2, 0);
        // First: busy from 0.2 to 0.6; second: busy until 0.4, and from 0.9 on.
        let first = vec![to(0.2, true), to(0.6, false)];
        let second = vec![to(0.4, false), to(0.9, true)];
        let seen = core.window(&[first, second], &[false, false], 1_000_000_000);
        close(seen.busy_s[0], 0.4);
        close(seen.busy_s[1], 0.5);
        close(seen.either_s, 0.7);
        // Nothing switches: the second stays busy.
        let seen = core.window(&[vec![], vec![]], &[true, false], 3_000_000_000);
        assert_eq!(seen, Traced { busy_s: vec![0.0, 2.0], either_s: 2.0 });
    }

    #[test]
    fn without_any_switch_the_busy_share_says_what_ran() {
        let mut core = Follower::new(2, 0);
        let seen = core.window(&[vec![], vec![]], &[true, false], 500_000_000);
        assert_eq!(seen, Traced { busy_s: vec![0.5, 0.0], either_s: 0.5 });
        core.forget(600_000_000);
        let seen = core.window(&[], &[false, true], 700_000_000);
        close(seen.busy_s[1], 0.1);
    }

    #[test]
    fn late_records_and_a_clock_that_stands_still_do_no_harm() {
        let mut core = Follower::new(1, 1_000_000_000);
        let early = Switch { at_ns: 5, was_busy: false, is_busy: true };
        let seen = core.window(&[vec![early]], &[false], 1_500_000_000);
        close(seen.either_s, 0.5);
        assert_eq!(core.window(&[vec![to(9.0, false)]], &[false], 1_000_000_000).either_s, 0.0);
    }
}
