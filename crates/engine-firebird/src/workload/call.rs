//! Result of one call of a loop, and the window's share of what its program used.

use threadwise_process::proc;
use threadwise_study::SessionSlice;

use super::counters::Pages;

/// What the threads of a program have used since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    cpu_ns: u64,
    wait_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

impl Usage {
    /// Zeros if it has ended, which its next answer reports.
    pub(super) fn of(pid: u32) -> Self {
        proc::thread_numbers(pid).into_iter().fold(Self::default(), |sum, tid| {
            let times = proc::thread_times(pid, tid).unwrap_or_default();
            let switches = proc::switches(pid, tid).unwrap_or_default();
            Self {
                cpu_ns: sum.cpu_ns + times.cpu_ns,
                wait_ns: sum.wait_ns + times.wait_ns,
                voluntary: sum.voluntary + switches.voluntary,
                involuntary: sum.involuntary + switches.involuntary,
            }
        })
    }
}

/// Result of one call of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    /// Steps that ended inside the window.
    pub steps: u64,
    /// All steps.
    pub calls: u64,
    /// Rows of each step.
    pub rows_per_step: u64,
    /// Pages that all steps accessed.
    pub pages: Pages,
}

impl Call {
    /// Rows of all steps.
    pub(super) fn all_rows(&self) -> u64 {
        self.calls * self.rows_per_step
    }

    /// The slice of a loop inside the engine.
    pub(super) fn slice(&self, before: Usage, after: Usage) -> SessionSlice {
        let since = |read: fn(&Usage) -> u64| {
            share(read(&after).saturating_sub(read(&before)), self.steps, self.calls)
        };
        let of_window =
            |(name, amount): (&str, u64)| (name.to_owned(), share(amount, self.steps, self.calls));
        let Pages { fetches, reads, writes } = self.pages;
        let counters = [("logical_reads", fetches), ("physical_reads", reads), ("pages_written", writes)];
        SessionSlice {
            counters: counters.into_iter().map(of_window).collect(),
            steps: self.steps,
            rows: self.steps * self.rows_per_step,
            answers_checked: self.steps,
            cpu_ns: since(|usage| usage.cpu_ns),
            voluntary_switches: since(|usage| usage.voluntary),
            involuntary_switches: since(|usage| usage.involuntary),
            run_queue_wait_ns: Some(since(|usage| usage.wait_ns)),
            ..SessionSlice::default()
        }
    }

    /// Replaces, in the slice of a loop in the worker, what the worker's thread used by what the program used.
    pub(super) fn give_to(&self, slice: &mut SessionSlice, before: Usage, after: Usage) {
        let engines = self.slice(before, after);
        slice.counters.insert("client_cpu_ns".to_owned(), slice.cpu_ns);
        slice.counters.extend(engines.counters);
        slice.cpu_ns = engines.cpu_ns;
        slice.voluntary_switches = engines.voluntary_switches;
        slice.involuntary_switches = engines.involuntary_switches;
        slice.run_queue_wait_ns = engines.run_queue_wait_ns;
    }
}

/// The share of an amount of a whole call that belongs to the steps of the window.
fn share(amount: u64, steps: u64, calls: u64) -> u64 {
    u64::try_from(u128::from(amount) * u128::from(steps) / u128::from(calls.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_scaled_to_the_steps_of_the_window() {
        let pages = Pages { fetches: 400, reads: 4, writes: 0 };
        let call = Call { steps: 30, calls: 40, rows_per_step: 64, pages };
        let before = Usage { cpu_ns: 1000, voluntary: 1, involuntary: 2, wait_ns: 10 };
        let after = Usage { cpu_ns: 5000, voluntary: 5, involuntary: 6, wait_ns: 50 };
        let slice = call.slice(before, after);
        assert_eq!((slice.rows, slice.steps, slice.cpu_ns), (1920, 30, 3000));
        assert_eq!((slice.voluntary_switches, slice.involuntary_switches), (3, 3));
        assert_eq!(slice.run_queue_wait_ns, Some(30));
        assert_eq!((slice.counters["logical_reads"], slice.counters["physical_reads"]), (300, 3));
        assert_eq!(share(7, 0, 0), 0);
        let mut stepped =
            SessionSlice { steps: 30, cpu_ns: 9, answers_checked: 0, ..SessionSlice::default() };
        call.give_to(&mut stepped, before, after);
        assert_eq!(
            (stepped.cpu_ns, stepped.counters["client_cpu_ns"], stepped.answers_checked),
            (3000, 9, 0)
        );
        assert_eq!((stepped.counters["logical_reads"], stepped.run_queue_wait_ns), (300, Some(30)));
    }
}
