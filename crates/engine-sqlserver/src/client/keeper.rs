//! What lives as long as a study on the user's server: our schema there.

use threadwise_engine::{EngineError, Keeper};

use crate::client::connect::{Connection, Server};
use crate::client::schema;

/// Our schema in the user's database. The connection holds the lock.
pub(crate) struct KeptSchema {
    control: Option<Connection>,
    server: Server,
}

impl KeptSchema {
    /// Makes the schema.
    ///
    /// # Errors
    /// See [`schema::make`].
    pub(crate) fn make(server: &Server) -> Result<Self, EngineError> {
        let mut control = server.connect("threadwise study")?;
        schema::make(&mut control, server)?;
        Ok(Self { control: Some(control), server: server.clone() })
    }
}

impl Keeper for KeptSchema {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        match self.control.take() {
            Some(mut control) => schema::drop_ours(&mut control, self.server.schema()),
            None => Ok(()),
        }
    }
}

impl Drop for KeptSchema {
    fn drop(&mut self) {
        if let Some(mut control) = self.control.take() {
            // Nobody is left to tell; the next study finds the mark and drops it.
            let _ = schema::drop_ours(&mut control, self.server.schema());
        }
    }
}
