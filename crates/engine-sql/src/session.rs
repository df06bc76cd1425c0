//! What sessions of all workloads share: the connection, the server's clock, and what they report besides slices.

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
use crate::usage::Call;

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
        steps: impl FnOnce(&mut D::Connection) -> Result<ClientLoop, EngineError>,
    ) -> Result<(SessionSlice, Call), EngineError> {
        let before = self.connection.usage(self.backend)?;
        let client_ns = self.connection.client_cpu_ns();
        let ClientLoop { mut slice, calls, round_trips } = steps(&mut self.connection)?;
        let client_cpu_ns = self.connection.client_cpu_ns().saturating_sub(client_ns);
        let used = [before, self.connection.usage(self.backend)?];
        let call = Call { client_cpu_ns, ..Call::new(slice.steps, calls, rows_per_step, used) };
        call.give_to(&mut slice);
        if round_trips > 0 {
            slice.counters.insert(ROUND_TRIPS.to_owned(), call.share(round_trips));
        }
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

/// What a loop in the client did.
pub(crate) struct ClientLoop {
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
