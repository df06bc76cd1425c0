//! A user's server: finding it, and a treatment in it.

use threadwise_engine::{EngineError, Running, StartRequest};
use threadwise_study::Note;

use crate::Server;
use crate::connect::target;
use crate::options::External;
use crate::running::{MariadbRunning, Under};
use crate::workload::AtWork;

/// The user's server, and notes about how it was found.
///
/// # Errors
/// No answer, or a refused login.
pub(crate) fn find(external: &External) -> Result<(Server, Vec<String>), EngineError> {
    let target = target(&external.url)?;
    let notes = target.notes.clone();
    Ok((Server::find(target, &external.schema)?, notes))
}

/// A treatment in the user's server; `notes` tell how it was found.
pub(crate) fn run_external(
    treatment: Box<dyn AtWork>,
    request: &StartRequest,
    notes: Vec<String>,
) -> Box<dyn Running> {
    let earlier = Note::memory_placed_earlier("the server is yours and ran before the study");
    let notes = notes.into_iter().map(Note::from).chain([earlier]).collect();
    Box::new(MariadbRunning::new(treatment, Under::External, request, None, notes))
}
