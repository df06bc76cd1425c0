//! Connection limits of the user's server, and the connections in use. Reads only.
//!
//! Source: "Configure the user connections (server configuration option)" (0 is 32,767) and
//! sys.dm_exec_sessions, which shows a login without VIEW SERVER STATE its own sessions alone.

use threadwise_engine::EngineError;
use threadwise_engine::connections::Limit;

use crate::client::connect::Server;
use crate::client::error::{code, query};
use crate::client::statements::whole;

/// The limit of the server, if it reports one.
///
/// # Errors
/// An error of the server.
pub(crate) fn ask(server: &Server) -> Result<Vec<Limit>, EngineError> {
    let mut connection = server.connect("threadwise limits")?;
    let rows = connection.rows(include_str!("../sql/limits.sql"));
    let rows = match rows {
        Ok(rows) => rows,
        // Without the right to read it a study meets the server's own error.
        Err(cause) if matches!(code(&cause), Some(229 | 297 | 300)) => return Ok(Vec::new()),
        // Babelfish has no such view.
        Err(_) if server.is_babelfish() => return Ok(Vec::new()),
        Err(cause) => return Err(query("count its connections", &cause)),
    };
    let number =
        |at| rows.first().and_then(|row| whole(row, at)).and_then(|number| u32::try_from(number).ok());
    let (Some(most), Some(in_use)) = (number(0).filter(|most| *most > 0), number(1)) else {
        return Ok(Vec::new());
    };
    // This connection is one of them.
    let in_use = in_use.saturating_sub(1);
    Ok(vec![Limit { name: "user connections of the server".into(), most, set_aside: 0, in_use }])
}
