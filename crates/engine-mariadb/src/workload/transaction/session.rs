//! A session of `transaction`: one connection, one transaction a step.

use mysql::Conn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::clock::thread_cpu_ns;
use threadwise_engine::worker::{StepResult, closed_loop};
use threadwise_engine::workloads::transaction::{Draws, Transaction};
use threadwise_engine::{EngineError, Session, Window};
use threadwise_study::SessionSlice;

use super::prepared::{Prepared, begin, end};
use crate::Server;
use crate::workload::call::Call;
use crate::workload::session::Tally;
use crate::workload::thread::Backend;

/// A connection, and the parameters of its next transactions.
pub(super) struct TransactionSession {
    connection: Conn,
    server: Server,
    /// Cancels its statement in the server.
    _at_end: AtEnd,
    transaction: Transaction,
    statements: Vec<Prepared>,
    draws: Draws,
    /// The server's thread, if it is within reach.
    backend: Option<Backend>,
    tally: Arc<Tally>,
}

impl TransactionSession {
    /// Prepares the statements.
    ///
    /// # Errors
    /// An error of the server, with the line of the statement.
    pub(super) fn open(
        (server, mut connection): (&Server, Conn),
        transaction: &Transaction,
        draws: Draws,
        (backend, tally): (Option<Backend>, Arc<Tally>),
    ) -> Result<Self, EngineError> {
        let statements = Prepared::all(&mut connection, transaction)?;
        Ok(Self {
            server: server.clone(),
            _at_end: server.cancel_at_end(&connection)?,
            connection,
            transaction: transaction.clone(),
            statements,
            draws,
            backend,
            tally,
        })
    }

    /// Executes one transaction.
    fn step(&mut self) -> Result<(), EngineError> {
        let values = self.draws.draw();
        begin(&mut self.connection, &self.transaction)?;
        for statement in &self.statements {
            statement.execute(&self.server, &mut self.connection, &values)?;
        }
        end(&mut self.connection, self.transaction.ending())
    }
}

impl Session for TransactionSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        match self.transaction.is_read_only() {
            true => self.step(),
            false => Ok(()),
        }
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let (before, client) = (Backend::usage_of(self.backend), thread_cpu_ns());
        let mut calls = 0;
        let step = || {
            self.step()?;
            calls += 1;
            Ok(StepResult { rows: 1, ..StepResult::default() })
        };
        let mut slice = closed_loop(window, step, || Ok([]))?;
        let client = thread_cpu_ns() - client;
        let call = Call { steps: slice.steps, calls, rows_per_step: 1 };
        call.give_to(&mut slice, before, Backend::usage_of(self.backend), client);
        self.tally.call_rows.store(calls, Ordering::Relaxed);
        // Windows that measure a warm-up have the number of a later slice.
        if window.piece_ns.is_none() {
            self.tally.done.store(window.sequence + 1, Ordering::Relaxed);
        }
        Ok(slice)
    }
}
