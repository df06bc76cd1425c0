//! Private servers of recipes whose items are databases: filled once, stopped, and started again for each run on the
//! same data directory, since treatments take turns. Databases that a run restored are dropped.
//!
//! A server is a child of the process that starts it, whose logical CPUs and memory policy it inherits.

mod cpu;
mod databases;
mod mariadb;
mod parameters;
mod postgres;

use std::path::{Path, PathBuf};
use threadwise_engine::{EngineError, LoadRequest};

use crate::error::failed;
use crate::plan::Item;
use crate::programs::{self, Way};
use crate::recipe::{self, Kind};
pub(crate) use cpu::used_ns;
pub(crate) use databases::RESTORED;
use mariadb::Mariadb;
pub(crate) use parameters::ServerParameters;
use postgres::Postgres;

/// A running server.
#[derive(Debug)]
pub(crate) enum Server {
    /// PostgreSQL.
    Postgres(Postgres),
    /// MariaDB.
    Mariadb(Mariadb),
}

impl Server {
    /// Starts the server of a list on the calling thread, and drops restored databases that an earlier one left.
    ///
    /// # Errors
    /// An error of the server.
    pub fn start(parameters: &ServerParameters<'_>) -> Result<Self, EngineError> {
        let server = match parameters.kind {
            Kind::Mariadb => Self::Mariadb(Mariadb::start(parameters)?),
            _ => Self::Postgres(Postgres::start(parameters)?),
        };
        server.drop_restored()?;
        Ok(server)
    }

    /// How its own programs reach it.
    pub fn way(&self) -> &Way {
        match self {
            Self::Postgres(server) => &server.way,
            Self::Mariadb(server) => &server.way,
        }
    }

    /// Value of `{defaults}`: a file with the connection options, if the server has one.
    pub fn defaults(&self) -> Option<&Path> {
        match self {
            Self::Postgres(_) => None,
            Self::Mariadb(server) => Some(&server.defaults),
        }
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        match self {
            Self::Postgres(server) => server.data(),
            Self::Mariadb(server) => server.data(),
        }
    }

    /// CPU time of its processes so far; `None` if it has ended.
    pub fn used_ns(&self) -> Option<u64> {
        match self {
            Self::Postgres(server) => used_ns(server.process()),
            Self::Mariadb(server) => used_ns(server.process()),
        }
    }

    /// Drops the databases that recipes restored.
    ///
    /// # Errors
    /// An error of the server.
    pub fn drop_restored(&self) -> Result<(), EngineError> {
        let said = match self {
            Self::Postgres(server) => server.drop_restored(),
            Self::Mariadb(server) => server.drop_restored(),
        };
        said.map_err(|why| failed("drop the restored databases", why))
    }

    /// Rows, checksum and number of indices of a database, as one line.
    ///
    /// # Errors
    /// An error of the server.
    pub fn digest(&self, database: &str) -> Result<String, String> {
        match self {
            Self::Postgres(server) => server.digest(database),
            Self::Mariadb(server) => server.digest(database),
        }
    }

    /// Stops it in order.
    ///
    /// # Errors
    /// It did not end in order.
    pub fn stop(self) -> Result<(), EngineError> {
        match self {
            Self::Postgres(server) => server.stop(),
            Self::Mariadb(server) => server.stop(),
        }
    }
}

/// Makes a server's data directory with a database of each size, and stops the server.
///
/// # Errors
/// An error of the server, or a program is missing.
pub(crate) fn fill(
    home: &Path,
    kind: Kind,
    sizes: &[u64],
    request: &LoadRequest,
) -> Result<Vec<Item>, EngineError> {
    let bin = request.engine_options.get("bin").map(|bin| PathBuf::from(bin.to_string()));
    let name = if kind == Kind::Mariadb { "mariadb" } else { "postgres" };
    let recipe = recipe::find(name).map_err(|error| failed("read its recipe", error))?;
    let programs = programs::find(&recipe, bin.as_deref())?;
    let total_bytes = sizes.iter().sum();
    let parameters = ServerParameters { home, kind, bin, programs, total_bytes };
    match kind {
        Kind::Mariadb => mariadb::make(&parameters)?,
        _ => postgres::make(&parameters)?,
    }
    let server = Server::start(&parameters)?;
    let made = match &server {
        Server::Postgres(server) => server.fill(sizes, request.seed),
        Server::Mariadb(server) => server.fill(sizes, request.seed),
    };
    let items = made.map_err(|why| failed("make the databases", why))?;
    server.stop()?;
    Ok(items)
}
