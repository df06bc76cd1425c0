//! What lives as long as a study on the user's server: threadwise's database there.

use mysql::Conn;
use threadwise_engine::{EngineError, Keeper};

use crate::{Server, schema};

/// Threadwise's database in the user's server. The connection holds the lock.
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
            // The error has no reader; the next study finds the mark and drops the database.
            let _ = schema::drop_ours(&mut control, &self.name);
        }
    }
}
