//! Binding the server to a treatment's logical CPUs.

use std::path::{Path, PathBuf};
use threadwise_engine::EngineError;
use threadwise_machine::CpuSet;
use threadwise_process::journal::{Locked, lasting};
use threadwise_process::state;

use super::recorded::{Recorded, kind, set_line, written_name};
use super::{OURS, Setting, identity, others, setting};
use crate::client::connect::{Connection, Server};
use crate::failed;

/// The failed action in errors.
const ACTION: &str = "bind the server to a placement";

/// The logical CPUs that a treatment needs of the server, and a connection to set them.
pub(crate) struct Bound {
    wanted: Setting,
    connection: Connection,
    folder: PathBuf,
    server: String,
    /// Whether sessions of other clients were seen.
    others: bool,
}

impl Bound {
    /// Prepares to bind the server to these logical CPUs; changes nothing yet.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn to(server: &Server, cpus: &CpuSet) -> Result<Self, EngineError> {
        let refused = |why: String| failed(ACTION, why);
        let mut connection = server.connect("threadwise affinity")?;
        let (_, name) = identity(&mut connection).map_err(refused)?;
        let others = others(&mut connection, OURS).map_err(refused)?;
        let folder = state::lasting_folder().map_err(refused)?;
        let wanted = Setting::Chosen(cpus.clone());
        Ok(Self { wanted, connection, folder, server: name, others: !others.is_empty() })
    }

    /// Binds the server if it is not bound so. Gives whether it was changed.
    ///
    /// # Errors
    /// Nothing would restore it: the study's keeper has ended; or an error of the server.
    pub(crate) fn bind(&mut self) -> Result<bool, EngineError> {
        let refused = |why: String| failed(ACTION, why);
        let mut journal = journal_of_study(&self.folder, &self.server)?;
        let wanted = &self.wanted;
        // The journal is locked meanwhile, so that nothing restores the affinity in between; where this process is
        // killed, the server is still in its session's turn.
        let bind = |connection: &mut Connection| {
            let (now, _) = setting::read(connection)?;
            if now.is_like(wanted) {
                return Ok(false);
            }
            journal.append(&set_line(wanted)).map_err(|error| error.to_string())?;
            setting::put(connection, wanted).map(|()| true)
        };
        setting::in_turn(&mut self.connection, bind).map_err(refused)
    }

    /// Checks that the server is still bound so.
    ///
    /// # Errors
    /// It was changed, and measurements since then are not valid.
    pub(crate) fn check(&mut self) -> Result<(), EngineError> {
        let (now, _) =
            setting::read(&mut self.connection).map_err(|why| failed("read its affinity back", why))?;
        match now.is_like(&self.wanted) {
            true => Ok(()),
            false => Err(EngineError::LostPin(format!(
                "the server was bound to logical CPUs {} and is now bound to {}: its affinity was changed",
                self.wanted.word(),
                now.word()
            ))),
        }
    }

    /// Notes for the report.
    pub(crate) fn notes(&self) -> Vec<String> {
        let bound = "the whole server was bound to each treatment's logical CPUs by its own setting (PROCESS AFFINITY) \
                     during its runs"
            .to_owned();
        let others = "other clients were connected to the server while it was bound".to_owned();
        [Some(bound), Some(others).filter(|_| self.others)].into_iter().flatten().collect()
    }
}

/// The journal of a running study on this server.
fn journal_of_study(folder: &Path, server: &str) -> Result<Locked, EngineError> {
    let kind = &kind(server);
    let gone = || {
        failed(
            ACTION,
            "it would not be restored: the process that holds its affinity for this study has ended",
        )
    };
    let refused = |error: threadwise_process::journal::JournalError| failed(ACTION, error);
    for written in lasting(folder, kind).map_err(refused)? {
        let Some(journal) = Locked::open(&written.path).map_err(refused)? else { continue };
        // Names that differ in punctuation only have journals of one kind.
        let is_its = Recorded::of(&journal).is_ok_and(|recorded| recorded.server == written_name(server));
        if is_its && journal.living_owner(kind).is_some() {
            return Ok(journal);
        }
    }
    Err(gone())
}
