//! What belongs to none of a treatment's sessions: the control connection, the server's counters, samples of waits; and
//! a record of each session.

use mysql::Conn;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers::Samples;
use threadwise_engine::{EngineError, Window};
use threadwise_study::{Counters, SessionSlice};

use super::counters::{PAGES_READ, READ_REQUESTS, Reading};
use super::session::Tally;
use super::waits::Look;
use super::{Backend, locate, waits};
use crate::Server;
use crate::options::Waits;

/// Stream of the seed's generator for the phases of samples.
const PHASE_STREAM: u64 = u64::MAX;

/// Control connection, counters and samples of a treatment. Called by the worker's main thread, except [`Watch::add`].
pub(crate) struct Watch {
    look: Look,
    notes: Vec<String>,
    control: Mutex<Control>,
    open: Mutex<Vec<OpenSession>>,
}

/// The control connection and what was read over it.
pub(super) struct Control {
    /// The connection.
    pub connection: Conn,
    backend: Result<Backend, String>,
    before: Reading,
    samples: Samples,
    phases: ChaCha8Rng,
}

/// A session, as its treatment sees it.
pub(super) struct OpenSession {
    /// Its number.
    pub number: u32,
    /// The server's number of its connection.
    pub connection_id: u32,
    /// The server's thread, or why it is out of reach.
    pub backend: Result<Backend, String>,
    /// What it reports besides its slices.
    pub tally: Arc<Tally>,
}

impl Watch {
    /// Uses a connection as the control connection. Waits are sampled as `sampled` says; `flushes` and `client` are
    /// fields of [`Look`].
    ///
    /// # Errors
    /// An error of the server.
    pub(super) fn start(
        mut connection: Conn,
        server: &Server,
        (sampled, flushes, client): (Waits, bool, bool),
        seed: u64,
    ) -> Result<Self, EngineError> {
        let backend = locate(&mut connection, server)?;
        let (source, note) = waits::source(&mut connection, sampled);
        let mut phases = ChaCha8Rng::seed_from_u64(seed);
        phases.set_stream(PHASE_STREAM);
        let before = Reading::take(&mut connection)?;
        let notes = note.map(str::to_owned).into_iter().chain(before.lacks()).collect();
        let control = Control { connection, backend, before, samples: Samples::default(), phases };
        Ok(Self {
            look: Look { source, flushes, client },
            notes,
            control: Mutex::new(control),
            open: Mutex::new(Vec::new()),
        })
    }

    /// The control connection.
    pub(super) fn control(&self) -> MutexGuard<'_, Control> {
        // A panic elsewhere has failed the run already; the connection itself is sound.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open sessions, in the order of their numbers.
    pub(super) fn opened(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, session: OpenSession) {
        let mut open = self.opened();
        open.push(session);
        open.sort_by_key(|session| session.number);
    }

    /// The server's threads of the sessions, in session order, or why they are out of reach.
    ///
    /// # Errors
    /// The reason, for the note `server not pinned`.
    pub(crate) fn backends(&self) -> Result<Vec<(u32, Backend)>, String> {
        self.opened().iter().map(|session| Ok((session.number, session.backend.clone()?))).collect()
    }

    /// The server's thread of the control connection, or why it is out of reach.
    pub(crate) fn control_backend(&self) -> Result<Backend, String> {
        self.control().backend.clone()
    }

    /// Runs a query over the control connection.
    pub(crate) fn with_control<T>(&self, ask: impl FnOnce(&mut Conn) -> T) -> T {
        ask(&mut self.control().connection)
    }

    /// Notes for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.opened().iter().any(|session| session.backend.is_err()) {
            notes
                .push("the server's threads are out of reach: its CPU time is unknown and given as 0".into());
        }
        notes
    }

    /// Reads counters before a slice.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn before(&self) -> Result<(), EngineError> {
        let mut control = self.control();
        let reading = Reading::take(&mut control.connection)?;
        control.before = reading.with_latches(&mut control.connection);
        control.samples = Samples::default();
        Ok(())
    }

    /// Samples waits during a slice.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn during(&self, window: &Window) -> Result<(), EngineError> {
        let (ids, tallies): (Vec<u32>, Vec<Arc<Tally>>) =
            self.opened().iter().map(|open| (open.connection_id, Arc::clone(&open.tally))).unzip();
        let mut control = self.control();
        let phase = (control.phases.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let all_done = || tallies.iter().all(|tally| tally.done.load(Ordering::Relaxed) > window.sequence);
        control.samples = waits::sample(&mut control.connection, self.look, &ids, window, phase, &all_done)?;
        Ok(())
    }

    /// Reads counters after a slice: the sessions get the pages, by rows, the slice the rest. All are those of the
    /// whole calls, scaled to the rows of the window.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let mut control = self.control();
        let reading = Reading::take(&mut control.connection)?.with_latches(&mut control.connection);
        let mut counters = reading.since(&control.before);
        let called: u64 = self.opened().iter().map(|open| open.tally.call_rows.load(Ordering::Relaxed)).sum();
        let share = |amount: u64, rows: u64| {
            let scaled = u128::from(amount) * u128::from(rows) / u128::from(called.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        for (counter, name) in [(READ_REQUESTS, "logical_reads"), (PAGES_READ, "physical_reads")] {
            let amount = counters.remove(counter).unwrap_or(0);
            for session in sessions.iter_mut() {
                session.counters.insert(name.to_owned(), share(amount, session.rows));
            }
        }
        let in_window: u64 = sessions.iter().map(|session| session.rows).sum();
        for value in counters.values_mut() {
            *value = share(*value, in_window);
        }
        counters.extend(control.samples.counters());
        Ok(counters)
    }
}
