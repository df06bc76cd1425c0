//! Connection limits of the user's server, and the connections in use. Reads only.

use threadwise_engine::EngineError;
use threadwise_engine::connections::Limit;
use threadwise_engine_sql::limits;

use crate::client::connect::Server;
use crate::client::driver::values;
use crate::client::error::{code, query};

/// The limit of the server, if it reports one.
///
/// # Errors
/// An error of the server.
pub(crate) fn ask(server: &Server) -> Result<Vec<Limit>, EngineError> {
    let mut connection = server.connect("threadwise limits")?;
    let rows = connection.rows(include_str!("../sql/limits.sql"));
    match rows {
        Ok(rows) => Ok(limits(&values(&rows))),
        // Without the right to read it a study meets the server's own error.
        Err(cause) if matches!(code(&cause), Some(229 | 297 | 300)) => Ok(Vec::new()),
        // Babelfish has no such view.
        Err(_) if server.is_babelfish() => Ok(Vec::new()),
        Err(cause) => Err(query("count its connections", &cause)),
    }
}
