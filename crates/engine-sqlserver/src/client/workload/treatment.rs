//! A treatment in the user's server.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers::clock::{ServerClock, uncertainty_note};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, LoadRequest, Session, SessionRequest};

use super::insert;
use super::session::{Opened, SqlserverSession, Tally, now};
use super::usage::Usage;
use super::watch::{OpenSession, Watch};
use crate::ENGINE;
use crate::client::connect::Server;
use crate::client::error::query;
use crate::client::statements::{Names, names, whole};
use crate::work::{Spec, Work};

/// A started treatment.
pub(crate) struct Treatment {
    server: Server,
    workload: Work,
    suffix: String,
    watch: Watch,
    facts: Mutex<Facts>,
}

/// Facts found when the sessions were opened.
#[derive(Debug, Default)]
struct Facts {
    /// The greatest uncertainty of the server's clock, nanoseconds.
    uncertainty_ns: i64,
    /// Whether the server counts what sessions use.
    is_counted: bool,
}

impl Treatment {
    /// Connects, and checks that the data is as loaded; resets what a killed run left changed.
    ///
    /// # Errors
    /// An error of the server; or data that is not as loaded.
    pub(crate) fn start(
        server: &Server,
        workload: Work,
        load: &LoadRequest,
        suffix: &str,
    ) -> Result<Self, EngineError> {
        let mut connection = server.connect(&format!("threadwise {}", load.treatment))?;
        let names = names(server.schema(), suffix);
        if let Spec::Insert(_) = workload.spec
            && insert::facts(&mut connection, &names)? != insert::held(&mut connection, &names)?
        {
            insert::put_back(&mut connection, &names)?;
        }
        let watch = Watch::start(connection, workload.place == Loop::Client, load.seed);
        let facts = Mutex::default();
        Ok(Self { server: server.clone(), workload, suffix: suffix.to_owned(), watch, facts })
    }

    fn names(&self) -> Names<'_> {
        names(self.server.schema(), &self.suffix)
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        // A panic elsewhere has failed the run already.
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its control connection, counters and samples.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// An error of the server; a clock that is too uncertain.
    pub(crate) fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let mut connection = self.server.connect(&format!("threadwise session {}", request.session))?;
        let shared = matches!(self.workload.spec, Spec::LogicalIo(spec) if spec.shared);
        let table = if shared { 0 } else { request.session };
        let near = self.server.target().is_near();
        let clock = ServerClock::measure(ENGINE, near, &mut || now(&mut connection))?;
        let id = connection
            .rows("SELECT CAST(@@SPID AS int)")
            .map_err(|cause| query("read the session's number", &cause))?;
        let id = id.first().and_then(|row| whole(row, 0)).unwrap_or(0);
        {
            let counted = Usage::read(&mut connection)?.is_counted();
            let mut facts = self.facts();
            facts.uncertainty_ns = facts.uncertainty_ns.max(clock.uncertainty_ns());
            facts.is_counted |= counted;
        }
        let tally = Arc::new(Tally::default());
        self.watch.add(OpenSession { number: request.session, id, tally: Arc::clone(&tally) });
        let opened = Opened { connection, near, clock, tally };
        let place = (request.session, table);
        Ok(Box::new(SqlserverSession::new(opened, &self.names(), self.workload, place, request.seed)))
    }

    /// Notes for the report, once all sessions are open and warm.
    pub(crate) fn standing(&self) -> Vec<String> {
        let mut notes = self.watch.notes();
        let facts = self.facts();
        if self.workload.place == Loop::Server {
            notes.push("loops run inside the server".to_owned());
            notes.extend(uncertainty_note(facts.uncertainty_ns));
        }
        notes.push(match facts.is_counted {
            true => "CPU time and logical reads of each session are from sys.dm_exec_sessions, CPU time in \
                     whole milliseconds"
                .to_owned(),
            false => "the server does not count what its sessions use: CPU time is unknown and given as 0, logical \
                      reads are left out"
                .to_owned(),
        });
        notes
    }

    /// Checks that the table holds what the sessions reported, and resets it.
    ///
    /// # Errors
    /// Rows are missing or there are too many; or they could not be removed.
    pub(crate) fn finish(&self) -> Result<(), EngineError> {
        let Spec::Insert(_) = self.workload.spec else { return Ok(()) };
        let inserted = self.watch.opened().iter().fold(insert::Content::default(), |sum, open| {
            sum + insert::Content {
                rows: open.tally.inserted.load(Ordering::Relaxed),
                key_sum: open.tally.key_sum.load(Ordering::Relaxed),
            }
        });
        self.watch.with_control(|control| {
            let expected = insert::facts(control, &self.names())? + inserted;
            let held = insert::held(control, &self.names())?;
            let checked = match expected == held {
                true => Ok(()),
                false => Err(EngineError::WrongAnswer(insert::differs("after the run", expected, held))),
            };
            insert::put_back(control, &self.names())?;
            checked
        })
    }
}
