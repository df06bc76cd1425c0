//! Tokens of answers.
//!
//! Source: \[MS-TDS\] 2.2.7.4 (`COLMETADATA`), 2.2.7.6 to 2.2.7.8 (`DONE`, `DONEINPROC`, `DONEPROC`), 2.2.7.9
//! (`ENVCHANGE`), 2.2.7.10 (`ERROR`), 2.2.7.13 (`INFO`), 2.2.7.14 (`LOGINACK`), 2.2.7.18 (`RETURNSTATUS`), 2.2.7.19
//! (`RETURNVALUE`), 2.2.7.20 (`ROW`).

use crate::fault::{Fault, script};
use crate::script::Message;
use crate::text::COLLATION;
use crate::type_info::{self, TypeInfo};
use crate::types::{Column, Type};
use crate::value::Value;
use crate::write_value;
use crate::writer::{b_varchar, token, us_varchar};

/// A statement of a batch is done.
pub const DONE: u8 = 0xfd;

/// A procedure is done.
pub const DONE_PROCEDURE: u8 = 0xfe;

/// A statement of a procedure is done.
pub const DONE_IN_PROCEDURE: u8 = 0xff;

/// More results follow.
pub const MORE: u16 = 0x01;

/// The statement failed.
pub const FAILED: u16 = 0x02;

/// The count is valid.
pub const COUNTED: u16 = 0x10;

/// The request was cancelled.
pub const ATTENTION: u16 = 0x20;

/// The command of a result set: `SELECT`.
pub const SELECT: u16 = 0xc1;

/// The command of a row count: `INSERT`.
pub const INSERT: u16 = 0xc3;

/// Adds the end of a statement or procedure.
pub fn done(out: &mut Vec<u8>, token: u8, status: u16, command: u16, count: u64) {
    out.push(token);
    out.extend(status.to_le_bytes());
    out.extend(command.to_le_bytes());
    out.extend(count.to_le_bytes());
}

/// Adds the columns of a result; gives the formats of their values.
pub fn columns(out: &mut Vec<u8>, columns: &[Column]) -> Result<Vec<TypeInfo>, Fault> {
    let count = u16::try_from(columns.len()).ok().filter(|count| (1..u16::MAX).contains(count));
    let count = count.ok_or_else(|| script(format!("a result of {} columns", columns.len())))?;
    out.push(0x81);
    out.extend(count.to_le_bytes());
    let mut infos = Vec::new();
    for column in columns {
        let info = TypeInfo::new(column.kind, column.nullable);
        let flags = u16::from(column.nullable)
            | if column.updatable { 0x08 } else { 0 }
            | if column.identity { 0x10 } else { 0 };
        out.extend([0; 4]);
        out.extend(flags.to_le_bytes());
        type_info::write(out, info)?;
        b_varchar(out, &column.name)?;
        infos.push(info);
    }
    Ok(infos)
}

/// Adds a row.
pub fn row(out: &mut Vec<u8>, infos: &[TypeInfo], row: &[Value]) -> Result<(), Fault> {
    if infos.len() != row.len() {
        return Err(script(format!("{} values in a row of {} columns", row.len(), infos.len())));
    }
    out.push(0xd1);
    infos.iter().zip(row).try_for_each(|(info, value)| write_value::write(out, *info, value))
}

/// Adds an error.
pub fn error(out: &mut Vec<u8>, message: &Message) -> Result<(), Fault> {
    token(out, 0xaa, &message_body(message)?)
}

/// Adds information.
pub fn info(out: &mut Vec<u8>, message: &Message) -> Result<(), Fault> {
    token(out, 0xab, &message_body(message)?)
}

fn message_body(message: &Message) -> Result<Vec<u8>, Fault> {
    let mut body = message.number.to_le_bytes().to_vec();
    body.extend([message.state, message.class]);
    us_varchar(&mut body, &message.text)?;
    b_varchar(&mut body, &message.server)?;
    b_varchar(&mut body, &message.procedure)?;
    body.extend(message.line.to_le_bytes());
    Ok(body)
}

/// Adds a procedure's return value.
pub fn return_status(out: &mut Vec<u8>, status: i32) {
    out.push(0x79);
    out.extend(status.to_le_bytes());
}

/// Adds the value of an output parameter, by its place in the call.
pub fn return_value(
    out: &mut Vec<u8>,
    place: usize,
    name: &str,
    kind: Type,
    value: &Value,
) -> Result<(), Fault> {
    let place = u16::try_from(place).map_err(|_| script("more than 65535 parameters"))?;
    out.push(0xac);
    out.extend(place.to_le_bytes());
    b_varchar(out, name)?;
    // An output parameter, without a user type and flags.
    out.push(1);
    out.extend([0; 6]);
    let info = TypeInfo::new(kind, true);
    type_info::write(out, info)?;
    write_value::write(out, info, value)
}

/// Adds the acknowledgement of a login in a protocol version.
pub fn login_ack(out: &mut Vec<u8>, version: u32) -> Result<(), Fault> {
    // SQL_TSQL; the version is big-endian here.
    let mut body = vec![1];
    body.extend(version.to_be_bytes());
    b_varchar(&mut body, "Microsoft SQL Server")?;
    body.extend([16, 0, 0x03, 0xe8]);
    token(out, 0xad, &body)
}

/// Adds a change of the database.
pub fn database(out: &mut Vec<u8>, new: &str, old: &str) -> Result<(), Fault> {
    change_of_text(out, 1, new, old)
}

/// Adds a change of the language.
pub fn language(out: &mut Vec<u8>, new: &str) -> Result<(), Fault> {
    change_of_text(out, 2, new, "")
}

/// Adds a change of the packet size.
pub fn packet_size(out: &mut Vec<u8>, new: usize, old: usize) -> Result<(), Fault> {
    change_of_text(out, 4, &new.to_string(), &old.to_string())
}

fn change_of_text(out: &mut Vec<u8>, kind: u8, new: &str, old: &str) -> Result<(), Fault> {
    let mut body = vec![kind];
    b_varchar(&mut body, new)?;
    b_varchar(&mut body, old)?;
    token(out, 0xe3, &body)
}

/// Adds a change of the collation.
pub fn collation(out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut body = vec![7, 5];
    body.extend(COLLATION);
    body.push(0);
    token(out, 0xe3, &body)
}

/// Adds the begin of a transaction.
pub fn begun(out: &mut Vec<u8>, descriptor: u64) -> Result<(), Fault> {
    let mut body = vec![8, 8];
    body.extend(descriptor.to_le_bytes());
    body.push(0);
    token(out, 0xe3, &body)
}

/// Adds the commit or rollback of a transaction.
pub fn ended(out: &mut Vec<u8>, committed: bool, descriptor: u64) -> Result<(), Fault> {
    let mut body = vec![if committed { 9 } else { 10 }, 0, 8];
    body.extend(descriptor.to_le_bytes());
    token(out, 0xe3, &body)
}

/// Adds the reset of the session.
pub fn reset(out: &mut Vec<u8>) -> Result<(), Fault> {
    token(out, 0xe3, &[18, 0, 0])
}
