//! Requests and replies of a script.
//!
//! Source: \[MS-TDS\] 2.2.1 (what clients send), 2.2.2 (what servers send), 2.2.7.9, 2.2.7.10 and 2.2.7.13 (fields of
//! changes, errors and information).

use crate::bulk::{self, Bulk};
use crate::fault::{Fault, malformed};
use crate::headers;
use crate::login::Login;
use crate::packet::{Kind, Message as Received};
use crate::reader::Reader;
use crate::rpc::{self, Rpc};
use crate::transaction::{self, Transaction};
use crate::types::{Column, Type};
use crate::value::Value;
use std::time::Duration;

/// A function from the session and a request to the replies, which are sent in order. No reply means the default
/// answer: the login is granted, a batch is done, all rows of a bulk load are counted, an attention is
/// acknowledged, a transaction begins or ends.
pub type Script = dyn Fn(&Session, &Request) -> Vec<Reply> + Send + Sync;

/// State of a session when a request comes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// The connection's number: the first one of a responder is 1.
    pub connection: u64,
    /// The login; empty while logging in.
    pub user: String,
    /// The database.
    pub database: String,
    /// Whether the connection is encrypted now.
    pub encrypted: bool,
    /// The open transaction's descriptor, 0 for none.
    pub transaction: u64,
    /// The packet size in bytes.
    pub packet_size: usize,
}

/// A client's request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Log in.
    Login(Box<Login>),
    /// Execute SQL.
    Batch {
        /// The text.
        sql: String,
    },
    /// Call a procedure.
    Rpc(Rpc),
    /// Rows of `INSERT BULK`, which came as a batch before.
    Bulk(Bulk),
    /// Cancel the request before it.
    Attention,
    /// Begin or end a transaction.
    Transaction(Transaction),
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A result set.
    Rows {
        /// The columns.
        columns: Vec<Column>,
        /// A result set that an error ends after these rows.
        rows: Vec<Vec<Value>>,
    },
    /// A result set that an error ends after these rows.
    Broken {
        /// The columns.
        columns: Vec<Column>,
        /// Rows with a value of each column.
        rows: Vec<Vec<Value>>,
        /// The error.
        error: Message,
    },
    /// A statement without a result that changed this many rows.
    Count(u64),
    /// A statement without a result or a count.
    Nothing,
    /// A statement that failed. For a login, the only reply: it is refused and the connection closed.
    Error(Message),
    /// An informational message.
    Info(Message),
    /// The value of an output parameter, by its name in the call; without a name, of the first output parameter.
    Output {
        /// The parameter's name.
        name: String,
        /// The type of the value.
        kind: Type,
        /// The value.
        value: Value,
    },
    /// A procedure's return value; the default is 0, or the number of the error.
    Status(i32),
    /// Changes the session's database.
    Database(String),
    /// A transaction has begun or ended, as by a batch with `BEGIN TRANSACTION`.
    Change(Change),
    /// A wait before the next reply. Earlier replies are sent first. An attention ends it, and the answer.
    Wait(Duration),
    /// The connection is closed after the earlier replies.
    Close,
    /// The connection is closed after this many bytes of the earlier replies, counted without packet headers.
    CloseAfterBytes(usize),
    /// Nothing more is sent until an attention comes.
    Silence,
}

/// Change of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It has begun.
    Begun,
    /// It was committed.
    Committed,
    /// It was rolled back.
    RolledBack,
}

/// An error or information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number, such as 1205 for a deadlock.
    pub number: i32,
    /// Its state.
    pub state: u8,
    /// Its class: up to 10 for information; from 20 on, real servers close the connection.
    pub class: u8,
    /// The text.
    pub text: String,
    /// The server's name.
    pub server: String,
    /// The procedure, empty for a batch.
    pub procedure: String,
    /// The line in the batch or procedure.
    pub line: u32,
}

impl Message {
    /// A message of class 16 in line 1; the other fields can be set afterwards.
    pub fn new(number: i32, text: &str) -> Self {
        Self {
            number,
            state: 1,
            class: 16,
            text: text.to_owned(),
            server: "RESPONDER".to_owned(),
            procedure: String::new(),
            line: 1,
        }
    }

    /// Sets the class.
    pub fn class(self, class: u8) -> Self {
        Self { class, ..self }
    }
}

/// Parses a message that comes after the login, to the last byte.
pub fn read(message: &Received, transaction: u64) -> Result<Request, Fault> {
    let payload = &message.payload;
    match message.kind {
        Kind::Batch => Ok(Request::Batch { sql: batch(payload, transaction)? }),
        Kind::Rpc => Ok(Request::Rpc(rpc::read(payload, transaction)?)),
        Kind::Bulk => Ok(Request::Bulk(bulk::read(payload)?)),
        Kind::Transaction => Ok(Request::Transaction(transaction::read(payload, transaction)?)),
        Kind::Attention if payload.is_empty() => Ok(Request::Attention),
        Kind::Attention => Err(malformed(format!("an attention with {} bytes", payload.len()))),
        Kind::Response => Err(malformed("an answer from a client")),
        Kind::Login | Kind::Prelogin => Err(malformed("a login after the login")),
    }
}

/// Text of SQL (2.2.6.7).
fn batch(payload: &[u8], transaction: u64) -> Result<String, Fault> {
    let mut reader = Reader::new("SQL batch", payload);
    headers::read(&mut reader, transaction)?;
    let left = reader.remaining();
    reader.utf16(left)
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
