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
    /// `None` where a server runs only while a treatment needs it, which then starts it.
    cluster: Option<Cluster>,
    home: Home,
    ended: bool,
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
        Ok(Self { cluster: Some(cluster), home, ended: false })
    }

    /// Stops the cluster and keeps its data, on which treatments start servers of their own in turn.
    ///
    /// # Errors
    /// It cannot be stopped in order.
    pub fn rest(mut self) -> Result<Self, EngineError> {
        if let Some(cluster) = self.cluster.take() {
            cluster.stop(Ending::Keep)?;
        }
        self.home.rest()?;
        Ok(self)
    }
}

impl Keeper for Study {
    fn end(mut self: Box<Self>) -> Result<(), EngineError> {
        self.ended = true;
        let stopped = match self.cluster.take() {
            Some(cluster) => cluster.stop(Ending::Discard),
            // A worker that was killed may have left its server.
            None => self.home.clear(),
        };
        stopped.and(self.home.remove())
    }
}

impl Drop for Study {
    fn drop(&mut self) {
        if !self.ended {
            drop(self.cluster.take());
            // The janitor ends and removes what cannot be ended and removed here.
            let _ = self.home.clear();
            let _ = self.home.remove();
        }
    }
}
