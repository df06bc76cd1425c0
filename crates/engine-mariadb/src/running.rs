//! A treatment, and the server under it.

use mysql::prelude::Queryable;
use std::sync::{Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers::{Rights, TreatmentServer};
use threadwise_engine::{EngineError, Running, Session, SessionRequest, Standing, StartRequest, Window};
use threadwise_study::{Counters, Note, SessionSlice};

use crate::error::query;
use crate::managed::Setup;
use crate::place::{Known, Places};
use crate::workload::{AtWork, Backend};

/// Owner of the server.
pub(crate) enum Under {
    /// Private to this run.
    Treatment(Box<TreatmentServer<Setup>>),
    /// Private to the study.
    Study,
    /// The user's.
    External,
}

/// The engine, started for one treatment.
pub(crate) struct MariadbRunning {
    treatment: Box<dyn AtWork>,
    under: Mutex<Option<Under>>,
    external: bool,
    request: StartRequest,
    /// innodb_flush_log_at_trx_commit to set before each slice, if treatments share a private server.
    flush_at_commit: Option<u8>,
    rights: Rights,
    /// Whether other treatments use the server, too.
    shared: bool,
    /// The server's threads, once they have been bound.
    bound: Mutex<Option<Known>>,
    notes: Vec<Note>,
}

impl MariadbRunning {
    /// Combines the parts; `notes` tell how the server was found.
    pub(crate) fn new(
        treatment: Box<dyn AtWork>,
        under: Under,
        request: &StartRequest,
        flush_at_commit: Option<u8>,
        notes: Vec<Note>,
    ) -> Self {
        let external = matches!(under, Under::External);
        let shared = !matches!(under, Under::Treatment(_));
        let rights = Rights::of(!external, request.journal.as_deref());
        Self {
            treatment,
            under: Mutex::new(Some(under)),
            external,
            request: request.clone(),
            flush_at_commit,
            rights,
            shared,
            bound: Mutex::new(None),
            notes,
        }
    }

    fn places(&self) -> Places<'_> {
        Places {
            sessions: &self.request.sessions,
            service: &self.request.service,
            rights: &self.rights,
            shared: self.shared,
        }
    }

    /// The threads to bind, or why they are not bound.
    fn reachable(&self) -> Result<(Vec<(u32, Backend)>, Backend), String> {
        let watch = self.treatment.watch();
        let (sessions, control) = (watch.backends()?, watch.control_backend()?);
        if !self.external {
            return Ok((sessions, control));
        }
        self.rights.may_bind((control.pid, control.tid))?;
        let sees_all: mysql::Result<Option<u64>> = watch.with_control(|control| {
            control.query_first(
                "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'PROCESS'",
            )
        });
        match sees_all {
            Ok(Some(1..)) => Ok((sessions, control)),
            _ => {
                Err("the account lacks the right PROCESS, without which its service threads are unknown"
                    .into())
            }
        }
    }

    fn bound(&self) -> MutexGuard<'_, Option<Known>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running for MariadbRunning {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        self.treatment.open(request)
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let mut notes = self.notes.clone();
        let placed = match self.reachable() {
            Ok((sessions, control_thread)) => {
                let (placed, known) = self
                    .treatment
                    .watch()
                    .with_control(|control| self.places().bind_all(control, &sessions, control_thread))?;
                *self.bound() = Some(known);
                placed
            }
            Err(why) => {
                notes.push(Note::not_pinned(why));
                Vec::new()
            }
        };
        notes.extend(self.treatment.standing()?.into_iter().map(Note::from));
        Ok(Standing { placed, notes })
    }

    fn before(&self) -> Result<(), EngineError> {
        if let Some(known) = self.bound().as_mut() {
            self.treatment.watch().with_control(|control| self.places().keep_service(control, known))?;
        }
        if let Some(value) = self.flush_at_commit {
            let sql = format!("SET GLOBAL innodb_flush_log_at_trx_commit = {value}");
            self.treatment
                .watch()
                .with_control(|control| control.query_drop(sql))
                .map_err(|cause| query("set the durability of commits", &cause))?;
        }
        self.treatment.watch().before()
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        self.treatment.watch().during(window)
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        self.treatment.watch().after(sessions)
    }

    fn finish(&self) -> Result<(), EngineError> {
        let checked = self.treatment.finish();
        let under = self.under.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stopped = match under {
            Some(Under::Treatment(server)) => server.finish(),
            _ => Ok(()),
        };
        checked.and(stopped)
    }
}
