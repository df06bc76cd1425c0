//! One connection, spoken to by one thread that waits for each answer.
//!
//! The client library is asynchronous; a runtime on the calling thread does nothing but wait in `epoll_wait` for
//! the socket, and between calls nothing of it runs.

use std::time::Duration;
use tiberius::{Client, Config, Row, ToSql, TokenRow};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

/// An error of the client library.
pub(crate) type Fault = tiberius::error::Error;

/// How long a server may take to accept a connection, and again to let a login in.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The message of an error of time where a connection was had.
pub(super) const LOGGING_IN: &str = "logging in";

/// An open connection.
pub(crate) struct Connection {
    runtime: Runtime,
    client: Client<Compat<TcpStream>>,
}

/// Why a query gave no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The server or the way to it.
    Fault(Fault),
    /// The time was over; the connection is of no more use.
    TooLong,
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Nobody answers, or the login is not let in.
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

    /// Runs a batch and reads all that it answers.
    ///
    /// # Errors
    /// The first of the server, or the connection's.
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

    /// How many rows a statement with parameters changed.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn change(&mut self, sql: &str, parameters: &[&dyn ToSql]) -> Result<u64, Fault> {
        let client = &mut self.client;
        self.runtime.block_on(async { Ok(client.execute(sql, parameters).await?.total()) })
    }

    /// The result sets of a batch that may take so long and no longer.
    ///
    /// # Errors
    /// As [`Self::run`], or the time was over.
    pub(crate) fn results_within(&mut self, sql: &str, limit: Duration) -> Result<Vec<Vec<Row>>, Unanswered> {
        let client = &mut self.client;
        let asked = async { client.simple_query(sql).await?.into_results().await };
        match self.runtime.block_on(async { timeout(limit, asked).await }) {
            Ok(answer) => answer.map_err(Unanswered::Fault),
            Err(_) => Err(Unanswered::TooLong),
        }
    }

    /// Loads rows into these columns of a table (TDS bulk load), as many as `next` gives. Gives how
    /// many were sent; how many arrived has to be counted, since NOCOUNT keeps the server from saying it.
    ///
    /// # Errors
    /// As [`Self::run`], or that of `next`, and nothing is then loaded.
    pub(crate) fn bulk<E: From<Fault>>(
        &mut self,
        table: &str,
        columns: &[&str],
        next: &mut dyn FnMut() -> Result<Option<TokenRow<'static>>, E>,
    ) -> Result<u64, E> {
        let client = &mut self.client;
        self.runtime.block_on(async {
            let mut load = client.bulk_insert_columns(table, columns).await?;
            let mut sent = 0;
            while let Some(row) = next()? {
                load.send(row).await?;
                sent += 1;
            }
            load.finalize().await?;
            Ok(sent)
        })
    }
}
