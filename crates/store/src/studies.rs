//! What is stored once or now and then: the study, its machine and treatments, the program's own marks, notes, probes,
//! and boots with the salt of their machines' hash.
//!
//! The study is its resolved TOML text, which is authoritative; its treatments are copied for those who query the file.

use crate::error::{Fault, one_line};
use crate::json::{self, DOCUMENT_BYTES, SetBudget};
use crate::value::{self, NAME_BYTES, ORDINAL_MAX, TEXT_BYTES, all, first};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use threadwise_machine::Topology;
use threadwise_study::asked::Asked;
use threadwise_study::probe::Probe;
use threadwise_study::{Boot, Note, NoteCode, Study, load};

/// The programs that measured, and when they began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Version of threadwise.
    pub program: String,
    /// Engine name.
    pub engine: String,
    /// Version of the engine.
    pub engine_version: String,
    /// Date and time of the start in UTC, ISO 8601.
    pub created_utc: String,
}

/// How a study ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndState {
    /// It has not: it is running, or it was killed.
    Running,
    /// All planned blocks are complete.
    Complete,
    /// The user stopped it.
    Stopped,
    /// It gave up.
    Failed,
}

/// A probe of the hardware and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredProbe {
    /// Seconds since the study's start at which it began.
    pub started_s: f64,
    /// The results.
    pub probe: Probe,
}

const STATES: [(&str, EndState); 4] = [
    ("running", EndState::Running),
    ("complete", EndState::Complete),
    ("stopped", EndState::Stopped),
    ("failed", EndState::Failed),
];
/// Key of the salt in `meta`.
const SALT: &str = "salt";
/// Key of the requests in `meta`.
const ASKED: &str = "asked";
/// Most boots that a file may have.
const MOST_BOOTS: u64 = 1000;

/// Stores the study and its machine.
pub(crate) fn write(connection: &Connection, study: &Study, topology: &Topology) -> Result<(), Fault> {
    let toml = load::to_toml(study);
    value::fits(toml.len(), DOCUMENT_BYTES, "the study")?;
    connection.execute("INSERT INTO study (id, toml) VALUES (1, ?)", [toml])?;
    connection.execute("INSERT INTO machine (id, json) VALUES (1, ?)", [json::text(topology)?])?;
    for (id, treatment) in study.treatments.iter().enumerate() {
        let name = value::name(&treatment.name, "treatment name")?;
        connection
            .prepare_cached("INSERT INTO treatments (id, name, json) VALUES (?, ?, ?)")?
            .execute(params![id as i64, name, json::text(treatment)?])?;
    }
    Ok(())
}

/// Reads the study from its text; an error if the rows beside it name other treatments.
pub(crate) fn read(connection: &Connection) -> Result<Study, Fault> {
    let sql = "SELECT toml FROM study WHERE id = 1";
    let found = first(connection, "study", sql, [], |row| {
        load::from_toml(row.text(0, DOCUMENT_BYTES)?)
            .map_err(|error| Fault::Damaged(format!("its study text: {}", one_line(&error.to_string()))))
    })?;
    let study = found.ok_or_else(|| Fault::Damaged("the study is missing".into()))?;
    let names = all(connection, "treatments", "SELECT id, name FROM treatments ORDER BY id", |row, id| {
        row.next_id(0, id)?;
        Ok(row.text(1, NAME_BYTES)?.to_owned())
    })?;
    if !names.iter().eq(study.treatments.iter().map(|treatment| &treatment.name)) {
        return Err(Fault::Damaged("its treatments are not those of its study text".into()));
    }
    Ok(study)
}

/// Reads the machine back; every index in it is valid.
pub(crate) fn read_machine(connection: &Connection) -> Result<Topology, Fault> {
    let sql = "SELECT json FROM machine WHERE id = 1";
    let budget = &mut SetBudget::new();
    let found =
        first(connection, "machine", sql, [], |row| json::value_with_sets::<Topology>(row, 0, budget))?;
    found.ok_or_else(|| Fault::Damaged("the machine is missing".into()))
}

/// Sets one of the marks.
pub(crate) fn set_meta(connection: &Connection, key: &str, value: &str) -> Result<(), Fault> {
    value::fits(value.len(), TEXT_BYTES, key)?;
    connection
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        )?
        .execute([key, value])?;
    Ok(())
}

const META: &str = "SELECT value FROM meta WHERE key = ?";

/// One of the marks; `None` if it is not set.
fn meta(connection: &Connection, key: &str) -> Result<Option<String>, Fault> {
    first(connection, "meta", META, [key], |row| Ok(row.text(0, TEXT_BYTES)?.to_owned()))
}

fn required(connection: &Connection, key: &str) -> Result<String, Fault> {
    meta(connection, key)?.ok_or_else(|| Fault::Damaged(format!("meta lacks '{key}'")))
}

fn damaged(key: &str, text: &str) -> Fault {
    Fault::Damaged(format!("meta.{key} is '{}'", one_line(text)))
}

/// Stores the programs that measured, and draws the file's salt.
pub(crate) fn write_marks(connection: &Connection, versions: &Versions) -> Result<(), Fault> {
    set_meta(connection, "program", &versions.program)?;
    set_meta(connection, "engine", &versions.engine)?;
    set_meta(connection, "engine_version", &versions.engine_version)?;
    set_meta(connection, "created_utc", &versions.created_utc)?;
    let salt: String = connection.query_row("SELECT lower(hex(randomblob(32)))", [], |row| row.get(0))?;
    set_meta(connection, SALT, &salt)
}

/// Reads the programs that measured.
pub(crate) fn read_versions(connection: &Connection) -> Result<Versions, Fault> {
    Ok(Versions {
        program: required(connection, "program")?,
        engine: required(connection, "engine")?,
        engine_version: required(connection, "engine_version")?,
        created_utc: required(connection, "created_utc")?,
    })
}

/// Stores how the study ended.
pub(crate) fn write_state(connection: &Connection, state: EndState) -> Result<(), Fault> {
    let word = STATES.iter().find(|(_, known)| *known == state).map_or("", |(word, _)| word);
    set_meta(connection, "state", word)
}

/// Reads how the study ended.
pub(crate) fn read_state(connection: &Connection) -> Result<EndState, Fault> {
    let text = required(connection, "state")?;
    let state = STATES.iter().find(|(word, _)| *word == text).map(|(_, state)| *state);
    state.ok_or_else(|| damaged("state", &text))
}

/// Reads the planned number of blocks, once it is decided.
pub(crate) fn read_planned_blocks(connection: &Connection) -> Result<Option<u32>, Fault> {
    let Some(text) = meta(connection, "planned_blocks")? else { return Ok(None) };
    let blocks = text.parse::<u32>().ok().filter(|blocks| u64::from(*blocks) <= ORDINAL_MAX);
    blocks.map(Some).ok_or_else(|| damaged("planned_blocks", &text))
}

/// Stores what the user requested of the report; what is not requested stays as it is.
pub(crate) fn write_asked(connection: &Connection, asked: Asked) -> Result<(), Fault> {
    set_meta(connection, ASKED, &json::text(&asked.over(read_asked(connection)?))?)
}

/// Reads what the user requested of the report.
pub(crate) fn read_asked(connection: &Connection) -> Result<Asked, Fault> {
    Ok(first(connection, "meta", META, [ASKED], |row| json::value(row, 0))?.unwrap_or_default())
}

/// Adds a note.
pub(crate) fn add_note(connection: &Connection, note: &Note) -> Result<(), Fault> {
    let code = note.code.to_string();
    connection
        .prepare_cached("INSERT INTO notes (code, text) VALUES (?, ?)")?
        .execute([value::name(&code, "a note's code")?, value::message(&note.text)])?;
    Ok(())
}

/// Notes in order.
pub(crate) fn notes(connection: &Connection) -> Result<Vec<Note>, Fault> {
    all(connection, "notes", "SELECT id, code, text FROM notes ORDER BY id", |row, at| {
        row.next_id(0, at + 1)?;
        Ok(Note::new(NoteCode::of(row.text(1, NAME_BYTES)?), row.text(2, TEXT_BYTES)?))
    })
}

/// Stores a probe.
pub(crate) fn add_probe(connection: &Connection, started_s: f64, probe: &Probe) -> Result<(), Fault> {
    connection.execute(
        "INSERT INTO probes (started_s, json) VALUES (?, ?)",
        params![value::seconds(started_s, "start of the probe")?, json::text(probe)?],
    )?;
    Ok(())
}

/// All probes in the order of storing.
pub(crate) fn probes(connection: &Connection) -> Result<Vec<StoredProbe>, Fault> {
    let budget = &mut SetBudget::new();
    all(connection, "probes", "SELECT id, started_s, json FROM probes ORDER BY id", |row, at| {
        row.next_id(0, at + 1)?;
        Ok(StoredProbe { started_s: row.real(1)?, probe: json::value_with_sets(row, 2, budget)? })
    })
}

/// The hash of a machine's id in this file.
///
/// Source: FIPS 180-4. An id has 122 random bits, so it cannot be found from its hash; the salt prevents
/// comparing the hashes of two files.
pub(crate) fn machine_hash(connection: &Connection, id: &str) -> Result<String, Fault> {
    let salt = required(connection, SALT)?;
    let digest = Sha256::new().chain_update(salt.as_bytes()).chain_update(b"\n").chain_update(id).finalize();
    Ok(digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Stores a boot.
pub(crate) fn add_boot(connection: &Connection, boot: &Boot) -> Result<(), Fault> {
    let sql = "INSERT INTO boots (id, json) VALUES (?, ?)";
    connection.execute(sql, params![boot.number, json::text(boot)?])?;
    Ok(())
}

/// All boots in order.
pub(crate) fn boots(connection: &Connection) -> Result<Vec<Boot>, Fault> {
    all(connection, "boots", "SELECT id, json FROM boots ORDER BY id", |row, at| {
        row.next_id(0, at + 1)?;
        let boot: Boot = json::value(row, 1)?;
        match at < MOST_BOOTS && u64::from(boot.number) == at + 1 {
            true => Ok(boot),
            false => {
                Err(row.damaged(1, &format!("has number {}, or there are over {MOST_BOOTS}", boot.number)))
            }
        }
    })
}
