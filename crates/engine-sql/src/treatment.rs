//! A treatment in a server: its sessions, and what belongs to none of them: the control connection, the server's
//! counters, samples of waits.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::clock::sleep_until_ns;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::workloads::transaction::SharedLists;
use threadwise_engine::{EngineError, LoadRequest, Session, SessionRequest, Window};
use threadwise_study::vcpus::vcpus;
use threadwise_study::{Counters, SessionSlice};

use crate::clock::uncertainty_note;
use crate::driver::{Connection, Driver, Observer, Opened};
use crate::insert::{self, RowsSession};
use crate::logical_io::BlocksSession;
use crate::others::Others;
use crate::running::{Sessions, Threads};
use crate::samples::Sampler;
use crate::session::{Common, Tally};
use crate::template::Names;
use crate::texts::{Blocks, Rows};
use crate::transaction::TransactionSession;
use crate::usage::{LOGICAL_READS, PHYSICAL_READS, share};
use crate::workload::{Spec, SqlWorkload};

/// A treatment. Called by the worker's main thread, except [`Sessions::open`].
pub struct Treatment<D: Driver> {
    driver: Arc<D>,
    workload: SqlWorkload,
    suffix: String,
    sessions: u32,
    /// Seed of the data.
    seed: u64,
    /// Whether the data is this run's, and discarded afterwards.
    is_fresh: bool,
    /// Notes of the start.
    notes: Vec<String>,
    control: Mutex<Control<D>>,
    open: Mutex<Vec<OpenSession>>,
    /// Values that parameters of the user's transactions are drawn from, once a session has read them.
    lists: SharedLists,
}

/// The control connection and what was read over it.
struct Control<D: Driver> {
    connection: D::Connection,
    thread: Result<Thread, String>,
    observer: D::Observer,
    sampler: Sampler,
    /// Another connection's statements, for a load that computes.
    others: Option<Others<<D::Connection as Connection>::Statement>>,
    /// Samples of the slice so far.
    waits: Counters,
}

/// A session, as its treatment sees it.
struct OpenSession {
    number: u32,
    /// Its number in the server.
    id: i64,
    thread: Result<Thread, String>,
    plan: Option<String>,
    /// Bound of the error of the server's clock, nanoseconds.
    uncertainty_ns: i64,
    tally: Arc<Tally>,
}

impl<D: Driver> Treatment<D> {
    /// Connects, and checks that the data is as loaded; resets what a killed run left changed. `is_fresh` means that the
    /// data is this run's own and will be discarded.
    ///
    /// # Errors
    /// An error of the server; or data that is not as loaded.
    pub fn start(
        driver: D,
        workload: SqlWorkload,
        load: &LoadRequest,
        suffix: &str,
        is_fresh: bool,
    ) -> Result<Self, EngineError> {
        let mut connection = driver.connect(&format!("threadwise {}", load.treatment))?;
        driver.check(&mut connection, &workload)?;
        let names = Names { schema: driver.schema(), suffix, quotes: driver.dialect().quotes };
        if let Spec::Insert(spec) = &workload.spec {
            insert::make_ready(&driver, &mut connection, &Rows { names, spec }, (load.seed, is_fresh))?;
        }
        let thread = driver.control_thread(&mut connection)?;
        let (observer, notes) = driver.observe(&mut connection, &workload)?;
        let (sampler, waits) = (Sampler::new(load.seed), Counters::new());
        let others = match &workload.spec {
            Spec::Transaction(spec) if spec.answer.is_some() => {
                Some(Others::new(&mut connection, spec, load.sessions, vcpus(&load.options))?)
            }
            _ => None,
        };
        let control = Control { connection, thread, observer, sampler, others, waits };
        Ok(Self {
            driver: Arc::new(driver),
            workload,
            suffix: suffix.to_owned(),
            sessions: load.sessions,
            seed: load.seed,
            is_fresh,
            notes,
            control: Mutex::new(control),
            open: Mutex::default(),
            lists: SharedLists::default(),
        })
    }

    fn names(&self) -> Names<'_> {
        let driver = &self.driver;
        Names { schema: driver.schema(), suffix: &self.suffix, quotes: driver.dialect().quotes }
    }

    fn control(&self) -> MutexGuard<'_, Control<D>> {
        // A panic elsewhere has failed the run already; the connection itself is sound.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Driver> Sessions for Treatment<D> {
    type Control = D::Connection;

    fn with_control<T>(&self, ask: impl FnOnce(&mut D::Connection) -> T) -> T {
        ask(&mut self.control().connection)
    }

    fn threads(&self) -> Result<Threads, String> {
        let thread = |session: &OpenSession| Ok((session.number, session.thread.clone()?));
        let sessions = self.opened().iter().map(thread).collect::<Result<_, String>>()?;
        Ok(Threads { sessions, control: Some(self.control().thread.clone()?) })
    }

    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let (number, driver) = (request.session, &self.driver);
        let mut opened = driver.open(&self.workload, number)?;
        let plan = match &self.workload.spec {
            Spec::LogicalIo(spec) => {
                let number = if spec.shared { 0 } else { number };
                driver.plan(&mut opened.connection, &Blocks { names: self.names(), number, spec })?
            }
            Spec::Insert(_) | Spec::Transaction(_) => None,
        };
        let Opened { id, backend, .. } = &opened;
        let (id, thread) = (*id, backend.clone());
        let needs_clock = self.workload.place == Loop::Server;
        let common = Common::<D>::new(opened, driver.dialect(), number, needs_clock)?;
        let (uncertainty_ns, tally) = (common.uncertainty_ns(), Arc::clone(&common.tally));
        let (driver, suffix, place) = (Arc::clone(driver), &self.suffix, self.workload.place);
        let session: Box<dyn Session> = match &self.workload.spec {
            Spec::LogicalIo(spec) => {
                Box::new(BlocksSession::new(common, driver, (*spec, place), suffix, request)?)
            }
            Spec::Insert(spec) => {
                Box::new(RowsSession::new(common, driver, (*spec, place), suffix, request)?)
            }
            Spec::Transaction(spec) => Box::new(TransactionSession::new(common, spec, &self.lists, request)?),
        };
        let mut open = self.opened();
        open.push(OpenSession { number, id, thread, plan, uncertainty_ns, tally });
        open.sort_by_key(|session| session.number);
        Ok(session)
    }

    fn notes(&self) -> Result<Vec<String>, EngineError> {
        let mut notes = self.notes.clone();
        let open = self.opened();
        notes.extend(open.iter().find_map(|open| Some(format!("plan of a step: {}", open.plan.as_ref()?))));
        if self.workload.place == Loop::Server {
            notes.push(self.driver.dialect().loops.to_owned());
            let uncertainty_ns = open.iter().map(|open| open.uncertainty_ns).max().unwrap_or(0);
            notes.extend(uncertainty_note(uncertainty_ns));
        }
        let sessions = self.sessions.min(open.len() as u32);
        drop(open);
        let mut control = self.control();
        let Control { connection, others, .. } = &mut *control;
        others.as_mut().map_or(Ok(()), |others| others.before(connection))?;
        let more = self.driver.standing(&mut control.connection, &self.workload, &self.names(), sessions)?;
        notes.extend(more);
        Ok(notes)
    }

    fn before(&self) -> Result<(), EngineError> {
        let mut control = self.control();
        let Control { connection, observer, waits, .. } = &mut *control;
        waits.clear();
        observer.begin(connection)
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let sessions: Vec<(i64, Arc<Tally>)> =
            self.opened().iter().map(|open| (open.id, Arc::clone(&open.tally))).collect();
        let at_work = || -> Vec<i64> {
            let works = |tally: &Tally| tally.done.load(Ordering::Relaxed) <= window.sequence;
            sessions.iter().filter(|(_, tally)| works(tally)).map(|(id, _)| *id).collect()
        };
        let mut control = self.control();
        let Control { connection, observer, sampler, others, waits, .. } = &mut *control;
        if let Some(others) = others {
            return others.during(connection, window, waits);
        }
        let look = |ids: &[i64]| observer.waits(connection, ids);
        sampler.watch(window, sleep_until_ns, at_work, look, waits)
    }

    /// Reads of pages are divided among the sessions by rows, unless these have their own; the slice gets the rest. All
    /// are those of the whole calls, scaled to the rows of the window.
    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let mut control = self.control();
        let Control { connection, observer, waits, .. } = &mut *control;
        let mut counters = observer.end(connection)?;
        let called = self.opened().iter().map(|open| open.tally.call_rows.load(Ordering::Relaxed)).sum();
        for name in [LOGICAL_READS, PHYSICAL_READS] {
            let Some(amount) = counters.remove(name) else { continue };
            for session in sessions.iter_mut() {
                let reads = share(amount, session.rows, called);
                session.counters.entry(name.to_owned()).or_insert(reads);
            }
        }
        let in_window = sessions.iter().map(|session| session.rows).sum();
        counters.values_mut().for_each(|value| *value = share(*value, in_window, called));
        counters.append(waits);
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        let mut control = self.control();
        let connection = &mut control.connection;
        let checked = match &self.workload.spec {
            Spec::Insert(spec) => {
                let (open, rows) = (self.opened(), Rows { names: self.names(), spec });
                let tallies = open.iter().map(|open| open.tally.as_ref());
                insert::finish(&*self.driver, connection, &rows, (self.seed, self.is_fresh), tallies)
            }
            Spec::LogicalIo(_) | Spec::Transaction(_) => Ok(()),
        };
        connection.close();
        checked
    }

    fn has_failed(&self) -> bool {
        self.opened().iter().any(|open| open.tally.failed.load(Ordering::Relaxed))
    }
}
