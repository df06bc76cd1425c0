//! One treatment at work: its control connection, its sessions, and what is read around each slice.

use postgres::Client;
use std::sync::{Arc, Mutex};
use threadwise_engine::{EngineError, LoadRequest, Session, SessionRequest, Window};
use threadwise_study::{Counters, SessionSlice};

use super::clock::ServerClock;
use super::shared::{Shared, backend_pid, lock};
use super::stats::Stats;
use super::waits::Sampler;
use super::{Work, insert, logical_io};
use crate::Server;

/// The server process of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backend {
    /// Session number, from 0.
    pub session: u32,
    /// Its process, which has one thread.
    pub pid: u32,
}

/// A treatment between start and finish. Sessions hold what they need of it themselves.
pub struct Treatment {
    server: Server,
    load: LoadRequest,
    work: Work,
    suffix: String,
    /// Whether the data is thrown away afterwards.
    fresh: bool,
    control_pid: u32,
    control: Mutex<Control>,
    shared: Arc<Shared>,
}

/// What the control connection does between and during slices.
struct Control {
    client: Client,
    stats: Stats,
    sampler: Sampler,
    /// Counters of the slice so far: wait samples.
    counters: Counters,
}

impl Treatment {
    /// Opens the control connection. `fresh` says that the data is a copy of what was loaded and is
    /// thrown away afterwards; otherwise rows that an interrupted run left are removed first.
    ///
    /// # Errors
    /// The server's, or data that is not what was loaded.
    pub fn start(
        server: &Server,
        load: &LoadRequest,
        suffix: &str,
        fresh: bool,
    ) -> Result<Self, EngineError> {
        let work = Work::parse(load)?;
        let mut client = server.connect("threadwise control")?;
        let control_pid = backend_pid(&mut client)?;
        let clock = ServerClock::measure(&mut client, server.is_local())?;
        if let (Work::Insert(work), false) = (&work, fresh) {
            insert::make_ready(&mut client, server, load, work, suffix)?;
        }
        let control = Control {
            stats: Stats::prepare(&mut client, server.version_num())?,
            sampler: Sampler::prepare(&mut client, load.seed)?,
            client,
            counters: Counters::new(),
        };
        let shared = Arc::new(Shared::new(clock));
        if !server.is_local() {
            shared.note(format!(
                "the server's clock is known to {} ms; CPU time of its processes is unknown and given as 0",
                clock.uncertain_ns().div_ceil(1_000_000)
            ));
        }
        Ok(Self {
            server: server.clone(),
            load: load.clone(),
            work,
            suffix: suffix.to_owned(),
            fresh,
            control_pid,
            control: Mutex::new(control),
            shared,
        })
    }

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// The server's, or a plan that is not the wanted one.
    pub fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let shared = Arc::clone(&self.shared);
        Ok(match &self.work {
            Work::LogicalIo(work) => {
                Box::new(logical_io::IoSession::open(&self.server, request, work, &self.suffix, shared)?)
            }
            Work::Insert(work) => {
                Box::new(insert::InsertSession::open(&self.server, request, work, &self.suffix, shared)?)
            }
        })
    }

    /// The server processes of the sessions that were opened, in session order.
    pub fn backends(&self) -> Vec<Backend> {
        self.shared.backends().into_iter().map(|(session, pid)| Backend { session, pid }).collect()
    }

    /// The server process of the control connection.
    pub fn control_pid(&self) -> u32 {
        self.control_pid
    }

    /// What a reader of the report must know; complete when all sessions are open.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.shared.notes();
        notes.extend(lock(&self.control).stats.lacks());
        notes
    }

    /// Before a slice: the clock where it is old, and statistics.
    ///
    /// # Errors
    /// The server's.
    pub fn before(&self) -> Result<(), EngineError> {
        let mut control = lock(&self.control);
        let Control { client, stats, counters, .. } = &mut *control;
        if self.shared.clock().is_old() {
            self.shared.set_clock(ServerClock::measure(client, self.server.is_local())?);
        }
        counters.clear();
        self.shared.all_work();
        stats.begin(client)
    }

    /// During a slice: samples what the sessions wait for.
    ///
    /// # Errors
    /// The server's.
    pub fn during(&self, window: &Window) -> Result<(), EngineError> {
        let mut control = lock(&self.control);
        let Control { client, sampler, counters, .. } = &mut *control;
        sampler.watch(client, window, &self.shared.clock(), || self.shared.at_work(), counters)
    }

    /// After a slice: its counters.
    ///
    /// # Errors
    /// The server's.
    pub fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        // Nothing is missing in what the sessions say: they read their own backends.
        let _ = sessions;
        let mut control = lock(&self.control);
        let Control { client, stats, counters, .. } = &mut *control;
        counters.append(&mut stats.end(client)?);
        Ok(std::mem::take(counters))
    }

    /// After the last slice, when the sessions are closed: checks the data and puts it back.
    ///
    /// # Errors
    /// [`EngineError::WrongAnswer`] where the data is not what the sessions said; the server's.
    pub fn finish(&self) -> Result<(), EngineError> {
        let Work::Insert(work) = &self.work else { return Ok(()) };
        let mut control = lock(&self.control);
        let client = &mut control.client;
        insert::check(client, &self.server, &self.load, work, &self.suffix, self.shared.tally())?;
        match self.fresh {
            true => Ok(()),
            false => insert::put_back(client, &self.server, &self.load, work, &self.suffix),
        }
    }
}
