//! What belongs to none of a treatment's sessions: the control connection, the server's counters, samples of waits; and
//! a record of each session.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers::Samples;
use threadwise_engine::{EngineError, Window};
use threadwise_study::{Counters, SessionSlice};

use super::server_counters::{Readable, Reading};
use super::session::Tally;
use super::waits;
use crate::client::connect::Connection;

/// Stream of the seed's generator for the phases of samples.
const PHASE_STREAM: u64 = u64::MAX;

/// Control connection, counters and samples of a treatment. Called by the worker's main thread, except [`Watch::add`].
pub(crate) struct Watch {
    /// Whether a session without a request waits for its client.
    client: bool,
    looks: bool,
    readable: Readable,
    notes: Vec<String>,
    control: Mutex<Control>,
    open: Mutex<Vec<OpenSession>>,
}

/// The control connection and what was read over it.
struct Control {
    connection: Connection,
    before: Reading,
    samples: Samples,
    phases: ChaCha8Rng,
}

/// A session, as its treatment sees it.
pub(super) struct OpenSession {
    /// Its number.
    pub number: u32,
    /// Its number in the server.
    pub id: i64,
    /// What it reports besides its slices.
    pub tally: Arc<Tally>,
}

impl Watch {
    /// Uses a connection as the control connection. Views that it may not read become notes.
    pub(super) fn start(mut connection: Connection, client: bool, seed: u64) -> Self {
        let (readable, mut notes) = Readable::find(&mut connection);
        let looks = waits::may_look(&mut connection);
        let is_looked_at = looks.is_ok();
        notes.extend(looks.err());
        let mut phases = ChaCha8Rng::seed_from_u64(seed);
        phases.set_stream(PHASE_STREAM);
        let control = Control { connection, before: Reading::default(), samples: Samples::default(), phases };
        Self {
            client,
            looks: is_looked_at,
            readable,
            notes,
            control: Mutex::new(control),
            open: Mutex::new(Vec::new()),
        }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        // A panic elsewhere has failed the run already; the connection itself is sound.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a query over the control connection.
    pub(crate) fn with_control<T>(&self, ask: impl FnOnce(&mut Connection) -> T) -> T {
        ask(&mut self.control().connection)
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

    /// Notes for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Reads counters before a slice.
    pub(crate) fn before(&self) {
        let mut control = self.control();
        control.before = Reading::take(&mut control.connection, self.readable);
        control.samples = Samples::default();
    }

    /// Samples waits during a slice.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn during(&self, window: &Window) -> Result<(), EngineError> {
        if !self.looks {
            return Ok(());
        }
        let (ids, tallies): (Vec<i64>, Vec<Arc<Tally>>) =
            self.opened().iter().map(|open| (open.id, Arc::clone(&open.tally))).unzip();
        let mut control = self.control();
        let phase = (control.phases.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let all_done = || tallies.iter().all(|tally| tally.done.load(Ordering::Relaxed) > window.sequence);
        control.samples =
            waits::sample(&mut control.connection, &ids, self.client, window, phase, &all_done)?;
        Ok(())
    }

    /// The server's counters of a slice, which are those of the whole calls, scaled to the rows of the window; and the
    /// samples of waits.
    pub(crate) fn after(&self, sessions: &[SessionSlice]) -> Counters {
        let mut control = self.control();
        let reading = Reading::take(&mut control.connection, self.readable);
        let mut counters = reading.since(&control.before);
        let called: u64 = self.opened().iter().map(|open| open.tally.call_rows.load(Ordering::Relaxed)).sum();
        let in_window: u64 = sessions.iter().map(|session| session.rows).sum();
        for value in counters.values_mut() {
            let scaled = u128::from(*value) * u128::from(in_window) / u128::from(called.max(1));
            *value = u64::try_from(scaled).unwrap_or(u64::MAX);
        }
        counters.extend(control.samples.counters());
        counters
    }
}
