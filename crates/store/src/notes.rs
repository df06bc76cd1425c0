//! Notes and their codes.

use crate::error::Fault;
use crate::schema::Version;
use crate::value::{self, NAME_BYTES, TEXT_BYTES, all};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use threadwise_study::{Note, NoteCode};

/// Adds a note.
pub(crate) fn add(connection: &Connection, note: &Note) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT INTO notes (text) VALUES (?)")?
        .execute([value::message(&note.text)])?;
    if note.code == NoteCode::Other {
        return Ok(());
    }
    let code = note.code.to_string();
    value::name(&code, "a note's code")?;
    connection
        .prepare_cached("INSERT INTO note_codes (note, code) VALUES (?, ?)")?
        .execute(params![connection.last_insert_rowid(), code])?;
    Ok(())
}

/// Notes in order.
pub(crate) fn read(connection: &Connection, version: Version) -> Result<Vec<Note>, Fault> {
    let mut codes = match version >= Version::Seven {
        true => codes(connection)?,
        false => BTreeMap::new(),
    };
    all(connection, "notes", "SELECT id, text FROM notes ORDER BY id", |row, at| {
        row.next_id(0, at + 1)?;
        let text = row.text(1, TEXT_BYTES)?;
        Ok(Note::new(codes.remove(&(at + 1)).unwrap_or_else(|| known_by_words(text)), text))
    })
}

fn codes(connection: &Connection) -> Result<BTreeMap<u64, NoteCode>, Fault> {
    let rows = all(connection, "note_codes", "SELECT note, code FROM note_codes ORDER BY note", |row, _| {
        Ok((row.number(0, i64::MAX as u64)?, NoteCode::of(row.text(1, NAME_BYTES)?)))
    })?;
    Ok(rows.into_iter().collect())
}

/// The code of a note that has none: of a file of an older version, or of a worker that sends texts alone. Earlier
/// versions went by these words.
fn known_by_words(text: &str) -> NoteCode {
    let sampler =
        || text.split_once("no readings of ")?.1.split_once(": ").map(|(sampler, _)| sampler.to_owned());
    match text {
        _ if text.contains("server not pinned") => NoteCode::NotPlaced,
        _ if text.contains("memory placed earlier") => NoteCode::MemoryPlacedEarlier,
        _ if text.starts_with("no looks") => NoteCode::NoLooks,
        "the hardware was not probed (--no-probe)" => NoteCode::NotProbed,
        _ => sampler().map_or(NoteCode::Other, NoteCode::NoReadings),
    }
}
