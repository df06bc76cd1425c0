//! What lives as long as a study on the user's server: threadwise's schema there, and the record of the affinity.

use threadwise_engine::{EngineError, Keeper};
use threadwise_study::Options;

use crate::client::affinity::{self, Held};
use crate::client::connect::{Connection, Server};
use crate::client::schema;
use crate::options::Affinity;

/// Threadwise's schema in the user's database, whose lock the connection holds, and the affinity if it is changed.
pub(crate) struct Kept {
    control: Option<Connection>,
    server: Server,
    held: Option<Held>,
}

impl Kept {
    /// Restores the affinity that a killed study left, makes the schema, and records the affinity.
    ///
    /// # Errors
    /// See [`schema::make`] and [`Held::begin`]; nothing is left.
    pub(crate) fn make(server: &Server, engine_options: &Options) -> Result<Self, EngineError> {
        affinity::put_left_back(server)?;
        let mut control = server.connect("threadwise study")?;
        schema::make(&mut control, server)?;
        let mut kept = Self { control: Some(control), server: server.clone(), held: None };
        if server.affinity() == Affinity::Set {
            kept.held = Some(Held::begin(server, engine_options)?);
        }
        Ok(kept)
    }
}

impl Keeper for Kept {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        let restored = self.held.take().map_or(Ok(()), Held::restore);
        let dropped = match self.control.take() {
            Some(mut control) => schema::drop_ours(&mut control, self.server.schema()),
            None => Ok(()),
        };
        restored.and(dropped)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.held.take());
        if let Some(mut control) = self.control.take() {
            // The error has no reader; the next study finds the mark and drops the schema.
            let _ = schema::drop_ours(&mut control, self.server.schema());
        }
    }
}
