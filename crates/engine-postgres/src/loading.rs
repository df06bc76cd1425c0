//! Loading into a server that treatments share, under separate names.

use threadwise_engine::{EngineError, LoadRequest, Loaded, servers};

use crate::connect::Server;
use crate::workload;

/// The suffix of object names that keeps treatments apart in one database. Data with its own schema has none in a
/// server that is not `ours`.
pub(crate) fn suffix(load: &LoadRequest, ours: bool) -> Result<String, EngineError> {
    match workload::data_name(load)? {
        Some(name) => Ok(if ours { name } else { String::new() }),
        None => Ok(servers::suffix(load, workload::changes_data(load)?)),
    }
}

/// Makes the data beside that of other treatments, or finds it.
///
/// # Errors
/// An error of the server, or data that is not as required.
pub(crate) fn load_shared(server: &Server, request: &LoadRequest, ours: bool) -> Result<Loaded, EngineError> {
    workload::load_shared(server, request, &suffix(request, ours)?)
}
