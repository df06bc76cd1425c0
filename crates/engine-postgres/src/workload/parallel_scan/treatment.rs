//! The treatment around scans: looks at their processes instead of samples of waits.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use threadwise_engine::workloads::parallel_scan::ParallelScan;
use threadwise_engine::{EngineError, Session, SessionRequest, StartRequest, Window};
use threadwise_engine_sql::clock::{ServerClock, uncertainty_note};
use threadwise_engine_sql::{Connection, Driver, Observer, Sessions, Threads};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, SessionSlice};

use super::looks::Looks;
use super::session::{ScanSession, Shared};
use super::{must_be_whole, not_ours};
use crate::Server;
use crate::backend::{backend_pid, lock};
use crate::connect::Locality;
use crate::connection::{PostgresConnection, Prepared};
use crate::dialect::DIALECT;
use crate::error::ENGINE;
use crate::observe::PostgresObserver;

/// A treatment between start and finish.
pub(crate) struct Scans {
    server: Server,
    scan: ParallelScan,
    schema: String,
    /// Requested degree of parallelism.
    dop: u32,
    notes: Vec<String>,
    control_pid: u32,
    control: Mutex<Control>,
    shared: Arc<Shared>,
}

/// The control connection and what is read over it.
struct Control {
    connection: PostgresConnection,
    now: Prepared,
    observer: PostgresObserver,
    looks: Looks,
}

/// The server's time.
fn ask(connection: &mut PostgresConnection, now: &Prepared) -> Result<Option<i64>, EngineError> {
    let mut answer = [None];
    connection.first(format_args!("read the server's clock"), now, &[], &mut answer)?;
    Ok(answer[0])
}

impl Scans {
    /// Opens the control connection.
    ///
    /// # Errors
    /// An error of the server, or a table that is not as loaded.
    pub(crate) fn start(
        server: &Server,
        scan: ParallelScan,
        request: &StartRequest,
        schema: &str,
    ) -> Result<Self, EngineError> {
        let mut connection = Driver::connect(server, "threadwise control")?;
        must_be_whole(&mut connection, server, &scan, schema)?;
        let Locality::Here { postmaster } = server.locality() else { return Err(not_ours()) };
        let control_pid = backend_pid(&mut connection.client)?;
        let now = connection.prepare(DIALECT.now)?;
        let clock = ServerClock::measure(ENGINE, true, &mut || ask(&mut connection, &now))?;
        let (observer, mut notes) = PostgresObserver::start(&mut connection.client, server, None)?;
        notes.extend(uncertainty_note(clock.uncertainty_ns()));
        let placement = request.sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
        let (dop, looks) = (scan.dop_on(&placement), Looks::of(*postmaster)?);
        let control = Mutex::new(Control { connection, now, observer, looks });
        let (clock, [leader, at_work]) = (Mutex::new(clock), [0; 2].map(AtomicU32::new));
        let shared = Arc::new(Shared { clock, scans: Mutex::default(), leader, at_work });
        let (server, schema) = (server.clone(), schema.to_owned());
        Ok(Self { server, scan, schema, dop, notes, control_pid, control, shared })
    }

    /// Whether parallel workers may work for its session.
    pub(crate) fn is_parallel(&self) -> bool {
        self.dop > 1
    }
}

impl Sessions for Scans {
    type Control = PostgresConnection;

    fn with_control<T>(&self, ask: impl FnOnce(&mut PostgresConnection) -> T) -> T {
        ask(&mut lock(&self.control).connection)
    }

    fn threads(&self) -> Result<Threads, String> {
        let leader = self.shared.leader.load(Ordering::Relaxed);
        let sessions = (leader > 0).then_some((0, (leader, leader)));
        let control = Some((self.control_pid, self.control_pid));
        Ok(Threads { sessions: sessions.into_iter().collect(), control })
    }

    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let (schema, shared) = (self.schema.as_str(), Arc::clone(&self.shared));
        Ok(Box::new(ScanSession::open(&self.server, request, self.scan, schema, self.dop, shared)?))
    }

    fn notes(&self) -> Result<Vec<String>, EngineError> {
        Ok(self.notes.clone())
    }

    fn before(&self) -> Result<(), EngineError> {
        let Control { connection, now, observer, looks } = &mut *lock(&self.control);
        lock(&self.shared.clock).refresh(true, &mut || ask(connection, now))?;
        lock(&self.shared.scans).clear();
        self.shared.at_work.store(self.shared.leader.load(Ordering::Relaxed), Ordering::Relaxed);
        looks.begin();
        observer.begin(connection)
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let at_work = || Some(self.shared.at_work.load(Ordering::Relaxed)).filter(|leader| *leader > 0);
        lock(&self.control).looks.watch(window, at_work);
        Ok(())
    }

    fn after(&self, _: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let Control { connection, observer, looks, .. } = &mut *lock(&self.control);
        let mut counters = observer.end(connection)?;
        let scans = std::mem::take(&mut *lock(&self.shared.scans));
        counters.append(&mut looks.add_up(&scans).counters());
        Ok(counters)
    }
}
