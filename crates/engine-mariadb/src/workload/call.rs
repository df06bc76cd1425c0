//! Result of one call of a loop, and the window's share of what it used.
//!
//! CPU time and switches are read over the whole call, re-warm included, and scaled by steps in the window over steps
//! of the call.

use threadwise_study::SessionSlice;

use super::thread::Usage;

/// Result of one call of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    /// Steps that ended inside the window.
    pub steps: u64,
    /// All steps.
    pub calls: u64,
    /// Rows of each step.
    pub rows_per_step: u64,
}

impl Call {
    /// Rows of all steps.
    pub(super) fn all_rows(&self) -> u64 {
        self.calls * self.rows_per_step
    }

    /// The share of an amount of the whole call that belongs to the window's steps.
    fn share(&self, amount: u64) -> u64 {
        let all = u128::from(self.calls.max(1));
        u64::try_from(u128::from(amount) * u128::from(self.steps) / all).unwrap_or(u64::MAX)
    }

    /// The slice of a loop inside the server.
    pub(super) fn slice(&self, before: Usage, after: Usage, client_cpu_ns: u64) -> SessionSlice {
        let since = |read: fn(&Usage) -> u64| self.share(read(&after).saturating_sub(read(&before)));
        SessionSlice {
            steps: self.steps,
            rows: self.steps * self.rows_per_step,
            answers_checked: self.steps,
            cpu_ns: since(|usage| usage.cpu_ns),
            voluntary_switches: since(|usage| usage.voluntary),
            involuntary_switches: since(|usage| usage.involuntary),
            run_queue_wait_ns: match (before.wait_ns, after.wait_ns) {
                (Some(before), Some(after)) => Some(self.share(after.saturating_sub(before))),
                _ => None,
            },
            counters: [("client_cpu_ns".to_owned(), self.share(client_cpu_ns))].into(),
            ..SessionSlice::default()
        }
    }

    /// Replaces, in the slice of a loop in the client, what the client's thread used by what the server's thread used.
    pub(super) fn give_to(&self, slice: &mut SessionSlice, before: Usage, after: Usage, client_cpu_ns: u64) {
        let servers = self.slice(before, after, client_cpu_ns);
        slice.cpu_ns = servers.cpu_ns;
        slice.voluntary_switches = servers.voluntary_switches;
        slice.involuntary_switches = servers.involuntary_switches;
        slice.run_queue_wait_ns = servers.run_queue_wait_ns;
        slice.counters.extend(servers.counters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_scaled_to_the_rows_of_the_window() {
        let call = Call { steps: 30, calls: 40, rows_per_step: 64 };
        let before = Usage { cpu_ns: 1000, voluntary: 1, involuntary: 2, wait_ns: Some(10) };
        let after = Usage { cpu_ns: 5000, voluntary: 5, involuntary: 6, wait_ns: Some(50) };
        let slice = call.slice(before, after, 8);
        assert_eq!((slice.rows, slice.steps, slice.cpu_ns), (1920, 30, 3000));
        assert_eq!((slice.voluntary_switches, slice.involuntary_switches), (3, 3));
        assert_eq!((slice.run_queue_wait_ns, slice.counters["client_cpu_ns"]), (Some(30), 6));
        let mut stepped =
            SessionSlice { cpu_ns: 9, counters: [("rows".to_owned(), 7)].into(), ..slice.clone() };
        call.give_to(&mut stepped, before, after, 8);
        assert_eq!(
            (stepped.cpu_ns, stepped.counters["client_cpu_ns"], stepped.counters["rows"]),
            (3000, 6, 7)
        );
        let idle = Call { steps: 0, calls: 0, rows_per_step: 1 }.slice(before, after, 8);
        assert_eq!((idle.cpu_ns, idle.rows), (0, 0));
    }
}
