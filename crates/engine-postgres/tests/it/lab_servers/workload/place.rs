//! A cluster for one test, gone with it.

use std::os::unix::fs::PermissionsExt;
use threadwise_engine_postgres::Server;
use threadwise_engine_postgres::cluster::{self, Cluster, Programs};
use threadwise_engine_postgres::options::{Managed, SCHEMA};
use threadwise_engine_sql::Driver;

/// A running server with our schema.
pub struct Place {
    cluster: Cluster,
    /// Removed after the server has ended: fields are dropped in this order.
    _folder: tempfile::TempDir,
}

impl Place {
    pub fn server(&self) -> &Server {
        self.cluster.server()
    }

    /// A connection that is not the workload's.
    pub fn client(&self) -> postgres::Client {
        self.server().connect("test").unwrap()
    }

    /// Drops the schema with its data, and makes it again.
    pub fn forget(&self) {
        self.client().batch_execute(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")).unwrap();
        let server = self.server();
        threadwise_engine_sql::make_schema(server, &mut Driver::connect(server, "test").unwrap()).unwrap();
    }

    /// A table with its schema.
    pub fn name(&self, table: &str) -> String {
        format!("{}.{table}", self.server().schema())
    }
}

/// A server with room for the data of these tests. `None`, said loudly, where PostgreSQL is not
/// installed and this is not CI.
pub fn place(test: &str) -> Place {
    started(test, &[])
}

/// A server with a cache of 1 MB, that does not sync.
pub fn small(test: &str) -> Place {
    started(test, &[("shared_buffers", "1MB"), ("fsync", "off")])
}

fn started(test: &str, settings: &[(&str, &str)]) -> Place {
    let programs = Programs::find(None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // The server may have another user than this program.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    let home = cluster::home(folder.path(), "test", test);
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let managed = Managed { settings, ..Managed::default() };
    cluster::prepare(&home, &programs, &managed, 64 << 20, 8).unwrap();
    let cluster = Cluster::start(&programs, &home).unwrap();
    let place = Place { cluster, _folder: folder };
    place.forget();
    place
}
