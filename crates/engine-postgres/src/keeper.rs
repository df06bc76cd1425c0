//! What lives as long as a study on the user's server: threadwise's schema there.

use postgres::Client;
use threadwise_engine::{EngineError, Keeper};

use crate::connect::Server;
use crate::schema;

/// Threadwise's schema in the user's server. Its connection holds the lock on it.
pub struct External {
    client: Client,
    server: Server,
    ended: bool,
}

impl External {
    /// Makes the schema.
    ///
    /// # Errors
    /// See [`schema::claim`].
    pub fn claim(server: Server) -> Result<Self, EngineError> {
        let mut client = server.connect("threadwise keeper")?;
        let place = format!("database '{}' at {}", server.database(), server.place());
        schema::claim(&mut client, server.schema(), &place)?;
        Ok(Self { client, server, ended: false })
    }
}

impl Keeper for External {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        self.ended = true;
        let Self { client, server, .. } = &mut *self;
        schema::drop_ours(client, server.schema())
    }
}

impl Drop for External {
    fn drop(&mut self) {
        if !self.ended {
            // The next study drops what is left, which it recognizes by its marker.
            let _ = schema::drop_ours(&mut self.client, self.server.schema());
        }
    }
}
