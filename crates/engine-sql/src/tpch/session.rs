//! A stream of queries on one connection, and a session of short queries beside streams.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::clock::monotonic_ns;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::tpch::short::{OrderKeys, beside};
use threadwise_engine::workloads::tpch::tables::{TABLES, Table};
use threadwise_engine::workloads::tpch::{self, query_text, too_long};
use threadwise_engine::{EngineError, Session, SessionRequest, Window};
use threadwise_study::{QueryExecution, SessionSlice};

use super::driver::{QueryDriver, QueryFault, QueryStream, Setup, Texts};
use crate::driver::{Connection, Opened, Parameter, failed};
use crate::session::{ClientLoop, Common};
use crate::template::fill;
use crate::usage::Call;

/// Orders that are looked up before the first slice, so that their pages and the catalogue's entries are cached.
const WARM_LOOKUPS: usize = 100;

/// A session's number in the server, and its thread there.
#[derive(Debug)]
struct OpenSession {
    id: i64,
    thread: Result<Thread, String>,
}

/// What the treatment knows of its open sessions.
#[derive(Debug, Default)]
pub(super) struct Shared {
    open: Mutex<BTreeMap<u32, OpenSession>>,
    /// Sessions that are done with the slice.
    resting: Mutex<BTreeSet<u32>>,
    /// Signalled when a session is done.
    rested: Condvar,
}

/// A panic of a session's thread is reported by the worker; the data behind the lock is still valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn add<C>(&self, session: u32, opened: &Opened<C>) {
        let open = OpenSession { id: opened.id, thread: opened.backend.clone() };
        lock(&self.open).insert(session, open);
    }

    /// A session has connected again.
    fn renumber(&self, session: u32, id: i64) {
        if let Some(open) = lock(&self.open).get_mut(&session) {
            open.id = id;
        }
    }

    /// The server's threads of the sessions, or why one is out of reach.
    pub(super) fn threads(&self) -> Result<Vec<(u32, Thread)>, String> {
        lock(&self.open).iter().map(|(session, open)| Ok((*session, open.thread.clone()?))).collect()
    }

    /// Begins a slice: every session will work.
    pub(super) fn all_work(&self) {
        lock(&self.resting).clear();
    }

    /// Whether the first `sessions` are all done with the slice.
    fn rest_up_to(&self, sessions: u32) -> bool {
        lock(&self.resting).range(..sessions).count() == sessions as usize
    }

    /// Sleeps until CLOCK_MONOTONIC reaches a time, or all sessions are done with the slice.
    pub(super) fn sleep_until_ns(&self, deadline_ns: u64) {
        let sessions = lock(&self.open).len();
        let mut resting = lock(&self.resting);
        while resting.len() < sessions {
            let left_ns = deadline_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                break;
            }
            let left = Duration::from_nanos(left_ns);
            resting = self.rested.wait_timeout(resting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Numbers in the server of the sessions that are not done with the slice.
    pub(super) fn at_work(&self) -> Vec<i64> {
        let open = lock(&self.open);
        let resting = lock(&self.resting);
        open.iter().filter(|(session, _)| !resting.contains(session)).map(|(_, open)| open.id).collect()
    }
}

/// Marks a session as done with a slice when it is dropped.
struct Resting<'a>(&'a Shared, u32);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        lock(&self.0.resting).insert(self.1);
        self.0.rested.notify_all();
    }
}

/// A session that executes queries.
pub struct StreamSession<S> {
    stream: S,
    /// Cancels its statement in the server.
    _at_end: Option<AtEnd>,
    texts: Texts,
    /// Statements that read every table once.
    reads: Vec<String>,
    engine: &'static str,
    number: u32,
    shared: Arc<Shared>,
}

impl<S: QueryStream> StreamSession<S> {
    /// Opens a stream.
    ///
    /// # Errors
    /// An error of the server, or a missing query.
    pub(super) fn open<D: QueryDriver<Stream = S>>(
        driver: &D,
        setup: &Arc<Setup>,
        request: &SessionRequest,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let (engine, number) = (driver.dialect().engine, request.session);
        let opened = driver.open_stream(setup, number)?;
        let text = |&query: &u8| {
            let sql = query_text(engine, &request.load.data_dir, number, query)?;
            Ok((query, opened.connection.text(query, sql)?))
        };
        let texts = setup.options.queries.iter().map(text).collect::<Result<Texts, EngineError>>()?;
        shared.add(number, &opened);
        let Opened { connection: stream, at_end, .. } = opened;
        let read = |table: &Table| {
            fill(driver.tpch_sql().read, &[("table", &driver.table(&setup.schema, table.name))])
        };
        let reads = TABLES.iter().filter(|_| number == 0 && !setup.is_cold()).map(read).collect();
        Ok(Self { stream, _at_end: at_end, texts, reads, engine, number, shared })
    }

    /// The error of a query; at the time limit it was cancelled.
    fn error(engine: &str, query: u8, fault: QueryFault, window: &Window) -> EngineError {
        let is_over = monotonic_ns().saturating_add(1_000_000) >= window.end_ns;
        match fault {
            QueryFault::Cancelled(_) if is_over => too_long(engine, query, window),
            other => other.error(engine, query),
        }
    }
}

impl<S: QueryStream> Session for StreamSession<S> {
    fn warm(&mut self) -> Result<(), EngineError> {
        self.stream.warm(&self.reads, &self.texts)
    }

    fn slice(&mut self, _: &Window) -> Result<SessionSlice, EngineError> {
        Err(EngineError::Failed {
            engine: self.engine.to_owned(),
            action: "work for a window".to_owned(),
            why: "a session of tpch only executes queries".to_owned(),
        })
    }

    fn queries(&mut self, window: &Window, queries: &[u8]) -> Result<SessionSlice, EngineError> {
        let _resting = Resting(&self.shared, self.number);
        let (stream, texts, engine) = (&mut self.stream, &self.texts, self.engine);
        if let Some(id) = stream.begin()? {
            self.shared.renumber(self.number, id);
        }
        let before = stream.used();
        let client_ns = stream.client_cpu_ns();
        let mut slice = tpch::run(engine, window, queries, |query, started_ns| {
            let unknown = "it is not one of the requested queries (queries)";
            let text = texts.get(&query).ok_or_else(|| tpch::failed(engine, query, unknown))?;
            let done = stream.execute(text, window.end_ns);
            let execution = done.map_err(|fault| Self::error(engine, query, fault, window))?;
            let rows = execution.answer.as_ref().map_or(0, |answer| answer.len() as u64);
            Ok(QueryExecution { query, started_ns, rows, ..execution })
        })?;
        let client_cpu_ns = stream.client_cpu_ns().saturating_sub(client_ns);
        Call { client_cpu_ns, ..Call::new(1, 1, 1, [before, stream.used()]) }.give_to(&mut slice);
        if slice.cpu_ns == 0 {
            let all_ns: Option<u64> = slice.queries.iter().map(|one| one.cpu_ns).sum();
            slice.cpu_ns = all_ns.unwrap_or(0);
        }
        stream.end(&mut slice.queries, texts)?;
        Ok(slice)
    }
}

/// A session of short queries: one order by its key, by a statement that is planned once and has no parallel workers.
pub(super) struct ShortSession<D: QueryDriver> {
    common: Common<D>,
    statement: <D::Connection as Connection>::Statement,
    /// Sessions that are streams.
    streams: u32,
    seed: u64,
    orders: u64,
    shared: Arc<Shared>,
}

impl<D: QueryDriver> ShortSession<D> {
    /// Opens a connection and prepares the query.
    ///
    /// # Errors
    /// An error of the server.
    pub(super) fn open(
        driver: &D,
        setup: &Setup,
        request: &SessionRequest,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let (dialect, streams, seed) = (driver.dialect(), setup.streams(), request.seed);
        let unknown =
            || failed(dialect, "open a session of short queries", "the number of orders is unknown");
        let orders = orders(setup.options.scale).ok_or_else(unknown)?;
        let opened = driver.open_short(setup, request.session)?;
        shared.add(request.session, &opened);
        let mut common = Common::<D>::new(opened, dialect, request.session, false)?;
        let table = driver.table(&setup.schema, "orders");
        let sql = fill(driver.tpch_sql().short, &[("table", &table), ("key", &dialect.mark(1))]);
        let statement = common.connection.prepare(&sql)?;
        Ok(Self { common, statement, streams, seed, orders, shared })
    }

    fn keys(&self, sequence: u64) -> OrderKeys {
        OrderKeys::new(self.seed, self.common.number, sequence, self.orders)
    }
}

/// Whether the answer for a key is that order.
fn look_up<C: Connection>(
    connection: &mut C,
    statement: &C::Statement,
    key: i64,
) -> Result<bool, EngineError> {
    let (action, mut answer) = (format_args!("look up order {key}"), [None]);
    let has_row = connection.first(action, statement, &[Parameter::Big(key)], &mut answer)?;
    Ok(has_row && answer == [Some(key)])
}

impl<D: QueryDriver> Session for ShortSession<D> {
    fn warm(&mut self) -> Result<(), EngineError> {
        // For a slice outside of the study.
        for key in self.keys(u64::MAX).take(WARM_LOOKUPS) {
            look_up(&mut self.common.connection, &self.statement, key)?;
        }
        self.common.connection.rest()
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let keys = self.keys(window.sequence);
        let Self { common, statement, streams, shared, .. } = self;
        let _resting = Resting(shared, common.number);
        let engine = common.dialect.engine;
        let done = common.client_loop(1, |metered| {
            let is_over = || shared.rest_up_to(*streams);
            let look_up = |key| look_up(*metered.connection(), statement, key);
            let slice = beside(engine, window, keys, is_over, look_up)?;
            let calls = slice.steps;
            Ok(ClientLoop { slice, calls, round_trips: 0 })
        });
        common.is_done_with(window, done.map(|(slice, _)| slice))
    }
}

/// Orders of a scale factor.
fn orders(scale: f64) -> Option<u64> {
    TABLES.iter().find(|table| table.name == "orders")?.rows(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_the_scale_factor() {
        assert_eq!((orders(0.01), orders(1.0)), (Some(15_000), Some(1_500_000)));
    }
}
