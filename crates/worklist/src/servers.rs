//! Private servers of recipes whose items are databases: filled once, stopped, and started again for each
//! run on the same data directory, since treatments take turns. What a run restored is dropped again.
//!
//! A server is a child of the process that starts it, whose logical CPUs and memory policy it inherits.

mod cpu;
mod mariadb;
mod postgres;

use std::fs::File;
use std::path::{Path, PathBuf};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_process::socket;
use threadwise_study::worklist::MAX_JOBS;

use crate::error::failed;
use crate::plan::Item;
use crate::programs::{self, Programs, Way};
use crate::recipe::{self, Kind};
pub(crate) use cpu::used_ns;
use mariadb::Mariadb;
use postgres::Postgres;

/// What the databases that a recipe restores are called, before the item's place.
pub(crate) const RESTORED: &str = "restored_";

/// Connections that a server has room for: its jobs, and ours.
const CONNECTIONS: u32 = MAX_JOBS + 8;

/// A server that runs.
#[derive(Debug)]
pub(crate) enum Server {
    /// PostgreSQL.
    Postgres(Postgres),
    /// MariaDB.
    Mariadb(Mariadb),
}

/// What a server is found and started by.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    /// The folder of the list.
    pub home: &'a Path,
    /// Whose.
    pub kind: Kind,
    /// Folder of programs.
    pub bin: Option<PathBuf>,
    /// The recipe's programs.
    pub programs: Programs,
    /// Bytes of all items.
    pub total_bytes: u64,
}

impl Server {
    /// Starts the server of a list on the calling thread, and drops what an earlier one left.
    ///
    /// # Errors
    /// The server's.
    pub fn start(place: &Place<'_>) -> Result<Self, EngineError> {
        let server = match place.kind {
            Kind::Mariadb => Self::Mariadb(Mariadb::start(place)?),
            _ => Self::Postgres(Postgres::start(place)?),
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

    /// What `{defaults}` stands for: a file that says how to reach it, where there is one.
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

    /// CPU time of its processes so far; `None` where it has ended.
    pub fn used_ns(&self) -> Option<u64> {
        match self {
            Self::Postgres(server) => used_ns(server.process()),
            Self::Mariadb(server) => used_ns(server.process()),
        }
    }

    /// Drops the databases that recipes restored.
    ///
    /// # Errors
    /// The server's.
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
    /// What the server said.
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
/// The server's, or a program is missing.
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
    let place = Place { home, kind, bin, programs, total_bytes };
    match kind {
        Kind::Mariadb => mariadb::make(&place)?,
        _ => postgres::make(&place)?,
    }
    let server = Server::start(&place)?;
    let made = match &server {
        Server::Postgres(server) => server.fill(sizes, request.seed),
        Server::Mariadb(server) => server.fill(sizes, request.seed),
    };
    let items = made.map_err(|why| failed("make the databases", why))?;
    server.stop()?;
    Ok(items)
}

/// Name of the database of an item.
fn database(index: usize, count: usize) -> String {
    let width = count.to_string().len();
    format!("base_{index:0width$}")
}

/// Items of databases that have these sizes.
fn items(sizes: Vec<u64>) -> Vec<Item> {
    let count = sizes.len();
    let item = |(index, size_bytes): (usize, u64)| {
        let name = database(index, count);
        Item { name: name.clone(), text: name, size_bytes, earlier: 0 }
    };
    sizes.into_iter().enumerate().map(item).collect()
}

/// The folder by which programs are told of a socket in it, see [`socket::folder`].
fn socket_folder(folder: &Path, name: &str) -> Result<(PathBuf, Option<File>), EngineError> {
    socket::folder(folder, name)
        .map_err(|error| failed(format!("open the folder {}", folder.display()), error))
}

/// The program of this name; recipes of servers name all that are used here.
fn program<'a>(programs: &'a Programs, name: &str) -> Result<&'a Path, String> {
    programs.get(name).map(PathBuf::as_path).ok_or_else(|| format!("its recipe names no program '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_named_by_their_place() {
        let made = items(vec![5; 12]);
        assert_eq!((made[3].text.as_str(), made[11].name.as_str()), ("base_03", "base_11"));
    }
}
