//! A server of the user's: finding it, and a treatment at work in it.

use threadwise_engine::{EngineError, Running, StartRequest};

use crate::Server;
use crate::connect::target;
use crate::options::External;
use crate::running::{MariadbRunning, Under};
use crate::workload::AtWork;

/// The user's server, and notes about how it was found.
///
/// # Errors
/// Nobody answers, or the account is not let in.
pub(crate) fn find(external: &External) -> Result<(Server, Vec<String>), EngineError> {
    let target = target(&external.url)?;
    let notes = target.notes.clone();
    Ok((Server::find(target, &external.schema)?, notes))
}

/// A treatment at work in the user's server; `notes` are about how that was found.
pub(crate) fn run_external(
    treatment: Box<dyn AtWork>,
    request: &StartRequest,
    mut notes: Vec<String>,
) -> Box<dyn Running> {
    notes.push("memory placed earlier: the server is yours and ran before the study".to_owned());
    Box::new(MariadbRunning::new(treatment, Under::External, request, None, notes))
}
