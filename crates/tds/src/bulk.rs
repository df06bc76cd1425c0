//! Rows for `INSERT BULK`.
//!
//! Source: \[MS-TDS\] 2.2.6.1 (`BulkLoadBCP`), 2.2.7.4 (`COLMETADATA`), 2.2.7.15 (`NBCROW`), 2.2.7.20 (`ROW`),
//! 2.2.7.6 (`DONE`).

use crate::fault::{Fault, unknown};
use crate::read_value;
use crate::reader::Reader;
use crate::type_info::{self, TypeInfo};
use crate::types::{Column, Type};
use crate::value::Value;

const COLUMNS: u8 = 0x81;
const ROW: u8 = 0xd1;
const ROW_WITH_BITMAP: u8 = 0xd2;
const DONE: u8 = 0xfd;

const NULLABLE: u16 = 0x0001;
const CASE: u16 = 0x0002;
const UPDATABLE: u16 = 0x000c;
const IDENTITY: u16 = 0x0010;

/// Columns, and rows with a value for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Bulk {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Whether `DONE` was at the end, as the specification requires. FreeTDS leaves it out.
    pub done: bool,
}

/// Reads the rows, to the last byte.
pub fn read(payload: &[u8]) -> Result<Bulk, Fault> {
    let mut reader = Reader::new("bulk load", payload);
    match reader.u8()? {
        COLUMNS => {}
        token => return Err(unknown(format!("token 0x{token:02x} at the start of a bulk load"))),
    }
    let count = reader.u16()?;
    let mut columns = Vec::new();
    let mut infos = Vec::new();
    for _ in 0..count {
        let (column, info) = column(&mut reader)?;
        columns.push(column);
        infos.push(info);
    }
    if columns.is_empty() {
        return Err(reader.fault("a bulk load without columns"));
    }
    let mut rows = Vec::new();
    while !reader.is_empty() {
        match reader.u8()? {
            ROW => rows.push(row(&mut reader, &columns, &infos, &[])?),
            ROW_WITH_BITMAP => {
                let bitmap = reader.take(columns.len().div_ceil(8))?.to_vec();
                let used = columns.len() % 8;
                if used != 0 && bitmap.last().is_some_and(|last| last >> used != 0) {
                    return Err(reader.fault("a bitmap with bits of no column"));
                }
                rows.push(row(&mut reader, &columns, &infos, &bitmap)?);
            }
            DONE => {
                done(&mut reader, rows.len())?;
                return Ok(Bulk { columns, rows, done: true });
            }
            token => return Err(unknown(format!("token 0x{token:02x} in a bulk load"))),
        }
    }
    Ok(Bulk { columns, rows, done: false })
}

/// Checks the end, whose status, command and count are without meaning from a client.
fn done(reader: &mut Reader<'_>, rows: usize) -> Result<(), Fault> {
    let (status, command, count) = (reader.u16()?, reader.u16()?, reader.u64()?);
    if status != 0 || command != 0 || ![0, u64::try_from(rows).unwrap_or(u64::MAX)].contains(&count) {
        let what =
            format!("DONE with status {status:#06x}, command {command:#06x} and {count} rows of {rows}");
        return Err(reader.fault(what));
    }
    reader.finish()
}

fn column(reader: &mut Reader<'_>) -> Result<(Column, TypeInfo), Fault> {
    let user_type = reader.u32()?;
    if user_type != 0 {
        return Err(unknown(format!("user type {user_type} of a column")));
    }
    let flags = reader.u16()?;
    if flags & !(NULLABLE | CASE | UPDATABLE | IDENTITY) != 0 {
        return Err(unknown(format!("flags {flags:#06x} of a column")));
    }
    if flags & UPDATABLE == UPDATABLE {
        return Err(reader.fault("a column with both bits of usUpdateable"));
    }
    let info = type_info::read(reader)?;
    if info.kind == Type::Null {
        return Err(reader.fault("a column without a type"));
    }
    let name = reader.b_varchar()?;
    let column = Column {
        name,
        kind: info.kind,
        nullable: flags & NULLABLE != 0,
        updatable: flags & UPDATABLE != 0,
        identity: flags & IDENTITY != 0,
    };
    Ok((column, info))
}

/// A row; columns whose bit is set are null and have no bytes.
fn row(
    reader: &mut Reader<'_>,
    columns: &[Column],
    infos: &[TypeInfo],
    bitmap: &[u8],
) -> Result<Vec<Value>, Fault> {
    let mut row = Vec::with_capacity(columns.len());
    for (place, (column, info)) in columns.iter().zip(infos).enumerate() {
        let absent = bitmap.get(place / 8).is_some_and(|byte| byte & (1 << (place % 8)) != 0);
        let value = if absent { Value::Null } else { read_value::read(reader, *info)? };
        if value == Value::Null && !column.nullable {
            return Err(reader.fault(format!("null in column {} that is never null", column.name)));
        }
        row.push(value);
    }
    Ok(row)
}
