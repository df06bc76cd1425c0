//! A treatment in a server: its sessions, and what belongs to none of them.

use mysql::prelude::Queryable;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers::clock::{ServerClock, uncertainty_note};
use threadwise_engine::workloads::insert::Table;
use threadwise_engine::workloads::logical_io::smaller_data;
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, LoadRequest, Session, SessionRequest};

use super::counters::{PAGES_READ, Reading};
use super::session::{MariadbSession, Opened, Tally, now};
use super::statements::{Names, names, run};
use super::watch::{OpenSession, Watch};
use super::{AtWork, Spec, Work, insert, locate, logical_io};
use crate::Server;
use crate::error::{ENGINE, failed, query};
use crate::options::Waits;

/// Most pages that the second reading of all data may fetch from files, per 1000.
const UNCACHED_PER_MILLE: u64 = 1;

/// A treatment. Called by the worker's main thread, except [`AtWork::open`].
pub(crate) struct Treatment {
    server: Server,
    workload: Work,
    suffix: String,
    sessions: u32,
    /// Whether the data is discarded afterwards.
    fresh: bool,
    watch: Watch,
    facts: Mutex<Facts>,
}

/// Facts found when the sessions were opened.
#[derive(Debug, Default)]
struct Facts {
    /// The plan of a step, of the session with the lowest number.
    plan: Option<(u32, String)>,
    /// The greatest uncertainty of the server's clock, nanoseconds.
    uncertainty_ns: i64,
}

impl Facts {
    fn learn(&mut self, session: u32, plan: Option<String>, uncertainty_ns: i64) {
        self.uncertainty_ns = self.uncertainty_ns.max(uncertainty_ns);
        if let Some(plan) = plan
            && self.plan.as_ref().is_none_or(|(first, _)| session < *first)
        {
            self.plan = Some((session, plan));
        }
    }
}

impl Treatment {
    /// Connects, and checks that the data is as loaded. `fresh` means that the data is this run's own and will be
    /// discarded; otherwise it is reset at the end, and at the start if a killed run left it changed.
    ///
    /// # Errors
    /// An error of the server; or data that is not as loaded.
    pub(crate) fn start(
        server: &Server,
        workload: Work,
        load: &LoadRequest,
        suffix: &str,
        (fresh, sampled): (bool, Waits),
    ) -> Result<Self, EngineError> {
        let mut connection = server.connect()?;
        let names = names(server.schema(), suffix);
        match workload.spec {
            // A table in memory is empty after a restart.
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
        let flushes = workload.flush_at_commit() != Some(0);
        let look = (sampled, flushes, workload.place == Loop::Client);
        Ok(Self {
            server: server.clone(),
            workload,
            suffix: suffix.to_owned(),
            sessions: load.sessions,
            fresh,
            watch: Watch::start(connection, server, look, load.seed)?,
            facts: Mutex::default(),
        })
    }

    fn names(&self) -> Names<'_> {
        names(self.server.schema(), &self.suffix)
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        // A panic elsewhere has failed the run already.
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prove_cached(&self, tables: u32, blocks: u64) -> Result<(), EngineError> {
        let mut control = self.watch.control();
        let most = (u64::from(tables) * blocks * UNCACHED_PER_MILLE / 1000).max(u64::from(tables));
        let mut read = 0;
        // On a shared server reads of others count too, hence a second attempt.
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
        let pool: Option<u64> = control
            .connection
            .query_first("SELECT @@GLOBAL.innodb_buffer_pool_size")
            .map_err(|cause| query("read innodb_buffer_pool_size", &cause))?;
        Err(failed(
            "keep the data in memory",
            format!(
                "not cached: reading it again read {read} pages from files; innodb_buffer_pool_size is {} MiB: make it \
                 larger, or {}",
                pool.unwrap_or_default() >> 20,
                smaller_data(pool.unwrap_or_default(), u64::from(tables))
            ),
        ))
    }
}

impl AtWork for Treatment {
    fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// An error of the server; a plan that does not read rows; a clock that is too uncertain.
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let mut connection = self.server.connect()?;
        let names = self.names();
        let backend = locate(&mut connection, &self.server)?;
        let shared = matches!(self.workload.spec, Spec::LogicalIo(spec) if spec.shared);
        let table = if shared { 0 } else { request.session };
        // Read committed takes no gap locks, by which updates of one table would block each other.
        let isolation = if shared { "READ COMMITTED" } else { "REPEATABLE READ" };
        let action = "set up a session";
        run(&mut connection, action, "SET optimizer_switch='mrr=off,rowid_filter=off'")?;
        run(&mut connection, action, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"))?;
        let plan = match self.workload.spec {
            Spec::LogicalIo(spec) => Some(logical_io::plan(&mut connection, &names, table, spec.work_unit)?),
            Spec::Insert(_) => None,
        };
        let clock = ServerClock::measure(ENGINE, backend.is_ok(), &mut || now(&mut connection))?;
        let tally = Arc::new(Tally::default());
        self.facts().learn(request.session, plan, clock.uncertainty_ns());
        self.watch.add(OpenSession {
            number: request.session,
            connection_id: connection.connection_id(),
            backend: backend.clone(),
            tally: Arc::clone(&tally),
        });
        let at_end = self.server.cancel_at_end(&connection)?;
        let opened = Opened { connection, at_end, backend: backend.ok(), clock, tally };
        let place = (request.session, table);
        Ok(Box::new(MariadbSession::new(opened, &names, self.workload, place, request.seed)))
    }

    /// Notes for the report, once all sessions are open and warm; with the proof that the data is in memory: a second
    /// reading of all of it reads no file.
    ///
    /// # Errors
    /// The data is not cached.
    fn standing(&self) -> Result<Vec<String>, EngineError> {
        let mut notes = self.watch.notes();
        let facts = self.facts();
        notes.extend(facts.plan.as_ref().map(|(_, plan)| format!("plan of a step: {plan}")));
        if self.workload.place == Loop::Server {
            notes.push("loops run inside the server".to_owned());
            notes.extend(uncertainty_note(facts.uncertainty_ns));
        }
        drop(facts);
        if let Spec::LogicalIo(spec) = self.workload.spec {
            notes.push(
                "logical_reads are the server's Innodb_buffer_pool_read_requests, divided among sessions by rows; \
                 a row costs more than one, for the path down the primary key"
                    .into(),
            );
            let opened = self.watch.opened().len() as u32;
            let tables = if spec.shared { 1 } else { self.sessions.min(opened) };
            self.prove_cached(tables, spec.blocks)?;
        }
        Ok(notes)
    }

    /// Checks that the table holds what the sessions reported, and resets it unless it is discarded.
    ///
    /// # Errors
    /// Rows are missing or there are too many; or they could not be removed.
    fn finish(&self) -> Result<(), EngineError> {
        let Spec::Insert(spec) = self.workload.spec else { return Ok(()) };
        let mut control = self.watch.control();
        let inserted = self.watch.opened().iter().fold(insert::Content::default(), |sum, open| {
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
