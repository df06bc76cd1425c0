//! What lives as long as a study where all treatments share a server: a cluster of ours
//! (`restart=study`), and our schema in it or in the user's server.

use postgres::Client;
use threadwise_engine::{EngineError, Keeper};

use crate::cluster::{Cluster, Ending, Home};
use crate::connect::Server;
use crate::schema;

/// Our schema in the user's server. Its connection holds the lock that says so.
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
            // What stays behind is dropped by the next study, which knows it by its marker.
            let _ = schema::drop_ours(&mut self.client, self.server.schema());
        }
    }
}

/// A cluster of ours for all treatments.
pub struct Study {
    /// Taken by `end`.
    cluster: Option<Cluster>,
    home: Home,
}

impl Study {
    /// Keeps a started cluster, and makes the schema in it.
    ///
    /// # Errors
    /// The server's.
    pub fn keep(cluster: Cluster, home: Home) -> Result<Self, EngineError> {
        let server = cluster.server().clone();
        let mut client = server.connect("threadwise keeper")?;
        schema::claim(&mut client, server.schema(), &server.place())?;
        Ok(Self { cluster: Some(cluster), home })
    }
}

impl Keeper for Study {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        let stopped = self.cluster.take().map_or(Ok(()), |cluster| cluster.stop(Ending::Discard));
        stopped.and(self.home.remove())
    }
}

impl Drop for Study {
    fn drop(&mut self) {
        if let Some(cluster) = self.cluster.take() {
            drop(cluster);
            // The janitor removes what cannot be removed here.
            let _ = self.home.remove();
        }
    }
}
