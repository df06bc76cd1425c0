//! An open result file: making, opening and continuing it. What is stored in it is beside: `records`, `blocks`, `runs`.

use crate::changes::{self, Expectation};
use crate::connection::STUDY;
use crate::error::{Fault, Problem, StoreError};
use crate::file::OpenFile;
use crate::studies::{self, EndState, Versions};
use std::path::Path;
use threadwise_machine::Topology;
use threadwise_study::Study;
use threadwise_study::engine::Properties;

/// An open result file.
///
/// From [`Store::create`] and [`Store::resume`] it is writable, and no other process can open
/// the file until the `Store` is dropped; from [`Store::open`] it is read-only.
#[derive(Debug)]
pub struct Store {
    pub(crate) file: OpenFile,
    pub(crate) study: Study,
    topology: Topology,
    versions: Versions,
    /// The boot of the following blocks, if recorded.
    pub(crate) boot: Option<u32>,
}

impl Store {
    /// Makes a new result file and locks it for this process.
    ///
    /// # Errors
    /// The file exists, its folder does not or cannot be written, there is no space, or the study
    /// or the machine has a value that cannot be stored. Then no file is left behind.
    pub fn create(
        path: &Path,
        study: &Study,
        topology: &Topology,
        versions: &Versions,
    ) -> Result<Self, StoreError> {
        let file = OpenFile::create(path, &STUDY, |connection| {
            studies::write(connection, study, topology)?;
            studies::write_marks(connection, versions)?;
            studies::write_state(connection, EndState::Running)?;
            match studies::read(connection)? == *study && studies::read_machine(connection)? == *topology {
                true => Ok(()),
                false => {
                    Err(Fault::Damaged("the study or machine is not the same when it is read back".into()))
                }
            }
        })?;
        Self::of(file)
    }

    /// Opens a result file of any origin for reading. Writes nothing beside it, and
    /// its contents cannot make this program crash, hang, or use memory out of proportion to its size.
    ///
    /// # Errors
    /// Each with its next step: missing, not a file, empty, not threadwise's, newer, truncated, damaged,
    /// in use, or interrupted while a run was stored (undoing that needs [`Store::resume`]).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::of(OpenFile::read(path, &STUDY)?)
    }

    /// Opens the user's own study to continue it, and locks it for this process. Undoes a run that was
    /// being stored when its writer was killed.
    ///
    /// # Errors
    /// As [`Store::open`]; the file or its folder cannot be written; or the machine, the engine,
    /// threadwise or the study has changed.
    pub fn resume(path: &Path, expected: &Expectation<'_>) -> Result<Self, StoreError> {
        let mut store = Self::of(OpenFile::write(path, &STUDY)?)?;
        // External arms change the machine on purpose.
        let change = match store.study.external {
            Some(_) => changes::first_across_boots(&store.versions, expected),
            None => changes::first(&store.versions, &store.study, &store.topology, expected),
        };
        if let Some(what) = change {
            return Err(Problem::Changed(what).of(path));
        }
        store.file.writing(|connection| studies::write_state(connection, EndState::Running))?;
        store.file.sweep(&STUDY)?;
        Ok(store)
    }

    /// Only undoes a run that was being stored when its writer was killed: for the user's own
    /// study that is to be read ([`Problem::Interrupted`]) and not continued.
    ///
    /// # Errors
    /// As [`Store::open`]; the file or its folder cannot be written.
    pub fn recover(path: &Path) -> Result<(), StoreError> {
        Self::of(OpenFile::write(path, &STUDY)?)?.file.sweep(&STUDY)
    }

    /// From what the file has.
    fn of(file: OpenFile) -> Result<Self, StoreError> {
        let (study, topology, versions) = file.reading(|connection| {
            let study = studies::read(connection)?;
            Ok((study, studies::read_machine(connection)?, studies::read_versions(connection)?))
        })?;
        Ok(Self { file, study, topology, versions, boot: None })
    }

    /// The resolved study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// Sets the properties of the study's engine, for a file from before engines reported them. Writes nothing.
    pub fn assume_engine(&mut self, properties: Properties) {
        self.study.engine_properties.get_or_insert(properties);
    }

    /// The machine that it ran on.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The programs that measured.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }
}
