//! Cancelling the statement of a connection, from any thread (PostgreSQL documentation, "Canceling Requests in
//! Progress"): otherwise the server continues a statement whose client is gone.

use postgres::{CancelToken, Client, NoTls};
use threadwise_engine::EngineError;
use threadwise_engine::at_end::{AtEnd, at_end};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::server::Server;
use super::target::{SslMode, Target};
use super::tls;
use crate::error::failed;

/// A handle to cancel the statement of a connection.
#[derive(Clone)]
pub(crate) struct Canceller {
    token: CancelToken,
    target: Target,
}

impl Canceller {
    /// Asks the server to cancel it. Does nothing if no statement runs, and reports no error: the caller is ending.
    pub(crate) fn cancel(&self) {
        let tls = match self.target.ssl_mode {
            SslMode::Disable => None,
            _ => tls::configuration(&self.target).ok(),
        };
        let _ = match tls {
            Some(tls) => self.token.cancel_query(MakeRustlsConnect::new(tls)),
            None => self.token.cancel_query(NoTls),
        };
    }
}

impl Server {
    /// A handle to cancel the statement of a connection to this server.
    pub(crate) fn canceller(&self, client: &Client) -> Canceller {
        Canceller { token: client.cancel_token(), target: self.target().clone() }
    }

    /// Cancels the statement of a connection if this process is asked to end.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub(crate) fn cancel_at_end(&self, client: &Client) -> Result<AtEnd, EngineError> {
        let canceller = self.canceller(client);
        at_end(move || canceller.cancel()).map_err(|cause| failed("catch SIGTERM", cause))
    }
}
