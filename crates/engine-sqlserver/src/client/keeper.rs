//! What lives as long as a study on the user's server: threadwise's schema there, and the record of the affinity.

use threadwise_engine::{EngineError, Keeper};
use threadwise_engine_sql::KeptSchema;
use threadwise_study::Options;

use crate::client::affinity::{self, Held};
use crate::client::driver::Database;
use crate::options::Affinity;

/// Threadwise's schema in the user's database, if the workload has data there, and the affinity if it is changed, which
/// is restored first.
pub(crate) struct Kept {
    held: Option<Held>,
    schema: Option<KeptSchema<Database>>,
}

impl Kept {
    /// Restores the affinity that a killed study left, makes the schema, and records the affinity.
    ///
    /// # Errors
    /// See [`KeptSchema::make`] and [`Held::begin`]; nothing is left.
    pub(crate) fn make(
        database: Database,
        engine_options: &Options,
        has_data: bool,
    ) -> Result<Self, EngineError> {
        let server = database.server.clone();
        affinity::put_left_back(&server)?;
        let mut kept = Self { held: None, schema: has_data.then(|| KeptSchema::make(database)).transpose()? };
        if server.affinity() == Affinity::Set {
            kept.held = Some(Held::begin(&server, engine_options)?);
        }
        Ok(kept)
    }
}

impl Keeper for Kept {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        let restored = self.held.take().map_or(Ok(()), Held::restore);
        restored.and(self.schema.as_mut().map_or(Ok(()), KeptSchema::end))
    }
}
