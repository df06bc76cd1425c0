//! One treatment at work in a server: its sessions, and what belongs to none of them.

use mysql::Conn;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::workloads::insert::Table;
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, LoadRequest, Session, SessionRequest, Window};
use threadwise_study::{Counters, SessionSlice};

use super::clock::{ServerClock, uncertainty_note};
use super::counters::{PAGES_READ, READ_REQUESTS, Reading};
use super::session::{MariadbSession, Opened, Tally};
use super::statements::{Names, run};
use super::waits::{Look, Samples};
use super::{Backend, Spec, Work, insert, locate, logical_io, waits};
use crate::Server;
use crate::error::failed;
use crate::options::Waits;

/// Stream of the seed's generator for the phases of samples.
const PHASE_STREAM: u64 = u64::MAX;

/// Most pages that the second reading of all data may fetch from files, of 1000.
const UNCACHED_PER_MILLE: u64 = 1;

/// A treatment. Called by the worker's main thread, but for [`Treatment::open`].
pub(crate) struct Treatment {
    server: Server,
    workload: Work,
    suffix: String,
    sessions: u32,
    /// Whether the data is thrown away afterwards.
    fresh: bool,
    look: Look,
    notes: Vec<String>,
    control: Mutex<Control>,
    open: Mutex<Vec<OpenSession>>,
}

/// The control connection and what was read over it.
struct Control {
    connection: Conn,
    backend: Result<Backend, String>,
    before: Reading,
    samples: Samples,
    phases: ChaCha8Rng,
}

/// What the treatment knows of one of its sessions.
struct OpenSession {
    number: u32,
    connection_id: u32,
    backend: Result<Backend, String>,
    uncertainty_ns: i64,
    plan: Option<String>,
    tally: Arc<Tally>,
}

impl Treatment {
    /// Connects, and finds the data as it was loaded. `fresh` says that the data is this run's own and
    /// will be thrown away; else it is put back at the end, and at the start when a killed run left it.
    ///
    /// # Errors
    /// The server's; or data that is not what was loaded.
    pub(crate) fn start(
        server: &Server,
        workload: Work,
        load: &LoadRequest,
        suffix: &str,
        (fresh, sampled): (bool, Waits),
    ) -> Result<Self, EngineError> {
        let mut connection = server.connect()?;
        let names = Names { schema: server.schema(), suffix };
        match workload.spec {
            // No restart keeps a table in memory.
            Spec::Insert(spec) if spec.table == Table::Unlogged => {
                insert::fill_memory_table(&mut connection, &names)?;
            }
            Spec::Insert(spec) => {
                let expected = insert::facts(&mut connection, &names)?;
                let held = insert::held(&mut connection, &names)?;
                match expected == held {
                    true => {}
                    false if fresh => {
                        return Err(EngineError::WrongAnswer(insert::differs("as loaded", expected, held)));
                    }
                    false => insert::put_back(&mut connection, &names, &spec)?,
                }
            }
            Spec::LogicalIo(_) => {}
        }
        let backend = locate(&mut connection, server)?;
        let (source, note) = waits::source(&mut connection, sampled);
        let flushes = workload.flush_at_commit() != Some(0);
        let look = Look { source, flushes, client: workload.place == Loop::Client };
        let mut phases = ChaCha8Rng::seed_from_u64(load.seed);
        phases.set_stream(PHASE_STREAM);
        let before = Reading::take(&mut connection)?;
        let notes = note.map(str::to_owned).into_iter().chain(before.lacks()).collect();
        let control = Control { connection, backend, before, samples: Samples::default(), phases };
        Ok(Self {
            server: server.clone(),
            workload,
            suffix: suffix.to_owned(),
            sessions: load.sessions,
            fresh,
            look,
            notes,
            control: Mutex::new(control),
            open: Mutex::new(Vec::new()),
        })
    }

    fn names(&self) -> Names<'_> {
        Names { schema: self.server.schema(), suffix: &self.suffix }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        // A panic elsewhere has failed the run already; the connection itself is sound.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// The server's; a plan that does not read rows; a clock that cannot be known.
    pub(crate) fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let mut connection = self.server.connect()?;
        let names = self.names();
        let backend = locate(&mut connection, &self.server)?;
        let shared = matches!(self.workload.spec, Spec::LogicalIo(spec) if spec.shared);
        let table = if shared { 0 } else { request.session };
        // Read committed takes no locks on gaps, which updates of one table would block each other by.
        let isolation = if shared { "READ COMMITTED" } else { "REPEATABLE READ" };
        let action = "set up a session";
        run(&mut connection, action, "SET optimizer_switch='mrr=off,rowid_filter=off'")?;
        run(&mut connection, action, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"))?;
        let plan = match self.workload.spec {
            Spec::LogicalIo(spec) => Some(logical_io::plan(&mut connection, &names, table, spec.work_unit)?),
            Spec::Insert(_) => None,
        };
        let clock = ServerClock::measure(&mut connection, backend.is_ok())?;
        let tally = Arc::new(Tally::default());
        let mut open = self.opened();
        open.push(OpenSession {
            number: request.session,
            connection_id: connection.connection_id(),
            backend: backend.clone(),
            uncertainty_ns: clock.uncertainty_ns,
            plan,
            tally: Arc::clone(&tally),
        });
        open.sort_by_key(|session| session.number);
        drop(open);
        let opened = Opened { connection, backend: backend.ok(), clock, tally };
        let place = (request.session, table);
        Ok(Box::new(MariadbSession::new(opened, &names, self.workload, place, request.seed)))
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

    /// Something to be asked over the control connection.
    pub(crate) fn with_control<T>(&self, ask: impl FnOnce(&mut Conn) -> T) -> T {
        ask(&mut self.control().connection)
    }

    /// What the reader must know, once all sessions are open and warm; with the proof that the data is
    /// in memory: reading all of it again reads no file.
    ///
    /// # Errors
    /// The data is not cached.
    pub(crate) fn standing(&self) -> Result<Vec<String>, EngineError> {
        let mut notes = self.notes.clone();
        let open = self.opened();
        notes.extend(
            open.iter()
                .find_map(|session| session.plan.clone())
                .map(|plan| format!("plan of a step: {plan}")),
        );
        let uncertainty_ns = open.iter().map(|session| session.uncertainty_ns).max().unwrap_or(0);
        if self.workload.place == Loop::Server {
            notes.push("loops run inside the server".to_owned());
            notes.extend(uncertainty_note(uncertainty_ns));
        }
        if open.iter().any(|session| session.backend.is_err()) {
            notes.push(
                "the server's threads are out of reach: its CPU time is not known and stands as 0".into(),
            );
        }
        if let Spec::LogicalIo(spec) = self.workload.spec {
            notes.push(
                "logical_reads are the server's Innodb_buffer_pool_read_requests, divided among sessions by rows; \
                 a row costs more than one, for the path down the primary key"
                    .into(),
            );
            let tables = if spec.shared { 1 } else { self.sessions.min(open.len() as u32) };
            drop(open);
            self.prove_cached(tables, spec.blocks)?;
        }
        Ok(notes)
    }

    fn prove_cached(&self, tables: u32, blocks: u64) -> Result<(), EngineError> {
        let mut control = self.control();
        let most = (u64::from(tables) * blocks * UNCACHED_PER_MILLE / 1000).max(u64::from(tables));
        let mut read = 0;
        // Somebody else's reads count too, where the server is not ours alone; so a second chance.
        for _ in 0..2 {
            let before = Reading::take(&mut control.connection)?;
            for table in 0..tables {
                logical_io::warm(&mut control.connection, &self.names(), table, blocks)?;
            }
            let counted = Reading::take(&mut control.connection)?.since(&before);
            read = counted.get(PAGES_READ).copied().unwrap_or(0);
            if read <= most {
                return Ok(());
            }
        }
        Err(failed(
            "keep the data in memory",
            format!(
                "not cached: reading it again read {read} pages from files; raise innodb_buffer_pool_size, or use \
                 less data"
            ),
        ))
    }

    /// Reads counters before a slice.
    ///
    /// # Errors
    /// The server's.
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
    /// The server's.
    pub(crate) fn during(&self, window: &Window) -> Result<(), EngineError> {
        let (ids, tallies): (Vec<u32>, Vec<Arc<Tally>>) =
            self.opened().iter().map(|open| (open.connection_id, Arc::clone(&open.tally))).unzip();
        let mut control = self.control();
        let phase = (control.phases.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let all_done = || tallies.iter().all(|tally| tally.done.load(Ordering::Relaxed) > window.sequence);
        control.samples = waits::sample(&mut control.connection, self.look, &ids, window, phase, &all_done)?;
        Ok(())
    }

    /// Reads counters after a slice: the pages go to the sessions, by rows, the rest to the slice. All
    /// are those of the whole calls, scaled to the rows of the window.
    ///
    /// # Errors
    /// The server's.
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

    /// Checks that the table holds what the sessions said, and puts it back unless it is thrown away.
    ///
    /// # Errors
    /// Rows are missing or there are too many; or they could not be taken out again.
    pub(crate) fn finish(&self) -> Result<(), EngineError> {
        let Spec::Insert(spec) = self.workload.spec else { return Ok(()) };
        let mut control = self.control();
        let inserted = self.opened().iter().fold(insert::Content::default(), |sum, open| {
            sum + insert::Content {
                rows: open.tally.inserted.load(Ordering::Relaxed),
                key_sum: open.tally.key_sum.load(Ordering::Relaxed),
            }
        });
        let expected = insert::facts(&mut control.connection, &self.names())? + inserted;
        let held = insert::held(&mut control.connection, &self.names())?;
        let checked = match expected == held {
            true => Ok(()),
            false => Err(EngineError::WrongAnswer(insert::differs("after the run", expected, held))),
        };
        if !self.fresh {
            insert::put_back(&mut control.connection, &self.names(), &spec)?;
        }
        checked
    }
}
