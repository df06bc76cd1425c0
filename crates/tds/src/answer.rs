//! Replies of a script as steps: bytes to send, time to wait, a connection to close.
//!
//! Source: \[MS-TDS\] 2.2.2 (parts of an answer), 2.2.7.6 to 2.2.7.8 (which `DONE` has which bits), 2.2.6.4
//! (answer to a login), 2.2.1.7 (attention).

use crate::fault::{Fault, script, unknown};
use crate::rpc::Parameter;
use crate::script::{Change, Message, Reply, Request, Session};
use crate::tokens;
use crate::transaction::Transaction;
use crate::types::{Column, Type};
use crate::value::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A step of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Tokens, or a part of one.
    Bytes(Vec<u8>),
    /// Wait, after everything before it was sent.
    Wait(Duration),
    /// Send everything so far and close the connection.
    Close,
    /// Send nothing more until an attention comes.
    Silence,
    /// Sets the open transaction, 0 for none.
    Transaction(u64),
    /// Sets the session's database.
    Database(String),
}

/// The answer to a request; `reset` means that the session was reset before it.
pub fn answer(
    request: &Request,
    session: &Session,
    reset: bool,
    replies: Vec<Reply>,
) -> Result<Vec<Step>, Fault> {
    let mut builder = Builder {
        request,
        steps: Vec::new(),
        bytes: Vec::new(),
        transaction: session.transaction,
        database: session.database.clone(),
        outputs: Vec::new(),
        status: None,
        failed: false,
        statements: 0,
        more: true,
    };
    if reset {
        tokens::reset(&mut builder.bytes)?;
    }
    let failed = replies.iter().any(|reply| matches!(reply, Reply::Error(_)));
    if !failed {
        builder.plain(session)?;
    }
    let last_statement = replies.iter().rposition(is_statement);
    let count = replies.len();
    for (place, reply) in replies.into_iter().enumerate() {
        // The last statement ends the answer, unless other replies come after it.
        let last = Some(place) == last_statement;
        builder.more = builder.is_procedure() || !last || place + 1 < count;
        if builder.reply(reply, last)? {
            return Ok(builder.steps);
        }
    }
    builder.finish()
}

/// Whether a reply has its own `DONE`.
fn is_statement(reply: &Reply) -> bool {
    use Reply::{Broken, Count, Error, Nothing, Rows};
    matches!(reply, Rows { .. } | Broken { .. } | Count(_) | Nothing | Error(_))
}

/// A transaction descriptor that is unique in this process.
fn next_descriptor() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0x0000_0033_0000_0000);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// An answer in the making.
struct Builder<'a> {
    request: &'a Request,
    steps: Vec<Step>,
    bytes: Vec<u8>,
    transaction: u64,
    database: String,
    outputs: Vec<(String, Type, Value)>,
    status: Option<i32>,
    failed: bool,
    /// Number of statements that have ended.
    statements: usize,
    /// Whether the current or last statement is not the end of the answer.
    more: bool,
}

impl Builder<'_> {
    fn is_procedure(&self) -> bool {
        matches!(self.request, Request::Rpc(_))
    }

    /// The tokens of every successful answer, before the replies.
    fn plain(&mut self, session: &Session) -> Result<(), Fault> {
        match self.request {
            Request::Login(login) => {
                let database = if login.database.is_empty() { "master" } else { &login.database };
                self.database(database.to_owned())?;
                tokens::collation(&mut self.bytes)?;
                tokens::language(&mut self.bytes, "us_english")?;
                tokens::login_ack(&mut self.bytes, login.version)?;
                let greeting = Message::new(5701, &format!("Changed database context to '{database}'."));
                tokens::info(&mut self.bytes, &greeting.class(0))?;
                tokens::packet_size(&mut self.bytes, session.packet_size, crate::packet::FIRST)
            }
            Request::Transaction(Transaction::Begin { .. }) => self.change(Change::Begun),
            Request::Transaction(Transaction::Commit { next, .. }) => {
                self.change(Change::Committed)?;
                next.map_or(Ok(()), |_| self.change(Change::Begun))
            }
            Request::Transaction(Transaction::Rollback { name, next }) => {
                if name.is_empty() {
                    self.change(Change::RolledBack)?;
                }
                next.map_or(Ok(()), |_| self.change(Change::Begun))
            }
            _ => Ok(()),
        }
    }

    /// Adds a reply; gives whether it ends the answer.
    fn reply(&mut self, reply: Reply, last: bool) -> Result<bool, Fault> {
        match (self.request, &reply) {
            (Request::Login(_), Reply::Error(_)) => self.more = false,
            (Request::Login(_) | Request::Attention, reply) if is_statement(reply) => {
                return Err(script(format!("{reply:?} to a login or attention")));
            }
            _ => {}
        }
        match reply {
            Reply::Rows { columns, rows } => {
                self.rows(&columns, &rows)?;
                let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
                self.done(tokens::COUNTED, tokens::SELECT, count);
            }
            Reply::Broken { columns, rows, error } => {
                self.rows(&columns, &rows)?;
                self.error(&error, last)?;
            }
            Reply::Count(count) => self.done(tokens::COUNTED, tokens::INSERT, count),
            Reply::Nothing => self.done(0, 0, 0),
            Reply::Error(message) => {
                self.error(&message, last)?;
                if let Request::Login(_) = self.request {
                    return Ok(self.end(Step::Close));
                }
            }
            Reply::Info(message) => tokens::info(&mut self.bytes, &message)?,
            Reply::Output { name, kind, value } => self.outputs.push((name, kind, value)),
            Reply::Status(status) => self.status = Some(status),
            Reply::Database(name) => self.database(name)?,
            Reply::Change(change) => self.change(change)?,
            Reply::Wait(time) => self.step(Step::Wait(time)),
            Reply::Close => return Ok(self.end(Step::Close)),
            Reply::CloseAfterBytes(bytes) => {
                self.cut(bytes);
                return Ok(self.end(Step::Close));
            }
            Reply::Silence => return Ok(self.end(Step::Silence)),
        }
        Ok(false)
    }

    /// Ends the bytes so far, and adds a step.
    fn step(&mut self, step: Step) {
        if !self.bytes.is_empty() {
            self.steps.push(Step::Bytes(std::mem::take(&mut self.bytes)));
        }
        self.steps.push(step);
    }

    /// Adds the last step.
    fn end(&mut self, step: Step) -> bool {
        self.step(step);
        true
    }

    fn rows(&mut self, columns: &[Column], rows: &[Vec<Value>]) -> Result<(), Fault> {
        let infos = tokens::columns(&mut self.bytes, columns)?;
        rows.iter().try_for_each(|row| tokens::row(&mut self.bytes, &infos, row))
    }

    /// Ends a statement.
    fn done(&mut self, status: u16, command: u16, count: u64) {
        let token = if self.is_procedure() { tokens::DONE_IN_PROCEDURE } else { tokens::DONE };
        let more = if self.more { tokens::MORE } else { 0 };
        tokens::done(&mut self.bytes, token, status | more, command, count);
        self.statements += 1;
    }

    /// Adds an error and ends its statement. The last statement of a procedure ends with the procedure.
    fn error(&mut self, message: &Message, last: bool) -> Result<(), Fault> {
        tokens::error(&mut self.bytes, message)?;
        self.failed = true;
        if self.is_procedure() {
            self.status = self.status.or(Some(message.number));
        }
        if !self.is_procedure() || !last {
            self.done(tokens::FAILED, 0, 0);
        }
        Ok(())
    }

    fn database(&mut self, name: String) -> Result<(), Fault> {
        tokens::database(&mut self.bytes, &name, &self.database)?;
        self.database = name.clone();
        self.step(Step::Database(name));
        Ok(())
    }

    fn change(&mut self, change: Change) -> Result<(), Fault> {
        let open = self.transaction;
        match (change, open) {
            (Change::Begun, 0) => {
                self.transaction = next_descriptor();
                tokens::begun(&mut self.bytes, self.transaction)?;
            }
            (Change::Begun, _) => return Err(unknown("a transaction in a transaction")),
            (_, 0) => return Err(script(format!("{change:?} without a transaction"))),
            (Change::Committed | Change::RolledBack, _) => {
                self.transaction = 0;
                tokens::ended(&mut self.bytes, change == Change::Committed, open)?;
            }
        }
        self.step(Step::Transaction(self.transaction));
        Ok(())
    }

    /// Keeps only the first bytes.
    fn cut(&mut self, bytes: usize) {
        let mut left = bytes;
        let all = self.steps.iter_mut().filter_map(|step| match step {
            Step::Bytes(bytes) => Some(bytes),
            _ => None,
        });
        for part in all.chain([&mut self.bytes]) {
            part.truncate(left);
            left -= part.len();
        }
    }

    /// Adds the tokens at the end of the answer.
    fn finish(mut self) -> Result<Vec<Step>, Fault> {
        match self.request {
            Request::Rpc(rpc) => {
                tokens::return_status(&mut self.bytes, self.status.unwrap_or(0));
                for (name, kind, value) in &self.outputs {
                    let given = |parameter: &Parameter| parameter.output && parameter.name == *name;
                    let place = rpc.parameters.iter().position(given);
                    let place = place.ok_or_else(|| script(format!("no output parameter named {name:?}")))?;
                    tokens::return_value(&mut self.bytes, place, name, *kind, value)?;
                }
                let status = if self.failed { tokens::FAILED } else { 0 };
                tokens::done(&mut self.bytes, tokens::DONE_PROCEDURE, status, 0, 0);
            }
            _ if !self.outputs.is_empty() || self.status.is_some() => {
                return Err(script("an output parameter or a status for a request that is not a call"));
            }
            Request::Attention => tokens::done(&mut self.bytes, tokens::DONE, tokens::ATTENTION, 0, 0),
            Request::Bulk(bulk) if self.statements == 0 => {
                let count = u64::try_from(bulk.rows.len()).unwrap_or(u64::MAX);
                tokens::done(&mut self.bytes, tokens::DONE, tokens::COUNTED, tokens::INSERT, count);
            }
            _ if self.more => tokens::done(&mut self.bytes, tokens::DONE, 0, 0, 0),
            _ => {}
        }
        if !self.bytes.is_empty() {
            self.steps.push(Step::Bytes(self.bytes));
        }
        Ok(self.steps)
    }
}
