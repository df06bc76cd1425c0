//! The result file: one SQLite file that holds a study, its machine and all results; and the file of observed
//! statements ([`ObservedStore`]), which is another kind with its tables.
//!
//! A writer appends one durable transaction per run, so that whatever was stored survives a kill at any
//! moment. A reader trusts nothing in a file, because result files are mailed
//! and attached to tickets. The tables are described in docs/STORE.md.

// The hand-made studies of tests/ name the crate as any other user does.
#[cfg(test)]
extern crate self as threadwise_store;

mod blocks;
mod changes;
mod connection;
mod error;
mod header;
mod json;
mod observed;
mod queries;
mod runs;
mod studies;
#[cfg(test)]
mod tests;
mod value;

pub use changes::Expectation;
pub use error::{Problem, StoreError, VERSION};
pub use observed::{About, ObservedStore};
pub use studies::{EndState, StoredProbe, Versions};

use connection::{Allowance, STUDY};
use error::Fault;
use header::Writer;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use threadwise_machine::{BootFacts, Topology};
use threadwise_study::asked::Asked;
use threadwise_study::engine::Properties;
use threadwise_study::plan::long::is_long;
use threadwise_study::probe::Probe;
use threadwise_study::{Boot, Note, Run, Study};

/// An open result file.
///
/// From [`Store::create`] and [`Store::resume`] it is writable, and no other process can open
/// the file until the `Store` is dropped; from [`Store::open`] it is read-only.
#[derive(Debug)]
pub struct Store {
    // Dropped in this order: SQLite closes the file before the process may open it again.
    connection: Connection,
    writer: Option<Writer>,
    allowance: Allowance,
    /// As the user wrote it, for messages.
    path: PathBuf,
    /// Without links.
    real: PathBuf,
    study: Study,
    topology: Topology,
    versions: Versions,
    /// The boot of the following blocks, if recorded.
    boot: Option<u32>,
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
        header::create_exclusively(path, 0o666)?;
        let made = Self::fill(path, study, topology, versions);
        if made.is_err() {
            // Just made; if it cannot be removed, the first error is the one to report.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn fill(
        path: &Path,
        study: &Study,
        topology: &Topology,
        versions: &Versions,
    ) -> Result<Self, StoreError> {
        let writer = Writer::enter(path)?;
        let real = path.canonicalize().map_err(|error| error::from_io(&error, path, "make"))?;
        let build = || -> Result<Self, Fault> {
            let mut connection = connection::for_creation(&real, &STUDY)?;
            let transaction = connection.transaction()?;
            transaction.execute_batch(connection::SCHEMA)?;
            studies::write(&transaction, study, topology)?;
            studies::write_marks(&transaction, versions)?;
            studies::write_state(&transaction, EndState::Running)?;
            transaction.commit()?;
            let store = Self::of(connection, Some(writer), Allowance::default(), path, real)?;
            match store.study == *study && store.topology == *topology {
                true => Ok(store),
                false => {
                    Err(Fault::Damaged("the study or machine is not the same when it is read back".into()))
                }
            }
        };
        build().map_err(|fault| fault.of_ours().on(path, "make"))
    }

    /// Opens a result file of any origin for reading. Writes nothing beside it, and
    /// its contents cannot make this program crash, hang, or use memory out of proportion to its size.
    ///
    /// # Errors
    /// Each with its next step: missing, not a file, empty, not threadwise's, newer, truncated, damaged,
    /// in use, or interrupted while a run was stored (undoing that needs [`Store::resume`]).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let (real, bytes) = header::probe(path, &STUDY)?;
        Self::load(path, real, bytes, None)
    }

    /// Opens the user's own study to continue it, and locks it for this process. Undoes a run that was
    /// being stored when its writer was killed.
    ///
    /// # Errors
    /// As [`Store::open`]; the file or its folder cannot be written; or the machine, the engine,
    /// threadwise or the study has changed.
    pub fn resume(path: &Path, expected: &Expectation<'_>) -> Result<Self, StoreError> {
        let (real, bytes) = header::probe(path, &STUDY)?;
        header::check_journal(&real)?;
        let writer = Writer::enter(path)?;
        let mut store = Self::load(path, real, bytes, Some(writer))?;
        // External arms change the machine on purpose.
        let change = match store.study.external {
            Some(_) => changes::first_across_boots(&store.versions, expected),
            None => changes::first(&store.versions, &store.study, &store.topology, expected),
        };
        if let Some(what) = change {
            return Err(Problem::Changed(what).of(path));
        }
        store.writing(|connection, _| studies::write_state(connection, EndState::Running))?;
        connection::sweep(&store.connection).map_err(|fault| fault.on(path, "write"))?;
        Ok(store)
    }

    /// Only undoes a run that was being stored when its writer was killed: for the user's own
    /// study that is to be read ([`Problem::Interrupted`]) and not continued.
    ///
    /// # Errors
    /// As [`Store::open`]; the file or its folder cannot be written.
    pub fn recover(path: &Path) -> Result<(), StoreError> {
        let (real, bytes) = header::probe(path, &STUDY)?;
        header::check_journal(&real)?;
        let writer = Writer::enter(path)?;
        let store = Self::load(path, real, bytes, Some(writer))?;
        connection::sweep(&store.connection).map_err(|fault| fault.on(path, "write"))
    }

    fn load(path: &Path, real: PathBuf, bytes: u64, writer: Option<Writer>) -> Result<Self, StoreError> {
        let (connection, allowance) = connection::for_existing(path, &real, bytes, writer.is_some(), &STUDY)?;
        Self::of(connection, writer, allowance, path, real).map_err(|fault| fault.on(path, "read"))
    }

    /// From what the file has.
    fn of(
        connection: Connection,
        writer: Option<Writer>,
        allowance: Allowance,
        path: &Path,
        real: PathBuf,
    ) -> Result<Self, Fault> {
        Ok(Self {
            study: studies::read(&connection)?,
            topology: studies::read_machine(&connection)?,
            versions: studies::read_versions(&connection)?,
            boot: None,
            path: path.to_owned(),
            connection,
            writer,
            allowance,
            real,
        })
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
        &self.path
    }

    /// All runs of slices in the order in which they were stored, including superseded ones. Those of long windows are
    /// [`Store::long_runs`].
    ///
    /// # Errors
    /// A file that cannot be read, or impossible values in it.
    pub fn runs(&self) -> Result<Vec<Run>, StoreError> {
        self.runs_of(|block| !is_long(block))
    }

    /// The same for long windows: one slice each, in blocks from [`threadwise_study::plan::long::FIRST_BLOCK`] on.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn long_runs(&self) -> Result<Vec<Run>, StoreError> {
        // Nothing is read twice if there are none.
        match self.study.design.long_windows.is_some() {
            true => self.runs_of(is_long),
            false => Ok(Vec::new()),
        }
    }

    fn runs_of(&self, which: fn(u32) -> bool) -> Result<Vec<Run>, StoreError> {
        let mut runs = self.reading(|connection| runs::read(connection, &self.study))?;
        runs.retain(|run| which(run.block));
        Ok(runs)
    }

    /// Probes of the hardware in the order in which they were stored: one of the start, one of each
    /// resume.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn probes(&self) -> Result<Vec<StoredProbe>, StoreError> {
        self.reading(studies::probes)
    }

    /// Boots and machines on which the study was started, in order; none where they are unknown.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn boots(&self) -> Result<Vec<Boot>, StoreError> {
        self.reading(studies::boots)
    }

    /// The number and boot of each complete block whose boot is known, ascending, including those of long windows.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn block_boots(&self) -> Result<Vec<(u32, u32)>, StoreError> {
        let complete = self.all_complete()?;
        Ok(complete.into_iter().filter_map(|one| Some((one.block, one.boot?))).collect())
    }

    fn all_complete(&self) -> Result<Vec<blocks::Complete>, StoreError> {
        let boots = self.boots()?;
        self.reading(|connection| blocks::all_complete(connection, &boots))
    }

    /// The present or future record of the boot that was read: the next number, the machine as its hash.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn boot_of(
        &self,
        facts: &BootFacts,
        arm: Option<&str>,
        engine_version: &str,
        started_utc: &str,
    ) -> Result<Boot, StoreError> {
        let number = self.boots()?.len() as u32 + 1;
        let hash = |id| self.reading(|connection| studies::machine_hash(connection, id));
        Ok(Boot {
            number,
            boot_id: facts.boot_id.clone(),
            machine_hash: facts.machine_id.as_deref().map(hash).transpose()?,
            started_utc: started_utc.to_owned(),
            arm: arm.map(str::to_owned),
            kernel: facts.kernel.clone(),
            microcode: facts.microcode.clone(),
            smt_active: facts.smt_active,
            smt_control: facts.smt_control.clone(),
            online_cpus: facts.online_cpus,
            engine_version: engine_version.to_owned(),
            instance_type: facts.instance_type.clone(),
            parameters: facts.parameters.clone(),
        })
    }

    /// Sets the boot and the arm of the following blocks. A boot that differs from the last one, by
    /// its id or its arm, is stored with the next number; one without an id equals the last one only if that has none
    /// either. Returns its number.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn enter_boot(
        &mut self,
        facts: &BootFacts,
        arm: Option<&str>,
        engine_version: &str,
        started_utc: &str,
    ) -> Result<u32, StoreError> {
        let boot = self.boot_of(facts, arm, engine_version, started_utc)?;
        let last = self.boots()?.pop();
        let number = match last.filter(|last| last.boot_id == boot.boot_id && last.arm == boot.arm) {
            Some(last) => last.number,
            None => {
                self.writing(|connection, _| studies::add_boot(connection, &boot))?;
                boot.number
            }
        };
        self.boot = Some(number);
        Ok(number)
    }

    /// Notes in the order in which they were made.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn notes(&self) -> Result<Vec<Note>, StoreError> {
        self.reading(studies::notes)
    }

    /// Numbers of the blocks of slices that are complete, ascending.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn complete_blocks(&self) -> Result<Vec<u32>, StoreError> {
        self.complete_blocks_of(|block| !is_long(block))
    }

    /// The same for long windows.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn complete_long_blocks(&self) -> Result<Vec<u32>, StoreError> {
        self.complete_blocks_of(is_long)
    }

    fn complete_blocks_of(&self, which: fn(u32) -> bool) -> Result<Vec<u32>, StoreError> {
        let all = self.all_complete()?;
        Ok(all.into_iter().map(|one| one.block).filter(|block| which(*block)).collect())
    }

    /// The number of the next attempt at a block: 0 for a block that was never begun.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn next_attempt(&self, block: u32) -> Result<u32, StoreError> {
        self.reading(|connection| blocks::next_attempt(connection, block))
    }

    /// How the study ended.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn state(&self) -> Result<EndState, StoreError> {
        self.reading(studies::read_state)
    }

    /// The planned number of blocks of the study, once it is decided.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn planned_blocks(&self) -> Result<Option<u32>, StoreError> {
        self.reading(studies::read_planned_blocks)
    }

    /// Stores one run, completely and durably when this returns. `run.id` is ignored.
    ///
    /// A reading that is not a finite number is stored as a gap, a message is cut at 64 KiB, and answers
    /// of queries are left out.
    ///
    /// # Errors
    /// No space, a block that was not started or is over, a treatment that is not in the study,
    /// or a value that the file cannot hold ([`Problem::Unstorable`]; the limits are in
    /// docs/STORE.md). Then nothing of the run is stored, and everything before it stays.
    pub fn append_run(&mut self, run: &Run) -> Result<u64, StoreError> {
        self.writing(|connection, study| {
            let id = runs::add(connection, study, run)?;
            queries::check_plans(connection)?;
            Ok(id)
        })
    }

    /// Stores the runs of an attempt at a block and its completion, `complete_s` seconds after the study's start,
    /// durably in one transaction, since each takes tens of milliseconds on common disks.
    ///
    /// # Errors
    /// As [`Store::append_run`] and [`Store::block_complete`]; then nothing of the block is stored.
    pub fn append_block(
        &mut self,
        runs: &[Run],
        block: u32,
        attempt: u32,
        complete_s: f64,
    ) -> Result<(), StoreError> {
        self.writing(|connection, study| {
            runs.iter().try_for_each(|run| runs::add(connection, study, run).map(drop))?;
            queries::check_plans(connection)?;
            blocks::complete(connection, block, attempt, complete_s)
        })
    }

    /// Stores a probe of the hardware that began `started_s` seconds after the study's start, completely and
    /// durably when this returns.
    ///
    /// # Errors
    /// As [`Store::append_run`]; then nothing of the probe is stored.
    pub fn add_probe(&mut self, started_s: f64, probe: &Probe) -> Result<(), StoreError> {
        self.writing(|connection, _| studies::add_probe(connection, started_s, probe))
    }

    /// Records that an attempt at a block begins, `started_s` seconds after the study's start.
    ///
    /// # Errors
    /// The block is complete, or an attempt at it is not superseded yet; else as [`Store::append_run`].
    pub fn block_started(&mut self, block: u32, attempt: u32, started_s: f64) -> Result<(), StoreError> {
        let boot = self.boot;
        self.writing(|connection, _| blocks::start(connection, block, attempt, boot, started_s))
    }

    /// Records that an attempt at a block is complete, `complete_s` seconds after the study's start.
    ///
    /// # Errors
    /// The attempt was not started or is over; else as [`Store::append_run`].
    pub fn block_complete(&mut self, block: u32, attempt: u32, complete_s: f64) -> Result<(), StoreError> {
        self.writing(|connection, _| blocks::complete(connection, block, attempt, complete_s))
    }

    /// Marks the blocks that were begun but not completed, and their runs, as superseded. Returns
    /// their numbers, ascending. Deletes nothing.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn supersede_incomplete_blocks(&mut self) -> Result<Vec<u32>, StoreError> {
        self.writing(|connection, _| blocks::supersede_incomplete(connection))
    }

    /// Stores a remark for the reader of the report.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn note(&mut self, note: impl Into<Note>) -> Result<(), StoreError> {
        let note = note.into();
        self.writing(|connection, _| studies::add_note(connection, &note))
    }

    /// Stores the planned number of blocks, so that a resumed study ends with the same plan.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn set_planned_blocks(&mut self, blocks: u32) -> Result<(), StoreError> {
        self.writing(|connection, _| studies::set_meta(connection, "planned_blocks", &blocks.to_string()))
    }

    /// Stores the requests to the study's report; other requests stay.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn set_asked(&mut self, asked: &Asked) -> Result<(), StoreError> {
        self.writing(|connection, _| studies::write_asked(connection, *asked))
    }

    /// The requests to the study's report.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn asked(&self) -> Result<Asked, StoreError> {
        self.reading(studies::read_asked)
    }

    /// Stores how the study ended.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn finish(&mut self, state: EndState) -> Result<(), StoreError> {
        self.writing(|connection, _| studies::write_state(connection, state))
    }

    fn refill(&self) {
        let bytes = self.real.metadata().map_or(0, |metadata| metadata.len());
        self.allowance.refill(bytes);
    }

    fn reading<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.refill();
        read(&self.connection).map_err(|fault| fault.on(&self.path, "read"))
    }

    /// Runs `write` in one transaction, which is durable when this returns.
    fn writing<T>(
        &mut self,
        write: impl FnOnce(&Connection, &Study) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.refill();
        let (connection, study) = (&mut self.connection, &self.study);
        let transact = || {
            let transaction = connection.transaction()?;
            let value = write(&transaction, study)?;
            transaction.commit()?;
            Ok(value)
        };
        let done = if self.writer.is_some() { transact() } else { Err(Fault::ReadOnly) };
        done.map_err(|fault| fault.on(&self.path, "write"))
    }
}
