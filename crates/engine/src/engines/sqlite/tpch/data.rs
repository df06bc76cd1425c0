//! The data of `tpch` on SQLite: one file, filled from the generator's text. Dates are TEXT as
//! `1995-03-15`, decimals REAL, text as the generator writes it.
//!
//! It is written under another name and renamed when complete.

use rusqlite::{Connection, OpenFlags, Statement};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::error::{NAME, failed};
use super::super::files::{PAGE_BYTES, Space, unfinished};
use super::super::settings::initialise;
use super::spec::Spec;
use crate::workloads::tpch::generator::Generator;
use crate::workloads::tpch::tables::{Kind, TABLES, Table};
use crate::{EngineError, LoadRequest, Loaded};

/// Increased whenever the same options give another file.
const FORMAT: u32 = 1;

/// Bytes of file at scale factor 1, about, with indexes: 147 MB were measured at 0.1.
const BYTES_PER_SCALE: f64 = 1.5e9;

/// Cache while the file is made, KiB; what does not fit is written early.
const FILL_CACHE_KIB: u32 = 512 * 1024;

/// A complete file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) file: PathBuf,
    pub(super) bytes: u64,
}

/// Makes the file, or finds it. Two processes must not call it at once for the same folder.
///
/// # Errors
/// No space, no access, or an error of the generator.
pub(in super::super) fn load(request: &LoadRequest, spec: &Spec) -> Result<Loaded, EngineError> {
    initialise()?;
    let file = data_file(request, spec);
    if !file.exists() {
        make(request, spec, &file)?;
    }
    let facts = find(request, spec)?;
    let rows = TABLES.iter().filter_map(|table| table.rows(spec.options.scale)).sum();
    let note = "tables with the specification's primary keys and an index for each foreign key; dates are text, \
                decimals floating-point numbers; statistics by ANALYZE";
    Ok(Loaded { bytes_per_session: facts.bytes, rows_per_session: rows, notes: vec![note.to_owned()] })
}

/// The file that [`load`] made.
///
/// # Errors
/// It is not there.
pub(super) fn find(request: &LoadRequest, spec: &Spec) -> Result<Facts, EngineError> {
    let file = data_file(request, spec);
    match fs::metadata(&file) {
        Ok(entry) => Ok(Facts { file, bytes: entry.len() }),
        Err(cause) => Err(failed("find its data", format!("{}: {cause}; load it first", file.display()))),
    }
}

/// Opens it for reading.
///
/// # Errors
/// An error of SQLite.
pub(super) fn open(file: &Path) -> Result<Connection, EngineError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags)
        .map_err(|cause| failed("open its data", format!("{}: {cause}", file.display())))
}

fn data_file(request: &LoadRequest, spec: &Spec) -> PathBuf {
    request.data_dir.join(format!("tpch-v{FORMAT}-{}.db", spec.options.key().folder_name()))
}

fn make(request: &LoadRequest, spec: &Spec, file: &Path) -> Result<(), EngineError> {
    let needed_bytes = (spec.options.scale * BYTES_PER_SCALE) as u64;
    let space = Space { folder: request.data_dir.clone(), needed_bytes };
    let generator = Generator::find(NAME, &request.data_dir, spec.options.scale)?;
    let part = unfinished(file);
    match fs::remove_file(&part) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(space.io("clear an unfinished load", &cause));
        }
        _ => {}
    }
    let made = fill_all(&part, &generator, &space)
        .and_then(|()| {
            fs::File::open(&part)
                .and_then(|open| open.sync_all())
                .map_err(|cause| space.io("write the data", &cause))
        })
        .and_then(|()| fs::rename(&part, file).map_err(|cause| space.io("name the data", &cause)));
    if made.is_err() {
        // On a full disk the rest of the study needs the space.
        let _ = fs::remove_file(&part);
    }
    made
}

fn fill_all(part: &Path, generator: &Generator, space: &Space) -> Result<(), EngineError> {
    let action = "make the data";
    let mut connection = Connection::open(part).map_err(|cause| space.sqlite(action, &cause))?;
    // An incomplete file is discarded, so neither journal nor fsync protects anything.
    let sql = format!(
        "PRAGMA page_size={PAGE_BYTES}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; \
         PRAGMA locking_mode=EXCLUSIVE; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; \
         PRAGMA cache_size=-{FILL_CACHE_KIB};"
    );
    connection.execute_batch(&sql).map_err(|cause| space.sqlite(action, &cause))?;
    for table in &TABLES {
        let rows = fill(&mut connection, generator, table, space)?;
        if !table.may_have(rows, generator.scale()) {
            return Err(failed(
                format!("load table {}", table.name),
                format!("the generator gave {rows} rows"),
            ));
        }
        let sql = index_sql(table);
        connection.execute_batch(&sql).map_err(|cause| space.sqlite("make the indexes", &cause))?;
    }
    connection.execute_batch("ANALYZE").map_err(|cause| space.sqlite("analyze the data", &cause))?;
    connection.close().map_err(|(_, cause)| space.sqlite("close the data", &cause))
}

fn create_sql(table: &Table) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|(name, kind)| {
            let kind = match kind {
                Kind::Identifier | Kind::Integer => "INTEGER",
                Kind::Decimal => "REAL",
                Kind::Date | Kind::Char(_) | Kind::Varchar(_) => "TEXT",
            };
            format!("{name} {kind} NOT NULL")
        })
        .collect();
    format!("CREATE TABLE {} ({}, PRIMARY KEY ({}))", table.name, columns.join(", "), table.key.join(", "))
}

fn index_sql(table: &Table) -> String {
    let one = |(number, columns): (usize, &&[&str])| {
        format!("CREATE INDEX {}_{number} ON {} ({});", table.name, table.name, columns.join(", "))
    };
    table.indexes.iter().enumerate().map(one).collect()
}

/// Makes a table and fills it in one transaction. Gives the number of rows.
fn fill(
    connection: &mut Connection,
    generator: &Generator,
    table: &Table,
    space: &Space,
) -> Result<u64, EngineError> {
    let action = format!("load table {}", table.name);
    let fail = |cause: rusqlite::Error| space.sqlite(&action, &cause);
    let transaction = connection.transaction().map_err(fail)?;
    transaction.execute_batch(&create_sql(table)).map_err(fail)?;
    let places = vec!["?"; table.columns.len()].join(", ");
    let mut insert =
        transaction.prepare(&format!("INSERT INTO {} VALUES ({places})", table.name)).map_err(fail)?;
    let rows = generator.table(table, |text| insert_all(&mut insert, table, text, space))?;
    drop(insert);
    transaction.commit().map_err(fail)?;
    Ok(rows)
}

fn insert_all(
    insert: &mut Statement<'_>,
    table: &Table,
    text: impl Read,
    space: &Space,
) -> Result<u64, EngineError> {
    let action = format!("load table {}", table.name);
    let read = |cause: csv::Error| failed(action.as_str(), format!("the generator's text: {cause}"));
    let mut reader = csv::Reader::from_reader(text);
    let names = table.columns.iter().map(|(name, _)| *name);
    if !reader.headers().map_err(read)?.iter().eq(names) {
        return Err(failed(action.as_str(), "the generator's columns are not the specification's"));
    }
    let (mut rows, mut record) = (0, csv::StringRecord::new());
    while reader.read_record(&mut record).map_err(read)? {
        for (at, ((name, kind), value)) in table.columns.iter().zip(&record).enumerate() {
            let bound = match kind {
                Kind::Identifier | Kind::Integer => {
                    let value: i64 = value.parse().map_err(|_| no_number(&action, name, value))?;
                    insert.raw_bind_parameter(at + 1, value)
                }
                Kind::Decimal => {
                    let value: f64 = value.parse().map_err(|_| no_number(&action, name, value))?;
                    insert.raw_bind_parameter(at + 1, value)
                }
                Kind::Date | Kind::Char(_) | Kind::Varchar(_) => insert.raw_bind_parameter(at + 1, value),
            };
            bound.map_err(|cause| space.sqlite(&action, &cause))?;
        }
        insert.raw_execute().map_err(|cause| space.sqlite(&action, &cause))?;
        rows += 1;
    }
    Ok(rows)
}

fn no_number(action: &str, column: &str, value: &str) -> EngineError {
    failed(action, format!("the generator's {column} '{value}' is not a number"))
}
