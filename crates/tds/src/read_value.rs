//! Reading values that clients send in parameters and in rows for `INSERT BULK`.
//!
//! Source: \[MS-TDS\] 2.2.5.2.2 and 2.2.5.2.3 (lengths before values, values in chunks), 2.2.5.5.1 (forms of the
//! system types).

use crate::fault::{Fault, unknown};
use crate::reader::Reader;
use crate::text;
use crate::type_info::{TypeInfo, time_bytes};
use crate::types::{Length, Type};
use crate::value::{DAY_NANOSECONDS, DAYS_TO_1900, LAST_DAY, Value};

/// Reads a value of a type.
pub fn read(reader: &mut Reader<'_>, info: TypeInfo) -> Result<Value, Fault> {
    match info.kind {
        Type::Null => Ok(Value::Null),
        Type::TinyInt => small(reader, info, 1, |bytes| Ok(Value::Int(i64::from(bytes.u8()?)))),
        Type::SmallInt => {
            small(reader, info, 2, |bytes| Ok(Value::Int(i64::from(i16::from_le_bytes(bytes.array()?)))))
        }
        Type::Int => {
            small(reader, info, 4, |bytes| Ok(Value::Int(i64::from(i32::from_le_bytes(bytes.array()?)))))
        }
        Type::BigInt => small(reader, info, 8, |bytes| Ok(Value::Int(i64::from_le_bytes(bytes.array()?)))),
        Type::Bit => small(reader, info, 1, bit),
        Type::Real => {
            small(reader, info, 4, |bytes| Ok(Value::Float(f64::from(f32::from_le_bytes(bytes.array()?)))))
        }
        Type::Float => small(reader, info, 8, |bytes| Ok(Value::Float(f64::from_le_bytes(bytes.array()?)))),
        Type::Decimal { precision, scale } => decimal(reader, precision, scale),
        Type::Date => small(reader, info, 3, |bytes| Ok(Value::Date(day(bytes)?))),
        Type::Time(scale) => {
            small(reader, info, time_bytes(scale), |bytes| Ok(Value::Time(time(bytes, scale)?)))
        }
        Type::DateTime2(scale) => small(reader, info, time_bytes(scale) + 3, |bytes| {
            let nanoseconds = time(bytes, scale)?;
            Ok(Value::DateTime { days: day(bytes)?, nanoseconds })
        }),
        Type::DateTimeOffset(scale) => small(reader, info, time_bytes(scale) + 5, |bytes| {
            let (nanoseconds, days) = (time(bytes, scale)?, day(bytes)?);
            match i16::from_le_bytes(bytes.array()?) {
                minutes @ -840..=840 => Ok(Value::DateTimeOffset { days, nanoseconds, minutes }),
                minutes => Err(bytes.fault(format!("an offset of {minutes} minutes"))),
            }
        }),
        Type::DateTime => small(reader, info, 8, date_time),
        Type::SmallDateTime => small(reader, info, 4, small_date_time),
        Type::Guid => small(reader, info, 16, |bytes| Ok(Value::Guid(turn_guid(bytes.array()?)))),
        Type::Xml => match chunks(reader)? {
            Some(bytes) => utf16(reader, &bytes),
            None => Ok(Value::Null),
        },
        Type::NVarChar(_) | Type::NChar(_) => match long(reader, info.kind)? {
            Some(bytes) => utf16(reader, &bytes),
            None => Ok(Value::Null),
        },
        Type::VarChar(_) | Type::Char(_) => match long(reader, info.kind)? {
            Some(bytes) => match text::decode(&bytes) {
                Ok(text) => Ok(Value::Text(text)),
                Err(byte) => Err(reader.fault(format!("byte {byte:#04x} in the code page 1252"))),
            },
            None => Ok(Value::Null),
        },
        Type::VarBinary(_) | Type::Binary(_) => {
            Ok(long(reader, info.kind)?.map_or(Value::Null, Value::Bytes))
        }
    }
}

/// A value with its length before it, unless the value is never null.
fn small(
    reader: &mut Reader<'_>,
    info: TypeInfo,
    bytes: u8,
    value: impl FnOnce(&mut Reader<'_>) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    if !info.fixed {
        match reader.u8()? {
            0 => return Ok(Value::Null),
            length if length == bytes => {}
            length => return Err(reader.fault(format!("{length} bytes of a {:?} of {bytes}", info.kind))),
        }
    }
    value(reader)
}

fn bit(reader: &mut Reader<'_>) -> Result<Value, Fault> {
    match reader.u8()? {
        0 => Ok(Value::Bool(false)),
        1 => Ok(Value::Bool(true)),
        byte => Err(reader.fault(format!("a bit of {byte}"))),
    }
}

fn decimal(reader: &mut Reader<'_>, precision: u8, scale: u8) -> Result<Value, Fault> {
    let length = reader.u8()?;
    if length == 0 {
        return Ok(Value::Null);
    }
    if ![5, 9, 13, 17].contains(&length) {
        return Err(reader.fault(format!("a decimal of {length} bytes")));
    }
    let positive = match reader.u8()? {
        0 => false,
        1 => true,
        sign => return Err(reader.fault(format!("a decimal with sign {sign}"))),
    };
    let digits = reader.take(usize::from(length) - 1)?;
    let magnitude = digits.iter().rev().fold(0u128, |sum, byte| (sum << 8) | u128::from(*byte));
    match i128::try_from(magnitude) {
        Ok(unscaled) if magnitude < 10u128.pow(u32::from(precision)) => {
            Ok(Value::Decimal { unscaled: if positive { unscaled } else { -unscaled }, scale })
        }
        _ => Err(reader.fault(format!("{magnitude} has more than {precision} digits"))),
    }
}

fn day(reader: &mut Reader<'_>) -> Result<u32, Fault> {
    let days = u32::try_from(reader.number(3)?).unwrap_or(u32::MAX);
    match days <= LAST_DAY {
        true => Ok(days),
        false => Err(reader.fault(format!("day {days}"))),
    }
}

/// A time of day in nanoseconds.
fn time(reader: &mut Reader<'_>, scale: u8) -> Result<u64, Fault> {
    let ticks = reader.number(usize::from(time_bytes(scale)))?;
    let nanoseconds = ticks.saturating_mul(10u64.pow(9 - u32::from(scale)));
    match nanoseconds < DAY_NANOSECONDS {
        true => Ok(nanoseconds),
        false => Err(reader.fault(format!("{ticks} ticks of a day, with {scale} digits"))),
    }
}

/// Days since 1900, and three-hundredths of a second, which are cut to nanoseconds.
fn date_time(reader: &mut Reader<'_>) -> Result<Value, Fault> {
    let days = i64::from(i32::from_le_bytes(reader.array()?)) + i64::from(DAYS_TO_1900);
    let fragments = reader.u32()?;
    let nanoseconds = u64::from(fragments) * 10_000_000 / 3;
    match u32::try_from(days) {
        Ok(days) if days <= LAST_DAY && nanoseconds < DAY_NANOSECONDS => {
            Ok(Value::DateTime { days, nanoseconds })
        }
        _ => Err(reader.fault(format!("a datetime of day {days} and {fragments}/300 s"))),
    }
}

fn small_date_time(reader: &mut Reader<'_>) -> Result<Value, Fault> {
    let (days, minutes) = (u32::from(reader.u16()?) + DAYS_TO_1900, reader.u16()?);
    match minutes < 24 * 60 {
        true => Ok(Value::DateTime { days, nanoseconds: u64::from(minutes) * 60_000_000_000 }),
        false => Err(reader.fault(format!("minute {minutes} of a day"))),
    }
}

/// The first three groups of a GUID are little-endian on the wire, and big-endian in its text.
pub fn turn_guid(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

fn utf16(reader: &Reader<'_>, bytes: &[u8]) -> Result<Value, Fault> {
    crate::reader::utf16(bytes).map(Value::Text).map_err(|what| reader.fault(what))
}

/// Bytes of a string or binary value, `None` for null.
fn long(reader: &mut Reader<'_>, kind: Type) -> Result<Option<Vec<u8>>, Fault> {
    let most = match kind {
        Type::NVarChar(Length::Max) | Type::VarChar(Length::Max) | Type::VarBinary(Length::Max) => {
            return chunks(reader);
        }
        Type::NVarChar(Length::Limit(limit)) | Type::NChar(limit) => limit * 2,
        Type::VarChar(Length::Limit(limit))
        | Type::Char(limit)
        | Type::VarBinary(Length::Limit(limit))
        | Type::Binary(limit) => limit,
        _ => return Err(unknown(format!("a long value of {kind:?}"))),
    };
    match reader.u16()? {
        u16::MAX => Ok(None),
        length if length <= most => Ok(Some(reader.take(usize::from(length))?.to_vec())),
        length => Err(reader.fault(format!("{length} bytes of a {kind:?}"))),
    }
}

/// A value in chunks (`PLP_BODY`), `None` for null.
fn chunks(reader: &mut Reader<'_>) -> Result<Option<Vec<u8>>, Fault> {
    const NULL: u64 = u64::MAX;
    const UNKNOWN: u64 = u64::MAX - 1;
    let whole = reader.u64()?;
    if whole == NULL {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    loop {
        match usize::try_from(reader.u32()?) {
            Ok(0) => break,
            Ok(length) => bytes.extend(reader.take(length)?),
            Err(_) => return Err(reader.fault("a chunk that is too long")),
        }
    }
    match whole {
        UNKNOWN => Ok(Some(bytes)),
        whole if u64::try_from(bytes.len()) == Ok(whole) => Ok(Some(bytes)),
        whole => Err(reader.fault(format!("{} bytes in chunks, of {whole}", bytes.len()))),
    }
}
