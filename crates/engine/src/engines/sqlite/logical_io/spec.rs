//! The options of `logical-io`.

use super::super::error::NAME;
use crate::workloads::logical_io::LogicalIo;
use crate::workloads::options::{no_loop, refuse};
use crate::{EngineError, LoadRequest};

/// The workload's options, checked.
pub(in super::super) fn spec(request: &LoadRequest) -> Result<LogicalIo, EngineError> {
    no_loop(&request.options, NAME)?;
    let spec = LogicalIo::parse(&request.options)?;
    if spec.shared && spec.updates() {
        let why = "SQLite's cache belongs to one session: an update by one empties that of all others; \
                   use shared=false or update_pct=0";
        return Err(refuse("shared", why.into()));
    }
    Ok(spec)
}
