//! A server that is bound to a treatment's logical CPUs.

use std::path::{Path, PathBuf};
use threadwise_engine::EngineError;
use threadwise_machine::CpuSet;
use threadwise_process::journal::{Locked, lasting};
use threadwise_process::state;

use super::recorded::{Recorded, kind, set_line, written_name};
use super::{OURS, Setting, identity, others, setting};
use crate::client::connect::{Connection, Server};
use crate::failed;

/// What is done, in errors.
const ACTION: &str = "bind the server to a placement";

/// The logical CPUs that a treatment wants of the server, and a connection that sees to it.
pub(crate) struct Bound {
    wanted: Setting,
    connection: Connection,
    folder: PathBuf,
    server: String,
    /// Whether sessions of others were seen.
    others: bool,
}

impl Bound {
    /// Will bind the server to these logical CPUs; changes nothing yet.
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

    /// Binds the server, unless it is as wanted. Gives whether it was changed.
    ///
    /// # Errors
    /// Nobody would put it back: the study's keeper has ended; or the server refuses.
    pub(crate) fn bind(&mut self) -> Result<bool, EngineError> {
        let refused = |why: String| failed(ACTION, why);
        let mut journal = living(&self.folder, &self.server)?;
        let (now, _) = setting::read(&mut self.connection).map_err(refused)?;
        if now.is_like(&self.wanted) {
            return Ok(false);
        }
        journal.append(&set_line(&self.wanted)).map_err(|error| refused(error.to_string()))?;
        // The journal is locked meanwhile, so that nobody puts back in between.
        setting::put(&mut self.connection, &self.wanted).map_err(refused)?;
        Ok(true)
    }

    /// Looks whether it is still so.
    ///
    /// # Errors
    /// It was changed, and what was measured meanwhile is of no use.
    pub(crate) fn check(&mut self) -> Result<(), EngineError> {
        let (now, _) =
            setting::read(&mut self.connection).map_err(|why| failed("read its affinity back", why))?;
        match now.is_like(&self.wanted) {
            true => Ok(()),
            false => Err(EngineError::LostPin(format!(
                "the server was bound to logical CPUs {} and is now at {}: something else has changed its affinity",
                self.wanted.word(),
                now.word()
            ))),
        }
    }

    /// What the reader must know.
    pub(crate) fn notes(&self) -> Vec<String> {
        let bound = "the whole server was bound to each treatment's logical CPUs by its own setting (PROCESS AFFINITY), \
                     for the time of its runs"
            .to_owned();
        let others = "other clients were connected to the server while it was bound".to_owned();
        [Some(bound), Some(others).filter(|_| self.others)].into_iter().flatten().collect()
    }
}

/// The journal of a study at work on this server.
fn living(folder: &Path, server: &str) -> Result<Locked, EngineError> {
    let kind = &kind(server);
    let gone = || {
        failed(
            ACTION,
            "it would not be put back: the process that holds its affinity for this study has ended",
        )
    };
    let refused = |error: threadwise_process::journal::JournalError| failed(ACTION, error);
    for written in lasting(folder, kind).map_err(refused)? {
        let Some(journal) = Locked::open(&written.path).map_err(refused)? else { continue };
        // Names that are alike but for their signs have journals of one kind.
        let is_its = Recorded::of(&journal).is_ok_and(|recorded| recorded.server == written_name(server));
        if is_its && journal.living_owner(kind).is_some() {
            return Ok(journal);
        }
    }
    Err(gone())
}
