//! A session of short queries beside the streams: one order by its key, over the primary key of `orders`, by a prepared
//! statement that is planned once. It has no parallel workers.

use postgres::{Client, Statement};
use std::sync::Arc;
use threadwise_engine::workloads::tpch::short::{OrderKeys, beside};
use threadwise_engine::workloads::tpch::tables::TABLES;
use threadwise_engine::{EngineError, Session, SessionRequest, Window, clock};
use threadwise_study::SessionSlice;

use super::super::shared::{Resting, Shared, backend_pid, flush_statistics, give, usage};
use super::schema;
use super::session::Stream;
use super::settings::{self, Workers};
use crate::Server;
use crate::error::{ENGINE, failed, query};

/// First version with `plan_cache_mode`.
const PLAN_CACHE_MODE: u32 = 120_000;

/// Looked up before the first slice, so that its pages and the catalogue's entries are cached.
const WARM_LOOKUPS: usize = 100;

/// A session of short queries.
pub(in super::super) struct ShortSession {
    client: Client,
    server: Server,
    statement: Statement,
    number: u32,
    /// Sessions that are streams.
    streams: u32,
    seed: u64,
    orders: u64,
    /// Its server process, if it is within reach.
    backend: Option<u32>,
    shared: Arc<Shared>,
}

impl ShortSession {
    /// Opens a connection and sets it up.
    ///
    /// # Errors
    /// An error of the server.
    pub(in super::super) fn open(
        server: &Server,
        request: &SessionRequest,
        stream_of: &Stream<'_>,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let Stream { workload, suffix, .. } = *stream_of;
        let (options, number) = (&workload.options, request.session);
        let mut client = server.connect(&format!("threadwise session {number}"))?;
        let (ours, schema) = (!suffix.is_empty(), schema(server, suffix));
        let alone = Workers { planned: 0, most: 0 };
        settings::settle(&mut client, &settings::session_settings(options, schema, alone, ours), options)?;
        if server.version_num() >= PLAN_CACHE_MODE {
            let generic = "SET plan_cache_mode = force_generic_plan";
            client.batch_execute(generic).map_err(|cause| query("keep the plan of short queries", &cause))?;
        }
        let pid = backend_pid(&mut client)?;
        shared.add_backend(number, pid);
        let sql = format!("SELECT o_orderkey, o_totalprice FROM {schema}.orders WHERE o_orderkey = $1");
        let statement = client.prepare(&sql).map_err(|cause| query("prepare the short query", &cause))?;
        Ok(Self {
            client,
            server: server.clone(),
            statement,
            number,
            streams: workload.streams(request.sessions),
            seed: request.seed,
            orders: orders(options.scale)?,
            backend: server.is_local().then_some(pid),
            shared,
        })
    }

    /// Whether the answer for a key is that order alone.
    fn look_up(client: &mut Client, statement: &Statement, key: i64) -> Result<bool, EngineError> {
        let fail = |cause: postgres::Error| query(format!("look up order {key}"), &cause);
        let rows = client.query(statement, &[&key]).map_err(fail)?;
        match rows.as_slice() {
            [row] => Ok(row.try_get::<_, i64>(0).map_err(fail)? == key),
            _ => Ok(false),
        }
    }
}

impl Session for ShortSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        // For a slice outside of the study.
        for key in OrderKeys::new(self.seed, self.number, u64::MAX, self.orders).take(WARM_LOOKUPS) {
            Self::look_up(&mut self.client, &self.statement, key)?;
        }
        flush_statistics(&mut self.client, self.server.version_num())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let shared = Arc::clone(&self.shared);
        let _resting = Resting(&shared, self.number);
        let Self { client, statement, streams, backend, .. } = self;
        let (client_cpu_ns, before) = (clock::thread_cpu_ns(), usage(*backend));
        let keys = OrderKeys::new(self.seed, self.number, window.sequence, self.orders);
        let is_over = || shared.rest_up_to(*streams);
        let look_up = |key| Self::look_up(client, statement, key);
        let mut slice = beside(ENGINE, window, keys, is_over, look_up)?;
        give(&mut slice, client_cpu_ns, [before, usage(*backend)]);
        flush_statistics(&mut self.client, self.server.version_num())?;
        Ok(slice)
    }
}

/// Orders of a scale factor.
fn orders(scale: f64) -> Result<u64, EngineError> {
    let table = TABLES.iter().find(|table| table.name == "orders");
    let rows = table.and_then(|table| table.rows(scale));
    rows.ok_or_else(|| failed("open a session of short queries", "the number of orders is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_the_scale_factor() {
        assert_eq!(orders(0.01).unwrap(), 15_000);
        assert_eq!(orders(1.0).unwrap(), 1_500_000);
    }
}
