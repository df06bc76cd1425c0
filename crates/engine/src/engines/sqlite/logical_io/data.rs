//! The data of `logical-io` on SQLite: one template made from the seed, copied once per session.
//!
//! `FOLDER/logical-io-…/template.db`, `session-0.db`, `session-1.db`…; treatments that change their
//! data have a subfolder of their own. Every file is written under a name ending in `.tmp` and
//! renamed when complete (without a sync: after a loss of power the sums of every session's warm-up
//! would show the damage).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rusqlite::{Connection, OpenFlags, params};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::error::failed;
use super::super::files::{PAGE_BYTES, Space, file_name, unfinished};
use super::super::settings::initialise;
use crate::workloads::logical_io::{self, LogicalIo};
use crate::{EngineError, LoadRequest, Loaded};

/// Increased whenever the same options and seed give another file.
const FORMAT: i64 = 1;

/// Bytes of a row's payload: with the small columns, more than half of a page's usable space and
/// less than what would overflow into a second page (4061, SQLite file format, 1.6).
const PAYLOAD_BYTES: usize = 3500;

/// Keeps both small numbers within SQLite's 6-byte integers for any number of updates, so that an update
/// never changes the length of a row.
const VALUE_BASE: i64 = 1 << 40;

/// Stream of the seed's generator for the payload; the order of keys has another.
const PAYLOAD_STREAM: u64 = logical_io::ORDER_STREAM + 1;

/// Makes the data of one treatment, or finds it. Two processes must not call it at once for the same folder.
///
/// # Errors
/// No space, no access, or a table that does not have one row a block.
pub(in super::super) fn load(request: &LoadRequest, spec: &LogicalIo) -> Result<Loaded, EngineError> {
    initialise()?;
    let files = session_files(request, spec);
    let template = template_file(request, spec);
    let needed = bytes_per_file(spec) * (files.len() as u64 + 1);
    let space = Space { folder: request.data_dir.clone(), needed_bytes: needed };
    for file in files.iter().chain([&template]) {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|cause| space.io("make the data folder", &cause))?;
        }
    }
    let facts = match read_facts(&template, request.seed, spec) {
        Some(facts) => facts,
        None => make_template(&template, request.seed, spec, &space)?,
    };
    for file in &files {
        if !fs::metadata(file).is_ok_and(|found| found.len() == facts.bytes) {
            let unfinished = unfinished(file);
            fs::copy(&template, &unfinished).map_err(|cause| space.io("copy a session's data", &cause))?;
            fs::rename(&unfinished, file).map_err(|cause| space.io("name a session's data", &cause))?;
        }
    }
    Ok(Loaded {
        bytes_per_session: facts.bytes,
        rows_per_session: spec.blocks,
        notes: vec![format!(
            "{} rows of {PAYLOAD_BYTES} bytes on {} pages of {PAGE_BYTES} bytes, one row a leaf; a read touches \
             the page's header and the row's first bytes, not its payload",
            spec.blocks, facts.table_pages
        )],
    })
}

pub(super) fn session_file(request: &LoadRequest, spec: &LogicalIo, session: u32) -> PathBuf {
    let mut folder = data_folder(request, spec);
    if spec.updates() {
        folder.push(file_name(&request.treatment));
    }
    folder.join(format!("session-{}.db", if spec.shared { 0 } else { session }))
}

fn session_files(request: &LoadRequest, spec: &LogicalIo) -> Vec<PathBuf> {
    let count = if spec.shared { 1 } else { request.sessions };
    (0..count).map(|session| session_file(request, spec, session)).collect()
}

fn data_folder(request: &LoadRequest, spec: &LogicalIo) -> PathBuf {
    request.data_dir.join(format!("logical-io-v{FORMAT}-{}-blocks-{:016x}", spec.blocks, request.seed))
}

fn template_file(request: &LoadRequest, spec: &LogicalIo) -> PathBuf {
    data_folder(request, spec).join("template.db")
}

/// Bytes of a file, about: a page a row, the upper levels, the index.
fn bytes_per_file(spec: &LogicalIo) -> u64 {
    let index_bytes = spec.blocks * 20;
    spec.blocks * (PAGE_BYTES + 40) + index_bytes + 16 * PAGE_BYTES
}

struct Facts {
    bytes: u64,
    table_pages: u64,
}

/// Facts stored in a complete template; `None` if there is none or another one, which is then made again.
fn read_facts(template: &Path, seed: u64, spec: &LogicalIo) -> Option<Facts> {
    let bytes = fs::metadata(template).ok()?.len();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(template, flags).ok()?;
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).ok()?;
    let facts: (i64, i64, i64, i64) = connection
        .query_row("SELECT version, blocks, seed, table_pages FROM facts", [], |row| row.try_into())
        .ok()?;
    let (version, blocks, its_seed, table_pages) = facts;
    let same = version == FORMAT && blocks as u64 == spec.blocks && its_seed as u64 == seed;
    (same && pages as u64 * PAGE_BYTES == bytes).then_some(Facts { bytes, table_pages: table_pages as u64 })
}

fn make_template(template: &Path, seed: u64, spec: &LogicalIo, space: &Space) -> Result<Facts, EngineError> {
    let unfinished = unfinished(template);
    match fs::remove_file(&unfinished) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(space.io("clear an unfinished load", &cause));
        }
        _ => {}
    }
    let table_pages = fill(&unfinished, seed, spec).map_err(|cause| space.sqlite("make the data", &cause))?;
    // One leaf a row, and upper levels that point to at least 100 pages each: otherwise rows share leaves or
    // overflow.
    let most = spec.blocks + spec.blocks / 100 + 3;
    if !(spec.blocks..=most).contains(&table_pages) {
        let why = format!("{} rows take {table_pages} pages instead of one each", spec.blocks);
        return Err(failed("make one row a block", why));
    }
    fs::rename(&unfinished, template).map_err(|cause| space.io("name the data", &cause))?;
    read_facts(template, seed, spec)
        .ok_or_else(|| failed("read back the data", format!("{} is not complete", template.display())))
}

/// Fills a new file; gives the number of pages of the table.
fn fill(file: &Path, seed: u64, spec: &LogicalIo) -> Result<u64, rusqlite::Error> {
    let mut connection = Connection::open(file)?;
    // An incomplete file is discarded, so neither journal nor fsync protects anything.
    connection.execute_batch(&format!(
        "PRAGMA page_size={PAGE_BYTES}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; \
         PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;"
    ))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("create.sql"))?;
    let before = page_count(&transaction)?;
    insert_rows(&transaction, seed, spec)?;
    // An empty table has one page.
    let table_pages = page_count(&transaction)? - before + 1;
    transaction.execute_batch(include_str!("index.sql"))?;
    transaction.execute(
        "INSERT INTO facts VALUES (?1, ?2, ?3, ?4)",
        params![FORMAT, spec.blocks as i64, seed as i64, table_pages as i64],
    )?;
    transaction.commit()?;
    connection.close().map_err(|(_, cause)| cause)?;
    Ok(table_pages)
}

fn page_count(connection: &Connection) -> Result<u64, rusqlite::Error> {
    connection.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).map(|pages| pages as u64)
}

/// Rows in random key order, so that neighbouring keys lie on distant blocks, with payloads that no file
/// system can compress.
fn insert_rows(connection: &Connection, seed: u64, spec: &LogicalIo) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare(include_str!("insert.sql"))?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(PAYLOAD_STREAM);
    let mut payload = [0_u8; PAYLOAD_BYTES];
    for key in logical_io::shuffled_keys(seed, spec.blocks) {
        random.fill_bytes(&mut payload);
        let twin = logical_io::row_sum(u64::from(key)) - VALUE_BASE;
        insert.execute(params![key, VALUE_BASE, twin, &payload[..]])?;
    }
    Ok(())
}
