//! A session of `transaction`: one connection, one transaction a step.

use postgres::Client;
use std::sync::Arc;
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::worker::{StepResult, closed_loop};
use threadwise_engine::workloads::transaction::{Draws, Transaction};
use threadwise_engine::{EngineError, Session, SessionRequest, Window};
use threadwise_study::SessionSlice;

use super::values::Prepared;
use super::{begin, connect, prepare};
use crate::Server;
use crate::connect::Canceller;
use crate::workload::backend::Usage;
use crate::workload::shared::{Resting, Shared, backend_pid, flush_statistics};
use crate::workload::sql::execute;

/// A connection, and the parameters of its next transactions.
pub(in crate::workload) struct TransactionSession {
    client: Client,
    canceller: Canceller,
    /// Cancels its statement in the server.
    _at_end: AtEnd,
    transaction: Transaction,
    statements: Vec<Prepared>,
    draws: Draws,
    number: u32,
    version_num: u32,
    /// The backend, if it is within reach.
    pid: Option<u32>,
    shared: Arc<Shared>,
}

impl TransactionSession {
    /// Connects and prepares the statements.
    ///
    /// # Errors
    /// An error of the server.
    pub(in crate::workload) fn open(
        server: &Server,
        request: &SessionRequest,
        transaction: &Transaction,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let mut client = connect(server, &format!("threadwise session {}", request.session), transaction)?;
        let statements = prepare(&mut client, transaction)?;
        let pid = backend_pid(&mut client)?;
        shared.add_backend(request.session, pid);
        Ok(Self {
            canceller: server.canceller(&client),
            _at_end: server.cancel_at_end(&client)?,
            client,
            statements,
            draws: Draws::new(transaction, request.seed, request.session),
            transaction: transaction.clone(),
            number: request.session,
            version_num: server.version_num(),
            pid: server.is_local().then_some(pid),
            shared,
        })
    }

    /// Executes one transaction.
    fn step(&mut self) -> Result<(), EngineError> {
        let Self { client, canceller, transaction, statements, draws, .. } = self;
        let values = draws.draw();
        execute(client, "begin a transaction", begin(transaction))?;
        for (statement, prepared) in transaction.statements.iter().zip(statements.iter()) {
            prepared.execute(statement, (client, canceller), &values)?;
        }
        execute(client, "end a transaction", transaction.ending())
    }
}

impl Session for TransactionSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        if self.transaction.is_read_only() {
            self.step()?;
        }
        flush_statistics(&mut self.client, self.version_num)
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let shared = Arc::clone(&self.shared);
        let resting = Resting(&shared, self.number);
        let (pid, version_num) = (self.pid, self.version_num);
        let mut slice = closed_loop(
            window,
            || {
                self.step()?;
                Ok(StepResult { rows: 1, ..StepResult::default() })
            },
            || Ok(Usage::read(pid).as_counters()),
        )?;
        Usage::swap_sides(&mut slice, Usage::read(pid).wait_ns.is_some());
        drop(resting);
        flush_statistics(&mut self.client, version_num)?;
        Ok(slice)
    }
}
