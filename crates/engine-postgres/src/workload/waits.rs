//! What server processes wait for now, from `pg_stat_activity`.

use postgres::{Client, Statement};
use threadwise_engine::EngineError;

use crate::error::query;

/// A session without a CPU counts as running too: to the server it does not wait.
const SQL: &str = "SELECT coalesce(wait_event_type || ':' || wait_event, 'running') \
                   FROM pg_stat_activity WHERE pid = ANY($1)";

/// Looks at them.
pub struct Waits(Statement);

impl Waits {
    /// Prepares to look.
    ///
    /// # Errors
    /// An error of the server.
    pub fn prepare(client: &mut Client) -> Result<Self, EngineError> {
        let look = client.prepare(SQL).map_err(|cause| query("prepare the sampling of waits", &cause))?;
        Ok(Self(look))
    }

    /// The current waits of these processes.
    ///
    /// # Errors
    /// An error of the server.
    pub fn look(&self, client: &mut Client, pids: &[i64]) -> Result<Vec<String>, EngineError> {
        let action = "sample waits";
        let pids: Vec<i32> = pids.iter().filter_map(|pid| i32::try_from(*pid).ok()).collect();
        let rows = client.query(&self.0, &[&pids]).map_err(|cause| query(action, &cause))?;
        let waits = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, postgres::Error>>();
        waits.map_err(|cause| query(action, &cause))
    }
}
