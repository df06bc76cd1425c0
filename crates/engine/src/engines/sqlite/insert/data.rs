//! The data of `insert` on SQLite: one template with the seeded rows, copied for every run, so that each
//! run starts with the same table.
//!
//! `FOLDER/insert-…/template.db` and, during a run, `FOLDER/insert-…/treatment-…/`
//! `session-0.db`, `session-1.db`… The template is written under a name ending in `.tmp` and renamed
//! when complete. A run that was killed leaves its folder, which the next run of the treatment clears.

use rusqlite::{Connection, OpenFlags, params};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::error::failed;
use super::super::files::{PAGE_BYTES, Space, file_name, memory_file_system, unfinished};
use super::super::settings::{expect, initialise, set};
use super::spec::{Files, Spec};
use crate::workloads::insert::{Durability, RandomKeys, TEXT_CHARS, Table, key_check};
use crate::{EngineError, LoadRequest, Loaded};

/// Increased whenever the same options and seed give another file.
const FORMAT: i64 = 1;

/// Stream of the seed's generator for the seeded keys.
const SEED_STREAM: u64 = 0;

/// Time of the seeded rows, microseconds since 1970: the start of 2026. With the clock's time each file would
/// differ.
const SEEDED_TIME_US: i64 = 1_767_225_600_000_000;

/// Bytes of file per row, about: a row of 143 bytes with its pointer took 165 in a file of 200,000, since SQLite
/// balances neighbouring leaves before it adds one (btree.c, balance_nonroot).
const ROW_BYTES: u64 = 180;

/// Bytes of the WAL up to and a little beyond SQLite's checkpoint at 1000 pages.
const LOG_BYTES: u64 = 1100 * (PAGE_BYTES + 24);

/// Cache while the template is made, KiB; what does not fit is written early.
const FILL_CACHE_KIB: u32 = 256 * 1024;

/// Content of the text column.
pub(super) fn text() -> String {
    "x".repeat(TEXT_CHARS)
}

/// Contents of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) rows: u64,
    pub(super) key_sum: i64,
    bytes: u64,
}

/// Makes the template, or finds it. Two processes must not call it at once for the same folder.
///
/// # Errors
/// No space, no access.
pub(in super::super) fn load(request: &LoadRequest, spec: &Spec) -> Result<Loaded, EngineError> {
    initialise()?;
    let template = template_file(request, spec);
    let space = space(request, spec);
    fs::create_dir_all(data_folder(request, spec))
        .map_err(|cause| space.io("make the data folder", &cause))?;
    let facts = match read_facts(&template, request.seed, spec) {
        Some(facts) => facts,
        None => make_template(&template, request.seed, spec, &space)?,
    };
    Ok(Loaded { bytes_per_session: facts.bytes, rows_per_session: facts.rows, notes: notes(request, spec) })
}

/// The template that [`load`] made.
///
/// # Errors
/// It is not there.
pub(super) fn find(request: &LoadRequest, spec: &Spec) -> Result<Facts, EngineError> {
    let template = template_file(request, spec);
    read_facts(&template, request.seed, spec).ok_or_else(|| {
        failed("find its data", format!("{} is missing or incomplete; load it first", template.display()))
    })
}

/// Folder of one run; one worker at a time runs a treatment.
pub(super) fn run_folder(request: &LoadRequest, spec: &Spec) -> PathBuf {
    data_folder(request, spec).join(file_name(&request.treatment))
}

/// Fresh copies of the template in a cleared folder, in the journal mode of the workload.
///
/// # Errors
/// No space, no access, or a file system without what the WAL needs.
pub(super) fn copy<'a>(
    request: &LoadRequest,
    spec: &Spec,
    folder: &Path,
    files: impl Iterator<Item = &'a Path>,
) -> Result<(), EngineError> {
    let space = space(request, spec);
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(space.io("clear what an earlier run left", &cause));
        }
        _ => {}
    }
    fs::create_dir(folder).map_err(|cause| space.io("make the run's folder", &cause))?;
    let template = template_file(request, spec);
    for file in files {
        fs::copy(&template, file).map_err(|cause| space.io("copy the table", &cause))?;
        if spec.rows.table == Table::Durable {
            write_ahead(file, &space)?;
        }
        // Otherwise the kernel would write the copy to the disk during the measurement.
        let synced = fs::File::open(file).and_then(|open| open.sync_all());
        synced.map_err(|cause| space.io("write the copied table to the disk", &cause))?;
    }
    Ok(())
}

/// Puts a file into WAL mode, which is persistent (wal.html, 3.3).
fn write_ahead(file: &Path, space: &Space) -> Result<(), EngineError> {
    let action = "open the copied table";
    let connection = Connection::open(file).map_err(|cause| space.sqlite(action, &cause))?;
    expect(&connection, "page_size", PAGE_BYTES as i64)?;
    set(&connection, "journal_mode", "WAL", "wal".to_owned())?;
    connection.close().map_err(|(_, cause)| space.sqlite("close the copied table", &cause))
}

/// Bytes that all files together need, about, for messages.
pub(super) fn space(request: &LoadRequest, spec: &Spec) -> Space {
    let files = u64::from(spec.files_of(request.sessions));
    let inserted = spec.rows.rows_per_session.unwrap_or(0) * u64::from(request.sessions);
    let seeded = spec.rows.seed_rows * ROW_BYTES + 4 * PAGE_BYTES;
    let needed_bytes = seeded * (files + 1) + inserted * ROW_BYTES + files * LOG_BYTES;
    Space { folder: request.data_dir.clone(), needed_bytes }
}

/// Pages that a session's cache may hold: the seeded table, what a fixed amount of work adds to it, and
/// 256 MiB for other pages. SQLite takes the memory only when it needs it.
pub(super) fn cache_pages(spec: &Spec, facts: &Facts, sessions: u32) -> i64 {
    let inserted = spec.rows.rows_per_session.unwrap_or(0) * u64::from(sessions);
    let pages = (facts.bytes + inserted * ROW_BYTES) / PAGE_BYTES + (1 << 16);
    i64::from(i32::try_from(pages).unwrap_or(i32::MAX))
}

fn data_folder(request: &LoadRequest, spec: &Spec) -> PathBuf {
    let rows = spec.rows.seed_rows;
    request.data_dir.join(format!("insert-v{FORMAT}-{rows}-rows-{:016x}", request.seed))
}

fn template_file(request: &LoadRequest, spec: &Spec) -> PathBuf {
    data_folder(request, spec).join("template.db")
}

fn notes(request: &LoadRequest, spec: &Spec) -> Vec<String> {
    let mut notes = vec![format!(
        "{} seeded rows with random keys; c1 is the rowid: one B-tree in key order (a clustered key), no other \
         index",
        spec.rows.seed_rows
    )];
    let commit = match (spec.rows.table, spec.rows.durability) {
        (Table::Unlogged, _) => "unlogged: journal_mode=MEMORY, synchronous=OFF: nothing is ever synced",
        (_, Durability::Full) => {
            "durability full: WAL, synchronous=FULL (a sync at each commit), checkpoint at 1000 pages inside a \
             commit"
        }
        (_, Durability::Relaxed) => {
            "durability relaxed: WAL, synchronous=NORMAL (no sync at commit, but at checkpoints, at 1000 pages \
             inside a commit)"
        }
    };
    notes.push(commit.to_owned());
    if spec.files == Files::Shared {
        let line = "one file for all sessions: one of them writes, the others sleep 1 to 100 ms and try again, so \
                    turns are not fair";
        notes.push(line.to_owned());
    }
    // If it cannot be read, the file system is unknown.
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let folder = request.data_dir.canonicalize().unwrap_or_else(|_| request.data_dir.clone());
    if let Some(kind) = memory_file_system(&mounts, &folder)
        && spec.rows.table == Table::Durable
    {
        notes.push(format!(
            "the data lies in memory ({kind}), where a sync costs nothing; choose a data folder on a disk"
        ));
    }
    notes
}

/// Facts stored in a complete template; `None` if there is none or another one, which is then made again.
fn read_facts(template: &Path, seed: u64, spec: &Spec) -> Option<Facts> {
    let bytes = fs::metadata(template).ok()?.len();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(template, flags).ok()?;
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).ok()?;
    let (version, rows, its_seed, key_sum): (i64, i64, i64, i64) = connection
        .query_row("SELECT version, seed_rows, seed, key_sum FROM facts", [], |row| row.try_into())
        .ok()?;
    let same = version == FORMAT && rows as u64 == spec.rows.seed_rows && its_seed as u64 == seed;
    (same && pages as u64 * PAGE_BYTES == bytes).then_some(Facts { rows: rows as u64, key_sum, bytes })
}

fn make_template(template: &Path, seed: u64, spec: &Spec, space: &Space) -> Result<Facts, EngineError> {
    let unfinished = unfinished(template);
    match fs::remove_file(&unfinished) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(space.io("clear an unfinished load", &cause));
        }
        _ => {}
    }
    let made = fill(&unfinished, seed, spec.rows.seed_rows)
        .map_err(|cause| space.sqlite("make the data", &cause))
        .and_then(|()| fs::rename(&unfinished, template).map_err(|cause| space.io("name the data", &cause)));
    if let Err(error) = made {
        // On a full disk the rest of the study needs the space.
        let _ = fs::remove_file(&unfinished);
        return Err(error);
    }
    read_facts(template, seed, spec)
        .ok_or_else(|| failed("read back the data", format!("{} is not complete", template.display())))
}

/// Fills a new file. Rows come in the order in which their keys are drawn, not sorted, so that leaves are
/// as full as those of a table that has grown this way.
fn fill(file: &Path, seed: u64, seed_rows: u64) -> Result<(), rusqlite::Error> {
    let mut connection = Connection::open(file)?;
    // An incomplete file is discarded, so neither journal nor fsync protects anything.
    connection.execute_batch(&format!(
        "PRAGMA page_size={PAGE_BYTES}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; \
         PRAGMA locking_mode=EXCLUSIVE; PRAGMA mmap_size=0; PRAGMA cache_size=-{FILL_CACHE_KIB};"
    ))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("create.sql"))?;
    let (mut rows, mut key_sum) = (0, 0);
    let mut insert = transaction.prepare(include_str!("seed.sql"))?;
    insert.raw_bind_parameter(2, SEEDED_TIME_US)?;
    insert.raw_bind_parameter(3, text())?;
    for key in RandomKeys::new(seed, SEED_STREAM) {
        if rows == seed_rows {
            break;
        }
        insert.raw_bind_parameter(1, key)?;
        insert.raw_bind_parameter(4, rows as i64)?;
        // Duplicate keys are skipped.
        if insert.raw_execute()? == 1 {
            rows += 1;
            key_sum += key_check(key);
        }
    }
    drop(insert);
    transaction.execute(
        "INSERT INTO facts VALUES (?1, ?2, ?3, ?4)",
        params![FORMAT, seed_rows as i64, seed as i64, key_sum],
    )?;
    transaction.commit()?;
    connection.close().map_err(|(_, cause)| cause)
}
