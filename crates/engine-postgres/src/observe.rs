//! What the server counts, and what its sessions wait for.

use postgres::Client;
use threadwise_engine::EngineError;
use threadwise_engine_sql::Observer;
use threadwise_study::Counters;

use crate::Server;
use crate::connection::PostgresConnection;
use crate::workload::stats::Stats;
use crate::workload::waits::Waits;

/// What reads counters and waits of a treatment.
pub struct PostgresObserver {
    stats: Stats,
    waits: Waits,
}

impl PostgresObserver {
    /// Prepares to observe; with notes about what the server's version lacks.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn start(client: &mut Client, server: &Server) -> Result<(Self, Vec<String>), EngineError> {
        let stats = Stats::prepare(client, server.version_num())?;
        let notes = stats.lacks();
        Ok((Self { stats, waits: Waits::prepare(client)? }, notes))
    }
}

impl Observer<PostgresConnection> for PostgresObserver {
    fn begin(&mut self, control: &mut PostgresConnection) -> Result<(), EngineError> {
        self.stats.begin(&mut control.client)
    }

    fn end(&mut self, control: &mut PostgresConnection) -> Result<Counters, EngineError> {
        self.stats.end(&mut control.client)
    }

    fn waits(
        &mut self,
        control: &mut PostgresConnection,
        sessions: &[i64],
    ) -> Result<Option<Vec<String>>, EngineError> {
        self.waits.look(&mut control.client, sessions).map(Some)
    }
}
