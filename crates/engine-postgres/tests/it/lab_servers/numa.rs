//! Where the server's memory lies. The views are PostgreSQL 18's; on older servers they are made here with the same columns,
//! with known rows.

use crate::lab_servers::workload::place::place;
use threadwise_engine_postgres::numa::{FROM, memory};
use threadwise_study::Counters;

/// The views as tables of a fixed content: two nodes, memory that lies on none, and a buffer without a block.
const VIEWS: &str = "CREATE FUNCTION pg_numa_available() RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE VIEW pg_shmem_allocations_numa (name, numa_node, size) AS VALUES
    ('Buffer Blocks', 0, 4096::bigint), ('Buffer Blocks', 1, 8192), ('XLOG Ctl', 1, 100), ('', NULL, 7), ('gone', -2, 9);";

#[test]
#[ignore = "laboratory: servers"]
fn bytes_by_node_are_those_of_the_views() {
    let place = place("numa");
    let server = place.server();
    let mut client = server.connect("test").unwrap();
    if server.version_num() >= FROM {
        let found = memory(&mut client).unwrap();
        assert!(found.is_empty() || found.keys().any(|name| name.starts_with("shared_node_")), "{found:?}");
        return;
    }
    // What the server has not is an error, not a silence.
    assert!(memory(&mut client).unwrap_err().to_string().contains("where its memory lies"));
    client.batch_execute(VIEWS).unwrap();
    let expected = [("shared_node_0_bytes", 4096), ("shared_node_1_bytes", 8292)];
    let expected: Counters = expected.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    assert_eq!(memory(&mut client).unwrap(), expected);
    client
        .batch_execute(
            "CREATE OR REPLACE FUNCTION pg_numa_available() RETURNS boolean LANGUAGE sql AS 'SELECT false'",
        )
        .unwrap();
    assert!(memory(&mut client).unwrap().is_empty(), "a server without libnuma says nothing");
}
