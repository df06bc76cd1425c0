//! What lives as long as the study: our database in the user's server, or a server of ours.

use mysql::Conn;
use threadwise_engine::{EngineError, Keeper};

use crate::managed::{self, OwnServer};
use crate::{Server, schema};

/// Our database in the user's server. The connection holds the lock.
pub(crate) struct KeptSchema {
    control: Option<Conn>,
    name: String,
}

impl KeptSchema {
    /// Makes the database.
    ///
    /// # Errors
    /// See [`schema::make`].
    pub(crate) fn make(server: &Server) -> Result<Self, EngineError> {
        let mut control = server.connect()?;
        schema::make(&mut control, server)?;
        Ok(Self { control: Some(control), name: server.schema().to_owned() })
    }
}

impl Keeper for KeptSchema {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        match self.control.take() {
            Some(mut control) => schema::drop_ours(&mut control, &self.name),
            None => Ok(()),
        }
    }
}

impl Drop for KeptSchema {
    fn drop(&mut self) {
        if let Some(mut control) = self.control.take() {
            // Nobody is left to tell; the next study finds the mark and drops it.
            let _ = schema::drop_ours(&mut control, &self.name);
        }
    }
}

/// A server of ours for the whole study. Dropped, it is killed.
pub(crate) struct KeptServer {
    server: OwnServer,
}

impl KeptServer {
    /// Keeps a server that runs.
    pub(crate) fn new(server: OwnServer) -> Self {
        Self { server }
    }
}

impl Keeper for KeptServer {
    fn end(self: Box<Self>) -> Result<(), EngineError> {
        let folder = self.server.folders.0.clone();
        // Its data goes with it.
        let stopped = self.server.stop(2);
        stopped.and(managed::remove(&folder))
    }
}
