//! What is stored beside runs, once or now and then: probes, boots, notes, the planned number of blocks, the requests to the
//! report, and how the study ended.

use crate::error::{Fault, StoreError};
use crate::json::{self, SetBudget};
use crate::store::Store;
use crate::studies::{self, EndState, META, SALT, damaged, meta, required};
use crate::value::{self, NAME_BYTES, ORDINAL_MAX, TEXT_BYTES, all, first};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use threadwise_machine::BootFacts;
use threadwise_study::asked::Asked;
use threadwise_study::probe::Probe;
use threadwise_study::{Boot, Note, NoteCode};

/// Key of the requests in `meta`.
const ASKED: &str = "asked";
/// Key of the planned number of blocks in `meta`.
const PLANNED: &str = "planned_blocks";
/// Most boots that a file may have.
const MOST_BOOTS: u64 = 1000;

/// A probe of the hardware and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredProbe {
    /// Seconds since the study's start at which it began.
    pub started_s: f64,
    /// The results.
    pub probe: Probe,
}

impl Store {
    /// Probes of the hardware in the order in which they were stored: one of the start, one of each
    /// resume.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn probes(&self) -> Result<Vec<StoredProbe>, StoreError> {
        let budget = &mut SetBudget::new();
        let sql = "SELECT id, started_s, json FROM probes ORDER BY id";
        self.file.reading(|connection| {
            all(connection, "probes", sql, |row, at| {
                row.next_id(0, at + 1)?;
                Ok(StoredProbe { started_s: row.real(1)?, probe: json::value_with_sets(row, 2, budget)? })
            })
        })
    }

    /// Stores a probe of the hardware that began `started_s` seconds after the study's start, completely and
    /// durably when this returns.
    ///
    /// # Errors
    /// As [`Store::append_run`]; then nothing of the probe is stored.
    pub fn add_probe(&mut self, started_s: f64, probe: &Probe) -> Result<(), StoreError> {
        self.file.writing(|connection| {
            let row = params![value::seconds(started_s, "start of the probe")?, json::text(probe)?];
            connection.execute("INSERT INTO probes (started_s, json) VALUES (?, ?)", row)?;
            Ok(())
        })
    }

    /// Boots and machines on which the study was started, in order; none where they are unknown.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn boots(&self) -> Result<Vec<Boot>, StoreError> {
        let sql = "SELECT id, json FROM boots ORDER BY id";
        self.file.reading(|connection| {
            all(connection, "boots", sql, |row, at| {
                row.next_id(0, at + 1)?;
                let boot: Boot = json::value(row, 1)?;
                let why = || format!("has number {}, or there are over {MOST_BOOTS}", boot.number);
                let is_next = at < MOST_BOOTS && u64::from(boot.number) == at + 1;
                if is_next { Ok(boot) } else { Err(row.damaged(1, &why())) }
            })
        })
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
        let hash = |id| self.file.reading(|connection| machine_hash(connection, id));
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
            None => self.file.writing(|connection| {
                let row = params![boot.number, json::text(&boot)?];
                connection.execute("INSERT INTO boots (id, json) VALUES (?, ?)", row)?;
                Ok(boot.number)
            })?,
        };
        self.boot = Some(number);
        Ok(number)
    }

    /// Notes in the order in which they were made.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn notes(&self) -> Result<Vec<Note>, StoreError> {
        let sql = "SELECT id, code, text FROM notes ORDER BY id";
        self.file.reading(|connection| {
            all(connection, "notes", sql, |row, at| {
                row.next_id(0, at + 1)?;
                Ok(Note::new(NoteCode::of(row.text(1, NAME_BYTES)?), row.text(2, TEXT_BYTES)?))
            })
        })
    }

    /// Stores a remark for the reader of the report.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn note(&mut self, note: impl Into<Note>) -> Result<(), StoreError> {
        let note = note.into();
        self.file.writing(|connection| {
            let code = note.code.to_string();
            let row = [value::name(&code, "a note's code")?, value::message(&note.text)];
            connection.prepare_cached("INSERT INTO notes (code, text) VALUES (?, ?)")?.execute(row)?;
            Ok(())
        })
    }

    /// The planned number of blocks of the study, once it is decided.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn planned_blocks(&self) -> Result<Option<u32>, StoreError> {
        self.file.reading(|connection| {
            let Some(text) = meta(connection, PLANNED)? else { return Ok(None) };
            let blocks = text.parse::<u32>().ok().filter(|blocks| u64::from(*blocks) <= ORDINAL_MAX);
            blocks.map(Some).ok_or_else(|| damaged(PLANNED, &text))
        })
    }

    /// Stores the planned number of blocks, so that a resumed study ends with the same plan.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn set_planned_blocks(&mut self, blocks: u32) -> Result<(), StoreError> {
        self.file.writing(|connection| studies::set_meta(connection, PLANNED, &blocks.to_string()))
    }

    /// The requests to the study's report.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn asked(&self) -> Result<Asked, StoreError> {
        let asked =
            |connection: &Connection| first(connection, "meta", META, [ASKED], |row| json::value(row, 0));
        Ok(self.file.reading(asked)?.unwrap_or_default())
    }

    /// Stores the requests to the study's report; other requests stay.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn set_asked(&mut self, asked: &Asked) -> Result<(), StoreError> {
        let all = asked.over(self.asked()?);
        self.file.writing(|connection| studies::set_meta(connection, ASKED, &json::text(&all)?))
    }

    /// How the study ended.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn state(&self) -> Result<EndState, StoreError> {
        self.file.reading(|connection| {
            let text = required(connection, "state")?;
            text.parse().map_err(|_| damaged("state", &text))
        })
    }

    /// Stores how the study ended.
    ///
    /// # Errors
    /// As [`Store::append_run`].
    pub fn finish(&mut self, state: EndState) -> Result<(), StoreError> {
        self.file.writing(|connection| studies::write_state(connection, state))
    }
}

/// The hash of a machine's id in this file.
///
/// Source: FIPS 180-4. An id has 122 random bits, so it cannot be found from its hash; the salt prevents
/// comparing the hashes of two files.
fn machine_hash(connection: &Connection, id: &str) -> Result<String, Fault> {
    let salt = required(connection, SALT)?;
    let digest = Sha256::new().chain_update(salt.as_bytes()).chain_update(b"\n").chain_update(id).finalize();
    Ok(digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
