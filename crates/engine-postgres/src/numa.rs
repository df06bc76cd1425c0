//! Where a server's shared memory lies, as the server itself says.
//!
//! Sources: PostgreSQL 18 documentation, `pg_shmem_allocations_numa`, `pg_numa_available()` (built with libnuma) and the
//! extension pg_buffercache, `pg_buffercache_numa`. Both views touch pages that no process has used yet; only our own
//! servers are asked, and only on machines with several nodes.

use crate::error::query;
use postgres::Client;
use std::path::Path;
use threadwise_engine::EngineError;
use threadwise_study::Counters;

/// The version that has the views, by `server_version_num`.
pub const FROM: u32 = 180_000;

const AVAILABLE: &str = "SELECT pg_numa_available()";

/// Bytes of all shared memory by node.
const SHARED: &str = "SELECT numa_node, sum(size)::bigint FROM pg_shmem_allocations_numa \
                      WHERE numa_node >= 0 GROUP BY numa_node";

/// Bytes of the buffers that hold a block, by node; a page of the system may hold several buffers, or a part of one.
const BUFFERS: &str = "SELECT n.numa_node, count(DISTINCT n.bufferid) * current_setting('block_size')::bigint \
                       FROM pg_buffercache_numa AS n JOIN pg_buffercache AS b USING (bufferid) \
                       WHERE n.numa_node >= 0 AND b.relfilenode IS NOT NULL GROUP BY n.numa_node";

/// Whether the extension is installed in a version that has the view.
const EXTENSION: &str = "SELECT string_to_array(default_version, '.')::int[] >= '{1,6}' \
                         FROM pg_available_extensions WHERE name = 'pg_buffercache'";

/// Whether this machine has several NUMA nodes.
pub(crate) fn has_nodes() -> bool {
    [0, 1].iter().all(|node| Path::new(&format!("/sys/devices/system/node/node{node}")).exists())
}

/// Bytes of shared memory, and of buffers in use where pg_buffercache is installed, which is made in our own database, by
/// node; empty if the server was built without libnuma.
///
/// # Errors
/// An error of the server.
pub fn memory(client: &mut Client) -> Result<Counters, EngineError> {
    let action = "read where its memory lies";
    let fail = |cause: postgres::Error| query(action, &cause);
    let is_available: bool = client.query_one(AVAILABLE, &[]).and_then(|row| row.try_get(0)).map_err(fail)?;
    let mut found = Counters::new();
    if !is_available {
        return Ok(found);
    }
    by_node(client, SHARED, "shared", &mut found).map_err(fail)?;
    let row = client.query_opt(EXTENSION, &[]).map_err(fail)?;
    if row.is_some_and(|row| row.try_get(0).unwrap_or(false)) {
        client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache").map_err(fail)?;
        by_node(client, BUFFERS, "buffers", &mut found).map_err(fail)?;
    }
    Ok(found)
}

fn by_node(client: &mut Client, sql: &str, kind: &str, to: &mut Counters) -> Result<(), postgres::Error> {
    for row in client.query(sql, &[])? {
        let (node, bytes): (i32, i64) = (row.try_get(0)?, row.try_get(1)?);
        to.insert(format!("{kind}_node_{node}_bytes"), u64::try_from(bytes).unwrap_or(0));
    }
    Ok(())
}
