//! What a session used, by the server's counters, and the window's share of it.
//!
//! Source: sys.dm_exec_sessions; a login sees its own sessions there without any right. Values are of ended requests,
//! CPU time in whole milliseconds.

use threadwise_engine::EngineError;
use threadwise_study::SessionSlice;

use crate::client::connect::Connection;
use crate::client::error::query;
use crate::client::statements::whole;

const SQL: &str = include_str!("../../sql/usage.sql");

/// What a session has used since its start; `None` if the server does not count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub cpu_ms: Option<u64>,
    pub logical_reads: Option<u64>,
    pub physical_reads: Option<u64>,
}

impl Usage {
    /// What the session of this connection has used so far.
    ///
    /// # Errors
    /// An error of the server.
    pub(super) fn read(connection: &mut Connection) -> Result<Self, EngineError> {
        let rows = connection.rows(SQL).map_err(|cause| query("read what a session used", &cause))?;
        let number =
            |at| rows.first().and_then(|row| whole(row, at)).and_then(|number| u64::try_from(number).ok());
        Ok(Self { cpu_ms: number(0), logical_reads: number(1), physical_reads: number(2) })
    }

    /// Whether the server counts at all: a session that has logged in and run a query has used something.
    pub(super) fn is_counted(&self) -> bool {
        self.logical_reads.is_some_and(|reads| reads > 0) || self.cpu_ms.is_some_and(|ms| ms > 0)
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
        let mut slice = SessionSlice {
            steps: self.steps,
            rows: self.steps * self.rows_per_step,
            answers_checked: self.steps,
            ..SessionSlice::default()
        };
        self.give_to(&mut slice, before, after, client_cpu_ns);
        slice
    }

    /// Replaces what the client's thread used by what the server's session used.
    pub(super) fn give_to(&self, slice: &mut SessionSlice, before: Usage, after: Usage, client_cpu_ns: u64) {
        let since =
            |read: fn(&Usage) -> Option<u64>| Some(self.share(read(&after)?.saturating_sub(read(&before)?)));
        slice.cpu_ns = since(|usage| usage.cpu_ms.map(|ms| ms * 1_000_000)).unwrap_or(0);
        slice.voluntary_switches = 0;
        slice.involuntary_switches = 0;
        slice.run_queue_wait_ns = None;
        slice.counters.insert("client_cpu_ns".to_owned(), self.share(client_cpu_ns));
        for (name, amount) in [
            ("logical_reads", since(|usage| usage.logical_reads)),
            ("physical_reads", since(|usage| usage.physical_reads)),
        ] {
            if let Some(amount) = amount {
                slice.counters.insert(name.to_owned(), amount);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_scaled_to_the_rows_of_the_window() {
        let call = Call { steps: 30, calls: 40, rows_per_step: 64 };
        let usage =
            |cpu_ms, reads| Usage { cpu_ms: Some(cpu_ms), logical_reads: Some(reads), physical_reads: None };
        let slice = call.slice(usage(10, 1000), usage(50, 5000), 8);
        assert_eq!((slice.rows, slice.steps, slice.cpu_ns), (1920, 30, 30_000_000));
        assert_eq!((slice.counters["logical_reads"], slice.counters["client_cpu_ns"]), (3000, 6));
        assert!(!slice.counters.contains_key("physical_reads"), "a gap is no 0");
        let idle = Call { steps: 0, calls: 0, rows_per_step: 1 }.slice(usage(1, 1), usage(5, 5), 8);
        assert_eq!((idle.cpu_ns, idle.rows), (0, 0));
        assert!(usage(0, 1).is_counted() && !usage(0, 0).is_counted() && !Usage::default().is_counted());
    }
}
