//! What sessions of all workloads share: the connection, the server's clock, and what they report besides slices.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::clock::monotonic_ns;
use threadwise_engine::servers::Thread;
use threadwise_engine::{EngineError, Window};
use threadwise_study::SessionSlice;
use threadwise_study::observation::ROUND_TRIPS;

use crate::clock::ServerClock;
use crate::dialect::Dialect;
use crate::driver::{Connection, Driver, Opened, Parameter, failed};
use crate::usage::{Call, Usage};

/// What a session reports besides its slices.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Rows of the last call, in the window and outside of it.
    pub call_rows: AtomicU64,
    /// Rows inserted so far.
    pub inserted: AtomicI64,
    /// Sum of `key_check` over their keys.
    pub key_sum: AtomicI64,
    /// Number of the last slice that is over, plus 1.
    pub done: AtomicU64,
    /// Whether it failed at something, so that the data is not to be trusted.
    pub failed: AtomicBool,
}

/// The connection of a session.
pub(crate) struct Common<D: Driver> {
    pub connection: D::Connection,
    pub dialect: &'static Dialect,
    /// Number of the session.
    pub number: u32,
    pub tally: Arc<Tally>,
    backend: Option<Thread>,
    is_near: bool,
    /// The server's clock, and the statement that reads it; `None` if no window is given to the server.
    clock: Option<(ServerClock, Option<<D::Connection as Connection>::Statement>)>,
    _at_end: Option<AtEnd>,
}

impl<D: Driver> Common<D> {
    /// Takes a connection; measures the server's clock if a loop inside the server needs it.
    ///
    /// # Errors
    /// An error of the server; a clock that is too uncertain.
    pub(crate) fn new(
        opened: Opened<D::Connection>,
        dialect: &'static Dialect,
        number: u32,
        needs_clock: bool,
    ) -> Result<Self, EngineError> {
        let Opened { mut connection, backend, is_near, at_end, .. } = opened;
        let clock = match (needs_clock, dialect.now) {
            (false, _) => None,
            (true, "") => Some((ServerClock::of_this_machine(dialect.engine), None)),
            (true, now) => {
                let now = connection.prepare(now)?;
                let ask = &mut || read_clock(&mut connection, &now);
                Some((ServerClock::measure(dialect.engine, is_near, ask)?, Some(now)))
            }
        };
        let (backend, tally) = (backend.ok(), Arc::new(Tally::default()));
        Ok(Self { connection, dialect, number, tally, backend, is_near, clock, _at_end: at_end })
    }

    /// Bound of the error of the server's clock, nanoseconds.
    pub(crate) fn uncertainty_ns(&self) -> i64 {
        self.clock.as_ref().map_or(0, |(clock, _)| clock.uncertainty_ns())
    }

    /// The window on the server's clock, microseconds.
    pub(crate) fn server_window(&mut self, window: &Window) -> Result<[i64; 2], EngineError> {
        let connection = &mut self.connection;
        let Some((clock, now)) = &mut self.clock else {
            return Err(failed(self.dialect, "run its loop", "the server's clock was not measured"));
        };
        match now {
            Some(now) => clock.refresh(self.is_near, &mut || read_clock(connection, now))?,
            None => *clock = ServerClock::of_this_machine(self.dialect.engine),
        }
        Ok([clock.to_server_us(window.start_ns), clock.to_server_us(window.end_ns)])
    }

    /// Calls a loop inside the server, and gives what was used for it and its numbers; the counts come first.
    pub(crate) fn call(
        &mut self,
        statement: &<D::Connection as Connection>::Statement,
        parameters: &[Parameter<'_>],
        rows_per_step: u64,
        answer: &mut [Option<i64>],
    ) -> Result<Call, EngineError> {
        let before = self.connection.usage(self.backend)?;
        let client_ns = self.connection.client_cpu_ns();
        let has_row = self.connection.first(format_args!("run its loop"), statement, parameters, answer)?;
        let answered_ns = monotonic_ns();
        let client_cpu_ns = self.connection.client_cpu_ns().saturating_sub(client_ns);
        let used = [before, self.connection.usage(self.backend)?];
        let count =
            |at: usize| answer.get(at).copied().flatten().and_then(|number| u64::try_from(number).ok());
        match (has_row, count(0), count(1)) {
            (true, Some(steps), Some(calls)) => {
                Ok(Call { client_cpu_ns, answered_ns, ..Call::new(steps, calls, rows_per_step, used) })
            }
            (false, ..) => Err(failed(self.dialect, "run its loop", "it returned no result")),
            _ => Err(failed(self.dialect, "run its loop", "it returned no numbers")),
        }
    }

    /// Runs a loop in the client.
    pub(crate) fn client_loop(
        &mut self,
        rows_per_step: u64,
        steps: impl FnOnce(&Metered<'_, D::Connection>) -> Result<ClientLoop, EngineError>,
    ) -> Result<(SessionSlice, Call), EngineError> {
        let (slice, call) = Metered::run(&mut self.connection, self.backend, rows_per_step, steps)?;
        self.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        Ok((slice, call))
    }

    /// When a loop inside the server ended, on CLOCK_MONOTONIC, by its own clock.
    pub(crate) fn monotonic_ns(&self, server_us: i64) -> u64 {
        self.clock.as_ref().map_or(0, |(clock, _)| clock.monotonic_ns_of(server_us))
    }

    /// Ends a slice. Windows that measure a warm-up have the number of a later slice.
    pub(crate) fn is_done_with(
        &mut self,
        window: &Window,
        slice: Result<SessionSlice, EngineError>,
    ) -> Result<SessionSlice, EngineError> {
        if window.piece_ns.is_none() {
            self.tally.done.store(window.sequence + 1, Ordering::Relaxed);
        }
        let slice = slice.and_then(|slice| self.connection.rest().map(|()| slice));
        self.noted(slice)
    }

    /// Notes whether something failed.
    pub(crate) fn noted<T>(&self, done: Result<T, EngineError>) -> Result<T, EngineError> {
        self.tally.failed.fetch_or(done.is_err(), Ordering::Relaxed);
        done
    }
}

/// A session's connection in a loop in the client, and what was used when its window began and ended.
///
/// What was used is read where the loop reads its counters, so that the re-warm is no part of it; where a reading takes too
/// long ([`Connection::READS_USAGE_INSIDE`]), around the whole loop.
pub struct Metered<'c, C> {
    connection: RefCell<&'c mut C>,
    backend: Option<Thread>,
    /// Readings at the ends of the window.
    inside: RefCell<Vec<Reading>>,
}

/// What was used since the session's start.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// By the server.
    used: Usage,
    /// By the client, nanoseconds.
    client_cpu_ns: u64,
}

impl<'c, C: Connection> Metered<'c, C> {
    /// Runs a loop over a connection, and gives its slice and what was used for it; `backend` is the server's thread that
    /// serves the connection.
    ///
    /// # Errors
    /// Those of the loop, or of a reading.
    pub fn run(
        connection: &'c mut C,
        backend: Option<Thread>,
        rows_per_step: u64,
        steps: impl FnOnce(&Self) -> Result<ClientLoop, EngineError>,
    ) -> Result<(SessionSlice, Call), EngineError> {
        let metered = Self { connection: RefCell::new(connection), backend, inside: RefCell::default() };
        let before = metered.reading()?;
        let ClientLoop { mut slice, calls, round_trips } = steps(&metered)?;
        let around = [before, metered.reading()?];
        let (ends, measured) = match metered.inside.take().as_slice() {
            [first, last] => ([*first, *last], slice.steps),
            _ => (around, calls),
        };
        let client_cpu_ns = ends[1].client_cpu_ns.saturating_sub(ends[0].client_cpu_ns);
        let used = Call::new(slice.steps, measured, rows_per_step, ends.map(|end| end.used));
        Call { client_cpu_ns, ..used }.give_to(&mut slice);
        let call = Call { calls, ..used };
        if round_trips > 0 {
            slice.counters.insert(ROUND_TRIPS.to_owned(), call.share(round_trips));
        }
        Ok((slice, call))
    }

    /// The connection, for a step.
    pub fn connection(&self) -> RefMut<'_, &'c mut C> {
        self.connection.borrow_mut()
    }

    /// To be called where a loop reads its counters: when the first step has ended inside the window, and when the first
    /// one ends after it. Gives no counters of its own.
    ///
    /// # Errors
    /// An error of the server.
    pub fn read(&self) -> Result<[(&'static str, u64); 0], EngineError> {
        if C::READS_USAGE_INSIDE {
            let reading = self.reading()?;
            self.inside.borrow_mut().push(reading);
        }
        Ok([])
    }

    fn reading(&self) -> Result<Reading, EngineError> {
        let mut connection = self.connection();
        Ok(Reading { used: connection.usage(self.backend)?, client_cpu_ns: connection.client_cpu_ns() })
    }
}

/// What a loop in the client did.
#[derive(Debug)]
pub struct ClientLoop {
    /// Its slice.
    pub slice: SessionSlice,
    /// Number of all its steps.
    pub calls: u64,
    /// Statements of all its steps, each of which was sent and answered; 0 if they are not counted.
    pub round_trips: u64,
}

/// A loop that was asked for is not the one that was prepared: a fault of this program, not an empty slice.
pub(crate) fn not_prepared(dialect: &Dialect) -> EngineError {
    failed(dialect, "run its loop", "it was not prepared; this is a fault of the program, please report it")
}

/// The window in which a session's statements are compiled, which may take longer than a slice.
pub(crate) fn compile(dialect: &Dialect) -> Option<Window> {
    let start_ns = monotonic_ns();
    let compile_ns = dialect.compile_ns;
    let window = Window {
        sequence: 0,
        start_ns,
        end_ns: start_ns + compile_ns,
        piece_ns: Some(compile_ns),
        arrivals: None,
    };
    (compile_ns > 0).then_some(window)
}

/// Counters that a loop inside the server gives of all its steps, in the columns after its own numbers.
pub(crate) fn counted(slice: &mut SessionSlice, call: &Call, names: &[&str], numbers: &[Option<i64>]) {
    for (name, number) in names.iter().zip(numbers) {
        if let Some(amount) = number.and_then(|number| u64::try_from(number).ok()) {
            slice.counters.insert((*name).to_owned(), call.share(amount));
        }
    }
}

/// The server's clock.
fn read_clock<C: Connection>(connection: &mut C, now: &C::Statement) -> Result<Option<i64>, EngineError> {
    let mut answer = [None];
    connection.first(format_args!("measure the server's clock"), now, &[], &mut answer)?;
    Ok(answer[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection whose server uses 1 ms a step, and 100 ms for the first one of a loop.
    #[derive(Default)]
    struct Cold<const INSIDE: bool> {
        used_ms: u64,
    }

    impl<const INSIDE: bool> Connection for Cold<INSIDE> {
        type Statement = ();
        const READS_USAGE_INSIDE: bool = INSIDE;

        fn run(&mut self, _: &str, _: &str) -> Result<(), EngineError> {
            self.used_ms += 1;
            Ok(())
        }

        fn rows(
            &mut self,
            _: &str,
            _: &str,
            _: &[Parameter<'_>],
        ) -> Result<Vec<Vec<crate::Value>>, EngineError> {
            Ok(Vec::new())
        }

        fn prepare(&mut self, _: &str) -> Result<(), EngineError> {
            Ok(())
        }

        fn first(
            &mut self,
            _: std::fmt::Arguments<'_>,
            (): &(),
            _: &[Parameter<'_>],
            _: &mut [Option<i64>],
        ) -> Result<bool, EngineError> {
            Ok(false)
        }

        fn change(
            &mut self,
            _: std::fmt::Arguments<'_>,
            (): &(),
            _: &[Parameter<'_>],
        ) -> Result<Option<u64>, EngineError> {
            Ok(None)
        }

        fn usage(&mut self, _: Option<Thread>) -> Result<Usage, EngineError> {
            Ok(Usage { cpu_ns: self.used_ms * 1_000_000, ..Usage::default() })
        }
    }

    /// Milliseconds of CPU time in the slice of a loop of 11 steps, of which the fifth is the first in the window and the
    /// eleventh ends after it; steps of the slice, and all steps.
    fn eleven_steps<const INSIDE: bool>(is_in_window: bool) -> (u64, u64, u64) {
        let mut connection = Cold::<INSIDE>::default();
        let (slice, call) = Metered::run(&mut connection, None, 1, |metered| {
            metered.connection().used_ms += 100;
            for step in 1..=11 {
                metered.connection().run("step", "")?;
                if is_in_window && [5, 11].contains(&step) {
                    metered.read()?;
                }
            }
            let slice = SessionSlice { steps: if is_in_window { 6 } else { 0 }, ..SessionSlice::default() };
            Ok(ClientLoop { slice, calls: 11, round_trips: 11 })
        })
        .unwrap();
        (slice.cpu_ns / 1_000_000, slice.counters[ROUND_TRIPS], call.all_rows())
    }

    #[test]
    fn the_cold_steps_before_a_window_are_no_part_of_it() {
        assert_eq!(eleven_steps::<true>(true), (6, 6, 11));
        // Where readings take too long, the share of all steps.
        assert_eq!(eleven_steps::<false>(true), (111 * 6 / 11, 6, 11));
        assert_eq!(eleven_steps::<true>(false), (0, 0, 11));
    }
}
