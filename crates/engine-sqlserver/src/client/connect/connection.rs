//! A synchronous connection, used by one thread.
//!
//! The client library is asynchronous; a runtime on the calling thread only waits in `epoll_wait` for the socket, and
//! nothing of it runs between calls.

use futures_util::TryStreamExt;
use std::time::Duration;
use tiberius::{Client, ColumnData, Config, QueryItem, Row, ToSql, TokenRow};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

/// An error of the client library.
pub(crate) type Fault = tiberius::error::Error;

/// Time limit for a connection, and again for the login.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Message of a timeout after the connection was open.
pub(super) const LOGGING_IN: &str = "logging in";

/// An open connection.
pub(crate) struct Connection {
    runtime: Runtime,
    client: Client<Compat<TcpStream>>,
}

/// Why a query has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// An error of the server or the connection.
    Fault(Fault),
    /// The time limit was reached; the connection can no longer be used.
    TooLong,
}

/// Why rows were not read to their end.
pub(crate) enum Unread {
    /// An error of the server or the connection.
    Fault(Fault),
    /// An error of who reads, or the time limit.
    Ours(String),
}

impl From<Fault> for Unread {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Bytes of the values of a row.
pub(crate) fn row_bytes(row: &Row) -> usize {
    row.cells().map(|(_, cell)| bytes(cell)).sum()
}

/// Bytes of a value; only texts and the like can be large.
fn bytes(cell: &ColumnData<'_>) -> usize {
    match cell {
        ColumnData::String(Some(text)) => text.len(),
        ColumnData::Binary(Some(bytes)) => bytes.len(),
        ColumnData::Xml(Some(xml)) => xml.as_ref().as_ref().len(),
        _ => 8,
    }
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// No answer, or a refused login.
    pub(super) fn open(config: Config) -> Result<Self, Fault> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(async {
            let too_long = |what: &str| std::io::Error::new(std::io::ErrorKind::TimedOut, what);
            let connecting = timeout(CONNECT_LIMIT, TcpStream::connect(config.get_addr()));
            let stream = connecting.await.map_err(|_| too_long("connecting"))??;
            stream.set_nodelay(true)?;
            let login = timeout(CONNECT_LIMIT, Client::connect(config, stream.compat_write()));
            login.await.map_err(|_| too_long(LOGGING_IN))?
        })?;
        Ok(Self { runtime, client })
    }

    /// Runs a batch and reads all of its results.
    ///
    /// # Errors
    /// The first error of the server, or an error of the connection.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), Fault> {
        self.results(sql).map(drop)
    }

    /// The result sets of a batch.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn results(&mut self, sql: &str) -> Result<Vec<Vec<Row>>, Fault> {
        let client = &mut self.client;
        self.runtime.block_on(async { client.simple_query(sql).await?.into_results().await })
    }

    /// The rows of a batch's first result set.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Fault> {
        Ok(self.results(sql)?.into_iter().next().unwrap_or_default())
    }

    /// The rows of a statement with parameters, `@P1` first.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn query(&mut self, sql: &str, parameters: &[&dyn ToSql]) -> Result<Vec<Row>, Fault> {
        let client = &mut self.client;
        let sets =
            self.runtime.block_on(async { client.query(sql, parameters).await?.into_results().await })?;
        Ok(sets.into_iter().next().unwrap_or_default())
    }

    /// The result sets of a batch, within a time limit.
    ///
    /// # Errors
    /// As [`Self::run`], or the time limit was reached.
    pub(crate) fn results_within(&mut self, sql: &str, limit: Duration) -> Result<Vec<Vec<Row>>, Unanswered> {
        let client = &mut self.client;
        let asked = async { client.simple_query(sql).await?.into_results().await };
        match self.runtime.block_on(async { timeout(limit, asked).await }) {
            Ok(answer) => answer.map_err(Unanswered::Fault),
            Err(_) => Err(Unanswered::TooLong),
        }
    }

    /// Reads all rows of a statement with parameters, one after another, within a time limit, and gives each to
    /// `row`. After any error the connection can no longer be used.
    ///
    /// # Errors
    /// As [`Self::run`], or an error of `row`, or the time limit was reached.
    pub(crate) fn read_rows(
        &mut self,
        sql: &str,
        parameters: &[&dyn ToSql],
        limit: Duration,
        row: &mut dyn FnMut(&Row) -> Result<(), String>,
    ) -> Result<(), Unread> {
        let client = &mut self.client;
        let reading = async {
            let mut answer = client.query(sql, parameters).await?;
            while let Some(item) = answer.try_next().await? {
                if let QueryItem::Row(found) = item {
                    row(&found).map_err(Unread::Ours)?;
                }
            }
            Ok(())
        };
        let read = self.runtime.block_on(async { timeout(limit, reading).await });
        read.unwrap_or_else(|_| Err(Unread::Ours(format!("it was not done after {} s", limit.as_secs()))))
    }

    /// Loads rows into these columns of a table (TDS bulk load). Gives the number sent; the caller counts how many arrived,
    /// since NOCOUNT suppresses the server's count.
    ///
    /// # Errors
    /// As [`Self::run`], or the first error of the rows; then nothing is loaded.
    pub(crate) fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: impl Iterator<Item = Result<TokenRow<'static>, Fault>>,
    ) -> Result<u64, Fault> {
        let client = &mut self.client;
        self.runtime.block_on(async {
            let mut load = client.bulk_insert_columns(table, columns).await?;
            let mut sent = 0;
            for row in rows {
                load.send(row?).await?;
                sent += 1;
            }
            load.finalize().await?;
            Ok(sent)
        })
    }
}
