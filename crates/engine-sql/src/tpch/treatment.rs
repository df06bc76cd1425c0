//! A treatment of queries: its control connection, its sessions, and what is read around each slice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::tpch;
use threadwise_engine::{EngineError, Session, SessionRequest, StartRequest, Window};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, SessionSlice};
use threadwise_tpch::options::TpchOptions;

use super::driver::{Notes, QueryDriver, Setup};
use super::load::must_be_whole;
use super::session::{Shared, ShortSession, StreamSession};
use crate::driver::{Connection, Observer};
use crate::running::{Sessions, Threads};
use crate::samples::Sampler;

/// Counters that belong to a query, if it was alone in its slice.
const OF_QUERY: [&str; 3] = ["read_bytes", "buffer_hits", "spill_bytes"];

/// A treatment between start and finish.
pub struct Queries<D: QueryDriver> {
    driver: D,
    setup: Arc<Setup>,
    /// Notes of the start.
    notes: Vec<String>,
    control: Mutex<Control<D>>,
    shared: Arc<Shared>,
}

/// The control connection and what was read over it.
struct Control<D: QueryDriver> {
    connection: D::Connection,
    thread: Result<Thread, String>,
    observer: D::Observer,
    sampler: Sampler,
    /// Samples of waits in the slice so far.
    waits: Counters,
    /// CPU time of all sessions before the slice, if it is read for them together.
    cpu_ns: Option<u64>,
}

impl<D: QueryDriver> Queries<D> {
    /// Connects, and checks that the data is complete. The default degree of parallelism is the number of logical CPUs of
    /// all sessions together.
    ///
    /// # Errors
    /// An error of the server, or data that is not as loaded.
    pub fn start(
        driver: D,
        options: TpchOptions,
        request: &StartRequest,
        schema: &str,
    ) -> Result<Self, EngineError> {
        let mut connection = driver.connect("threadwise control")?;
        let placement = request.sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
        let dop = tpch::dop(&options, &placement);
        let sessions = u32::try_from(request.sessions.len()).unwrap_or(u32::MAX);
        let setup = Setup { options, schema: schema.to_owned(), dop, sessions, notes: Notes::default() };
        must_be_whole(&driver, &mut connection, &setup)?;
        let thread = driver.control_thread(&mut connection)?;
        let (observer, notes) = driver.observe_queries(&mut connection, &setup)?;
        let (sampler, waits) = (Sampler::new(request.load.seed), Counters::new());
        let control = Mutex::new(Control { connection, thread, observer, sampler, waits, cpu_ns: None });
        Ok(Self { driver, setup: Arc::new(setup), notes, control, shared: Arc::default() })
    }

    /// Whether parallel workers may work for its sessions.
    pub fn is_parallel(&self) -> bool {
        self.setup.dop > 1
    }

    /// Opens a stream of queries.
    ///
    /// # Errors
    /// An error of the server, or a missing query.
    pub fn open_stream(&self, request: &SessionRequest) -> Result<StreamSession<D::Stream>, EngineError> {
        StreamSession::open(&self.driver, &self.setup, request, Arc::clone(&self.shared))
    }

    fn control(&self) -> MutexGuard<'_, Control<D>> {
        // A panic elsewhere has failed the run already; the connection itself is sound.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cpu_ns(&self) -> Option<u64> {
        let threads: Vec<Thread> =
            self.shared.threads().ok()?.into_iter().map(|(_, thread)| thread).collect();
        self.driver.cpu_ns(&threads, &self.setup)
    }
}

impl<D: QueryDriver> Sessions for Queries<D> {
    type Control = D::Connection;

    fn with_control<T>(&self, ask: impl FnOnce(&mut D::Connection) -> T) -> T {
        ask(&mut self.control().connection)
    }

    fn threads(&self) -> Result<Threads, String> {
        Ok(Threads { sessions: self.shared.threads()?, control: Some(self.control().thread.clone()?) })
    }

    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let shared = Arc::clone(&self.shared);
        Ok(match request.session < self.setup.streams() {
            true => Box::new(self.open_stream(request)?),
            false => Box::new(ShortSession::open(&self.driver, &self.setup, request, shared)?),
        })
    }

    fn notes(&self) -> Result<Vec<String>, EngineError> {
        let mut notes = self.setup.notes.all();
        notes.extend(self.notes.iter().cloned());
        Ok(notes)
    }

    fn before(&self) -> Result<(), EngineError> {
        let mut control = self.control();
        let Control { connection, observer, waits, cpu_ns, .. } = &mut *control;
        self.driver.before_slice(connection, &self.setup)?;
        *cpu_ns = self.cpu_ns();
        waits.clear();
        self.shared.all_work();
        observer.begin(connection)
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let mut control = self.control();
        let Control { connection, observer, sampler, waits, .. } = &mut *control;
        let (shared, look) = (&self.shared, |ids: &[i64]| observer.waits(connection, ids));
        sampler.watch(window, |at_ns| shared.sleep_until_ns(at_ns), || shared.at_work(), look, waits)
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let mut control = self.control();
        let Control { connection, observer, waits, cpu_ns, .. } = &mut *control;
        let mut counters = observer.end(connection)?;
        share_cpu(sessions, self.cpu_ns().zip(*cpu_ns));
        give_to_query(sessions, &mut counters);
        counters.append(waits);
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        self.control().connection.close();
        Ok(())
    }
}

/// Adds the CPU time of several streams as a sum, since workers cannot be assigned to streams. Sessions of short
/// queries have no workers and read their own.
fn share_cpu(sessions: &mut [SessionSlice], now_and_before_ns: Option<(u64, u64)>) {
    let (Some((now_ns, before_ns)), true) = (now_and_before_ns, sessions.len() > 1) else { return };
    let (streams, short): (Vec<&mut SessionSlice>, Vec<_>) =
        sessions.iter_mut().partition(|slice| !slice.queries.is_empty());
    let of_short_ns: u64 = short.iter().map(|slice| slice.cpu_ns).sum();
    let all_ns = now_ns.saturating_sub(before_ns).saturating_sub(of_short_ns);
    let each_ns = all_ns / (streams.len() as u64).max(1);
    streams.into_iter().for_each(|slice| slice.cpu_ns = each_ns);
}

/// Gives the server's counters to the query of a slice that has only one; those of several are of no use.
fn give_to_query(sessions: &mut [SessionSlice], counters: &mut Counters) {
    let counts: Counters = OF_QUERY.iter().filter_map(|name| counters.remove_entry(*name)).collect();
    let [SessionSlice { queries, .. }] = sessions else { return };
    let [execution] = queries.as_mut_slice() else { return };
    execution.counters.extend(counts);
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::QueryExecution;

    fn stream() -> SessionSlice {
        SessionSlice { queries: vec![QueryExecution::default()], ..SessionSlice::default() }
    }

    #[test]
    fn streams_share_what_is_known_of_all_and_one_alone_keeps_its_own() {
        let mut sessions = vec![stream(), stream()];
        share_cpu(&mut sessions, Some((900, 300)));
        assert_eq!(sessions.iter().map(|slice| slice.cpu_ns).collect::<Vec<_>>(), [300, 300]);
        sessions.push(SessionSlice { cpu_ns: 100, ..SessionSlice::default() });
        share_cpu(&mut sessions, Some((900, 300)));
        assert_eq!(sessions.iter().map(|slice| slice.cpu_ns).collect::<Vec<_>>(), [250, 250, 100]);
        share_cpu(&mut sessions[..1], Some((900, 0)));
        assert_eq!(sessions[0].cpu_ns, 250);
    }

    #[test]
    fn reads_are_those_of_a_query_that_was_alone() {
        let counters = |pairs: &[(&str, u64)]| -> Counters {
            pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let of_query = [("read_bytes", 16_384), ("buffer_hits", 5), ("spill_bytes", 7)];
        let all = counters(&[&of_query[..], &[("temp_bytes", 7)]].concat());
        for (mut sessions, wanted) in
            [(vec![stream()], counters(&of_query)), (vec![stream(), stream()], counters(&[]))]
        {
            let mut came = all.clone();
            give_to_query(&mut sessions, &mut came);
            assert_eq!((&sessions[0].queries[0].counters, came), (&wanted, counters(&[("temp_bytes", 7)])));
        }
    }
}
