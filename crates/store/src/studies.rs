//! What is stored once: the study, its machine and treatments, and the program's own marks, among them the salt of the
//! hash of machines.
//!
//! The study is its resolved TOML text, which is authoritative; its treatments are copied for those who query the file.

use crate::error::{Fault, one_line};
use crate::json::{self, DOCUMENT_BYTES, SetBudget};
use crate::value::{self, NAME_BYTES, TEXT_BYTES, all, first};
use rusqlite::{Connection, params};
use threadwise_machine::Topology;
use threadwise_study::{Study, load};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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

/// Key of the salt in `meta`.
pub(crate) const SALT: &str = "salt";
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

pub(crate) const META: &str = "SELECT value FROM meta WHERE key = ?";

/// One of the marks; `None` if it is not set.
pub(crate) fn meta(connection: &Connection, key: &str) -> Result<Option<String>, Fault> {
    first(connection, "meta", META, [key], |row| Ok(row.text(0, TEXT_BYTES)?.to_owned()))
}

pub(crate) fn required(connection: &Connection, key: &str) -> Result<String, Fault> {
    meta(connection, key)?.ok_or_else(|| Fault::Damaged(format!("meta lacks '{key}'")))
}

pub(crate) fn damaged(key: &str, text: &str) -> Fault {
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
    set_meta(connection, "state", state.into())
}
